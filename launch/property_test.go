package launch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/inventory"
)

// TestDeriveProperties checks on random nodes what must hold on any node.
func TestDeriveProperties(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(4000) {
		outcomes[deriveRandom(t, seed)]++
		if t.Failed() {
			break
		}
	}
	for _, want := range []string{"rdma", "libfabric", "none", "refused"} {
		if outcomes[want] < 20 {
			t.Errorf("the random nodes gave %v, want more of %s", outcomes, want)
		}
	}
}

func FuzzDerive(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { deriveRandom(t, seed) })
}

func deriveRandom(t *testing.T, seed uint64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	snapshot := randomNode(rng)
	opts := randomOptions(rng, snapshot)
	before, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Derive(snapshot, opts)
	if err != nil {
		if !strings.Contains(err.Error(), "pin-gid") && !strings.Contains(err.Error(), "matches no port") {
			t.Errorf("seed %d: %v", seed, err)
		}
		return "refused"
	}
	after, err := json.Marshal(snapshot)
	if err != nil || string(after) != string(before) {
		t.Errorf("seed %d: Derive changed the snapshot: %v", seed, err)
	}
	again, err := Derive(snapshot, opts)
	if diff := cmp.Diff(plan, again, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); err != nil ||
		diff != "" {
		t.Errorf("seed %d: Derive differs from itself: %v\n%s", seed, err, diff)
	}
	checkPlan(t, fmt.Sprintf("seed %d", seed), snapshot, opts, plan)
	return string(plan.Outcome)
}

// checkPlan holds a Plan against what is promised about every Plan.
func checkPlan(t *testing.T, name string, snapshot inventory.Snapshot, opts Options, plan Plan) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: "+format, append([]any{name}, args...)...)
	}
	env := map[string]string{}
	for i, v := range plan.Variables {
		if _, twice := env[v.Name]; twice {
			fail("%s is set twice", v.Name)
		}
		env[v.Name] = v.Value
		if !slices.Contains(plan.Libraries, v.Library) ||
			i > 0 && slices.Index(Libraries(), plan.Variables[i-1].Library) > slices.Index(Libraries(), v.Library) {
			fail("%s is for %s, out of place", v.Name, v.Library)
		}
		if v.Value == "" || v.Reason == "" {
			fail("%s has value %q and reason %q", v.Name, v.Value, v.Reason)
		}
		user := opts.Environment[v.Name]
		if user != "" && !opts.Override && v.Value != user {
			fail("%s = %q, want the user's %q", v.Name, v.Value, user)
		}
		if v.Source == SourceUser {
			delete(env, v.Name) // what follows is about derived values
		}
	}
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.ID] = true
	}
	for _, id := range rulesOf(plan) {
		if !known[id] {
			fail("unknown rule %q", id)
		}
	}
	checkLists(fail, snapshot, plan, env)
	checkForbidden(fail, opts, plan, env)
	checkChosen(fail, snapshot, plan, env)
	for _, f := range TextFormats() {
		if _, err := Format(plan, f); err != nil && f == FormatShell {
			fail("Format: %v", err)
		}
	}
}

// checkLists reads every list back as its library does: it must stand for the selected ports and
// nothing else.
func checkLists(fail func(string, ...any), snapshot inventory.Snapshot, plan Plan, env map[string]string) {
	exact := func(list string) func(string, int) bool {
		entries := strings.Split(list, ",")
		return func(device string, port int) bool { return slices.Contains(entries, device+":"+strconv.Itoa(port)) }
	}
	for name, match := range map[string]func(string, int) bool{
		"NCCL_IB_HCA": ParseHCAList(env["NCCL_IB_HCA"]).Match, "NVSHMEM_HCA_LIST": exact(env["NVSHMEM_HCA_LIST"]),
		"UCX_NET_DEVICES": exact(env["UCX_NET_DEVICES"]),
	} {
		if env[name] == "" {
			continue
		}
		for _, p := range plan.Ports {
			if selected := p.Decision == DecisionSelected; match(p.Device, p.Port) != selected {
				fail("%s=%q matches %q: %v, want %v", name, env[name], p.Name(), !selected, selected)
			}
		}
	}
	if hca := env["NCCL_IB_HCA"]; hca != "" && !strings.HasPrefix(hca, "=") {
		fail("NCCL_IB_HCA=%q is not exact", hca)
	}
	if prefix := env["NVSHMEM_HCA_PREFIX"]; prefix != "" {
		for _, p := range plan.Ports {
			if p.Decision == DecisionSelected && !strings.Contains(p.Device, prefix) {
				fail("NVSHMEM_HCA_PREFIX=%q is not in %q", prefix, p.Device)
			}
		}
	}
	if list := env["UCX_NET_DEVICES"]; list != "" && plan.Socket != nil &&
		!strings.HasSuffix(list, ","+plan.Socket.Netdev) {
		fail("UCX_NET_DEVICES=%q does not have the TCP device %q", list, plan.Socket.Netdev)
	}
	if len(plan.Ports) != countAllPorts(snapshot) {
		fail("%d ports in the plan, the node has %d", len(plan.Ports), countAllPorts(snapshot))
	}
}

