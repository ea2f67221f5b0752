package capture

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// foreignDir is the environment variable with the name of a folder of captures that are not part of
// this repository.
const foreignDir = "RDMAKIT_CAPTURES"

// decoded is what this package and tshark have in common of a packet.
type decoded struct {
	fields     map[string]uint64
	payloadLen int  // with padding
	roce       bool // not InfiniBand, of whose payload tshark decodes IPoIB
}

// decodeFile returns the packets of a file; those that have no transport have no fields.
func decodeFile(t *testing.T, file string) []decoded {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	src, err := open(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []decoded
	if err := src.walk(func(p *packet) {
		var d decoded
		if p.kind == kindCut && p.hasBTH { // tshark decodes the BTH
			d.fields = tshark.Fields(&p.Packet, 0)
			maps.DeleteFunc(d.fields, func(name string, _ uint64) bool {
				return !strings.HasPrefix(name, "bth.") && name != "reserved"
			})
		}
		if p.kind == kindTransport {
			d.fields = tshark.Fields(&p.Packet, p.icrcValue)
			d.roce = p.transport != TransportInfiniBand
			d.payloadLen = p.payloadLen + int(p.BTH.PadCount)
			if !p.whole {
				delete(d.fields, "invariant.crc")
			}
			if p.BTH.PKey == 0 { // tshark doesn't print it then
				delete(d.fields, "bth.p_key")
			}
		}
		all = append(all, d)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// agree compares the fields of all packets of a file with tshark's.
func agree(t *testing.T, file string) (compared int) {
	t.Helper()
	// The port of TFTP is the source port of some foreign packets.
	theirs, err := tshark.DissectFields(t.Context(), file, "tftp")
	if err != nil {
		t.Fatal(err)
	}
	ours := decodeFile(t, file)
	if len(ours) != len(theirs) {
		t.Fatalf("%s: %d packets, tshark has %d", file, len(ours), len(theirs))
	}
	for i := range ours {
		want := theirs[i].Fields
		opcode := ib.Opcode(want["bth.opcode"])
		if opcode == ib.OpcodeCongestionNotification { // tshark doesn't decode the CRC of a CNP
			delete(ours[i].fields, "invariant.crc")
		}
		if _, ok := want["bth.opcode"]; !ok {
			want = nil
		}
		if want == nil && ours[i].fields == nil {
			continue
		}
		if diff := cmp.Diff(want, ours[i].fields); diff != "" {
			t.Errorf("%s: packet %d (-tshark +ours):\n%s", file, i+1, diff)
		}
		if n := len(theirs[i].Payload); ours[i].roce && n > 0 && n != ours[i].payloadLen && want["bth.destqp"] > 1 {
			t.Errorf("%s: packet %d: %v has %d bytes of payload, tshark %d", file, i+1, opcode, ours[i].payloadLen, n)
		}
		compared++
	}
	return compared
}

// dump formats a report for the messages of failed tests.
func dump(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d packets, %d other, %v\n", r.Format, r.Packets, r.Other, r.Transports)
	for i, f := range r.Flows {
		fmt.Fprintf(&b, "flow %d: %s: %d packets, partner %d (%s), %d messages\n", i, f.Label(), f.Packets,
			f.Partner, f.PairedBy, f.Requests.Messages)
		fmt.Fprintf(&b, "    PMTU %d/%d, DSCP %v, TTL %v, ports %d", f.Requests.PMTU, f.Responses.PMTU, f.DSCPs,
			f.HopLimits, f.SourcePorts)
		fmt.Fprintf(&b, ", ICRC %d/%d/%d\n", f.ICRCRight, f.ICRCWrong.Count, f.ICRCUnknown)
		for _, o := range slices.Sorted(maps.Keys(f.Opcodes)) {
			fmt.Fprintf(&b, "    %v: %d\n", o, f.Opcodes[o])
		}
	}
	for _, c := range r.Connections {
		fmt.Fprintf(&b, "connection %s QP %s → %s QP %s: ", c.Client, c.ClientQP, c.Server, c.ServerQP)
		fmt.Fprintf(&b, "REQ %d REP %d RTU %d REJ %d DREQ %d\n", c.Requests.Count, c.Accepted.Count, c.Ready.Count,
			c.Rejected.Count, c.Ended.Count)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s: %s: %s\n", f.Severity, f.Name, f.Where, f.Summary)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "    %s (%v PSN %v)\n", e, e.Opcode, e.PSN)
		}
	}
	for _, n := range r.NotJudged {
		fmt.Fprintf(&b, "not judged: %s\n", n)
	}
	return b.String()
}
