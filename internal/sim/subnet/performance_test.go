package subnet_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// ofPort returns the answer of the performance agent of a node.
func ofPort(t *testing.T, net *subnet.Subnet, n *subnet.Node, a mad.Attribute, port uint8) mad.PerformanceMAD {
	t.Helper()
	p := mad.NewPerformanceMAD(mad.MethodGet, a, 42)
	p.Data[1] = port
	d := []fabric.Datagram{{Address: fabric.Address{LID: n.LIDs[1], QPN: 1, QKey: fabric.QKeyGSI}}}
	p.Append(d[0].MAD[:0])
	tr := net.Transport("host0")
	if sent, err := tr.Send(d); sent != 1 || err != nil {
		t.Fatalf("Send = %d, %v", sent, err)
	}
	if k, err := tr.Receive(t.Context(), d, time.Now().Add(time.Second)); k != 1 || err != nil {
		t.Fatalf("Receive = %d, %v", k, err)
	}
	p.Decode(d[0].MAD[:]) //nolint:errcheck // long enough
	return p
}

// counted returns a net whose host1 has a different value in each counter.
func counted(agent *mad.ClassPortInfo) (*subnet.Subnet, *subnet.Node) {
	net := subnet.FatTree(1, 2, 1)
	host := net.Node("host1")
	host.Performance = agent
	v := reflect.ValueOf(&host.Ports[1].Counters).Elem()
	for i := 4; i < v.NumField(); i++ { // the first four are selectors
		v.Field(i).SetUint(uint64(i) + 100_000)
	}
	return net, host
}

// TestAgentCapabilities checks which attributes and counters an agent has.
func TestAgentCapabilities(t *testing.T) {
	const wide, noUnicast = mad.PerformanceExtendedWidth, mad.PerformanceExtendedWidthNoUnicast
	const wait, dropped = mad.PerformancePortCountersXmitWait, mad.PerformanceQP1Dropped
	for _, test := range []struct {
		name            string
		mask            uint16
		mask2           uint32
		extended        bool
		unicast, errors bool // of the extended counters
	}{
		{"ibsim's", wide | wait, 0, true, true, false},
		{"all", wide | wait | dropped, mad.PerformanceAdditionalExtended, true, true, true},
		{"no unicast", noUnicast, mad.PerformanceAdditionalExtended, true, false, true},
		{"classic", 0, 0, false, false, false},
		{"classic with all", wait | dropped, 0, false, false, false},
	} {
		net, host := counted(&mad.ClassPortInfo{CapabilityMask: test.mask, CapabilityMask2: test.mask2})
		classic := ofPort(t, net, host, mad.AttributePortCounters, 1)
		var c mad.PortCounters
		c.Decode(classic.Data[:]) //nolint:errcheck // long enough
		hasWait, hasDropped := test.mask&wait != 0, test.mask&dropped != 0
		if (c.PortXmitWait != 0) != hasWait || (c.QP1Dropped != 0) != hasDropped || c.VL15Dropped == 0 ||
			c.LocalLinkIntegrityErrors != 15 {
			t.Errorf("%s: counters %+v", test.name, c)
		}
		p := ofPort(t, net, host, mad.AttributePortCountersExtended, 1)
		if (p.Result() == 0) != test.extended {
			t.Errorf("%s: extended counters: %v", test.name, p.Result())
		}
		if !test.extended {
			continue
		}
		var x mad.PortCountersExtended
		x.Decode(p.Data[:]) //nolint:errcheck // long enough
		if (x.PortUnicastRcvPkts != 0) != test.unicast || (x.SymbolErrorCounter != 0) != test.errors ||
			x.PortXmitData == 0 || (x.PortXmitWait != 0) != (test.errors && hasWait) ||
			(x.QP1Dropped != 0) != (test.errors && hasDropped) {
			t.Errorf("%s: extended counters %+v", test.name, x)
		}
	}
}

