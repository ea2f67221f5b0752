package fabric_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// protected returns a fat tree in which leaf1 has an M_Key of level 2, host2 behind it one of level
// 3, and host1 one of level 1.
func protected() *subnet.Subnet {
	net := subnet.FatTree(2, 2, 1)
	net.Delay = time.Millisecond
	for name, one := range map[string]struct {
		key   uint64
		level uint8
	}{"leaf1": {0x11, 2}, "host2": {0x22, 3}, "host1": {0x33, 1}} {
		net.Node(name).MKey, net.Node(name).Protect = one.key, one.level
	}
	return net
}

// portGUID returns the GUID of the only port of an adapter, or of a switch.
func portGUID(n *subnet.Node) ib.GUID {
	g := n.GUID
	if n.Type != mad.NodeTypeSwitch {
		g[7]++
	}
	return g
}

// mkeys returns the M_Keys of a subnet, by port GUID.
func mkeys(net *subnet.Subnet) (keys fabric.Keys) {
	keys.M.ByGUID = map[ib.GUID]uint64{}
	for _, n := range net.Nodes {
		if n.MKey != 0 {
			keys.M.ByGUID[portGUID(n)] = n.MKey
		}
	}
	return keys
}

// neighbors adds the cables of a subnet to the keys.
func neighbors(net *subnet.Subnet, keys *fabric.Keys) {
	keys.Neighbors = map[fabric.PortID]fabric.PortID{}
	for _, n := range net.Nodes {
		for number, p := range n.Ports {
			if p.Peer != nil {
				keys.Neighbors[fabric.PortID{Node: portGUID(n), Port: uint8(number)}] = fabric.PortID{
					Node: portGUID(p.Peer), Port: p.PeerPort,
				}
			}
		}
	}
}

// sweepNames sweeps in simulated time, and returns the topology and the names of its nodes.
func sweepNames(t *testing.T, net *subnet.Subnet, o fabric.Options) (topology *fabric.Topology, names string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if topology, err = fabric.Discover(t.Context(), net.Transport("host0"), o); err != nil {
			t.Fatal(err)
		}
	})
	var list []string
	for _, n := range topology.Nodes {
		list = append(list, n.Description.String())
	}
	slices.Sort(list)
	return topology, strings.Join(list, " ")
}

const allNodes = "host0 host1 host2 host3 leaf0 leaf1 spine0"

func TestSweepKeys(t *testing.T) {
	net := protected()
	// By section 14.2.4, level 1 answers reads, levels 2 and 3 are silent. What is behind leaf1 is
	// only reached through it: a directed route passes a protected switch, but who is there?
	topology, names := sweepNames(t, net, fabric.Options{})
	if names != "host0 host1 leaf0 spine0" || topology.Complete || len(topology.Unreached) != 1 {
		t.Fatalf("without keys: %s, %v", names, topology.Unreached)
	}
	const want = "node behind port of 0x0020000000000700[2] (path 0,1,3,2): no answer to 4 tries in 4s: " +
		"the node is dead, or it has an M_Key of protect level 2 or 3 (M_Key 0 was tried)"
	if got := topology.Unreached[0].String(); got != want {
		t.Errorf("unreached:\n%s\nwant\n%s", got, want)
	}
	for text, keys := range map[string]fabric.Keys{
		"guesses":                    mkeys(net),
		"guesses, a default for one": {M: fabric.KeyTable{Default: 0x11, ByGUID: mkeys(net).M.ByGUID}},
	} {
		topology, names = sweepNames(t, net, fabric.Options{Keys: keys})
		if names != allNodes || !topology.Complete {
			t.Errorf("%s: %s, %v", text, names, topology.Unreached)
		}
	}
	keys := mkeys(net)
	neighbors(net, &keys)
	topology, names = sweepNames(t, net, fabric.Options{Keys: keys})
	if names != allNodes || !topology.Complete || topology.Duration > time.Second {
		t.Errorf("with neighbors: %s after %v, %v", names, topology.Duration, topology.Unreached)
	}
	keys.Neighbors = nil
	topology, names = sweepNames(t, net, fabric.Options{Keys: keys, Previous: topology})
	if names != allNodes || !topology.Complete || topology.Duration > time.Second {
		t.Errorf("with an earlier sweep: %s after %v, %v", names, topology.Duration, topology.Unreached)
	}
}

