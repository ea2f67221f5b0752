package lint

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestIgnore puts a comment into a manifest with two faults: 0 VFs in line 6, and a broken IPAM in
// the block from line 14 on.
func TestIgnore(t *testing.T) {
	const in = `HEAD
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: a, namespace: sriov-network-operator}
spec: {resourceName: a, nodeSelector: {}, linkType: eth, isRdma: true, nicSelector: {pfNames: [ens1]},
  BEFORE
  numVfs: 0} END
---
SECOND
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetwork
metadata: {name: a, namespace: sriov-network-operator}
spec:
  resourceName: a
  KEY
  ipam: |
    {"type": "whereabouts", "range": "10.0.0.0/24",}
`
	const ignore = "# rdmactl:ignore "
	tests := []struct {
		name, place, comment string
		want, suppressed     []string
	}{
		{"nothing", "END", "", []string{"num-vfs", "ipam-json"}, nil},
		{"end of the line", "END", ignore + "num-vfs for now", []string{"ipam-json"}, []string{"num-vfs: for now"}},
		{"line before", "BEFORE", ignore + "num-vfs", []string{"ipam-json"}, []string{"num-vfs: "}},
		{
			"end of the first line", "HEAD\napiVersion: sriovnetwork.openshift.io/v1",
			"apiVersion: sriovnetwork.openshift.io/v1 " + ignore + "num-vfs,ipam-json why",
			[]string{"num-vfs", "ipam-json"},
			nil,
		},
		{"another rule", "END", ignore + "policy-overlap why", []string{"num-vfs", "ipam-json"}, nil},
		{
			"two rules", "END", ignore + "policy-overlap,num-vfs why not",
			[]string{"ipam-json"},
			[]string{"num-vfs: why not"},
		},
		{
			"whole object", "HEAD", ignore + "num-vfs,ipam-json a draft",
			[]string{"ipam-json"},
			[]string{"num-vfs: a draft"},
		},
		{
			"whole second object", "SECOND", ignore + "num-vfs,ipam-json a draft",
			[]string{"num-vfs"},
			[]string{"ipam-json: a draft"},
		},
		{"key of a block", "KEY", ignore + "ipam-json a draft", []string{"num-vfs"}, []string{"ipam-json: a draft"}},
		{"without a rule", "END", ignore, []string{"num-vfs", "ignore-comment", "ipam-json"}, nil},
		{"misspelt", "END", ignore + "num-vf why", []string{"num-vfs", "ignore-comment", "ipam-json"}, nil},
		{
			"at the end of a document", "HEAD", ignore + "num-vfs why\n---",
			[]string{"ignore-comment", "num-vfs", "ipam-json"},
			nil,
		},
		{"itself", "END", ignore + "num-vfs,ignore-comment,later why", []string{"ipam-json"}, []string{
			"num-vfs: why", "ignore-comment: why",
		}},
	}
	for _, tt := range tests {
		text := strings.NewReplacer(
			tt.place, tt.comment, "HEAD", "", "BEFORE", "", "END", "", "SECOND", "", "KEY", "",
		).Replace(in)
		r := Run(Input{Manifests: manifest.Parse("in.yaml", []byte(text)), Options: Options{
			Only: []string{"num-vfs", "ipam-json", "ignore-comment"},
		}})
		var got, suppressed []string
		for _, f := range r.Findings {
			got = append(got, f.Rule)
		}
		for _, f := range r.Suppressed {
			suppressed = append(suppressed, f.Rule+": "+f.Reason)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.suppressed, suppressed); diff != "" {
			t.Errorf("%s: suppressed findings differ (-want +got):\n%s", tt.name, diff)
		}
		if n := r.Counts.Error + r.Counts.Warn + r.Counts.Note; n != len(tt.want) {
			t.Errorf("%s: %d are counted, want %d", tt.name, n, len(tt.want))
		}
	}
}

