package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestMerge reports findings that two overlays of a base share once, and keeps findings of only one
// overlay, by file and line.
func TestMerge(t *testing.T) {
	parse := func(file, name, ipam string) *manifest.Set {
		return manifest.Parse(file,
			[]byte("apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovIBNetwork\nmetadata: {name: "+name+
				", namespace: sriov-network-operator}\nspec: {resourceName: a, ipam: '"+ipam+"'}\n"))
	}
	run := func(sets ...*manifest.Set) Report {
		all := &manifest.Set{}
		for _, set := range sets {
			all.Add(set)
		}
		return Run(Input{Manifests: all, Options: Options{Only: []string{"ipam-json", "object-name"}}})
	}
	one, two, base := parse("one.yaml", "one", "{"), parse("two.yaml", "Two", "{}"), parse("base.yaml", "base", "{")
	got := Merge(run(one, base), run(two, base))
	want := []string{"one.yaml ipam-json", "base.yaml ipam-json", "two.yaml object-name"}
	var have []string
	for _, f := range got.Findings {
		have = append(have, f.File+" "+f.Rule)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one.yaml", "base.yaml", "two.yaml"}, got.Files); diff != "" ||
		len(got.Objects) != 3 || got.Counts.Error != 3 || got.Schema != Schema {
		t.Errorf("Merge has %d objects, %+v, files (-want +got):\n%s", len(got.Objects), got.Counts, diff)
	}
	alone := run(one)
	if diff := cmp.Diff(alone, Merge(alone)); diff != "" {
		t.Errorf("Merge of one report differs (-want +got):\n%s", diff)
	}
}