// TestSweepGuesses: many keys are not guessed, and the first that works is the first guess.
func TestSweepGuesses(t *testing.T) {
	net := protected()
	keys := mkeys(net)
	keys.M.ByGUID[guid(1)] = 0x44
	if _, names := sweepNames(t, net, fabric.Options{Keys: keys}); names != allNodes {
		t.Errorf("4 keys are not guessed: %s", names)
	}
	keys.M.ByGUID[guid(2)] = 0x55
	topology, names := sweepNames(t, net, fabric.Options{Keys: keys})
	if names != "host0 host1 leaf0 spine0" || topology.Duration > 5*time.Second {
		t.Errorf("5 keys were guessed: %s after %v", names, topology.Duration)
	}
	// One M_Key in the whole subnet: only the first node costs the patience of a guess.
	for _, n := range net.Nodes {
		n.MKey, n.Protect = 0x66, 2
	}
	topology, names = sweepNames(t, net, fabric.Options{Keys: mkeys(net)})
	if names != allNodes || topology.Duration > 5*time.Second || !topology.Complete {
		t.Errorf("one key: %s after %v, %v", names, topology.Duration, topology.Unreached)
	}
	topology, names = sweepNames(t, net, fabric.Options{Keys: fabric.Keys{M: fabric.KeyTable{Default: 0x66}}})
	if names != allNodes || topology.Duration > time.Second {
		t.Errorf("a default: %s after %v, %v", names, topology.Duration, topology.Unreached)
	}
	// A dead node among protected ones is tried with all keys, and nothing else waits for it.
	net.Node("host3").Dead = true
	topology, _ = sweepNames(t, net, fabric.Options{Keys: mkeys(net)})
	if len(topology.Unreached) != 1 || !strings.HasSuffix(topology.Unreached[0].Why(), "(2 M_Keys were tried)") {
		t.Errorf("dead: %v", topology.Unreached)
	}
}

// TestSweepStaleNeighbors: cables have been swapped since OpenSM wrote the file.
func TestSweepStaleNeighbors(t *testing.T) {
	net := protected()
	keys := mkeys(net)
	keys.M.ByGUID[portGUID(net.Node("host3"))] = 0x99
	neighbors(net, &keys)
	leaf := net.Node("leaf1")
	net.Disconnect(leaf, 1)
	net.Disconnect(leaf, 2)
	net.Connect(leaf, 1, net.Node("host3"), 1)
	net.Connect(leaf, 2, net.Node("host2"), 1)
	topology, names := sweepNames(t, net, fabric.Options{Keys: keys})
	if names != allNodes || !topology.Complete {
		t.Errorf("%s, %v", names, topology.Unreached)
	}
}

// TestSweepManagerKey: the master's node has an M_Key, also where it is asked by its LID.
func TestSweepManagerKey(t *testing.T) {
	net := protected()
	host := net.Node("host2")
	host.Manager = &mad.SMInfo{State: mad.SMStateMaster}
	net.MasterLID = host.LIDs[1]
	topology, _ := sweepNames(t, net, fabric.Options{Keys: mkeys(net), SubnetManagers: true})
	if len(topology.SubnetManagers) != 1 || topology.SubnetManagers[0].Err != "" || !topology.Complete {
		t.Errorf("managers %v, unreached %v", topology.SubnetManagers, topology.Unreached)
	}
	host.PortInfo = func(_ uint8, info *mad.PortInfo) { info.CapabilityMask = 0 }
	topology, _ = sweepNames(t, net, fabric.Options{Keys: mkeys(net), SubnetManagers: true})
	if len(topology.SubnetManagers) != 1 || topology.SubnetManagers[0].Err != "" || !topology.Complete {
		t.Errorf("by LID: managers %v, unreached %v", topology.SubnetManagers, topology.Unreached)
	}
}

