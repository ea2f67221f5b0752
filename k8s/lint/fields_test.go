package lint

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestFieldRemedies checks the remedies for mistakes that are the same to a YAML parser but have
// different causes.
func TestFieldRemedies(t *testing.T) {
	const head = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n"
	rest := "metadata:\n  name: a\n  namespace: b\n"
	long := strings.Repeat("a", 64)
	for _, tt := range []struct{ name, in, rule, remedy, fix string }{
		{
			"label below nothing", head + rest + "spec:\n  nodeSelector:\n  a/b: \"true\"\n", "unknown-field",
			"indent it below nodeSelector", "",
		},
		{
			"the second of them", head + rest + "spec:\n  nicSelector:\n  vendor: \"15b3\"\n  deviceID: \"1021\"\n",
			"unknown-field", "indent it below nicSelector", "",
		},
		{"below spec", head + rest + "spec:\nnumVfs: 8\n", "unknown-field", "indent it below spec", ""},
		{"below metadata", head + "metadata:\nname: a\nspec: {}\n", "unknown-field", "indent it below metadata", ""},
		{"below matchLabels", "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkPoolConfig\n" + rest +
			"spec:\n  nodeSelector:\n    matchLabels:\n    a: b\n", "unknown-field", "indent it below matchLabels", ""},
		{
			"another field stands between", head + rest + "spec:\n  nodeSelector:\n  numVfs: 8\n  a: b\n",
			"unknown-field", "remove it", "",
		},
		{
			"the one above is not empty", head + rest + "spec:\n  nodeSelector: {a: b}\n  b: c\n", "unknown-field",
			"remove it", "",
		},
		{
			"texts without dashes",
			head + rest + "spec:\n  nicSelector:\n    rootDevices:\n      0000:3b:00.0\n      0000:3c:00.0\n",
			"field-type", "", `["0000:3b:00.0", "0000:3c:00.0"]`,
		},
		{
			"texts with commas", head + rest + "spec:\n  nicSelector:\n    pfNames: ens1, ens2\n", "field-type", "",
			`["ens1", "ens2"]`,
		},
		{
			"dash without a blank", head + rest + "spec:\n  nicSelector:\n    pfNames:\n      -ens1\n", "field-type",
			"", `["ens1"]`,
		},
		{"upper case", head + "metadata: {name: Rail_0., namespace: b}\n", "object-name", "lower case", "name: rail-0"},
		{"number", head + "metadata: {name: 10, namespace: b}\n", "object-name", "", `name: "10"`},
		{"dots in a namespace", head + "metadata: {name: a.b, namespace: b.c}\n", "object-name", "", "namespace: b-c"},
		{"namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n", "object-name", "", "name: a-b"},
		{"long namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + long + "}\n", "object-name", "", ""},
		{
			"long name", head + "metadata: {name: " + strings.Repeat(long, 4) + ", namespace: b}\n", "object-name", "",
			"",
		},
		{"list as a name", head + "metadata: {name: [a], namespace: b}\n", "object-name", "", ""},
		{"fits", head + "metadata: {name: " + long + ".b, namespace: b}\n", "object-name", "none", ""},
		{
			"a role", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: A, namespace: b}\n",
			"object-name", "none", "",
		},
		{
			"a custom resource with pods that use RDMA",
			"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: A}\nspec:\n" +
				"  leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: a, " +
				"resources: {limits: {rdma/hca: 1}}}]}}}\n",
			"object-name", "", "name: a",
		},
		{
			"one without", "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: A}\n",
			"object-name", "none", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := Run(
				Input{Manifests: manifest.Parse("f", []byte(tt.in)), Options: Options{Only: []string{tt.rule}}},
			).Findings
			if tt.remedy == "none" {
				if len(found) > 0 {
					t.Errorf("%s = %+v, want nothing", tt.rule, found)
				}
				return
			}
			if len(found) == 0 {
				t.Fatalf("%s finds nothing", tt.rule)
			}
			if f := found[len(found)-1]; !strings.Contains(f.Remedy, tt.remedy) || f.Fix != tt.fix {
				t.Errorf("%s = %s; fix %q; want %q; fix %q", tt.rule, f.Remedy, f.Fix, tt.remedy, tt.fix)
			}
		})
	}
}