func countAllPorts(snapshot inventory.Snapshot) int {
	n := 0
	for _, d := range snapshot.Devices {
		n += len(d.Ports)
	}
	return n
}

// checkForbidden looks for what must never be derived.
func checkForbidden(fail func(string, ...any), opts Options, plan Plan, env map[string]string) {
	infiniBand := slices.ContainsFunc(plan.Ports, func(p PortPlan) bool {
		return p.Decision == DecisionSelected && p.Transport == inventory.TransportInfiniBand
	})
	for name, value := range env {
		switch {
		case strings.HasSuffix(name, "GID_INDEX") && (!opts.PinGID || infiniBand):
			fail("%s=%s is derived, pinned %v, InfiniBand %v", name, value, opts.PinGID, infiniBand)
		case strings.HasPrefix(name, "NCCL_IB_") && name != "NCCL_IB_DISABLE" && plan.Outcome != OutcomeRDMA,
			name == "UCX_NET_DEVICES" && plan.Outcome != OutcomeRDMA:
			fail("%s=%s is derived with outcome %s", name, value, plan.Outcome)
		case name == "NCCL_IB_DISABLE" && (!opts.TCPFallback || plan.Outcome != OutcomeNone):
			fail("NCCL_IB_DISABLE is derived with outcome %s", plan.Outcome)
		case name == "UCX_TLS" || strings.HasSuffix(name, "_SL") || strings.HasSuffix(name, "_TC") ||
			strings.HasSuffix(name, "MERGE_NICS"):
			fail("%s is policy, not to be derived", name)
		}
	}
	if s := env["NCCL_SOCKET_IFNAME"]; s != "" && (!strings.HasPrefix(s, "=") || strings.ContainsAny(s[1:], ",^=")) {
		fail("NCCL_SOCKET_IFNAME=%q", s)
	}
	if s := env["GLOO_SOCKET_IFNAME"]; strings.ContainsAny(s, ",^=") {
		fail("GLOO_SOCKET_IFNAME=%q", s)
	}
}

// checkChosen compares the chosen GIDs with what NCCL uses under the plan, and with the range.
func checkChosen(fail func(string, ...any), snapshot inventory.Snapshot, plan Plan, env map[string]string) {
	warned := func(port string) bool {
		return slices.ContainsFunc(plan.Warnings,
			func(w Warning) bool { return w.Rule == ruleNCCLOther && strings.HasPrefix(w.Text, port+":") })
	}
	for _, p := range plan.Ports {
		if p.Decision != DecisionSelected || p.GID == nil {
			continue
		}
		port := snapshot.Device(p.Device).Ports[p.Port-1]
		if f, ok := profileOf(tableOf(&port)[p.GID.Index]); !ok || p.GID.GID.IsLinkLocal() {
			fail("%s uses %v, %v", p.Name(), p.GID, f)
		}
		if n := p.NCCLPlanned; n != nil && n.Used && n.Index != p.GID.Index && !warned(p.Name()) {
			fail("%s: NCCL uses %d instead of %d without a warning", p.Name(), n.Index, p.GID.Index)
		}
		for _, library := range []string{"NCCL", "NVSHMEM"} {
			if text := env[library+"_IB_ADDR_RANGE"]; text != "" {
				r, err := netip.ParsePrefix(text)
				if err != nil || !r.Contains(p.GID.Addr) {
					fail("%s_IB_ADDR_RANGE=%s does not hold %s: %v", library, text, p.GID.Addr, err)
				}
			}
		}
		if index := env["NCCL_IB_GID_INDEX"]; index != "" && index != strconv.Itoa(p.GID.Index) {
			fail("NCCL_IB_GID_INDEX=%s, but %s is at %d", index, p.Name(), p.GID.Index)
		}
	}
}

