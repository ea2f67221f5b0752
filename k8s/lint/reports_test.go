package lint

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// TestReports checks manifests written after reports of users and vendors' examples. Exactly the
// expected findings must be reported: a line "# want: RULE@LINE ..." in each, and "#
// report: NUMBER".
func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/reports/[0-9]*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	checkFiles(t, files)
}

// TestUsers does so for valid and wrong manifests as users of vLLM, MPI, Ray, Spiderpool and
// OpenShift write them.
func TestUsers(t *testing.T) {
	files, err := filepath.Glob("testdata/users/[0-9]*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	checkFiles(t, files)
}

// checkFiles compares the findings about manifests with those that their comments list.
func checkFiles(t *testing.T, files []string) {
	t.Helper()
	for _, file := range files {
		if strings.HasSuffix(file, ".nodes.yaml") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := Input{Manifests: manifest.Parse(file, data)}
			nodes := strings.TrimSuffix(file, ".yaml") + ".nodes.yaml"
			if _, err := os.Stat(nodes); err == nil {
				if in.Cluster, err = (source.Files{Names: []string{nodes}}).Cluster(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			got := []string{}
			for _, f := range Run(in).Findings {
				got = append(got, fmt.Sprintf("%s@%d", f.Rule, f.Line))
				t.Logf("%s %s: %s; %s %s", f.Severity, f.Place(), f.Summary, f.Remedy, f.Fix)
			}
			if diff := cmp.Diff(wanted(data), got); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReportTable checks that the reports of users, by their number in docs/kubernetes.md, have the
// rules that they need. Reports 13 (connectivity of all pairs), 15 (attributes of DRA) and 16
// (the GID index) are not about manifests.
func TestReportTable(t *testing.T) {
	want := map[string][]string{
		"1":  {"vf-guid", "guid-pool-entry", "guid-pool-size"},
		"2":  {"linktype-missing"},
		"3":  {"link-state"},
		"4":  {"resource-rails", "topology-hint"},
		"5":  {"firmware-vfs", "linktype-change"},
		"6":  {"pod-resource-count"},
		"7":  {"pod-resource-missing", "nad-resource", "pod-init-resource"},
		"8":  {"pod-network-missing"},
		"9":  {"selector-node", "sriov-disabled"},
		"10": {"ipam-capacity", "whereabouts-stale"},
		"11": {"rdma-mode", "rdma-isolation"},
		"12": {"pod-ipc-lock", "pod-host"},
		"14": {"missing-field", "unknown-field", "ipam-json", "pci-address", "policy-overlap"},
	}
	files, err := filepath.Glob("testdata/reports/[0-9]*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".nodes.yaml") {
			continue
		}
		number := strings.Join(headed(data, "# report:"), "")
		if want[number] == nil {
			t.Errorf("%s is of report %q, which the table hasn't", file, number)
		}
		for _, rule := range wanted(data) { // which TestReports has seen
			id, _, _ := strings.Cut(rule, "@")
			got[number] = append(got[number], id)
		}
	}
	for number, rules := range want {
		for _, id := range rules {
			if !slices.Contains(got[number], id) {
				t.Errorf("no manifest of report %s is reported by %s: %v", number, id, got[number])
			}
		}
	}
}

// wanted reads the line with the expected findings.
func wanted(data []byte) []string { return headed(data, "# want:") }

// headed returns the words after a heading.
func headed(data []byte, heading string) []string {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), heading); ok {
			return strings.Fields(text)
		}
	}
	return nil
}

// TestOptions checks facts that only options contain.
func TestOptions(t *testing.T) {
	tests := []struct {
		name, dir, file, rule string
		opts                  Options
		want                  int
	}{
		{
			"operator elsewhere", "policy-namespace", "right.yaml", "policy-namespace",
			Options{OperatorNamespace: "net"},
			1,
		},
		{
			"operator here", "policy-namespace", "wrong.yaml", "policy-namespace",
			Options{OperatorNamespace: "default"},
			0,
		},
		{
			"reserved", "ipam-overlap", "right.yaml", "ipam-overlap",
			Options{Reserved: []Reserved{{Use: "pods", Prefix: netip.MustParsePrefix("192.168.0.0/16")}}},
			2,
		},
		{
			"reserved beside", "ipam-overlap", "right.yaml", "ipam-overlap",
			Options{Reserved: []Reserved{{Use: "pods", Prefix: netip.MustParsePrefix("10.244.0.0/16")}}},
			0,
		},
		{
			"networkNamespace elsewhere", "network-namespace", "right.yaml", "network-namespace",
			Options{OperatorNamespace: "net"},
			1,
		},
		{"prefix of pods", "pod-resource", "right.yaml", "pod-prefix", Options{ResourcePrefix: "openshift.io"}, 1},
		{"prefix right", "pod-resource", "right.yaml", "pod-prefix", Options{ResourcePrefix: "nvidia.com"}, 0},
		{"skip", "pf-range", "wrong.yaml", "pf-range", Options{Skip: []string{"pf-range"}}, 0},
		{"only another", "pf-range", "wrong.yaml", "pf-range", Options{Only: []string{"ipam-json"}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := load(t, tt.dir, tt.file)
			in.Options = tt.opts
			if got := findingsOf(Run(in), tt.rule); len(got) != tt.want {
				t.Errorf("%s reports %d findings, want %d: %+v", tt.rule, len(got), tt.want, got)
			}
		})
	}
}

// TestVersions checks that findings about hyphens and new cards depend on the operator's version.
func TestVersions(t *testing.T) {
	const in = `apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: a, namespace: sriov-network-operator}
spec: {resourceName: a-b, nodeSelector: {}, numVfs: 1, isRdma: true, linkType: IB, nicSelector: {vendor: "15b3", deviceID: "1025"}}
`
	for version, want := range map[string][]string{
		"":       {"warn resource-name", "warn vf-device-id"},
		"v1.6.0": {"error resource-name", "error vf-device-id"},
		"1.5":    {"error resource-name", "error vf-device-id"},
		"v1.7.0": nil,
		"main":   nil,
	} {
		var got []string
		for _, f := range Run(
			Input{Manifests: manifest.Parse("f", []byte(in)), Options: Options{OperatorVersion: version}},
		).Findings {
			got = append(got, string(f.Severity)+" "+f.Rule)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %q: findings differ (-want +got):\n%s", version, diff)
		}
	}
}

// TestClusterIsNotChecked reports no findings about objects of the cluster, but uses them.
func TestClusterIsNotChecked(t *testing.T) {
	in := load(t, "policy-overlap", "wrong.yaml")
	both := in.Manifests.Objects
	in.Cluster.Objects = both[:1]
	in.Manifests = &manifest.Set{Files: in.Manifests.Files, Objects: both[1:]}
	got := findingsOf(Run(in), "policy-overlap")
	if len(got) != 1 || got[0].Object != both[1].String() {
		t.Errorf("findings = %+v, want one about %s", got, both[1])
	}
	in.Cluster.Objects, in.Manifests.Objects = both, nil
	if r := Run(in); len(r.Findings) != 0 {
		t.Errorf("findings about the cluster: %+v", r.Findings)
	}
	in.Cluster.Objects, in.Manifests.Objects = both, both[1:] // the manifest stands for the cluster's object
	if got := findingsOf(Run(in), "policy-overlap"); len(got) != 1 {
		t.Errorf("findings = %+v, want one", got)
	}
}

func TestParseNetworks(t *testing.T) {
	tests := []struct {
		in   string
		want []attachment
		ok   bool
	}{
		{"", nil, true},
		{"a", []attachment{{Name: "a"}}, true},
		{"a, ns/b@net2", []attachment{{Name: "a"}, {Namespace: "ns", Name: "b", Interface: "net2"}}, true},
		{
			`[{"name": "a", "namespace": "n", "infiniband-guid": "c2:11"}]`,
			[]attachment{{Name: "a", Namespace: "n", GUID: "c2:11"}},
			true,
		},
		{`[{"name": "a",}]`, nil, false},
		{`[{"namespace": "n"}]`, nil, false},
		{"a,", nil, false},
		{"a/b/c", nil, false},
	}
	for _, tt := range tests {
		got, err := parseNetworks(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != tt.ok {
			t.Errorf("parseNetworks(%q) differs, %v (-want +got):\n%s", tt.in, err, diff)
		}
	}
}

// FuzzRun checks any input, and writes the report in every format.
func FuzzRun(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	var clusters []source.Cluster
	for _, nodes := range []string{"selector-node", "vf-guid", "whereabouts-stale", "sriov-disabled", "pod-selector"} {
		cluster, err := source.Files{Names: []string{"testdata/" + nodes + "/nodes.yaml"}}.Cluster(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		clusters = append(clusters, cluster)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set := manifest.Parse("f.yaml", data)
		for _, cluster := range append([]source.Cluster{{}}, clusters...) {
			r := Run(Input{Manifests: set, Cluster: cluster})
			if _, err := r.SARIF("test"); err != nil {
				t.Error(err)
			}
			if _, err := r.JUnit(true); err != nil {
				t.Error(err)
			}
			for _, f := range r.Findings {
				if f.Summary == "" || f.Remedy == "" || f.Line < 0 || f.Column < 0 {
					t.Errorf("finding %+v without a summary, a remedy or a place", f)
				}
			}
		}
	})
}

// TestSharedPF reports settings in which policies that share a PF by ranges differ.
func TestSharedPF(t *testing.T) {
	policy := func(name, vfs, more string) string {
		return "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n" +
			"metadata: {name: " + name + ", namespace: sriov-network-operator}\n" +
			"spec: {resourceName: " + name + ", nodeSelector: {}, isRdma: true, numVfs: 8, nicSelector: {pfNames: " +
			"[\"ens1#" + vfs + "\"]}, " + more + "}\n"
	}
	for _, tt := range []struct {
		name, a, b string
		want       []string
	}{
		{"equal", policy("a", "0-3", "linkType: IB"), policy("b", "4-7", "linkType: ib"), nil},
		{
			"link type", policy("a", "0-3", "linkType: IB"), policy("b", "4-7", "linkType: eth"),
			[]string{"warn spec.linkType"},
		},
		{
			"mtu", policy("a", "0-3", "linkType: IB, mtu: 1500"), policy("b", "4-7", "linkType: IB, mtu: 4092"),
			[]string{"warn spec.mtu"},
		},
		{
			"managed", policy("a", "0-3", "linkType: IB, externallyManaged: true"), policy("b", "4-7", "linkType: IB"),
			[]string{"error spec.externallyManaged"},
		},
		{
			"meeting", policy("a", "0-4", "linkType: IB"), policy("b", "4-7", "linkType: IB"),
			[]string{"error spec.nicSelector"},
		},
	} {
		var got []string
		for _, f := range Run(Input{Manifests: manifest.Parse("f", []byte(tt.a+tt.b))}).Findings {
			got = append(got, string(f.Severity)+" "+f.Path)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
	}
}