// TestSweepPMKeys: counters of agents with PM_Keys, by the GUID of the port or of the node.
func TestSweepPMKeys(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	net.Delay = time.Millisecond
	leaf, host := net.Node("leaf0"), net.Node("host1")
	leaf.PMKey, host.PMKey = 0x71, 0x72
	topology, _ := sweepNames(t, net, fabric.Options{Counters: true})
	var at []string
	for _, u := range topology.Unreached {
		if u.What != "performance agent" {
			continue
		}
		at = append(at, topology.Node(u.Node).Description.String())
		const want = ": the node answers subnet management, but its performance agent has another PM_Key " +
			"(PM_Key 0 was tried), or no common partition (P_Key), or it requires a GRH"
		if !strings.HasSuffix(u.Why(), want) {
			t.Errorf("unreached: %s\nwant …%s", u.Why(), want)
		}
	}
	if slices.Sort(at); strings.Join(at, " ") != "host1 leaf0" {
		t.Errorf("silent agents: %q, %v", at, topology.Unreached)
	}
	for text, keys := range map[string]map[ib.GUID]uint64{
		"port": {portGUID(leaf): 0x71, portGUID(host): 0x72}, "node": {leaf.GUID: 0x71, host.GUID: 0x72},
	} {
		topology, _ = sweepNames(t, net, fabric.Options{
			Counters: true, Keys: fabric.Keys{PM: fabric.KeyTable{ByGUID: keys}},
		})
		if !topology.Complete || topology.Node(host.GUID).Ports[1].Counters == nil {
			t.Errorf("keys by GUID of the %s: %v", text, topology.Unreached)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		client := fabric.Client{Transport: net.Transport("host0")}
		read := func() error {
			lid, port := host.LIDs[1], []byte{0, 1}
			_, err := client.Performance(t.Context(), lid, mad.MethodGet, mad.AttributePortCounters, port)
			return err
		}
		const want = "query performance agent at LID 3 for PortCounters: no answer to 3 tries in 4s: " +
			"the node is dead, or its performance agent has another PM_Key (PM_Key 0 was tried), " +
			"or no common partition (P_Key), " +
			"or it requires a GRH"
		if err := read(); err == nil || err.Error() != want {
			t.Errorf("without the key: %v\nwant %s", err, want)
		}
		client.Keys.PM.ByGUID = map[ib.GUID]uint64{portGUID(host): 0x72}
		client.Keys.LIDs = map[ib.LID]ib.GUID{host.LIDs[1]: portGUID(host)}
		if err := read(); err != nil {
			t.Errorf("with the key of the LID: %v", err)
		}
	})
}

