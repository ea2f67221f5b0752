package plan

import (
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestOperatorNamespace reads two operators' objects in both orders.
func TestOperatorNamespace(t *testing.T) {
	const config = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovOperatorConfig\n" +
		"metadata: {name: default, namespace: "
	objects := manifest.Parse("in.yaml", []byte(config+"zeta}\n---\n"+config+"alpha}\n")).Objects
	for range 2 {
		cluster := clusterTest{files: []string{"ib-labelled.yaml"}}.cluster(t)
		cluster.Objects = objects
		p, err := Make(cluster, Options{})
		if err != nil || p.OperatorNamespace != "alpha" {
			t.Errorf("Make with %s first takes namespace %q, %v, want alpha", objects[0], p.OperatorNamespace, err)
		}
		slices.Reverse(objects)
	}
}
