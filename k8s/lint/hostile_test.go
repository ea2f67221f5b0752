package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestHostile checks texts with a very large value, in a time that grows with their size
// and not with its square.
func TestHostile(t *testing.T) {
	const n = 20_000
	many := func(item string) string { return strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") }
	tests := map[string]string{
		"plugins": fill(someNAD, "CONFIG", `{"plugins": [`+many(`{"type": "sriof", "vlan": 1}`)+`]}`),
		"attachments": fill(someNetwork, "IPAM", "{}") + fill(somePod, "POD", "", "NETWORKS",
			`[`+many(`{"name": "rail0", "infiniband-guid": "1", "default-route": ["a"]}`)+`]`),
		"entries": fill(someMap, "DATA",
			`[`+many(`{"pci_address": "0000:3b:00.0", "guids": ["02:00:00:00:00:00:00:01"]}`)+`]`),
		"escaped": fill(someMap, "DATA", `[`+many(`{"pci_address": "\u0030", "guids": ["1"]}`)+`]`),
		"ranges": fill(someNetwork, "IPAM",
			`{"type": "whereabouts", "ipRanges": [`+many(`{"range": "10.0.0.0/31"}`)+`]}`),
		"routes": fill(someNetwork, "IPAM", `{"type": "whereabouts", "range": "10.0.0.0/24", "routes": [`+many(
			`{"dst": "8000::/1", "gw": "x"}`)+`]}`),
		"lists": fill(someNetwork, "IPAM", `{"type": "host-local", "ranges": [[`+many(
			`{"subnet": "10.0.0.7/24", "range": "x", "gateway": "10.1.0.1"}`)+`]]}`),
		"fields": fill(someNetwork, "IPAM",
			"{}") + fill(somePod, "POD", "", "NETWORKS", `[{"name": "rail0"`+strings.Repeat(`, "x": 1`, n)+`}]`),
		"a line": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "supported-nic-ids"}, "data": ` +
			`{"a": "` + many("b") + `"}, "x": [` + many(`{"y": "é"}`) + `]}`,
		"lines": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: supported-nic-ids}\ndata: {" +
			strings.ReplaceAll(many("aX: b"), "X", "") + "}\n",
	}
	var pools, volumes strings.Builder
	for i := range n / 5 {
		fmt.Fprintf(&pools, "---\napiVersion: nv-ipam.nvidia.com/v1alpha1\nkind: IPPool\nmetadata: {name: pool-%d}\n"+
			"spec: {subnet: 10.0.0.0/8, perNodeBlockSize: 1}\n---\napiVersion: mellanox.com/v1alpha1\n"+
			"kind: MacvlanNetwork\nmetadata: {name: n%d}\nspec: {ipam: '{\"type\": \"nv-ipam\", \"poolName\": "+
			"\"poll-%d\"}'}\n", i, i, i)
	}
	tests["pools"] = pools.String()
	volumes.WriteString("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  template:\n" +
		"    spec:\n      containers: [{name: a, volumeMounts: [")
	for i := range n {
		fmt.Fprintf(&volumes, "{name: mount-%d, mountPath: /a}, ", i)
	}
	volumes.WriteString("]}]\n      volumes: [")
	for i := range n {
		fmt.Fprintf(&volumes, "{name: volume-%d}, ", i)
	}
	tests["volumes"] = volumes.String() + "]\n"
	for name, in := range tests {
		start := time.Now()
		r := Run(Input{Manifests: manifest.Parse("f", []byte(in))})
		took := time.Since(start)
		t.Logf("%s: %d kB, %d findings in %s", name, len(in)>>10, len(r.Findings), took)
		if took > 45*time.Second {
			t.Errorf("%s: %d kB took %s", name, len(in)>>10, took)
		}
	}
}
