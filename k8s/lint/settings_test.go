package lint

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func TestSettings(t *testing.T) {
	s, err := ParseSettings("s.yaml", []byte(`
severity: {num-vfs: note, pod-network: warn, pod-interface: off}
exclude: [vendor]
reserved: {pods: 10.244.0.0/16}
rdmaResources: ["acme.com/fast-*"]
maxMTU: 9000
operatorNamespace: net
operatorVersion: v1.6.0
resourcePrefix: acme.com
`))
	if err != nil {
		t.Fatal(err)
	}
	got := Options{OperatorVersion: "main"} // a flag prevails
	s.Apply(&got)
	want := Options{
		OperatorNamespace: "net", OperatorVersion: "main", ResourcePrefix: "acme.com", MaxMTU: 9000,
		Reserved:      []Reserved{{Use: "pods", Prefix: netip.MustParsePrefix("10.244.0.0/16")}},
		RDMAResources: []string{"acme.com/fast-*"},
		Severity: map[string]Severity{
			"num-vfs": SeverityNote, "pod-network": SeverityWarn, "pod-interface": SeverityOff,
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("options differ (-want +got):\n%s", diff)
	}
	if s.Exclude[0] != "vendor" {
		t.Errorf("exclude %v", s.Exclude)
	}
}

func TestSettingsErrors(t *testing.T) {
	for in, want := range map[string]string{
		"severty: {}":                  `s.yaml:1: unknown setting "severty": did you mean severity?`,
		"colour: red":                  `s.yaml:1: unknown setting "colour" (known: severity, `,
		"severity: {num-vf: warn}":     `s.yaml: severity: unknown rule "num-vf": did you mean num-vfs?`,
		"severity: {num-vfs: warning}": `s.yaml: severity: num-vfs: "warning" is not error, warn, note or off`,
		"reserved: {pods: 10.0.0.1}":   `s.yaml: reserved: pods: "10.0.0.1" is not a range such as 10.244.0.0/16`,
		"exclude: ['[']":               `s.yaml: pattern "[": syntax error in pattern`,
		"maxMTU: -1":                   `s.yaml: maxMTU: -1 is negative`,
		"maxMTU: much":                 "s.yaml: unmarshal errors:",
		"severity: [a":                 "s.yaml: ",
	} {
		if _, err := ParseSettings("s.yaml", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if _, err := ParseSettings("s.yaml", nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

// TestSeverity changes the severity of rules and groups, and switches them off.
func TestSeverity(t *testing.T) {
	in := Input{Manifests: manifest.Parse("in.yaml", []byte(`
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {k8s.v1.cni.cncf.io/networks: "r0@eth0,r1@abcdefghijklmnop"}}
spec: {containers: [{name: a}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {k8s.v1.cni.cncf.io/networks: "r0@eth0"}}
spec: {containers: [{name: a}]}
`))}
	count := func(severity map[string]Severity, only ...string) string {
		in.Options = Options{Severity: severity, Only: only}
		var out []string
		for _, f := range Run(in).Findings {
			if f.Group == "pod-network" {
				out = append(out, string(f.Severity)+" "+f.Rule)
			}
		}
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		severity map[string]Severity
		only     []string
		want     string
	}{
		{nil, nil, "error pod-annotation, error pod-interface"},
		{map[string]Severity{"pod-network": SeverityNote}, nil, "note pod-annotation, note pod-interface"},
		{
			map[string]Severity{"pod-network": SeverityNote, "pod-interface": SeverityWarn},
			nil,
			"note pod-annotation, warn pod-interface",
		},
		{map[string]Severity{"pod-annotation": SeverityOff}, nil, "error pod-interface"},
		{map[string]Severity{"pod-network": SeverityOff}, nil, ""},
		{nil, []string{"pod-interface"}, "error pod-interface"},
		{nil, []string{"pod-network"}, "error pod-annotation, error pod-interface"},
	} {
		if got := count(tt.severity, tt.only...); got != tt.want {
			t.Errorf("%v, only %v: %s, want %s", tt.severity, tt.only, got, tt.want)
		}
	}
}

// TestRDMAResources has a resource of a company, which only the settings know.
func TestRDMAResources(t *testing.T) {
	in := Input{Manifests: manifest.Parse("in.yaml", []byte(
		"apiVersion: x/v1\nkind: Service\nmetadata: {name: a}\nspec: {x: {limits: {acme.com/fast-0: 1}}}\n"))}
	if r := Run(in); len(r.NotJudged) != 0 {
		t.Errorf("not judged %v without settings", r.NotJudged)
	}
	in.Options.RDMAResources = []string{"acme.com/fast-*"}
	if r := Run(in); len(r.NotJudged) != 1 {
		t.Errorf("not judged %v", r.NotJudged)
	}
	in.Manifests = manifest.Parse("in.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"+
		"spec: {containers: [{name: a, resources: {limits: {acme.com/fast-0: 1}}}]}\n"))
	if got := findingsOf(Run(in), "pod-ipc-lock"); len(got) != 1 {
		t.Errorf("IPC_LOCK: %v", got)
	}
}
