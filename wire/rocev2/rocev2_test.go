package rocev2_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

func gid(t testing.TB, s string) ib.GID {
	t.Helper()
	g, err := ib.ParseGID(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func flow(t testing.TB) rocev2.Flow {
	return rocev2.Flow{
		Source: gid(t, "::ffff:192.0.2.1"), Destination: gid(t, "::ffff:192.0.2.254"),
		SourcePort: 0xc123, DestinationPort: rocev2.Port, DontFragment: true,
	}
}

// Recover finds the identification for every ID and length, whatever ID the receiver assumes.
func TestRecover(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	packet := make([]byte, 12+4096+16)
	for i := range packet {
		packet[i] = byte(r.Uint32())
	}
	for n := ib.BTHLen; n <= len(packet); n += 4 {
		sent := flow(t)
		sent.ID = uint16(r.Uint32())
		datagram := sent.AppendICRC(append([]byte(nil), packet[:n]...))
		if diff := sent.Check(datagram); diff != 0 {
			t.Fatalf("Check of %d bytes with the ID they were sent with = %#x, want 0", n, diff)
		}
		seen := flow(t)
		seen.ID = uint16(r.Uint32())
		id, ok := seen.Recover(len(datagram), seen.Check(datagram))
		if id != sent.ID || !ok {
			t.Fatalf("Recover(%d bytes, ID %#x) = %#x, %t, want %#x", len(datagram), seen.ID, id, ok, sent.ID)
		}
	}
}