// frame returns a MAD in a RoCE v2 packet, as tshark dissects it: Ethernet, IPv4, UDP, BTH, DETH.
func frame(qpn uint8, packet []byte) []byte {
	b := append(make([]byte, 12), 8, 0)
	const after = 8 + 12 + 8 + mad.Len + 4
	b = append(b, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
	binary.BigEndian.PutUint16(b[16:], 20+after)
	b = append(b, 0xc0, 0, 0x12, 0xb7, 0, 0, 0, 0)
	binary.BigEndian.PutUint16(b[38:], after)
	b = append(b, 0x64, 0, 0xff, 0xff, 0, 0, 0, qpn, 0, 0, 0, 1, 0x80, 1, 0, 0, 0, 0, 0, qpn)
	return append(append(b, packet...), 0, 0, 0, 0)
}

// dissect returns tshark's values of fields of MADs.
func dissect(t *testing.T, names []string, frames ...[]byte) []map[string]string {
	t.Helper()
	host := binary.LittleEndian
	b := host.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0)
	for _, f := range frames {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		b = host.AppendUint32(host.AppendUint32(b, uint32(len(f))), uint32(len(f)))
		b = append(b, f...)
	}
	file := filepath.Join(t.TempDir(), "mads.pcap")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	values, err := tshark.Values(t.Context(), file, names...)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestAgainstTshark compares what the simulator answers with what tshark decodes: the counters of
// both attributes, the agent's capabilities, and a port without queue pair 0.
func TestAgainstTshark(t *testing.T) {
	const mask = mad.PerformanceExtendedWidth | mad.PerformancePortCountersXmitWait | mad.PerformanceQP1Dropped
	net, host := counted(&mad.ClassPortInfo{
		BaseVersion: 1, ClassVersion: 1, CapabilityMask: mask, CapabilityMask2: mad.PerformanceAdditionalExtended,
		RespTimeValue: 18,
	})
	host.PortInfo = func(_ uint8, info *mad.PortInfo) { info.CapabilityMask |= mad.CapabilityIsSMDisabled }
	const p, x = "infiniband.portcounters.", "infiniband.portcounters_ext."
	want := []map[string]string{{
		"infiniband.mad.attributeid": "0x0001", "infiniband.classportinfo.capabilitymask": "0x9200",
		"infiniband.classportinfo.resptimevalue": "0x12",
	}, {
		// 100,004 and more is above 16 bits: they have stopped
		"infiniband.mad.attributeid": "0x0012", p + "portselect": "0x01", p + "symbolerrorcounter": "65535",
		p + "linkerrorrecoverycounter": "255", p + "linkdownedcounter": "255",
		p + "portrcvremotephysicalerrors": "65535",
		p + "portrcvswitchrelayerrors":    "65535", p + "portxmitconstrainterrors": "255",
		p + "excessivebufferoverrunerrors": "15", p + "vl15dropped": "65535", p + "portxmitdata": "100004",
		p + "portrcvdata": "100005", p + "portxmitpkts": "100006", p + "portrcvpkts": "100007",
	}, {
		"infiniband.mad.attributeid": "0x001d", x + "portselect": "0x01", x + "portxmitdata": "100004",
		x + "portrcvdata": "100005", x + "portxmitpkts": "100006", x + "portrcvpkts": "100007",
		x + "portunicastxmitpkts": "100008", x + "portunicastrcvpkts": "100009",
		x + "portmulticastxmitpkts": "100010", x + "portmulticastrcvpkts": "100011",
	}, {
		"infiniband.mad.attributeid": "0x0015", "infiniband.portinfo.capabilitymask.smdisabled": "0x00000001",
		"infiniband.portinfo.lid": fmt.Sprintf("0x%04x", uint16(host.LIDs[1])),
	}}
	var names []string
	seen := map[string]bool{}
	for _, fields := range want {
		for name := range fields {
			if !seen[name] {
				seen[name], names = true, append(names, name)
			}
		}
	}
	var frames [][]byte
	for _, a := range []mad.Attribute{
		mad.AttributeClassPortInfo, mad.AttributePortCounters, mad.AttributePortCountersExtended,
	} {
		answer := ofPort(t, net, host, a, 1)
		frames = append(frames, frame(1, answer.Append(nil)))
	}
	smp, ok := ask(t, net.Transport("host0"), mad.AttributePortInfo, 1, 1, 2)
	if !ok {
		t.Fatal("no PortInfo")
	}
	frames = append(frames, frame(0, smp.Append(nil)))
	for i, values := range dissect(t, names, frames...) {
		got := map[string]string{}
		for name := range want[i] {
			got[name] = values[name]
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("answer %d (-want +tshark):\n%s", i+1, diff)
		}
	}
}
