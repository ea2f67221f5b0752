package rocev2_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

const ethernetLen = 14

// vector is a packet of testdata/packets.txt.
type vector struct {
	name   string
	fields map[string]uint64 // as tshark decoded it
	frame  []byte
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/packets.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, isPacket := strings.CutPrefix(line, "packet ")
		fields, isFields := strings.CutPrefix(line, "fields ")
		switch {
		case line == "" || line[0] == '#':
		case isPacket:
			all = append(all, vector{name: name, fields: map[string]uint64{}})
		case isFields:
			for word := range strings.FieldsSeq(fields) {
				key, value, _ := strings.Cut(word, "=")
				n, err := strconv.ParseUint(value, 0, 64)
				if err != nil {
					t.Fatal(err)
				}
				all[len(all)-1].fields[key] = n
			}
		default:
			b, err := hex.DecodeString(line)
			if err != nil {
				t.Fatal(err)
			}
			v := &all[len(all)-1]
			v.frame = append(v.frame, b...)
		}
	}
	return all
}

// split returns the flow of a vector and its UDP payload.
func (v *vector) split(t testing.TB) (rocev2.Flow, []byte) {
	t.Helper()
	flow, datagram, err := rocev2.ParseIP(v.frame[ethernetLen:])
	if err != nil {
		t.Fatalf("%s: ParseIP: %v", v.name, err)
	}
	return flow, datagram
}

// Every packet that the kernel sent is decoded as tshark decodes it, has a valid ICRC, and is
// encoded to the same bytes.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			flow, datagram := v.split(t)
			if diff := flow.Check(datagram); diff != 0 {
				t.Errorf("Check = %#x, want 0", diff)
			}
			var p ib.Packet
			end := len(datagram) - rocev2.ICRCLen
			if n, err := p.Decode(datagram[:end]); n != end || err != nil {
				t.Fatalf("Decode = %d, %v, want %d", n, err, end)
			}
			if diff := cmp.Diff(v.fields, tshark.Fields(&p, flow.ICRC(datagram[:end]))); diff != "" {
				t.Errorf("fields (-tshark +decoded):\n%s", diff)
			}
			again := flow.AppendICRC(p.Append(nil))
			if !bytes.Equal(again, datagram) {
				t.Errorf("written again (-captured +written):\n%s", cmp.Diff(hex.Dump(datagram), hex.Dump(again)))
			}
		})
	}
}

// The vectors cover every opcode of the table but CNP, which soft RoCE doesn't send, every kind of
// acknowledgement, all path MTUs, and both IP versions.
func TestVectorsCover(t *testing.T) {
	opcodes := map[ib.Opcode]bool{ib.OpcodeCongestionNotification: true}
	syndromes, payloads, mapped := map[ib.Syndrome]bool{}, map[int]bool{}, map[bool]int{}
	ids := map[uint16]bool{}
	for _, v := range vectors(t) {
		flow, datagram := v.split(t)
		mapped[flow.IsIPv4()]++
		if flow.IsIPv4() {
			ids[flow.ID] = true
		}
		var p ib.Packet
		if _, err := p.Decode(datagram[:len(datagram)-rocev2.ICRCLen]); err != nil {
			t.Fatal(err)
		}
		opcodes[p.BTH.Opcode] = true
		payloads[len(p.Payload)] = true
		if p.BTH.Opcode == ib.OpcodeRCAcknowledge {
			syndromes[p.AETH.Syndrome] = true
		}
	}
	for i := range 256 {
		if o := ib.Opcode(i); o.Known() && !opcodes[o] {
			t.Errorf("no packet of %v", o)
		}
	}
	for _, s := range []ib.Syndrome{
		ib.SyndromeACK, ib.SyndromeRNR + 20, ib.SyndromeNAKSequence, ib.SyndromeNAKInvalidRequest,
		ib.SyndromeNAKRemoteAccess, ib.SyndromeNAKRemoteError,
	} {
		if !syndromes[s] {
			t.Errorf("no acknowledgement with syndrome %v", s)
		}
	}
	for m := ib.MTU256; m <= ib.MTU4096; m *= 2 {
		if !payloads[int(m)] {
			t.Errorf("no packet of MTU %d", m)
		}
	}
	if mapped[true] < 20 || mapped[false] < 10 || len(ids) < 20 {
		t.Errorf("%d packets of IPv4 with %d identifications, %d of IPv6", mapped[true], len(ids), mapped[false])
	}
}

// Recover finds the identification, which a UDP socket doesn't report, from the ICRC.
func TestVectorsRecover(t *testing.T) {
	for _, v := range vectors(t) {
		flow, datagram := v.split(t)
		want, isIPv4 := flow.ID, flow.IsIPv4()
		flow.ID = 0
		id, ok := flow.Recover(len(datagram), flow.Check(datagram))
		if ok != isIPv4 || id != want {
			t.Errorf("%s: Recover = %#x, %t, want %#x, %t", v.name, id, ok, want, isIPv4)
		}
	}
}

// Any single wrong bit is detected, by the ICRC or the parser, except in the fields that routers
// may change: type of service or traffic class, flow label, time to live, IPv4 and UDP checksums,
// FECN, BECN and the reserved bits in the same byte.
func TestVectorsDamaged(t *testing.T) {
	for _, v := range vectors(t) {
		ip := v.frame[ethernetLen:]
		ipLen, free := 20, map[int]byte{1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff}
		if ip[0]>>4 == 6 {
			ipLen, free = 40, map[int]byte{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff}
		}
		for _, i := range []int{ipLen + 6, ipLen + 7, ipLen + 8 + 4} {
			free[i] = 0xff
		}
		for i := range ip {
			for bit := byte(1); bit != 0; bit <<= 1 {
				ip[i] ^= bit
				flow, datagram, err := rocev2.ParseIP(ip)
				valid := err == nil && flow.Check(datagram) == 0
				if want := free[i]&bit != 0; valid != want {
					t.Errorf("%s: byte %d of the IP packet with bit %#x changed: valid %t, want %t",
						v.name, i, bit, valid, want)
				}
				ip[i] ^= bit
			}
		}
	}
}
