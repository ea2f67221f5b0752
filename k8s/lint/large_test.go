package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// TestLarge checks more objects than any cluster has, within a limit of time.
func TestLarge(t *testing.T) {
	var b strings.Builder
	const n = 2000
	for i := range n {
		fmt.Fprintf(&b, "---\n%s\n", strings.ReplaceAll(`apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: a@, namespace: sriov-network-operator}
spec: {resourceName: a@, nodeSelector: {a: b}, numVfs: 8, isRdma: true, linkType: IB, nicSelector: {pfNames: [ens@]}}
---
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovIBNetwork
metadata: {name: a@, namespace: ml}
spec: {resourceName: a@, ipam: '{"type": "whereabouts", "range": "fd00:@::/64"}'}
---
apiVersion: v1
kind: Pod
metadata: {name: a@, namespace: ml, annotations: {k8s.v1.cni.cncf.io/networks: a@}}
spec:
  containers:
  - name: a
    securityContext: {capabilities: {add: [IPC_LOCK]}}
    resources: {limits: {p/a@: 1}, requests: {p/a@: 1}}`, "@", fmt.Sprintf("%x", i)))
	}
	start := time.Now()
	r := Run(Input{Manifests: manifest.Parse("f", []byte(b.String()))})
	took := time.Since(start)
	if len(r.Findings) > 0 || len(r.Objects) != 3*n {
		t.Errorf("Run reports %d findings of %d objects, want none of %d", len(r.Findings), len(r.Objects), 3*n)
	}
	t.Logf("%d objects in %s", len(r.Objects), took)
	if took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}
