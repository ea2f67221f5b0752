package podenv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/launch/lint"
)

func TestParse(t *testing.T) {
	set := func(name, value string, line int) lint.Setting {
		return lint.Setting{Name: name, Value: value, File: "f", Line: line}
	}
	unknown := func(name, value string, line int) lint.Setting {
		s := set(name, value, line)
		s.Unknown = true
		return s
	}
	tests := []struct {
		name, text string
		want       map[string][]lint.Setting
	}{
		{
			"pod", "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    env:\n    - name: X\n" +
				"      value: \"1\"\n    - name: E\n  - name: b\n" +
				"    env: [{name: Y, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]\n",
			map[string][]lint.Setting{
				"f, Pod p, container a": {set("X", "1", 7), set("E", "", 9)},
				"f, Pod p, container b": {unknown("Y", "", 11)},
			},
		},
		{
			"JSON of kubectl", `{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "p"}, "spec": ` +
				`{"containers": [{"name": "a", "env": [{"name": "X", "value": "é\u003c"}]}]}}]}`,
			map[string][]lint.Setting{"f, Pod p, container a": {set("X", "é<", 1)}},
		},
		{
			"ConfigMap by itself, files in it are none",
			"kind: ConfigMap\nmetadata: {name: c}\ndata:\n  X: '1'\n  a.conf: |\n    Y=1\n    Z=2\n",
			map[string][]lint.Setting{"f, ConfigMap c": {set("X", "1", 4)}},
		},
		{
			"ConfigMap behind the pod, with a prefix, and one key", "kind: Pod\nmetadata: {name: p}\nspec:\n" +
				"  containers:\n  - name: a\n    envFrom: [{prefix: P_, configMapRef: {name: c}}, {secretRef: " +
				"{name: s}}]\n    env:\n    - name: K\n      valueFrom: {configMapKeyRef: {name: c, key: X}}\n---\n" +
				"kind: ConfigMap\nmetadata: {name: c}\ndata: {X: '1'}\n",
			map[string][]lint.Setting{"f, Pod p, container a": {set("P_X", "1", 13), set("K", "1", 8)}},
		},
		{
			"template of a LeaderWorkerSet", "kind: LeaderWorkerSet\nmetadata: {name: l}\nspec:\n" +
				"  leaderWorkerTemplate:\n    workerTemplate:\n      spec:\n        containers:\n        - name: w\n" +
				"          env:\n          - {name: X, value: $(Y)}\n",
			map[string][]lint.Setting{"f, LeaderWorkerSet l, container w": {unknown("X", "$(Y)", 10)}},
		},
		{
			"mpirun", "kind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n      containers:\n" +
				"      - name: m\n        command: [mpirun, -np, '2', -x, A_B=1, -x, C, -x, 'D=$D']\n" +
				"      - name: s\n        command: [bash, -c]\n        args:\n        - |\n" +
				"          mpirun -np 2 \\\n            -x E=mlx5_0 -x F=\"a b\" \\\n            prog -x\n" +
				"      - name: other\n        command: [curl, -x, G=1]\n",
			map[string][]lint.Setting{
				"f, Job j, container m": {set("A_B", "1", 8), unknown("D", "$D", 8)},
				"f, Job j, container s": {set("E", "mlx5_0", 14), set("F", "a b", 14)},
			},
		},
		{
			"Compose", "services:\n  a:\n    environment:\n      X: 1\n      Y: ${Z}\n  b:\n" +
				"    environment:\n    - W=2\n    - V\n",
			map[string][]lint.Setting{
				"f, service a": {set("X", "1", 4), unknown("Y", "${Z}", 5)}, "f, service b": {set("W", "2", 8)},
			},
		},
		{"values of a chart", "worker:\n  env:\n    X: '1'\n", map[string][]lint.Setting{"f": {set("X", "1", 3)}}},
		{"anchors", "a: &e\n- {name: X, value: '1'}\ncontainers:\n- name: c\n  env: *e\n", map[string][]lint.Setting{
			"f, container c": {set("X", "1", 2)},
		}},
		{"no environment", "kind: Pod\nmetadata: {name: p}\n", map[string][]lint.Setting{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			envs, err := Parse("f", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]lint.Setting{}
			for _, e := range envs {
				got[e.Name] = e.Settings
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("environments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{"apiVersion: v1\nkind: Pod\n", true},
		{"# remark\n---\nkind: Pod\n", true},
		{"services:\n  a:\n    command: A=b\n", true},
		{"{\n  \"apiVersion\": \"v1\"\n}", true},
		{"{\"NCCL_IB_TC\": \"106\"}", false},
		{"NCCL_DEBUG=INFO\nX=kind: none\n", false},
		{"export A=1\ncat <<EOF\nkind: Pod\nEOF\n", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := Detect([]byte(tt.text)); got != tt.want {
			t.Errorf("Detect(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
}

// FuzzParse fuzzes the reader of manifests: no panic, no endless loop, and every environment
// has a name.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, env: [{name: X, value: y}], envFrom: " +
			"[{configMapRef: {name: c}}]}]}\n---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {A: b}\n",
		"a: &a [*a]\nenv: *a\n", "services: {a: {environment: [X=1]}}", "env: {X: 1}", "&a {env: *a, name: *a}",
		"{\"kind\":\"Pod\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		envs, err := Parse("f", data)
		if err != nil {
			return
		}
		for _, e := range envs {
			if e.Name == "" {
				t.Errorf("environment without a name: %+v", e)
			}
		}
	})
}

// An alias takes a few bytes and repeats its whole anchor.
func TestParseAliases(t *testing.T) {
	var b strings.Builder
	b.WriteString("x: &e\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  NCCL_A%d: \"1\"\n", i)
	}
	b.WriteString("spec:\n  containers:\n" + strings.Repeat("  - {name: c, env: *e}\n", 9000))
	if envs, err := Parse("bomb.yaml", []byte(b.String())); err == nil {
		t.Errorf("Parse(27,000,000 variables) = %d environments, want an error", len(envs))
	}
}

// TestHostNetwork tells containers with network devices of their own from those with the node's.
func TestHostNetwork(t *testing.T) {
	const text = "kind: Pod\nmetadata: {name: NAME}\nspec:\n  MORE\n" +
		"  containers: [{name: a, env: [{name: X, value: '1'}]}]\n"
	for more, want := range map[string]bool{"a: b": true, "hostNetwork: false": true, "hostNetwork: true": false} {
		data := strings.Replace(text, "MORE", more, 1) + "---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {Y: '1'}\n"
		envs, err := Parse("f", []byte(data))
		if err != nil || len(envs) != 2 || envs[0].PodNetwork != want || envs[1].PodNetwork {
			t.Errorf("%s: %+v, %v, want PodNetwork %t in the pod and false in the ConfigMap", more, envs, err, want)
		}
	}
}
