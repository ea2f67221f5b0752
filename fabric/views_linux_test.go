package fabric_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestManagersAsSminfo runs two subnet managers, and compares the result of a sweep with the output
// of sminfo for each.
func TestManagersAsSminfo(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/dualsm/net")
	sim.StartSM("host2", "-p", "9")
	sim.StartStandbySM("host9", "-p", "4")
	topology := discover(t, open(t, sim, "host0"), fabric.Options{SubnetManagers: true})
	if !topology.Complete {
		t.Errorf("unreached: %v", topology.Unreached)
	}
	checkRoundTrip(t, topology)
	// sminfo: sm lid 1 sm guid 0x100000, activity count 10 priority 9 state 3 SMINFO_MASTER
	line := regexp.MustCompile(`sm lid (\d+) sm guid 0x([0-9a-f]+), activity count \d+ priority (\d+) state \d (\w+)`)
	states := map[string]string{}
	for _, m := range topology.SubnetManagers {
		name, _, _ := strings.Cut(topology.Node(m.Port.Node).Description.String(), " ")
		states[name] = m.Info.State.String()
		want := line.FindStringSubmatch(sim.Tool("host0", "sminfo", decimal(int(m.LID))))
		got := []string{
			decimal(int(m.LID)), fmt.Sprintf("%x", m.Info.GUID[:]), decimal(int(m.Info.Priority)),
			m.Info.State.String(),
		}
		if want == nil {
			t.Fatal("sminfo's line is not understood")
		}
		if diff := gocmp.Diff(want[1:], []string{got[0], strings.TrimLeft(got[1], "0"), got[2], got[3]}); diff != "" {
			t.Errorf("manager at %s (-sminfo +got):\n%s", name, diff)
		}
	}
	if diff := gocmp.Diff(map[string]string{"host2": "SMINFO_MASTER", "host9": "SMINFO_STANDBY"}, states); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
}

// TestRescanInSimulator changes a running subnet through the simulator's console, and compares a
// re-scan with a full sweep.
func TestRescanInSimulator(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	sim.StartSM("host31")() // a running manager would change the subnet between two sweeps
	transport := open(t, sim, "host0")
	o := everything()
	o.SubnetManagers = false
	previous := discover(t, transport, o)
	nodes := len(previous.Nodes)
	for _, test := range []struct {
		console string
		nodes   int
		fresh   int // nodes that have moved
	}{
		{``, nodes, 0},
		{`Unlink "leaf0"[9]`, nodes, 0},
		{`Unlink "leaf1"[2]`, nodes - 1, 0},
		{`Relink "leaf1"[2]`, nodes, 1},
		{`Relink "leaf0"[9]`, nodes, 0},
		{`Clear "host7"[1]`, nodes - 1, 0},
	} {
		saved := test.nodes - test.fresh // descriptions
		if test.console == "" {
			saved *= 2 // and capabilities of the performance agents
		} else {
			// Packets routed by LID can't pass a cut until a subnet manager changes the routes.
			o.Counters = false
			sim.Console("%s", test.console)
		}
		o.Previous = nil
		full := discover(t, transport, o)
		o.Previous = reread(t, previous)
		again := discover(t, transport, o)
		sameFabric(t, test.console, full, again)
		if len(full.Nodes) != test.nodes {
			t.Errorf("%s: %d nodes, want %d", test.console, len(full.Nodes), test.nodes)
		}
		// Each of the 8 cables between switches may be queried from both ends, depending on the
		// window.
		if most := full.Stats.Sent - saved + 8; again.Stats.Sent > most {
			t.Errorf("%s: re-scan of %d MADs, full sweep %d, want at most %d",
				test.console, again.Stats.Sent, full.Stats.Sent, most)
		}
		t.Logf("%-20s full sweep %d MADs, re-scan %d", test.console, full.Stats.Sent, again.Stats.Sent)
		previous = full
	}
}