// randomNode makes a node of up to six devices, with everything that nodes have been seen with.
func randomNode(rng *rand.Rand) inventory.Snapshot {
	names := []string{
		"mlx5_0", "mlx5_1", "mlx5_10", "mlx5_bond_0", "rocep1s0", "ibp2s0", "bnxt_re0", "mlx5_1_dma", "a,b", "=x",
		"^y", "p:1", "sp ace", "\xff", "q'$(id)", "mlx5_[0-9]",
	}
	s := inventory.Snapshot{Schema: inventory.Schema}
	kind := rng.IntN(10) // most nodes are of one kind
	for _, i := range rng.Perm(len(names))[:rng.IntN(7)] {
		d := inventory.Device{
			Name: names[i], Path: "/sys/class/infiniband/" + names[i], NodeType: inventory.NodeTypeCA,
			PCI: &inventory.PCI{Address: fmt.Sprintf("0000:%02x:00.0", i+16)},
		}
		for range 1 + rng.IntN(6)/5 {
			d = addPort(d, randomPort(rng, &d, kind, i))
		}
		s.Devices = append(s.Devices, d)
	}
	s = withNetdev(s, inventory.Netdev{Name: "bond0", Bond: &inventory.Bond{}})
	for _, d := range s.Devices {
		for _, p := range d.Ports {
			n := inventory.Netdev{Name: p.Netdev, RDMADevice: d.Name, RDMAPort: p.Number}
			if rng.IntN(8) == 0 {
				n.Master = "bond0"
			}
			for _, e := range p.GIDs {
				if e.Netdev == p.Netdev && rng.IntN(2) == 0 {
					a := e.GID.Addr()
					n.Addresses = append(n.Addresses, netip.PrefixFrom(a, a.BitLen()-rng.IntN(20)))
				}
			}
			s = withNetdev(s, n)
		}
	}
	for _, netdev := range []string{"eth0", "ib0", "docker0", "we,ird"} {
		if rng.IntN(2) == 0 {
			continue
		}
		s = withNetdev(s,
			inventory.Netdev{Name: netdev, Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.3.4/16")}})
		if rng.IntN(3) == 0 {
			s = withDefault(s, netdev)
		}
	}
	return s
}

func randomPort(rng *rand.Rand, d *inventory.Device, kind, number int) inventory.Port {
	if rng.IntN(6) == 0 {
		kind = rng.IntN(10)
	}
	p := rocePort(fmt.Sprintf("r%d", number*2+len(d.Ports)))
	p.Rate.GbPerSecond = float64(100 * (1 + rng.IntN(4)))
	p.Role = []inventory.Role{
		inventory.RoleCompute, inventory.RoleCompute, inventory.RoleCompute, "", inventory.RoleStorage,
		inventory.RoleManagement,
	}[rng.IntN(6)]
	if rng.IntN(6) == 0 {
		p.State = inventory.PortState(rng.IntN(6))
	}
	switch kind {
	case 0, 1:
		p = ibPort()
		p.Netdev = fmt.Sprintf("ibr%d", number)
		return p
	case 2:
		d.NodeType, p.Transport = inventory.NodeTypeRNIC, inventory.TransportIWARP
	case 3:
		p.Transport, p.LinkLayer = inventory.TransportEFA, inventory.LinkLayerUnknown
		return p
	}
	addrs := []string{
		"fe80::1", "fe80::ff:1", fmt.Sprintf("10.0.%d.1", number), fmt.Sprintf("10.0.%d.1", number),
		fmt.Sprintf("10.9.%d.7", number), fmt.Sprintf("2001:db8:%x::1", number), "169.254.3.4", "fec0::5", "127.0.0.1",
	}
	if rng.IntN(2) == 0 {
		p.GIDs, p.GIDTableSize = entries(p.Netdev, usual(fmt.Sprintf("10.0.%d.1", number))...)
		return p
	}
	var specs []string
	for range rng.IntN(9) {
		specs = append(specs, []string{"v1 ", "v2 ", "v2 ", "? "}[rng.IntN(4)]+addrs[rng.IntN(len(addrs))])
		if rng.IntN(6) == 0 {
			specs = append(specs, "-")
		}
	}
	p.GIDs, p.GIDTableSize = entries(p.Netdev, specs...)
	return p
}

func randomOptions(rng *rand.Rand, s inventory.Snapshot) Options {
	one := func(n int) bool { return rng.IntN(n) == 0 }
	opts := Options{Libraries: everything, PinGID: one(8), TCPFallback: one(4), Override: one(3)}
	if len(s.Devices) > 0 {
		name := func() string { return s.Devices[rng.IntN(len(s.Devices))].PCI.Address }
		if one(6) {
			opts.Include = []string{name(), name()}
		}
		if one(8) {
			opts.Exclude = []string{name()}
		}
	}
	if one(40) {
		opts.Exclude = append(opts.Exclude, "nothing*")
	}
	if one(4) {
		opts.Peer = netip.MustParseAddr([]string{"192.168.9.9", "10.0.3.77", "8.8.8.8", "2001:db8::9"}[rng.IntN(4)])
	}
	if one(3) {
		opts.Environment = map[string]string{
			"NCCL_IB_HCA": "mlx5_1", "NCCL_IB_GID_INDEX": "3", "UCX_IB_GID_INDEX": "auto", "NVSHMEM_HCA_LIST": "",
			"NCCL_IB_DISABLE": "0",
		}
	}
	return opts
}
