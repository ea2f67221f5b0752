package impact

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// input makes an Input of manifests and of the cluster's objects.
func input(t testing.TB, apply, cluster string) Input {
	t.Helper()
	in := Input{Manifests: manifest.Parse("apply.yaml", []byte(apply))}
	if len(in.Manifests.Problems) > 0 {
		t.Fatalf("manifests: %+v", in.Manifests.Problems)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, []byte(cluster), 0o600); err != nil {
		t.Fatal(err)
	}
	in.Cluster = readNodes(t, file)
	return in
}

func readNodes(t testing.TB, names ...string) source.Cluster {
	t.Helper()
	cluster, err := source.Files{Names: names}.Cluster(t.Context())
	if err != nil || len(cluster.Problems) > 0 {
		t.Fatalf("cluster: %v, %+v", err, cluster.Problems)
	}
	return cluster
}

// policyText is a policy; spec holds further fields in flow style.
func policyText(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n"+
		"metadata: {name: %s, namespace: sriov}\nspec: {resourceName: %s, nodeSelector: {}, %s}\n", name, name, spec)
}

// poolText is a pool; spec holds its fields in flow style.
func poolText(name, spec string) string {
	return fmt.Sprintf(
		"---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkPoolConfig\n"+
			"metadata: {name: %s, namespace: sriov}\nspec: {%s}\n", name, spec)
}

func configText(spec string) string {
	return "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovOperatorConfig\n" +
		"metadata: {name: default, namespace: sriov}\nspec: {" + spec + "}\n"
}

func nodeText(name, labels string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {%s}}\n", name, labels)
}

// pfText is a PF of a ConnectX-7 in the flow style of a state, with further fields.
func pfText(name, address, more string) string {
	return fmt.Sprintf(
		"{name: %s, altNames: [alt%s], pciAddress: %q, vendor: \"15b3\", deviceID: \"1021\", driver: mlx5_core, %s}",
		name, name, address, more)
}

// vfsText are VFs from 0 on, each with the same fields.
func vfsText(n int, fields string) string {
	vfs := make([]string, 0, n)
	for i := range n {
		vfs = append(vfs, fmt.Sprintf("{vfID: %d, pciAddress: \"0000:13:00.%d\", deviceID: 101e, %s}", i, i+1, fields))
	}
	return "Vfs: [" + strings.Join(vfs, ", ") + "]"
}

const kernelVF = `driver: mlx5_core, guid: "b83f:d203:00a5:1040"`

// stateText is a SriovNetworkNodeState without a spec unless one is given.
func stateText(name, spec, status string, pfs ...string) string {
	text := fmt.Sprintf(
		"---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodeState\n"+
			"metadata: {name: %s, namespace: sriov}\n", name)
	if spec != "" {
		text += "spec: " + spec + "\n"
	}
	if status != "" {
		status += ", "
	}
	return text + "status: {" + status + "interfaces: [" + strings.Join(pfs, ", ") + "]}\n"
}

// short formats the result for a node: its action, the worst action if it differs, and the reasons:
// "ens1 firmware-vfs reboot".
func short(n Node) []string {
	out := []string{string(n.Action)}
	if n.Worst != n.Action {
		out[0] += " to " + string(n.Worst)
	}
	add := func(place string, reasons []Reason) {
		for _, r := range reasons {
			text := fmt.Sprintf("%s %s %s", place, r.ID, r.Action)
			if r.Open {
				text += "?"
			}
			if r.Held != "" {
				text += " held"
			}
			out = append(out, text)
		}
	}
	add("node", n.Reasons)
	for _, c := range n.Cards {
		add(c.Netdev, c.Reasons)
	}
	out = append(out, slices.Repeat([]string{"fails"}, len(n.Failures))...)
	return append(out, slices.Repeat([]string{"unknown"}, len(n.Unknown))...)
}