// TestMulticastAsIbroute compares multicast tables with ibroute -M.
func TestMulticastAsIbroute(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	sim.StartSM("host31")
	transport := open(t, sim, "host0")
	// No node joins multicast groups, so the test writes entries: LIDs 0xc000 and 0xc03f, ports 0,
	// 1, 17 and 64 of leaf0.
	setMulticast(t, transport, 0, 0, 0, 0b11)
	setMulticast(t, transport, 0, 1, 0, 0b10)
	setMulticast(t, transport, 1, 4, 31, 1)
	topology := discover(t, transport, fabric.Options{Multicast: true})
	entries := 0
	entry := regexp.MustCompile(`(?m)^0x([0-9a-f]{4})([ x]*)$`)
	for _, n := range topology.Nodes {
		if !n.IsSwitch() {
			continue
		}
		want := map[ib.LID][]uint8{}
		entries += len(n.Multicast)
		text := sim.Tool("host0", "ibroute", "-M", decimal(int(n.LID(0))))
		for _, m := range entry.FindAllStringSubmatch(text, -1) {
			lid, err := strconv.ParseUint(m[1], 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			for i := range len(m[2]) {
				if m[2][i] == 'x' {
					want[ib.LID(lid)] = append(want[ib.LID(lid)], uint8((i-6)/2))
				}
			}
		}
		got := map[ib.LID][]uint8{}
		for lid, set := range n.Multicast {
			got[lid] = set.Ports()
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-ibroute +got):\n%s\n%s", n.Description, diff, text)
		}
	}
	if entries != 2 {
		t.Errorf("%d entries in all, want the 2 that were written", entries)
	}
}

// setMulticast writes an entry of the multicast table of the switch next to the transport's node.
func setMulticast(t *testing.T, transport fabric.Transport, block uint16, position, entry uint8, ports uint16) {
	t.Helper()
	path, err := mad.NewPath(1)
	if err != nil {
		t.Fatal(err)
	}
	var table mad.MFTBlock
	table[entry] = ports
	question := mad.NewDirectedSMP(mad.MethodSet, mad.AttributeMFT, mad.MFTModifier(block, position), 1, &path)
	table.Append(question.Data[:0])
	d := []fabric.Datagram{{Address: fabric.Address{LID: mad.LIDPermissive}}}
	question.Append(d[0].MAD[:0])
	if n, err := transport.Send(d); n != 1 || err != nil {
		t.Fatalf("Send = %d, %v", n, err)
	}
	if n, err := transport.Receive(t.Context(), d, time.Now().Add(5*time.Second)); n != 1 || err != nil || d[0].Lost {
		t.Fatalf("Receive = %d, %v", n, err)
	}
}

// TestQDR sweeps a net of QDR links between devices that libibnetdisc queries for FDR10, an
// attribute that the simulator does not support.
func TestQDR(t *testing.T) {
	net, err := os.ReadFile("testdata/ft2/net")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(net), "extspeed=7", "extspeed=0", 1)
	text = strings.ReplaceAll(text, "\nHca", "\ndevid=0x1003\nHca")
	name := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := ibsimtest.Start(t, name)
	topology := discover(t, open(t, sim, "host0"), fabric.Options{})
	t.Logf("%+v %v", topology.Stats, topology.Unreached)
	for _, n := range topology.Nodes {
		if !n.IsSwitch() && (n.Info.DeviceID != 0x1003 || n.Ports[1].Speed() != mad.LinkSpeedQDR) {
			t.Errorf("%s: device 0x%x at %v", n.Description, n.Info.DeviceID, n.Ports[1].Speed())
		}
	}
	if diff := gocmp.Diff(theirs(t, sim.Tool("host0", "ibnetdiscover")), ours(topology)); diff != "" {
		t.Errorf("against ibnetdiscover (-ibnetdiscover +got):\n%s", diff)
	}
}
