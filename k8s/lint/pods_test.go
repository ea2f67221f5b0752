package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// someTemplate is a template with a fault for each rule about pods.
const someTemplate = `{metadata: {annotations: {k8s.v1.cni.cncf.io/networks: '[{"name": "rail0", "ip": ` +
	`"192.168.0.7", "infiniband-guid": "1", "ips": ["192.168.0.7"], "default-route": ["192.168.0.1"]}]'}}, spec: ` +
	`{hostNetwork: true, nodeSelector: {pool: cpu}, initContainers: [{name: i, resources: {limits: ` +
	`{nvidia.com/rail1: 1}, requests: {nvidia.com/rail1: 1}}}], containers: [{name: a, isRdma: true, ` +
	`volumeMounts: [{name: none, mountPath: /x}], resources: {limits: {openshift.io/rail0: 2, nvidia.com/gpu: ` +
	`8}, requests: {openshift.io/rail0: 2}}}, {name: b, resources: {limits: {nvidia.com/rail0: 9}, requests: ` +
	`{nvidia.com/rail0: 9}}}]}}`

// TestWorkloads checks that the same rules apply to the pod templates of all kinds of workloads.
func TestWorkloads(t *testing.T) {
	want := []string{
		"pod-address-duplicate", "pod-default-route", "pod-guid", "pod-host", "pod-init-resource",
		"pod-ipc-lock", "pod-memory", "pod-network-field",
		"pod-prefix", "pod-resource-count", "pod-selector", "unknown-field",
	}
	kinds := map[string]string{
		"apps/v1 Deployment":  "spec: {replicas: 2, template: TEMPLATE}",
		"apps/v1 StatefulSet": "spec: {replicas: 2, template: TEMPLATE}",
		"apps/v1 DaemonSet":   "spec: {template: TEMPLATE}",
		"batch/v1 Job":        "spec: {parallelism: 2, template: TEMPLATE}",
		"batch/v1 CronJob": "spec: {jobTemplate: {spec: {parallelism: " +
			"2, template: TEMPLATE}}}",
		"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": "spec: {replicas: 1, leaderWorkerTemplate: {size: 3, " +
			"workerTemplate: TEMPLATE}}",
		"jobset.x-k8s.io/v1alpha2 JobSet": "spec: {replicatedJobs: [{name: w, replicas: 2, template: " +
			"{spec: {template: TEMPLATE}}}]}",
		"kubeflow.org/v1 PyTorchJob": "spec: {pytorchReplicaSpecs: {Worker: {replicas: " +
			"2, template: TEMPLATE}}}",
		"kubeflow.org/v2beta1 MPIJob": "spec: {mpiReplicaSpecs: {Worker: {replicas: " +
			"2, template: TEMPLATE}}}",
		"ray.io/v1 RayCluster": "spec: {workerGroupSpecs: [{replicas: 2, template: TEMPLATE}]}",
		"ray.io/v1 RayJob": "spec: {rayClusterSpec: {workerGroupSpecs: " +
			"[{replicas: 2, template: TEMPLATE}]}}",
		"batch.volcano.sh/v1alpha1 Job": "spec: {tasks: [{replicas: 2, template: TEMPLATE}]}",
	}
	more := "---" + fill(someNAD, "CONFIG",
		`{"type": "ib-sriov"}`) + strings.ReplaceAll(fill(someNAD, "CONFIG", `{"type": "ib-sriov"}`), "rail0", "rail1")
	for kind, spec := range kinds {
		t.Run(kind, func(t *testing.T) {
			group, name, _ := strings.Cut(kind, " ")
			text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x, namespace: ml}\n%s\n",
				group, name, strings.ReplaceAll(spec, "TEMPLATE", someTemplate))
			in := Input{Manifests: manifest.Parse("in.yaml", []byte(text+more)), Cluster: clusterOf(t, someNode)}
			var got []string
			for _, f := range Run(in).Findings {
				if strings.HasPrefix(f.Object, name+" ") && f.Rule != "pod-volume" && f.Rule != "object-kind" {
					got = append(got, f.Rule)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("rules that report it differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReplicas counts the pods of a template.
func TestReplicas(t *testing.T) {
	const template = "template: {spec: {containers: [{name: a}]}}"
	for in, want := range map[string][]int{
		"spec: {replicas: 3, " + template + "}":    {3},
		"spec: {" + template + "}":                 {1},
		"spec: {parallelism: 4, " + template + "}": {4},
		"spec: {replicatedJobs: [{replicas: 2, " +
			"template: {spec: {parallelism: 4, " +
			template + "}}}]}": {8},
		"spec: {replicas: 2, leaderWorkerTemplate: {size: 4, leaderTemplate: {spec: {containers: [{name: a}]}}, " +
			"workerTemplate: {spec: {containers: [{name: a}]}}}}": {2, 6},
		"spec: {replicas: 2, leaderWorkerTemplate: " +
			"{size: 4, workerTemplate: {spec: " +
			"{containers: [{name: a}]}}}}": {8},
		"spec: {mpiReplicaSpecs: {Launcher: {replicas: 1, " + template +
			"}, Worker: {replicas: 16, " + template + "}}}": {1, 16},
		"spec: {replicas: 1048576, replicatedJobs: [{replicas: 1048576, template: {replicas: 1048576, " +
			"spec: {parallelism: 1048576, " + template + "}}}]}": {maxReplicas},
		"spec: {replicas: -3, " + template + "}": {1},
	} {
		var got []int
		for _, o := range manifest.Parse(
			"in.yaml", []byte("apiVersion: a/v1\nkind: X\nmetadata: {name: x}\n"+in+"\n"),
		).Objects {
			for _, p := range podsOf(o) {
				got = append(got, p.Replicas)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pods of %s differ (-want +got):\n%s", in, diff)
		}
	}
}

// TestAnnotations tests contents of Multus annotations as users write them: each case is one rule
// on one pod.
func TestAnnotations(t *testing.T) {
	const (
		namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n"
		unread     = "error multus can't read the annotation: "
	)
	tests := []struct {
		name, rule, networks, nodes string
		want                        []string // severity, summary and remedy or fix, and where it is
	}{
		{"comma", "pod-network", `[{"name": "rail0",}]`, "", []string{
			unread + `not valid JSON: a comma before the closing bracket; make it valid JSON at ,}]`,
		}},
		{"it ends", "pod-network", `[{"name": "rail0"}`, "", []string{
			unread + `not valid JSON: unexpected end of the text; make it valid JSON at }`,
		}},
		{"one object", "pod-network", `{"name": "rail0"}`, "", []string{
			unread + `it is an object, but multus requires a list; put it into brackets: [{...}] at {"name": "rail0"}`,
		}},
		{"texts", "pod-network", `["rail0"]`, "", []string{
			unread + `an entry is not an object; write entries as {"name": "rail0"} at ["rail0"]`,
		}},
		{"a text for a list", "pod-network", `[{"name": "rail0", "ips": "192.168.0.7"}]`, "", []string{unread +
			`ips is a string but must be a list of strings; change the type of the value at "ips": "192.168.0.7"}]`}},
		{"a number for a text", "pod-network", `[{"name": 0}]`, "", []string{
			unread + `name is a number but must be a string; change the type of the value at "name": 0}]`,
		}},
		{"a namespace in the name", "pod-network", `[{"name": "ml/rail0"}]`, "", []string{
			unread + `the name "ml/rail0" contains a namespace, which is a separate field in the JSON form; write ` +
				`"name": "rail0", "namespace": "ml" at "ml/rail0"}]`,
		}},
		{"an interface in the name", "pod-network", `[{"name": "rail0@net1"}]`, "", []string{
			unread + `the name "rail0@net1" contains an interface, which is a separate field in the JSON form; ` +
				`move it to the field "interface" at "rail0@net1"}]`,
		}},
		{"another name of a field", "pod-network", `[{"name": "rail0", "ip": "192.168.0.7"}]`, "", []string{
			`error network rail0 has a field "ip" that multus ignores; rename it to ips at "ip": "192.168.0.7"}]`,
		}},
		{"a field of nobody", "pod-network", `[{"name": "rail0", "x-rank": 7}]`, "", []string{
			`warn network rail0 has a field "x-rank" that multus ignores; remove it at "x-rank": 7}]`,
		}},
		{
			"fields right, upper case too", "pod-network",
			`[{"name": "rail0", "nameSpace": "ml", "cni-args": {"a": 1}, "interface": "rail0"}]`, "", nil,
		},
		{
			"one interface twice", "pod-network", `[{"name": "rail0", "interface": "net2"}, {"name": "rail0"}]`, "",
			[]string{`error duplicate interface name net2: the second attachment fails, and the pod with it; use ` +
				`different interface names, or none at net2"}, {"name": "rail0"}]`},
		},
		{"eth0", "pod-network", `rail0@eth0`, "", []string{
			`error network rail0 requests the interface name eth0, which the pod's default network has; remove the ` +
				`name, or write net1 at eth0`,
		}},
		{"a long interface", "pod-network", `[{"name": "rail0", "interface": "interface-of-rail-0"}]`, "", []string{
			`error "interface-of-rail-0" is not a valid interface name (at most 15 characters); write a shorter name ` +
				`at interface-of-rail-0"}]`,
		}},
		{"misspelt, with its namespace", "pod-network", `ml/raiil0`, "", []string{
			`error unknown network ml/raiil0; ml/rail0 at ml/raiil0`,
		}},
		{"misspelt and elsewhere", "pod-network", `other/raiil0`, "", []string{
			`error unknown network other/raiil0; ml/rail0 at other/raiil0`,
		}},
		{"elsewhere, in JSON", "pod-network", `[{"name": "rail0", "namespace": "other"}]`, "", []string{
			`error network rail0 is in namespace ml, but multus looks in other; "name": "rail0", "namespace": "ml" ` +
				`at "rail0", "namespace": "other"}]`,
		}},
		{"of others", "pod-network", `other/storage`, "", []string{
			`warn unknown network other/storage; known are rail0; name a network of the pod's ` +
				`namespace, or set networkNamespace in the network at other/storage`,
		}},
		{"no namespace", "pod-network", `rail0, nowhere/storage`, namespaces, []string{
			`error multus looks for storage in namespace nowhere, which doesn't exist; write the namespace ` +
				`of the network at nowhere/storage`,
		}},
		{"no address", "pod-address", `[{"name": "rail0", "ips": ["192.168.0.777"], "mac": "2:2"}]`, "", []string{
			`error ips of network rail0 contains the invalid address "192.168.0.777": the pod doesn't start; correct ` +
				`the address, or remove it at "192.168.0.777"], "mac": "2:2"}]`,
			`error mac of network rail0 contains the invalid address "2:2": the pod doesn't start; correct the ` +
				`address, or remove it at "2:2"}]`,
		}},
		{
			"addresses", "pod-address",
			`[{"name": "rail0", "ips": ["192.168.0.7/24", "fd00::7"], "mac": "02:00:00:00:00:01"}]`, "", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			text := fill(someNAD, "CONFIG", `{"type": "ib-sriov"}`) + fill(somePod, "NETWORKS", tt.networks, "POD", "")
			lines := strings.Split(text, "\n")
			var got []string
			for _, f := range check(t, tt.rule, text, tt.nodes) {
				line := strings.TrimSuffix(lines[f.Line-1], "'}}")
				what := f.Remedy
				if f.Fix != "" {
					what = f.Fix
				}
				got = append(got, fmt.Sprintf("%s %s; %s at %s", f.Severity, f.Summary, what, line[f.Column-1:]))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings of %s differ (-want +got):\n%s", tt.rule, diff)
			}
		})
	}
}

// TestPods tests the sources of pods' VFs, and their containers.
func TestPods(t *testing.T) {
	const (
		none    = "resources: {}"
		sidecar = "initContainers: [{name: s, restartPolicy: Always, resources: {limits: {nvidia.com/rail0: 1}, " +
			"requests: {nvidia.com/rail0: 1}}}],"
		ending = "initContainers: [{name: s, resources: {limits: {nvidia.com/rail0: 1}, requests: {}}}],"
	)
	network := fill(someNetwork, "IPAM", `{}`)
	pod := func(pod string) string { return network + fill(somePod, "NETWORKS", "rail0", "POD", pod) }
	instead := func(name string) string {
		return network + strings.Replace(fill(somePod, "POD", ""), "k8s.v1.cni.cncf.io/networks: 'NETWORKS'",
			"v1.multus-cni.io/default-network: "+name, 1)
	}
	bare := func(text string) string {
		return strings.Replace(text,
			"resources: {limits: {nvidia.com/rail0: 1}, requests: {nvidia.com/rail0: 1}}}]}\n---", none+"}]}\n---", 1)
	}
	policy := fill(somePolicy, "SPEC", "linkType: ib, nicSelector: {pfNames: [ens1]}")
	cpu := strings.NewReplacer("gpu-00", "cpu-00", "pool: gpu", "pool: cpu", "nvidia.com/rail0: 4", "cpu: 4").Replace(
		someNode)
	// Cards of a node, with its labels and without its resources.
	fresh := strings.Replace(card0("totalvfs: 8, linkType: IB"), "nvidia.com/rail0: 4", "cpu: 4",
		1) + "---" + cpu + "---" +
		strings.NewReplacer("gpu-00", "cpu-00").Replace(strings.SplitN(card0("totalvfs: 8, linkType: IB"), "---", 2)[1])
	tests := []struct {
		name, rule, in, nodes string
		want                  []string // severity and path
	}{
		{"in place of the cluster's", "pod-resource", instead("ml/rail0"), "", nil},
		{"in place of the cluster's, in multus' own namespace", "pod-resource", instead("rail0"), "", nil},
		{
			"both", "pod-resource",
			strings.Replace(pod(""), "annotations: {", "annotations: {v1.multus-cni.io/default-network: ml/rail0, ", 1),
			"",
			[]string{`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		{"both, and two VFs", "pod-resource", strings.ReplaceAll(strings.Replace(pod(""), "annotations: {",
			"annotations: {v1.multus-cni.io/default-network: ml/rail0, ", 1), "rail0: 1", "rail0: 2"), "", nil},
		{"two in place of the cluster's", "pod-network", instead("'ml/rail0,ml/rail0'"), "", []string{
			`error metadata.annotations["v1.multus-cni.io/default-network"]`,
		}},

		{"a shared device", "pod-resource", strings.ReplaceAll(fill(someNAD, "CONFIG", `{"type": "macvlan"}`)+fill(
			somePod, "NETWORKS", "rail0, rail0", "POD", ""), "nvidia.com/rail0", "rdma/rail0"), "", nil},
		{
			"a shared device that nobody asks for", "pod-resource",
			bare(strings.ReplaceAll(fill(someNAD, "CONFIG", `{"type": "macvlan"}`), "nvidia.com/rail0",
				"rdma/rail0") + fill(somePod, "NETWORKS", "rail0", "POD", "")),
			"",
			[]string{`warn metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		// network-resources-injector adds the resource; on OpenShift it is on by default
		{
			"the injector is on", "pod-resource",
			bare(pod(ending)) + fill(someConfig, "NAME", "default", "SPEC", "enableInjector: true"), "", nil,
		},
		{
			"the injector is off", "pod-resource",
			bare(pod(ending)) + fill(someConfig, "NAME", "default", "SPEC", "enableInjector: false"), "",
			[]string{
				`error metadata.annotations["k8s.v1.cni.cncf.io/networks"]`,
			},
		},
		{
			"OpenShift", "pod-resource", bare(pod(ending)) + strings.Replace(fill(somePolicy, "SPEC",
				"nicSelector: {pfNames: [ens1]}"), "namespace: sriov", "namespace: openshift-sriov", 1), "", nil,
		},
		// kubernetes.io: devices by claims instead of extended resources
		{
			"a claim", "pod-resource",
			bare(pod("resourceClaims: [{name: vf, resourceClaimTemplateName: vf}], " + ending)), "", nil,
		},
		{"a sidecar asks", "pod-resource", bare(pod(sidecar)), "", nil},
		{"a sidecar can't lock", "pod-ipc-lock", bare(pod(sidecar)), "", []string{"warn spec.initContainers[0].name"}},
		{"an init container asks", "pod-resource", bare(pod(ending)), "", []string{
			`warn metadata.annotations["k8s.v1.cni.cncf.io/networks"]`,
		}},
		{
			"an init container's request", "pod-resource",
			pod(strings.Replace(ending, "requests: {}", "requests: {nvidia.com/rail0: 2}", 1)), "",
			[]string{`error spec.initContainers[0].resources.requests["nvidia.com/rail0"]`},
		},
		{
			"an init container's prefix", "pod-prefix", pod(strings.ReplaceAll(ending, "nvidia.com", "openshift.io")),
			someNode,
			[]string{`error spec.initContainers[0].resources.limits["openshift.io/rail0"]`},
		},

		{"no policy selects cards there", "pod-selector", policy + pod("nodeSelector: {pool: cpu},"), fresh, []string{
			`error spec.containers[0].resources.limits["nvidia.com/rail0"]`,
		}},
		{"pinned to a node without", "pod-selector", policy + pod("nodeName: cpu-00,"), fresh, []string{
			`error spec.containers[0].resources.limits["nvidia.com/rail0"]`,
		}},
		{"a policy selects cards there", "pod-selector", policy + pod("nodeSelector: {pool: gpu},"), fresh, nil},
		{
			"cards aren't known", "pod-selector", policy + pod("nodeSelector: {pool: gpu},"),
			strings.Replace(someNode, "nvidia.com/rail0: 4", "cpu: 4", 1) + "---" + cpu, nil,
		},
		{
			"pinned to an unknown node", "pod-selector", policy + pod("nodeName: gpu-77,"),
			strings.SplitN(fresh, "---", 3)[1], nil,
		},

		{
			"below the job template", "pod-network",
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: x, namespace: ml}\n" +
				"spec: {jobTemplate: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: rail0}}, spec: " +
				"{template: {spec: {containers: [{name: a}]}}}}}\n",
			"",
			[]string{`error spec.jobTemplate.metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		{
			"metadata left out", "pod-network",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, namespace: ml}\n" +
				"spec: {template: {annotations: {k8s.v1.cni.cncf.io/networks: rail0}, spec: " +
				"{containers: [{name: a}]}}}\n",
			"",
			[]string{`error spec.template.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
		{"another name", "pod-network", strings.Replace(pod(""), "k8s.v1.cni.cncf.io/networks",
			"k8s.v1.cni.cncf.io/network", 1), "", []string{`error metadata.annotations["k8s.v1.cni.cncf.io/network"]`}},
		{"among labels", "pod-network", strings.Replace(pod(""), "annotations:", "labels:", 1), "", []string{
			`error metadata.labels["k8s.v1.cni.cncf.io/networks"]`,
		}},
		{"what multus wrote", "pod-network", strings.Replace(pod(""), "annotations: {",
			"annotations: {k8s.v1.cni.cncf.io/network-status: '[]', k8s.v1.cni.cncf.io/resourceName: x, ", 1), "", nil},
		{"in both places", "pod-network", "apiVersion: apps/v1\nkind: Deployment\n" +
			"metadata: {name: x, namespace: ml, annotations: {k8s.v1.cni.cncf.io/networks: rail0}}\n" +
			"spec: {template: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: rail0}}, spec: " +
			"{containers: [{name: a}]}}}\n", "", nil},
		{
			"one address on all nodes", "pod-address",
			"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x, namespace: ml}\n" +
				"spec: {template: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: '[{\"name\": \"rail0\", " +
				"\"ips\": [\"192.168.0.7\"]}]'}}, spec: {containers: [{name: a}]}}}\n",
			"",
			[]string{`error spec.template.metadata.annotations["k8s.v1.cni.cncf.io/networks"]`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			var got []string
			for _, f := range check(t, tt.rule, tt.in, tt.nodes) {
				got = append(got, string(f.Severity)+" "+f.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings of %s differ (-want +got):\n%s", tt.rule, diff)
			}
		})
	}
}
