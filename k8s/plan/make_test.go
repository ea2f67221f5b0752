package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func TestOptions(t *testing.T) {
	cluster := clusterTest{files: []string{"ib-labelled.yaml"}}.cluster(t)
	tests := []Options{
		{VFs: 129},
		{VFs: -1},
		{MTU: 1},
		{Nodes: -1},
		{CheckPods: 1},
		{TestPods: 1000},
		{Namespace: "A b"},
		{OperatorNamespace: "x/y"},
		{ResourcePrefix: "nvidia.com/rail"},
		{SelectBy: "serial"},
		{Labels: "all"},
		{RDMAMode: "host"},
		{Isolation: true, RDMAMode: "shared"},
		{MaxUnavailable: "many"},
		{MaxUnavailable: "101%"},
		{MaxUnavailable: "-1"},
		{Omit: []string{"Secret"}},
		{Select: Selection{LinkType: "ib"}},
		{Select: Selection{Fabrics: []string{"x"}}},
		{Pools: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/23")}},
		{Pools: []netip.Prefix{netip.MustParsePrefix("224.0.0.0/4")}},
		{Pools: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		{Pools: []netip.Prefix{netip.MustParsePrefix("::/0")}},
		{Reserved: []Reserved{{Use: "hosts", Prefix: netip.MustParsePrefix("0.0.0.0/0")}}},
	}
	for _, opts := range tests {
		if _, err := Make(cluster, opts); !errors.Is(err, ErrOptions) {
			t.Errorf("Make with %+v = %v, want ErrOptions", opts, err)
		}
	}
	if _, err := Make(source.Cluster{}, Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("Make of no node = %v, want ErrNothing", err)
	}
}

// TestCluster checks what objects of the cluster add to the data about cards: the operator's
// namespace and the addresses of hosts.
func TestCluster(t *testing.T) {
	pf := source.PF{
		Address: "0000:13:00.0", Vendor: "15b3", DeviceID: "101d", Netdev: "ens1", LinkType: "ETH", TotalVFs: 8,
		VFsKnown: true,
	}
	state := &k8s.SriovNetworkNodeState{Metadata: k8s.ObjectMeta{Name: "gpu-00", Namespace: "nvidia-network-operator"}}
	cluster := source.Cluster{Nodes: []source.Node{{
		Name: "gpu-00", CardsKnown: true, PFs: []source.PF{pf}, SyncStatus: "Succeeded", State: state,
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.0.11/32"), netip.MustParsePrefix("192.168.1.5/24")},
	}}}
	p, err := Make(cluster, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.OperatorNamespace != "nvidia-network-operator" || p.ResourcePrefix != "nvidia.com" {
		t.Errorf("namespace %s, prefix %s, want those of NVIDIA's operator", p.OperatorNamespace, p.ResourcePrefix)
	}
	for _, a := range cluster.Nodes[0].Addresses {
		if len(p.Rails) != 1 || p.Rails[0].Subnet.Overlaps(a.Masked()) {
			t.Errorf("rails %+v, want one that does not overlap with %s", p.Rails, a)
		}
	}
}

// TestRails checks numbers and names of rails if a card is missing or nodes are on different
// fabrics.
func TestRails(t *testing.T) {
	fabric := func(name string) *source.Fabric { return &source.Fabric{SubnetPrefix: name, SMLID: 1} }
	pf := func(slot int, rail *int, f *source.Fabric) source.PF {
		p := source.PF{
			Address: fmt.Sprintf("0000:%02x:00.0", slot), Vendor: "15b3", Netdev: fmt.Sprintf("dev%d", slot),
			LinkType: "IB", TotalVFs: 4, Rail: rail, Fabric: f,
		}
		if f == nil {
			p.LinkType = "ETH"
		}
		return p
	}
	a, b := fabric("a"), fabric("b")
	down := &source.Fabric{SubnetPrefix: "fe80:0000:0000:0000"} // sees no subnet manager, and has the default prefix
	tests := []struct {
		name  string
		nodes []source.Node
		want  []string
	}{
		{
			"as the inventory numbers them",
			[]source.Node{{Name: "x", PFs: []source.PF{pf(1, new(1), a), pf(2, new(0), a)}}},
			[]string{"rail0 x2", "rail1 x1"},
		},
		{
			"two fabrics, numbered through",
			[]source.Node{{Name: "x", PFs: []source.PF{pf(1, new(0), a), pf(2, new(1), b)}}},
			[]string{"rail0 x1", "rail1 x2"},
		},
		{
			"a port that is down",
			[]source.Node{
				{Name: "x", PFs: []source.PF{pf(1, new(0), a), pf(2, new(1), b)}},
				{Name: "y", PFs: []source.PF{pf(1, new(0), down), pf(2, new(1), b)}},
			},
			[]string{"rail0 x1 y1", "rail1 x2 y2"},
		},
		{
			"a port that is down, whose fabric is unknown",
			[]source.Node{
				{Name: "x", PFs: []source.PF{pf(1, new(0), a), pf(2, new(1), a)}},
				{Name: "y", PFs: []source.PF{pf(1, new(0), b), pf(2, new(1), b)}},
				{Name: "z", PFs: []source.PF{pf(1, new(0), down), pf(2, new(1), b)}},
			},
			[]string{"ib0-rail0 x1", "ib0-rail1 x2", "ib1-rail0 y1 z2", "ib1-rail1 y2", "ib2-rail0 z1"},
		},
		{
			"a card is missing",
			[]source.Node{
				{Name: "x", PFs: []source.PF{pf(1, new(0), a), pf(3, new(1), a)}},
				{Name: "y", PFs: []source.PF{pf(1, new(0), a), pf(2, new(1), a), pf(3, new(2), a)}},
			},
			[]string{"rail0 x1 y1", "rail1 y2", "rail2 x3 y3"},
		},
		{
			"one number on two fabrics",
			[]source.Node{
				{Name: "x", PFs: []source.PF{pf(1, new(0), a), pf(2, new(1), b)}},
				{Name: "y", PFs: []source.PF{pf(1, new(0), b), pf(2, new(1), a)}},
			},
			[]string{"ib0-rail0 x1 y2", "ib1-rail0 x2 y1"},
		},
		{
			"numbers are not known",
			[]source.Node{
				{Name: "x", PFs: []source.PF{pf(1, nil, nil), pf(2, nil, nil)}},
				{Name: "y", PFs: []source.PF{pf(2, nil, nil)}},
			},
			[]string{"rail0 x1", "rail1 x2 y2"},
		},
		{
			"both links",
			[]source.Node{{Name: "x", PFs: []source.PF{pf(1, nil, nil), pf(2, new(0), a), pf(3, nil, nil)}}},
			[]string{"ib-rail0 x2", "eth-rail0 x1", "eth-rail1 x3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Make(source.Cluster{Nodes: tt.nodes}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range p.Rails {
				line := r.Name
				for _, m := range r.Members {
					line += " " + m.Node + strings.TrimPrefix(m.Netdev, "dev")
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rails differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRandom plans for clusters of all kinds, and checks the invariants: addresses for
// all VFs in subnets that do not overlap, policies that select exactly the cards of the plan, GUIDs
// that are unique and local, one text for any order of the nodes.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a fixed sequence
	for i := range 60 {
		cluster, opts := randomCluster(rng)
		p, err := Make(cluster, opts)
		if errors.Is(err, ErrNothing) {
			continue
		}
		if err != nil {
			t.Fatalf("cluster %d: %v", i, err)
		}
		checkSubnets(t, p, opts)
		checkPolicies(t, cluster, p)
		checkGUIDs(t, p)
		shuffled := source.Cluster{Nodes: slices.Clone(cluster.Nodes)}
		slices.Reverse(shuffled.Nodes)
		again, err := Make(source.Cluster{Nodes: source.Join(shuffled.Nodes)}, opts)
		if err != nil || string(again.YAML()) != string(p.YAML()) {
			t.Fatalf("cluster %d: another order of nodes gives another plan, %v", i, err)
		}
		if t.Failed() {
			t.Fatalf("cluster %d: %+v\n%s", i, opts, p.YAML())
		}
	}
}

func randomCluster(rng *rand.Rand) (source.Cluster, Options) {
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	nodes, cards, labels := 1+rng.IntN(6), 1+rng.IntN(5), rng.IntN(3)
	var cluster source.Cluster
	for n := range nodes {
		node := source.Node{Name: fmt.Sprintf("n%d", n), CardsKnown: true}
		if labels > 0 {
			node.Labels = map[string]string{labelHost: node.Name, "kind": fmt.Sprint(rng.IntN(labels))}
		}
		for c := range cards {
			if rng.IntN(6) == 0 {
				continue
			}
			slot := c*16 + 16*pick(0, 0, 0, 1)
			f := &source.Fabric{SubnetPrefix: fmt.Sprintf("fec0:0000:0000:00a%d", c%2), SMLID: 1}
			pf := source.PF{
				Address: fmt.Sprintf("0000:%02x:00.0", slot), Vendor: "15b3", DeviceID: "1021",
				Netdev: fmt.Sprintf("ib%d", slot), LinkType: "IB", Fabric: f, TotalVFs: pick(0, 8, 16, 16, 16),
				NumVFs: pick(0, 0, 4),
			}
			if !slices.ContainsFunc(node.PFs, func(o source.PF) bool { return o.Address == pf.Address }) {
				node.PFs = append(node.PFs, pf)
			}
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	opts := Options{VFs: pick(0, 0, 8), Nodes: pick(0, 0, 40), Reserved: []Reserved{
		{Use: "hosts", Prefix: netip.MustParsePrefix("192.168.64.0/18")},
	}}
	if rng.IntN(2) == 0 {
		opts.SelectBy = ByName
	}
	return cluster, opts
}

func checkSubnets(t *testing.T, p Plan, opts Options) {
	t.Helper()
	for i, r := range p.Rails {
		for _, other := range p.Rails[:i] {
			if other.Subnet.Overlaps(r.Subnet) {
				t.Errorf("%s and %s overlap", r.Name, other.Name)
			}
		}
		for _, x := range opts.Reserved {
			if x.Prefix.Overlaps(r.Subnet) {
				t.Errorf("%s overlaps with the range of %s", r.Name, x.Use)
			}
		}
		span, err := ipam.Parse(ipam.Range{Range: r.Subnet.String()})
		if err != nil || span.Size() != r.Addresses || r.Addresses < r.VFs {
			t.Errorf("%s: %s has %d addresses, %v, said %d for %d VFs",
				r.Name, r.Subnet, span.Size(), err, r.Addresses, r.VFs)
		}
	}
}

// checkPolicies selects with the policies of a plan as the operator does.
func checkPolicies(t *testing.T, cluster source.Cluster, p Plan) {
	t.Helper()
	want := map[string]string{} // resource and VFs by PF
	for _, r := range p.Rails {
		for _, m := range r.Members {
			want[m.Node+" "+m.Address] = fmt.Sprintf("%s %d", r.Resource, m.NumVFs)
		}
	}
	got := map[string]string{}
	nodes := labelled(cluster, p.Label).Nodes
	for i := range nodes {
		if nodes[i].Labels == nil { // a guess: nodes with VFs have the label of NFD
			nodes[i].Labels = map[string]string{labelHost: nodes[i].Name}
			if slices.ContainsFunc(nodes[i].PFs, func(pf source.PF) bool { return pf.TotalVFs > 0 }) {
				nodes[i].Labels[labelCapable] = "true"
			}
		}
	}
	for _, o := range manifest.Parse("plan", p.YAML()).Objects {
		if o.Kind != k8s.KindPolicy {
			continue
		}
		var policy k8s.SriovNetworkNodePolicy
		if misfits := o.Decode(&policy); len(misfits) > 0 {
			t.Errorf("%s: %+v", o, misfits)
		}
		for _, s := range source.Select(policy.Spec, nodes) {
			key := s.Node.Name + " " + s.PF.Address
			if got[key] != "" {
				t.Errorf("two policies select %s", key)
			}
			got[key] = fmt.Sprintf("%s %d", policy.Spec.ResourceName, s.Last+1)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies select other cards (-want +got):\n%s", diff)
	}
}

func checkGUIDs(t *testing.T, p Plan) {
	t.Helper()
	seen := map[string]bool{}
	have := map[string]bool{}
	for _, f := range p.Files {
		if !strings.HasPrefix(f.Name, "guids/") {
			continue
		}
		var list []guidRange
		if err := json.Unmarshal([]byte(f.Text), &list); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		for _, g := range list {
			start, end := g.GUIDsRange.Start, g.GUIDsRange.End
			if seen[start] || !strings.HasPrefix(start, "02:") || !strings.HasSuffix(start, ":00") ||
				end != strings.TrimSuffix(start, "00")+"7f" {
				t.Errorf("%s %s: range %s to %s", f.Name, g.PciAddress, start, end)
			}
			seen[start] = true
			have[strings.TrimPrefix(f.Name, "guids/")+" "+g.PciAddress] = true
		}
	}
	for _, r := range p.Rails {
		for _, m := range r.Members {
			if r.LinkType == source.LinkIB && !have[m.Node+" "+m.Address] {
				t.Errorf("no GUIDs for %s on %s", m.Address, m.Node)
			}
		}
	}
}

// TestGUIDBase makes sure that equal hashes don't make equal GUIDs.
func TestGUIDBase(t *testing.T) {
	used := map[uint64]bool{}
	first := guidBase("", "x", used)
	if again := guidBase("", "x", used); again == first || first>>56 != 2 || first&0xff != 0 || again&0xff != 0 {
		t.Errorf("guidBase = %#x, then %#x, want two that begin with 02 and end with 00", first, again)
	}
	if got := guidBase("", "x", map[uint64]bool{}); got != first {
		t.Errorf("guidBase = %#x, want %#x as before", got, first)
	}
}

func TestChunks(t *testing.T) {
	texts := map[string]string{"a": "12345678", "b": "1234", "c": "1234", "d": "12345678901234567890"}
	want := [][]string{{"a"}, {"b", "c"}, {"d"}}
	if diff := cmp.Diff(want, chunks(texts, 10)); diff != "" {
		t.Errorf("chunks differ (-want +got):\n%s", diff)
	}
	if got := chunks(nil, 10); got != nil {
		t.Errorf("chunks of nothing = %v", got)
	}
}

func TestDiff(t *testing.T) {
	cluster := clusterTest{files: []string{"ib-labelled.yaml"}}.cluster(t)
	p, err := Make(cluster, Options{CheckPods: 2, TestPods: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if got, err := p.Diff(dir); err != nil || len(got) == 0 || got[0].Change != ChangeAdded {
		t.Errorf("Diff with an empty folder = %v, %v, want additions", got, err)
	}
	written, err := p.Write(dir)
	if err != nil || len(written) != len(p.Files) {
		t.Fatalf("Write = %d files, %v, want %d", len(written), err, len(p.Files))
	}
	if got, err := p.Diff(dir); err != nil || len(got) > 0 {
		t.Errorf("Diff with itself = %+v, %v, want none", got, err)
	}
	if written, err := p.Write(dir); err != nil || len(written) > 0 {
		t.Errorf("Write again = %v, %v, want none", written, err)
	}
	stream := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(stream, p.YAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Diff(filepath.Dir(stream)); err != nil || len(got) > 0 {
		t.Errorf("Diff with the stream = %+v, %v, want none", got, err)
	}
	other, err := Make(cluster, Options{VFs: 4, CheckPods: 2, Omit: []string{k8s.KindNamespace}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := other.Diff(dir)
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]string{}
	for _, d := range got {
		changes[d.Object] = d.Change
		for _, f := range d.Fields {
			changes[d.Object] += " " + f.Path + " " + f.Old + " " + f.New
		}
	}
	if want := "changed spec.numVfs 16 4"; changes["SriovNetworkNodePolicy sriov-network-operator/rail0"] != want ||
		changes["Namespace rdma"] != ChangeRemoved || changes["Pod rdma/rdma-test-0"] != ChangeRemoved {
		t.Errorf("Diff = %v, want a policy %s, and namespace and pod removed", changes, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.yaml"), []byte("a: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Diff(dir); err == nil || !strings.Contains(err.Error(), "broken.yaml") {
		t.Errorf("Diff with a broken file = %v, want an error that names it", err)
	}
	if _, err := p.Diff(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Diff with no folder = %v, want os.ErrNotExist", err)
	}
}

// TestCompareLists compares lists of equal length by element, so that a difference has its path.
func TestCompareLists(t *testing.T) {
	list := func(items ...any) any { return map[string]any{"c": items} }
	one := map[string]any{"image": "x", "name": "a"}
	two := map[string]any{"image": "y", "name": "a"}
	tests := []struct {
		old, next any
		want      []FieldChange
	}{
		{list(one), list(one), nil},
		{list(one), list(two), []FieldChange{{Path: "c[0].image", Old: "x", New: "y"}}},
		{list("a", "b"), list("a"), []FieldChange{{Path: "c", Old: `["a","b"]`, New: `["a"]`}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, compare("", tt.old, tt.next), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("compare(%v, %v) differs (-want +got):\n%s", tt.old, tt.next, diff)
		}
	}
}

// TestHostileNames plans with names that would end a comment or a path.
func TestHostileNames(t *testing.T) {
	cluster := func(node string) source.Cluster {
		return source.Cluster{Nodes: []source.Node{{Name: node, PFs: []source.PF{{
			Address: "0000:18:00.0", Vendor: "15b3", Netdev: "ib0\nevil: true\n---\nkind: Pod", LinkType: "IB",
			TotalVFs: 8,
		}}}}}
	}
	for _, name := range []string{"../x", "a\n---\nkind: Pod", ".hidden", "a/b", "", strings.Repeat("a", 254)} {
		if _, err := Make(cluster(name), Options{}); !errors.Is(err, ErrNothing) {
			t.Errorf("Make of a node called %q = %v, want ErrNothing", name, err)
		}
	}
	p, err := Make(cluster("a"), Options{SelectBy: ByName, TestPods: 1})
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.Parse("plan", p.YAML())
	for _, o := range set.Objects {
		if o.Find("evil") != nil || o.Find("spec", "evil") != nil || o.Kind == k8s.KindPod && o.Name != "rdma-test-0" {
			t.Errorf("a name became a field or an object:\n%s", p.YAML())
		}
	}
	if len(set.Problems) > 0 {
		t.Errorf("problems: %+v", set.Problems)
	}
	dir := t.TempDir()
	if _, err := (Plan{Files: []File{{Name: "../x", Text: "x"}}}).Write(filepath.Join(dir, "out")); err == nil {
		t.Error("Write put a file outside of the folder")
	}
}

// TestCheckScript runs the script of the Job, one process for each pod, with a program in place
// of ib_write_bw.
func TestCheckScript(t *testing.T) {
	dir := t.TempDir()
	sys := filepath.Join(dir, "sys")
	for i, name := range []string{"mlx5_4", "mlx5_5"} {
		if err := os.MkdirAll(filepath.Join(sys, fmt.Sprintf("0000:3b:00.%d", i+2), "infiniband", name),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	tool := "#!/bin/sh\necho \"$JOB_COMPLETION_INDEX $*\" >>" + filepath.Join(dir,
		"log") + "\ncase \" $* \" in *\" $FAIL \"*) exit 1;; esac\n"
	//nolint:gosec // the file must be executable
	if err := os.WriteFile(filepath.Join(dir, "ib_write_bw"), []byte(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(checkScript, "/sys/bus/pci/devices", sys)
	script = strings.ReplaceAll(script, "sleep 5", ":")
	run := func(index, fail, second string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Env = []string{
			"PATH=" + dir + ":" + os.Getenv("PATH"), "JOB_COMPLETION_INDEX=" + index, "PODS=3", "SERVER=host",
			"FAIL=" + fail, "RAILS=PCIDEVICE_A-B_COM_RAIL0 PCIDEVICE_A-B_COM_RAIL1",
			"PCIDEVICE_A-B_COM_RAIL0=0000:3b:00.2,0000:3b:00.9", "PCIDEVICE_A-B_COM_RAIL1=" + second,
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("0", "none", "0000:3b:00.3"); err != nil || !strings.Contains(out, "every pod reached pod 0") {
		t.Errorf("pod 0: %v\n%s", err, out)
	}
	if out, err := run("2", "none", "0000:3b:00.3"); err != nil {
		t.Errorf("pod 2: %v\n%s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	slices.Sort(lines) // servers run at the same time
	want := []string{
		"0 -d mlx5_4 -p 18615 -D 2", "0 -d mlx5_4 -p 18715 -D 2", "0 -d mlx5_5 -p 18616 -D 2",
		"0 -d mlx5_5 -p 18716 -D 2", "2 -d mlx5_4 -p 18715 -D 2 --report_gbits host",
		"2 -d mlx5_5 -p 18716 -D 2 --report_gbits host",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("commands differ (-want +got):\n%s", diff)
	}
	if out, err := run("1", "mlx5_5", "0000:3b:00.3"); err == nil ||
		!strings.Contains(out, "pod 1 doesn't reach pod 0 on PCIDEVICE_A-B_COM_RAIL1") {
		t.Errorf("pod 1 with a broken rail: %v\n%s", err, out)
	}
	if out, err := run("0", "mlx5_5", "0000:3b:00.3"); err == nil {
		t.Errorf("pod 0 with a broken rail succeeds:\n%s", out)
	}
	if out, err := run("1", "none", "0000:99:00.0"); err == nil ||
		!strings.Contains(out, "no RDMA device of 0000:99:00.0") {
		t.Errorf("pod 1 without a device: %v\n%s", err, out)
	}
	// Debian's archive is out of reach.
	if err := os.Remove(filepath.Join(dir, "ib_write_bw")); err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // the file must be executable
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte("#!/bin/sh\nexit 100\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = []string{"PATH=" + dir, "JOB_COMPLETION_INDEX=1", "PODS=3", "SERVER=host", "RAILS=A"}
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 100 || len(out) > 0 {
		t.Errorf("pod 1 without ib_write_bw: %v, want exit status 100\n%s", err, out)
	}
}
