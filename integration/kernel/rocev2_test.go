//go:build kernel

package kernel

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// TestTsharkAgrees captures sessions between perftest on the kernel's rxe and this project's
// engine, in both directions, and compares each packet of either side, field by field, with
// tshark's decoding.
func TestTsharkAgrees(t *testing.T) {
	for _, name := range []string{"tshark", "tcpdump"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v: scripts/deps.sh kernel installs it", err)
		}
	}
	g := guest.Shared(t)
	g.Exclusive(t)
	r := newRoCERig(t, g)
	file := r.capture(t, func() {
		for _, s := range []roceSession{
			{test: "write", server: ours, size: 20000, mtu: 4096},
			{test: "write", server: ours, size: 3001, mtu: 1024, v6: true},
			{test: "write", server: theirs, size: 20001, mtu: 4096},
			{test: "write", server: theirs, size: 2500, mtu: 1024, v6: true},
			{test: "read", server: theirs, size: 3333, mtu: 1024},
			{test: "read", server: ours, size: 9000, mtu: 4096, v6: true},
			{test: "send", server: theirs, size: 9999, mtu: 4096, v6: true},
			{test: "send", server: ours, size: 7, mtu: 1024},
			{test: "send", server: ours, size: 700, mtu: 256},
			{test: "read", server: theirs, size: 1100, mtu: 512},
		} {
			r.run(t, s)
		}
	})
	packets, err := tshark.Dissect(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	seen := newRoCECount()
	for i, p := range packets {
		if err := agree(&p, seen); err != nil {
			t.Errorf("packet %d: %v\n%x", i+1, err, p.Frame)
		}
		if t.Failed() && seen.failed > 10 {
			t.Fatal("too many differ")
		}
	}
	seen.check(t)
	t.Logf("%d packets: %s", len(packets), seen)
}

// agree compares a packet with tshark's decoding.
func agree(p *tshark.Packet, seen *roceCount) error {
	seen.failed++ // until it is known to be good
	const ethernetLen = 14
	if len(p.Frame) < ethernetLen {
		return fmt.Errorf("%d bytes", len(p.Frame))
	}
	flow, datagram, err := rocev2.ParseIP(p.Frame[ethernetLen:])
	if err != nil {
		return err
	}
	if diff := flow.Check(datagram); diff != 0 {
		return fmt.Errorf("ICRC is wrong by %#x", diff)
	}
	end := len(datagram) - rocev2.ICRCLen
	var packet ib.Packet
	if _, err := packet.Decode(datagram[:end]); err != nil {
		return err
	}
	if diff := cmp.Diff(p.Fields, tshark.Fields(&packet, flow.ICRC(datagram[:end]))); diff != "" {
		return fmt.Errorf("fields (-tshark +decoded):\n%s", diff)
	}
	if payload := datagram[packet.BTH.Opcode.HeaderLen():end]; !bytes.Equal(p.Payload, payload) {
		return fmt.Errorf("payload: tshark has %d bytes, decoded %d", len(p.Payload), len(payload))
	}
	if again := flow.AppendICRC(packet.Append(nil)); !bytes.Equal(again, datagram) {
		return fmt.Errorf("written again: %x", again)
	}
	seen.add(&flow, &packet)
	seen.failed--
	return nil
}