// TestClientMKeys: the key of a target, and what an error says without it.
func TestClientMKeys(t *testing.T) {
	net := protected()
	synctest.Test(t, func(t *testing.T) {
		path, err := mad.NewPath(1, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		leaf := net.Node("leaf1")
		client := fabric.Client{Transport: net.Transport("host0")}
		read := func(to fabric.Target) error {
			_, err := client.SMP(t.Context(), to, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
			return err
		}
		err = read(fabric.Target{Path: path})
		if causes := fabric.Causes(err); len(causes) != 2 || !strings.HasSuffix(err.Error(), causes[1]) {
			t.Errorf("without the key: %v, causes %q", err, causes)
		}
		client.Plain = true
		if err := read(fabric.Target{Path: path}); !strings.HasSuffix(err.Error(), "no answer to 3 tries in 4s") {
			t.Errorf("plain: %v", err)
		}
		client.Keys = mkeys(net)
		if err := read(fabric.Target{Path: path, Port: portGUID(leaf)}); err != nil {
			t.Errorf("with the key of the port: %v", err)
		}
		client.Keys.M = fabric.KeyTable{Default: 0x11}
		if err := read(fabric.Target{Path: path}); err != nil {
			t.Errorf("with a default: %v", err)
		}
	})
}

// TestUnreachedCauses: the causes are saved.
func TestUnreachedCauses(t *testing.T) {
	topology, _ := sweepNames(t, protected(), fabric.Options{})
	var b strings.Builder
	if err := topology.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"causes"`) {
		t.Error("the document has no causes")
	}
	again, err := fabric.ReadTopology(strings.NewReader(b.String()))
	if err != nil || again.Unreached[0].Why() != topology.Unreached[0].Why() {
		t.Errorf("read again: %v, %v", again.Unreached, err)
	}
}

// withGUID is a transport that knows the GUID of its port.
type withGUID struct {
	fabric.Transport
	guid ib.GUID
}

func (w *withGUID) PortGUID() ib.GUID { return w.guid }

// TestLocalKey: the local port has an M_Key of its own, among more than can be guessed.
func TestLocalKey(t *testing.T) {
	net := protected()
	host := net.Node("host0")
	host.MKey, host.Protect = 0x77, 2
	keys := mkeys(net)
	for i := range uint64(3) {
		keys.M.ByGUID[guid(1+i)] = 0x100 + i
	}
	neighbors(net, &keys)
	synctest.Test(t, func(t *testing.T) {
		plain := net.Transport("host0")
		_, err := fabric.Discover(t.Context(), plain, fabric.Options{Keys: keys})
		const want = "discover fabric: local port: no answer: no answer to 4 tries in 4s: " +
			"the local device doesn't answer, or it has an M_Key of protect level 2 or 3 (M_Key 0 was tried)"
		if err == nil || err.Error() != want {
			t.Errorf("without the GUID: %v\nwant %s", err, want)
		}
		local := &withGUID{plain, portGUID(host)}
		topology, err := fabric.Discover(t.Context(), local, fabric.Options{Keys: keys})
		if err != nil || !topology.Complete || len(topology.Nodes) != len(net.Nodes) {
			t.Errorf("with the GUID: %d nodes, %v, %v", len(topology.Nodes), topology.Unreached, err)
		}
		client := fabric.Client{Transport: local, Keys: keys}
		if _, err := client.OwnPort(t.Context()); err != nil {
			t.Errorf("OwnPort: %v", err)
		}
	})
}

// perRoute is a transport that drops SMPs on a route that don't have its M_Key.
type perRoute struct {
	fabric.Transport
	keys map[string]uint64
}

func (p *perRoute) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var smp mad.DirectedSMP
		smp.Decode(batch[i].MAD[:]) //nolint:errcheck // a MAD is long enough
		path, _ := smp.Path()
		if key, guarded := p.keys[path.String()]; guarded && key != smp.MKey {
			continue
		}
		if n, err := p.Transport.Send(batch[i : i+1]); n != 1 || err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

// TestPortKeys: each port of an adapter has an M_Key of its own.
func TestPortKeys(t *testing.T) {
	net := subnet.FatTree(1, 1, 0)
	net.Delay = time.Millisecond
	leaf := net.Node("leaf0")
	leaf.Ports, leaf.LIDs = make([]subnet.Port, 4), append(leaf.LIDs, 0, 0)
	host := net.Add("host1", mad.NodeTypeCA, 2)
	net.Connect(leaf, 1, net.Node("host0"), 1)
	net.Connect(leaf, 2, host, 1)
	net.Connect(leaf, 3, host, 2)
	keys := fabric.Keys{M: fabric.KeyTable{ByGUID: map[ib.GUID]uint64{}}}
	for port := range uint8(2) {
		g := host.GUID
		g[7] += 1 + port
		keys.M.ByGUID[g] = 0x51 + uint64(port)
	}
	synctest.Test(t, func(t *testing.T) {
		guarded := &perRoute{net.Transport("host0"), map[string]uint64{"0,1,2": 0x51, "0,1,3": 0x52}}
		topology, err := fabric.Discover(t.Context(), guarded, fabric.Options{Keys: keys})
		if err != nil || !topology.Complete {
			t.Fatalf("unreached %v, %v", topology.Unreached, err)
		}
		if n := topology.Node(host.GUID); !n.Ports[1].Known || !n.Ports[2].Known {
			t.Errorf("ports = %+v", n.Ports)
		}
	})
}
