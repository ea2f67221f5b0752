package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s"
)

const (
	fabricPolicy = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: NAME, namespace: sriov-network-operator}
spec: {resourceName: rail0, nodeSelector: {SELECTOR}, isRdma: true, numVfs: 8, linkType: IB, nicSelector: {pfNames: [ens1]}}
`
	exclusivePool = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkPoolConfig
metadata: {name: NAME, namespace: sriov-network-operator}
spec: {rdmaMode: exclusive, nodeSelector: {SELECTOR}}
`
	unlabelledNode = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodeState
metadata: {name: gpu-00, namespace: sriov-network-operator}
status: {syncStatus: Succeeded, interfaces: [{name: ens1, pciAddress: "0000:3b:00.0", vendor: "15b3", deviceID: "1021", driver: mlx5_core, linkType: IB, totalvfs: 8}]}
`
)

// TestIsolationSelectors checks pools against policies by their selectors.
func TestIsolationSelectors(t *testing.T) {
	const report = "error spec"
	tests := []struct{ name, pool, policy, nodes, want string }{
		{"another value", "matchLabels: {fabric: roce}", "fabric: ib", "", ""},
		{"the same value", "matchLabels: {fabric: roce}", "fabric: roce", "", report},
		{"another label", "matchLabels: {pool: gpu}", "fabric: ib", "", report},
		{"all nodes", "", "fabric: ib", "", report},
		{"no selector of the policy", "matchLabels: {fabric: roce}", "", "", report},
		{"In others", "matchExpressions: [{key: fabric, operator: In, values: [a, b]}]", "fabric: ib", "", ""},
		{"In", "matchExpressions: [{key: fabric, operator: In, values: [a, ib]}]", "fabric: ib", "", report},
		{"NotIn", "matchExpressions: [{key: fabric, operator: NotIn, values: [ib]}]", "fabric: ib", "", ""},
		{"NotIn others", "matchExpressions: [{key: fabric, operator: NotIn, values: [a]}]", "fabric: ib", "", report},
		{"DoesNotExist", "matchExpressions: [{key: fabric, operator: DoesNotExist}]", "fabric: ib", "", ""},
		{"Exists", "matchExpressions: [{key: fabric, operator: Exists}]", "fabric: ib", "", report},
		{"unknown operator", "matchExpressions: [{key: fabric, operator: Is, values: [a]}]", "fabric: ib", "", report},
		{"placeholder", "matchLabels: {fabric: '${FABRIC}'}", "fabric: ib", "", report},
		{"a node in the pool", "matchLabels: {pool: gpu}", "pool: gpu", card0("linkType: IB, totalvfs: 8"), report},
		{"labels of the node", "matchLabels: {a: b}", "pool: gpu", card0("linkType: IB, totalvfs: 8"), ""},
		{"a node without its card", "matchLabels: {a: b}", "pool: gpu", someNode, ""},
		{"unknown labels", "matchLabels: {fabric: roce}", "fabric: ib", unlabelledNode, ""},
		{"unknown labels, same value", "matchLabels: {fabric: ib}", "fabric: ib", unlabelledNode, report},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := fill(exclusivePool, "SELECTOR", tt.pool) + fill(fabricPolicy, "SELECTOR", tt.policy) +
				fill(someNetwork, "IPAM", "{}")
			if got := strings.Join(severitiesOf(check(t, "rdma-isolation", text, tt.nodes)), "; "); got != tt.want {
				t.Errorf("findings %q, want %q", got, tt.want)
			}
		})
	}
}

// TestIsolationOfSeveral checks policies of one resource, and pools with different modes.
func TestIsolationOfSeveral(t *testing.T) {
	shared := strings.ReplaceAll(fill(exclusivePool, "NAME", "b", "SELECTOR", "matchLabels: {fabric: ib}"),
		"exclusive", "shared")
	roce := fill(exclusivePool, "SELECTOR", "matchLabels: {fabric: roce}")
	ib := fill(fabricPolicy, "SELECTOR", "fabric: ib")
	for name, tt := range map[string]struct {
		rule, text string
		want       []string
	}{
		"policies of both": {
			"rdma-isolation", roce + ib + fill(fabricPolicy, "NAME", "b", "SELECTOR", "fabric: roce"), nil,
		},
		"both of the pool": {
			"rdma-isolation", fill(exclusivePool, "SELECTOR", "") + ib + fill(fabricPolicy, "NAME", "b", "SELECTOR",
				"fabric: roce"), []string{"error spec"},
		},
		"pools of both": {"rdma-mode", roce + shared + ib, []string{"error spec.metaPlugins"}},
	} {
		network := strings.ReplaceAll(fill(someNetwork, "IPAM", "{}"), "SriovIBNetwork", "SriovNetwork")
		if tt.rule == "rdma-mode" {
			network = strings.ReplaceAll(network, "ipam:", `metaPlugins: '{"type": "rdma"}', ipam:`)
		}
		if diff := cmp.Diff(tt.want, severitiesOf(check(t, tt.rule, tt.text+network, ""))); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", name, diff)
		}
	}
}

// TestConditions compares the decision about two selectors with all sets of labels of one key.
func TestConditions(t *testing.T) {
	labels := []map[string]string{{}, {"k": "a"}, {"k": "b"}, {"k": "c"}}
	var lists []conditions
	for _, operator := range []string{"In", "NotIn", "Exists", "DoesNotExist"} {
		for _, values := range [][]string{{"a"}, {"b"}, {"a", "b"}} {
			one := k8s.SelectorRequirement{Key: "k", Operator: operator, Values: values}
			lists = append(lists, conditions{one},
				conditions{one, {Key: "k", Operator: "NotIn", Values: []string{"a"}}})
		}
	}
	for _, a := range lists {
		for _, b := range lists {
			excludes, implies := true, true
			for _, l := range labels {
				excludes = excludes && !(a.metBy(l) && b.metBy(l))
				implies = implies && (!a.metBy(l) || b.metBy(l))
			}
			if got := a.excludes(b); got != excludes {
				t.Errorf("%v excludes %v = %t, want %t", a, b, got, excludes)
			}
			if got := a.implies(b); got != implies {
				t.Errorf("%v implies %v = %t, want %t", a, b, got, implies)
			}
		}
	}
}

// severitiesOf returns the severity and the path of each finding.
func severitiesOf(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, string(f.Severity)+" "+f.Path)
	}
	return out
}

// TestSharedPluginSelectors checks pools against the nodes that pods select.
func TestSharedPluginSelectors(t *testing.T) {
	const (
		roce     = "matchLabels: {fabric: roce}"
		failing  = `error spec.containers[0].resources.limits["rdma/a"]`
		unsure   = `warn spec.containers[0].resources.limits["rdma/a"]`
		required = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"{nodeSelectorTerms: [TERMS]}}},"
		isIB   = "{matchExpressions: [{key: fabric, operator: In, values: [ib]}]}"
		isRoCE = "{matchExpressions: [{key: fabric, operator: In, values: [roce]}]}"
		more   = "{matchExpressions: [{key: memory, operator: Gt, values: ['4']}]}"
	)
	terms := func(text string) string { return strings.Replace(required, "TERMS", text, 1) }
	labelled := strings.Replace(someNode, "pool: gpu", "pool: gpu, fabric: ib", 1)
	tests := []struct{ name, pool, pod, nodes, want string }{
		{"another value", roce, "nodeSelector: {fabric: ib},", "", ""},
		{"the same value", roce, "nodeSelector: {fabric: roce},", "", failing},
		{"any node", roce, "", "", unsure},
		{"another label", roce, "nodeSelector: {pool: gpu},", "", unsure},
		{"placeholder", roce, "nodeSelector: {fabric: '${FABRIC}'},", "", unsure},
		{"pool of all nodes", "", "", "", failing},
		{"affinity to others", roce, terms(isIB), "", ""},
		{"affinity to the pool", roce, terms(isRoCE), "", failing},
		{"affinity to either", roce, terms(isRoCE + ", " + isIB), "", unsure},
		{"affinity to others, twice", "matchLabels: {fabric: eth}", terms(isRoCE + ", " + isIB), "", ""},
		{"affinity by a number", roce, terms(more), "", unsure},
		{"affinity and selector", roce, "nodeSelector: {fabric: ib}, " + terms(more), "", ""},
		{"node of another pool", roce, "", labelled, ""},
		{"node of the pool", "matchLabels: {fabric: ib}", "", labelled, failing},
		{"affinity to another node", "matchLabels: {pool: gpu}", terms(isRoCE), labelled + "---" + strings.NewReplacer(
			"gpu-00", "gpu-01", "pool: gpu", "fabric: roce").Replace(someNode), ""},
		{"unknown labels", roce, "nodeSelector: {fabric: ib},", unlabelledNode, ""},
		{"unknown labels, any node", roce, "", unlabelledNode, unsure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := fill(somePod, "NETWORKS", "", "POD", tt.pod, "nvidia.com/rail0", "rdma/a")
			text := fill(exclusivePool, "SELECTOR", tt.pool) + pod
			if got := strings.Join(severitiesOf(check(t, "rdma-mode", text, tt.nodes)), "; "); got != tt.want {
				t.Errorf("findings %q, want %q", got, tt.want)
			}
		})
	}
}