// TestIgnoreAnnotation suppresses findings by annotations, which survive Helm: of an object, and of
// a pod template for what is in it.
func TestIgnoreAnnotation(t *testing.T) {
	const network = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetwork
metadata: {name: rail0, namespace: ml}
spec: {resourceName: rail0, ipam: '{"type": "whereabouts", "range": "10.0.0.0/24"}'}
---
`
	job := func(outer, inner, annotation string) string {
		return network + `
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, annotations: {` + outer + `}}
spec:
  template:
    metadata: {annotations: {k8s.v1.cni.cncf.io/networks: ` + annotation + `, ` + inner + `}}
    spec: {containers: [{name: a, resources: {limits: {nvidia.com/rail0: 2}}}]}
`
	}
	for name, tt := range map[string]struct {
		in               string
		want, suppressed []string
	}{
		"none": {in: job("", "", "rail0"), want: []string{"pod-resource-count"}},
		"of the object": {
			in: job(`rdmactl/ignore: pod-resource-count spare VF`, "", "rail0"), suppressed: []string{"spare VF"},
		},
		"of the template, by the group": {
			in: job("", `rdmactl/ignore: "pod-resource spare VF"`, "rail0"), suppressed: []string{"spare VF"},
		},
		"another rule": {
			in: job("", `rdmactl/ignore: pod-network spare VF`, "rail0"), want: []string{"pod-resource-count"},
		},
		"two lines": {
			in:         job("", `rdmactl/ignore: "pod-network one\npod-resource-count,pod-prefix two"`, "rail0"),
			suppressed: []string{"two"},
		},
		"misspelt": {
			in:   job("", `rdmactl/ignore: pod-resource-cont`, "rail0"),
			want: []string{"pod-resource-count", "ignore-comment"},
		},
	} {
		r := Run(Input{Manifests: manifest.Parse("in.yaml", []byte(tt.in)), Options: Options{
			Only: []string{"pod-resource", "ignore-comment"},
		}})
		var got, reasons []string
		for _, f := range r.Findings {
			got = append(got, f.Rule)
		}
		for _, f := range r.Suppressed {
			reasons = append(reasons, f.Reason)
		}
		if !slices.Equal(got, tt.want) || !slices.Equal(reasons, tt.suppressed) {
			t.Errorf("%s: findings %v, suppressed %v", name, got, reasons)
		}
	}
}

// TestSuppressedForms marks what is suppressed in SARIF, and skips it in JUnit.
func TestSuppressedForms(t *testing.T) {
	text := fill(somePolicy, "SPEC",
		"nicSelector: {pfNames: [ens1]}, linkType: eth } # rdmactl:ignore num-vfs a <draft>")
	text = strings.Replace(strings.Replace(text, "numVfs: 8", "numVfs: 0", 1), "<draft>}", "<draft>", 1)
	r := Run(Input{Manifests: manifest.Parse("in.yaml", []byte(text)), Options: Options{Only: []string{"num-vfs"}}})
	sarif, err := r.SARIF("v1")
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID       string
				Suppressions []struct{ Kind, Justification string }
			}
		}
	}
	if err != nil || json.Unmarshal(sarif, &log) != nil {
		t.Fatalf("SARIF: %v, %s", err, sarif)
	}
	if got := log.Runs[0].Results; len(got) != 1 || len(got[0].Suppressions) != 1 ||
		got[0].Suppressions[0].Kind != "inSource" || got[0].Suppressions[0].Justification != "a <draft>" {
		t.Errorf("results of SARIF = %+v, want one that is suppressed inSource", got)
	}
	junit, err := r.JUnit(true)
	if want := `<skipped message="a &lt;draft&gt;"></skipped>`; err != nil || !strings.Contains(string(junit), want) ||
		!strings.Contains(string(junit), `tests="1" failures="0" errors="0" skipped="1"`) {
		t.Errorf("JUnit has no %s or its count, %v:\n%s", want, err, junit)
	}
}
