package fabric_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// TestDuplicateLIDInSimulator gives host9 the LID of host1 with ibportstate, while the forwarding
// tables of OpenSM stay as they are. ibtracert, which takes a LID, ends at host1.
func TestDuplicateLIDInSimulator(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	sim.StartStillSM("host31")
	transport := open(t, sim, "host0")
	before := discover(t, transport, fabric.Options{})
	find := func(topology *fabric.Topology, name string) fabric.Endpoint {
		t.Helper()
		e, err := topology.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	lid := find(before, "host1").LID
	text := sim.Tool("host0", "ibportstate", decimal(int(find(before, "host9").LID)), "1", "lid", decimal(int(lid)))
	if want := fmt.Sprintf("Lid:.............................%d\n", lid); !strings.Contains(text, want) {
		t.Fatalf("ibportstate has not set the LID:\n%s", text)
	}
	topology := discover(t, transport, fabric.Options{Routes: true})
	if len(topology.Anomalies) != 1 || topology.Anomalies[0].Kind != fabric.AnomalyDuplicateLID ||
		topology.Anomalies[0].At != find(topology, "host9").Port {
		t.Errorf("anomalies %v, want the LID of host9", topology.Anomalies)
	}
	tr, err := topology.Trace(find(topology, "host0"), find(topology, "host9"), fabric.RoutesRead)
	if err != nil {
		t.Fatal(err)
	}
	want := ibtracertHops(t, sim.Tool("host0", "ibtracert", decimal(int(tr.From.LID)), decimal(int(lid))))
	if got := traceHops(topology, tr); strings.Join(got, "\n") != strings.Join(want, "\n") ||
		!strings.Contains(want[len(want)-1], "host1 mlx5_0") {
		t.Errorf("trace\n%v\nibtracert\n%v", got, want)
	}
	if tr.End != fabric.TraceStray || len(tr.Warnings) != 1 {
		t.Errorf("end %s (%s), warnings %v, want a stray and a warning", tr.End, tr.Reason, tr.Warnings)
	}
}

// TestTwoMastersInSimulator has two OpenSMs with different SM_Keys, which therefore ignore each
// other.
func TestTwoMastersInSimulator(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/dualsm/net")
	sim.StartStillSM("host0")
	sim.StartStillSM("host2", "--smkey", "0x5")
	topology := discover(t, open(t, sim, "host1"), fabric.Options{SubnetManagers: true})
	kinds := map[fabric.AnomalyKind]int{}
	for _, a := range topology.Anomalies {
		kinds[a.Kind]++
	}
	if kinds[fabric.AnomalyMasters] != 1 || len(topology.Masters()) != 2 {
		t.Errorf("anomalies %v, masters %v, want two masters", topology.Anomalies, topology.Masters())
	}
	for _, m := range topology.Masters() {
		if text := sim.Tool("host1", "sminfo", decimal(int(m.LID))); !strings.Contains(text, "state 3 SMINFO_MASTER") {
			t.Errorf("sminfo says of LID %d: %s", m.LID, text)
		}
	}
}
