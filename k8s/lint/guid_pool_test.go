package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestGUIDOwner has one GUID on two nodes whose cards are at the same address.
func TestGUIDOwner(t *testing.T) {
	const pool = `'[{"pciAddress": "0000:13:00.0", "guids": ["02:00:00:00:00:00:00:01"]}]'`
	in := Input{Manifests: manifest.Parse("in.yaml",
		[]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g, namespace: x}\ndata: {gpu-00: "+pool+", gpu-01: "+
			pool+"}\n")), Options: Options{Only: []string{"guid-pool"}}}
	findings := Run(in).Findings
	if len(findings) != 1 ||
		!strings.HasSuffix(findings[0].Summary, "also belongs to 0000:13:00.0 in gpu-00 of ConfigMap x/g") {
		t.Errorf("Run = %+v, want the GUID's owner with its node", findings)
	}
}

// TestGUIDPools checks files as a whole, however many entries they have, and against each other.
func TestGUIDPools(t *testing.T) {
	entry := func(address, guids string) string { return `{"pciAddress": "` + address + `", ` + guids + `}` }
	list := func(n int) string { return fmt.Sprintf(`"guids": ["02:00:00:00:00:00:00:%02x"]`, n) }
	span := func(start, end string) string {
		return `"guidsRange": {"start": "02:00:00:00:00:00:` + start + `", "end": "02:00:00:00:00:00:` + end + `"}`
	}
	var many, broken []string
	for i := range 200 {
		many = append(many,
			entry(fmt.Sprintf("0000:%02x:00.0", i), fmt.Sprintf(`"guids": ["02:00:00:00:00:00:01:%02x"]`, i)))
		broken = append(broken, entry(fmt.Sprintf("0000:%02x:00.0", i), `"guids": ["1"]`))
	}
	forHost := func(host string) string {
		return strings.Replace(
			fill(somePolicy, "NAME", host, "SPEC", `linkType: ib, nicSelector: {rootDevices: ["0000:3b:00.0"]}`),
			"pool: gpu", "kubernetes.io/hostname: "+host, 1)
	}
	tests := []struct {
		name, in string
		want     []string
	}{
		{"200 entries", guidFileOf(many), nil},
		{
			"a fault in the last of 201",
			guidFileOf(append(many, `{"pci_address": "0000:ff:00.0", "guids": ["02:00:00:00:00:00:00:01"]}`)),
			[]string{"the operator reads pciAddress; pci_address appears only in its manual"},
		},
		{
			"200 faults", guidFileOf(broken),
			append(slices.Repeat([]string{`"1" is not a GUID: write eight bytes as 02:00:00:00:00:00:00:01`}, 100),
				"100 more errors are not shown"),
		},
		{"ranges that overlap", guidFileOf([]string{entry("0000:3b:00.0", span("00:10", "10:00")), entry("0000:5e:00.0",
			span("0f:00", "20:00")), entry("0000:5f:00.0", span("20:01", "20:02"))}), []string{
			"GUID 02:00:00:00:00:00:0f:00 of 0000:5e:00.0 also belongs to 0000:3b:00.0 in guids of ConfigMap x/g",
		}},
		{"a GUID in a range", guidFileOf([]string{entry("0000:3b:00.0", list(7)), entry("0000:5e:00.0",
			span("00:01", "00:09")), entry("0000:5f:00.0", list(9))}), []string{
			"GUID 02:00:00:00:00:00:00:07 of 0000:5e:00.0 also belongs to 0000:3b:00.0 in guids of ConfigMap x/g",
			"GUID 02:00:00:00:00:00:00:09 of 0000:5f:00.0 also belongs to 0000:5e:00.0 in guids of ConfigMap x/g",
		}},
		{"files of nodes", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g, namespace: x}\ndata:\n" +
			"  gpu-00: '[" + entry("0000:3b:00.0", span("00:01", "00:08")) + "]'\n" +
			"  gpu-01: '[" + entry("0000:5e:00.0", span("00:11", "00:18")) + "]'\n---\n" + forHost("gpu-00"), nil},
		{"file of the node", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g, namespace: x}\ndata:\n  gpu-01: '[" +
			entry("0000:5e:00.0", span("00:11", "00:18")) + "]'\n---\n" + forHost("gpu-01"), []string{"the pool has " +
			"no entry for 0000:3b:00.0, but SriovNetworkNodePolicy sriov-network-operator/gpu-01 gives it VFs: " +
			"they fail on a node with this file"}},
	}
	for _, tt := range tests {
		var got []string
		for _, f := range Run(
			Input{Manifests: manifest.Parse("in.yaml", []byte(tt.in)), Options: Options{Only: []string{"guid-pool"}}},
		).Findings {
			got = append(got, f.Summary)
		}
		slices.SortStableFunc(got, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// guidFileOf is a ConfigMap with one file of entries.
func guidFileOf(entries []string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g, namespace: x}\ndata:\n  guids: '[" +
		strings.Join(entries, ", ") + "]'\n"
}

// TestGUIDOfTheCluster reports a manifest with a GUID that a file of the cluster contains.
func TestGUIDOfTheCluster(t *testing.T) {
	in := Input{Manifests: manifest.Parse("in.yaml",
		[]byte(guidFileOf([]string{`{"pciAddress": "0000:3b:00.0", "guids": ["02:00:00:00:00:00:00:01"]}`})))}
	in.Cluster.Objects = manifest.Parse("c.yaml", []byte(
		strings.Replace(guidFileOf([]string{`{"pciAddress": "0000:5e:00.0", "guids": ["02:00:00:00:00:00:00:01"]}`}),
			"name: g", "name: other", 1))).Objects
	findings := Run(in).Findings
	if len(findings) != 1 ||
		!strings.HasSuffix(findings[0].Summary, "also belongs to 0000:5e:00.0 in guids of ConfigMap x/other") {
		t.Errorf("Run = %+v, want the GUID's other owner", findings)
	}
}
