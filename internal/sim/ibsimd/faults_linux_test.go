package ibsimd_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// faulty serves a small fat tree with faults.
func faulty(t *testing.T, text string) *ibsimtest.Simulator {
	t.Helper()
	n := generate(t, "fat-tree:leaves=2,hosts=3")
	f, err := ibsimd.ParseFaults([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	managers, err := f.Apply(n)
	if err != nil {
		t.Fatal(err)
	}
	_, at := serve(t, n, ibsimd.Options{Managers: managers})
	return at
}

// smp reads an attribute by a directed route.
func smp(t *testing.T, tr fabric.Transport, a mad.Attribute, modifier uint32, route string) ([]byte, error) {
	t.Helper()
	path, err := mad.ParsePath(route)
	if err != nil {
		t.Fatal(err)
	}
	client := fabric.Client{Transport: tr}
	return client.SMP(t.Context(), fabric.Target{Path: path}, mad.MethodGet, a, modifier, nil)
}

// TestDeadNode checks that a dead adapter is missing in lists, that a request to it is held, and
// that a dead switch takes along what is behind it.
func TestDeadNode(t *testing.T) {
	at := faulty(t, "lostAfter: 200ms\nnodes: {host4: {dead: true}}")
	start := time.Now()
	out, errOut, code := at.Try("host0", "ibhosts")
	if strings.Count(out, "Ca\t:") != 5 || strings.Contains(out, "host4") || time.Since(start) < 200*time.Millisecond {
		t.Errorf("ibhosts with a dead host, after %v: exit code %d\n%s%s", time.Since(start), code, out, errOut)
	}
	topology := discover(t, at, "host0", fabric.Options{})
	if topology.Complete || len(topology.Unreached) != 1 || len(topology.Nodes) != 9 {
		t.Errorf("%d nodes, unreached %v", len(topology.Nodes), topology.Unreached)
	}
	at = faulty(t, "lostAfter: 10ms\nnodes: {'leaf1': {dead: true}}")
	if out := at.Tool("host0", "ibhosts"); strings.Count(out, "Ca\t:") != 3 {
		t.Errorf("ibhosts with a dead leaf:\n%s", out)
	}
}

// TestRoutes checks routes that lead nowhere: through an adapter, through a dead switch, and to a
// LID above the top of the forwarding tables.
func TestRoutes(t *testing.T) {
	at := faulty(t, "lostAfter: 10ms\nnodes: {spine0: {dead: true}}\nmanagers: [{node: host0}]")
	tr := open(t, at, "host0")
	for route, want := range map[string]bool{
		"0,1,1": true, "0,1,1,1": false, "0,1,4": false, "0,1,4,2": false, "0,1,5,2": true, "0,1,9": false,
		"0,1,99": false,
	} {
		if _, err := smp(t, tr, mad.AttributeNodeInfo, 0, route); (err == nil) != want {
			t.Errorf("route %s: %v", route, err)
		}
	}
	client := fabric.Client{Transport: tr}
	path, _ := mad.NewPath(1)
	data, err := smp(t, tr, mad.AttributePortInfo, 1, "0,1,2")
	if err != nil {
		t.Fatal(err)
	}
	var port mad.PortInfo
	port.Decode(data) //nolint:errcheck // the client has the length
	reach := func() error {
		_, err := client.SMP(t.Context(), fabric.Target{LID: port.LID}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
		return err
	}
	if err := reach(); err != nil {
		t.Errorf("request to LID %d: %v", port.LID, err)
	}
	top := mad.SwitchInfo{LinearFDBTop: uint16(port.LID) - 1}
	to := fabric.Target{Path: path}
	_, err = client.SMP(t.Context(), to, mad.MethodSet, mad.AttributeSwitchInfo, 0, top.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := reach(); err == nil {
		t.Errorf("LID %d is above the top of the forwarding table, but has an answer", port.LID)
	}
}

// TestSlowNode checks when answers come.
func TestSlowNode(t *testing.T) {
	at := faulty(t, "delay: 5ms\nnodes: {host4: {delay: 300ms}, 'spine*': {delay: 20ms}}")
	tr := open(t, at, "host0")
	for _, test := range []struct {
		route string
		least time.Duration
	}{
		{"0,1", 5 * time.Millisecond}, {"0,1,4", 25 * time.Millisecond}, {"0,1,4,2,2", 305 * time.Millisecond},
	} {
		start := time.Now()
		if _, err := smp(t, tr, mad.AttributeNodeInfo, 0, test.route); err != nil {
			t.Errorf("route %s: %v", test.route, err)
		}
		if took := time.Since(start); took < test.least || took > test.least+250*time.Millisecond {
			t.Errorf("route %s: answer after %v, want %v", test.route, took, test.least)
		}
	}
	topology := discover(t, at, "host0", fabric.Options{})
	if !topology.Complete || topology.Duration < 300*time.Millisecond {
		t.Errorf("sweep of %v: %v", topology.Duration, topology.Unreached)
	}
}

// TestLies checks that a sweep doesn't believe a node that answers wrongly, and has the others.
func TestLies(t *testing.T) {
	for _, lie := range ibsimd.Lies() {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			at := faulty(t, "lostAfter: 10ms\nnodes: {host4: {lie: "+lie+"}}")
			topology := discover(t, at, "host0", fabric.Options{})
			want := 10
			if lie != ibsimd.LieDuplicate {
				want = 9
			}
			if got := len(topology.Nodes); got != want && lie != ibsimd.LieGarbage ||
				topology.Complete != (lie == ibsimd.LieDuplicate) && lie != ibsimd.LieGarbage {
				t.Errorf("%d nodes, complete %v, want %d: %v", got, topology.Complete, want, topology.Unreached)
			}
			if lie == ibsimd.LieGarbage && topology.Complete && len(topology.Anomalies) == 0 {
				t.Error("garbage is taken for health")
			}
		})
	}
	topology := discover(t, faulty(t, "nodes: {host4: {guid: host1}}"), "host0", fabric.Options{})
	if len(topology.Anomalies) == 0 {
		t.Error("two nodes with the same GUID are no anomaly")
	}
}

// TestKeys reads and writes a node with an M_Key at each protect level.
func TestKeys(t *testing.T) {
	for protect, want := range []struct{ answered, shown bool }{
		{true, true}, {true, false}, {false, false}, {false, false},
	} {
		at := faulty(t, "lostAfter: 10ms\nnodes: {leaf0: {mkey: '0x77', protect: "+strconv.Itoa(protect)+"}}")
		tr := open(t, at, "host0")
		data, err := smp(t, tr, mad.AttributePortInfo, 1, "0,1")
		if (err == nil) != want.answered {
			t.Errorf("protect %d: PortInfo without the key: %v", protect, err)
		}
		if _, refused := errors.AsType[*fabric.StatusError](err); refused {
			t.Errorf("protect %d: %v, want no answer", protect, err)
		}
		if err == nil {
			var info mad.PortInfo
			info.Decode(data) //nolint:errcheck // the client has the length
			if int(info.MKeyProtectBits) != protect || (info.MKey == 0x77) != want.shown {
				t.Errorf("protect %d: level %d, key 0x%x", protect, info.MKeyProtectBits, info.MKey)
			}
		}
		out, _, code := at.Try("host0", "smpquery", "-D", "-y", "0x77", "portinfo", "0,1", "1")
		if code != 0 || !strings.Contains(out, "ProtectBits:.....................") {
			t.Errorf("protect %d: smpquery with the key: exit code %d\n%s", protect, code, out)
		}
		if _, _, code := at.Try("host0", "ibportstate", "-D", "0,1", "1", "reset"); code == 0 {
			t.Errorf("protect %d: ibportstate without the key has set something", protect)
		}
		if _, errOut, code := at.Try("host0", "ibportstate", "-D", "-y", "0x77", "0,1", "4", "reset"); code != 0 {
			t.Errorf("protect %d: ibportstate with the key: %s", protect, errOut)
		}
	}
}

// TestTwoMasters checks what a sweep and sminfo see.
func TestTwoMasters(t *testing.T) {
	at := faulty(t, `managers:
- {node: host0, priority: 7}
- {node: host5, priority: 3}
- {node: host2, state: standby}`)
	topology := discover(t, at, "host1", fabric.Options{SubnetManagers: true})
	states := map[string]mad.SMState{}
	lids := map[string]int{}
	for _, m := range topology.SubnetManagers {
		name := topology.Node(m.Port.Node).Description.String()
		states[name] = m.Info.State
		lids[name] = int(m.LID)
	}
	if len(states) != 3 || states["host0 mlx5_0"] != mad.SMStateMaster || states["host5 mlx5_0"] != mad.SMStateMaster ||
		states["host2 mlx5_0"] != mad.SMStateStandby {
		t.Errorf("managers = %v", states)
	}
	follow := map[int]bool{}
	for _, n := range topology.Nodes {
		if !n.IsSwitch() {
			follow[int(n.Ports[1].Info.MasterSMLID)] = true
		}
	}
	if len(follow) != 2 || !follow[lids["host0 mlx5_0"]] || !follow[lids["host5 mlx5_0"]] {
		t.Errorf("adapters follow LIDs %v, masters are at %v", follow, lids)
	}
	out := at.Tool("host1", "sminfo", strconv.Itoa(lids["host5 mlx5_0"]))
	if !strings.Contains(out, "priority 3 state 3 SMINFO_MASTER") {
		t.Errorf("sminfo: %s", out)
	}
}

// TestAttributes checks answers that are replaced in part, and an attribute that others don't have.
func TestAttributes(t *testing.T) {
	at := faulty(t, `nodes:
  leaf0: {attributes: [{id: SwitchInfo, offset: 16, bytes: f8}, {id: 0xff20, bytes: 0a0b}]}`)
	tr := open(t, at, "host0")
	data, err := smp(t, tr, mad.AttributeSwitchInfo, 0, "0,1")
	if err != nil || data[16] != 0xf8 || data[0] != 0x78 {
		t.Errorf("SwitchInfo = %x, %v", data, err)
	}
	if data, err = smp(t, tr, 0xff20, 0, "0,1"); err != nil || data[0] != 0x0a || data[1] != 0x0b || data[2] != 0 {
		t.Errorf("attribute 0xff20 = %x, %v", data, err)
	}
	if _, err := smp(t, tr, 0xff20, 0, "0,1,4"); err == nil {
		t.Error("the spine has attribute 0xff20, too")
	}
}

// TestCountersGrow reads counters twice.
func TestCountersGrow(t *testing.T) {
	at := faulty(t, `counters:
- {port: "leaf0[1]", counter: SymbolErrorCounter, perSecond: 1000}
- {port: "leaf0[1]", counter: LinkDownedCounter, perSecond: 100000}
- {port: "leaf0[1]", counter: PortRcvData, perSecond: 1e9}
managers: [{node: host0}]`)
	tr := open(t, at, "host1")
	client := fabric.Client{Transport: tr}
	path, err := mad.ParsePath("0,1")
	if err != nil {
		t.Fatal(err)
	}
	data, err := client.SMP(t.Context(), fabric.Target{Path: path}, mad.MethodGet, mad.AttributePortInfo, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var port0 mad.PortInfo
	port0.Decode(data) //nolint:errcheck // the client has the length
	read := func() (c mad.PortCounters, x mad.PortCountersExtended) {
		t.Helper()
		for a, to := range map[mad.Attribute]interface{ Decode([]byte) (int, error) }{
			mad.AttributePortCounters: &c, mad.AttributePortCountersExtended: &x,
		} {
			answer, err := client.Performance(t.Context(), port0.LID, mad.MethodGet, a, []byte{0, 1})
			if err == nil {
				_, err = to.Decode(answer)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return c, x
	}
	first, _ := read()
	time.Sleep(200 * time.Millisecond)
	second, wide := read()
	if grown := second.SymbolErrorCounter - first.SymbolErrorCounter; grown < 190 || grown > 5000 {
		t.Errorf("SymbolErrorCounter has grown by %d in 0.2 s, want about 200", grown)
	}
	if second.LinkDownedCounter != 255 || wide.PortRcvData < 190e6 || wide.SymbolErrorCounter != 0 {
		t.Errorf("counters = %+v, %+v", second, wide)
	}
	topology := discover(t, at, "host1", fabric.Options{Counters: true})
	found := false
	for _, n := range topology.Nodes {
		for i := range n.Ports {
			found = found || n.Ports[i].Counters != nil && n.Ports[i].Counters.LinkDownedCounter == 255
		}
	}
	if !found {
		t.Error("the sweep has no counter that has grown")
	}
	at.Tool("host1", "perfquery", "-R", strconv.Itoa(int(port0.LID)), "1")
	if third, _ := read(); third.SymbolErrorCounter >= second.SymbolErrorCounter {
		t.Errorf("SymbolErrorCounter is %d after a reset, was %d", third.SymbolErrorCounter, second.SymbolErrorCounter)
	}
}
