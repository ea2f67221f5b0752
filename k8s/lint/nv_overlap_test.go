package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

const nvNetwork = `
apiVersion: mellanox.com/v1alpha1
kind: KIND
metadata: {name: NAME}
spec: {networkNamespace: ml, FIELD, ipam: 'IPAM'}
`

// TestOverlapOfNVNetworks checks ranges of the networks of NVIDIA's network operator.
func TestOverlapOfNVNetworks(t *testing.T) {
	const whereabouts = `{"type": "whereabouts", "range": "192.168.1.0/24"}`
	network := func(kind, name, field, ipam string) string {
		return fill(nvNetwork, "KIND", kind, "NAME", name, "FIELD", field, "IPAM", ipam)
	}
	macvlan := func(name, field string) string { return network("MacvlanNetwork", name, field, whereabouts) }
	nad := fill(someNAD, "nvidia.com/rail0", "''", "CONFIG", `{"type": "macvlan", "master": "ens2", "ipam": `+
		whereabouts+`}`)
	sriov := plainNetwork(whereabouts)
	warn := []string{"warn spec.ipam"}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"two interfaces", macvlan("a", "master: ens1") + macvlan("b", "master: ens2"), warn},
		{"one interface", macvlan("a", "master: ens1") + macvlan("b", "master: ens1"), nil},
		{"an unknown interface", macvlan("a", "master: ens1") + macvlan("b", "mode: bridge"), nil},
		{"another range", macvlan("a", "master: ens1") + network("MacvlanNetwork", "b", "master: ens2",
			`{"type": "whereabouts", "range": "192.168.2.0/24"}`), nil},
		{"another mask", macvlan("a", "master: ens1") + network("MacvlanNetwork", "b", "master: ens2",
			`{"type": "whereabouts", "range": "192.168.1.0/25"}`), []string{"error spec.ipam"}},
		{"two on InfiniBand", network("IPoIBNetwork", "a", "master: ibs1", whereabouts) +
			network("IPoIBNetwork", "b", "master: ibs2", whereabouts), warn},
		{"two resources", network("HostDeviceNetwork", "a", "resourceName: a", whereabouts) +
			network("HostDeviceNetwork", "b", "resourceName: b", whereabouts), warn},
		{"one resource", network("HostDeviceNetwork", "a", "resourceName: a", whereabouts) +
			network("HostDeviceNetwork", "b", "resourceName: nvidia.com/a", whereabouts), nil},
		{"the definition made of it", macvlan("a", "master: ens2") + nad, nil},
		{
			"VFs after two interfaces", macvlan("a", "master: ens1") + sriov + macvlan("b", "master: ens1"),
			[]string{"warn spec.ipam", "warn spec.ipam"},
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, severitiesOf(check(t, "ipam-overlap", tt.text, ""))); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestOverlapWithPools checks ranges of networks against pools of nv-ipam.
func TestOverlapWithPools(t *testing.T) {
	const (
		nvIPPool = `
apiVersion: nv-ipam.nvidia.com/v1alpha1
kind: IPPool
metadata: {name: rail0, namespace: nvidia-network-operator}
spec: {subnet: 192.168.1.0/24, perNodeBlockSize: 16MORE}
`
		cidrPool = `
apiVersion: nv-ipam.nvidia.com/v1alpha1
kind: CIDRPool
metadata: {name: rail0, namespace: nvidia-network-operator}
spec: {cidr: 192.168.0.0/16, perNodeNetworkPrefix: 28}
`
		fromPool    = `{"type": "nv-ipam", "poolName": "rail0"}`
		whereabouts = `{"type": "whereabouts", "range": "192.168.1.0/24"}`
		bounded     = `{"type": "whereabouts", "range": "192.168.1.0/24", "range_start": "192.168.1.200"}`
		excluded    = ", exclusions: [{startIP: 192.168.1.200, endIP: 192.168.1.255}]"
	)
	network := func(name, master, ipam string) string {
		return fill(nvNetwork, "KIND", "MacvlanNetwork", "NAME", name, "FIELD", "master: "+master, "IPAM", ipam)
	}
	pool := fill(nvIPPool, "MORE", "")
	a, b := network("a", "ens1", fromPool), network("b", "ens2", whereabouts)
	elsewhere := strings.ReplaceAll(b, "networkNamespace: ml", "networkNamespace: web")
	sriov := plainNetwork(whereabouts)
	warn, wrong := []string{"warn spec.ipam"}, []string{"error spec.ipam"}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"two interfaces", pool + a + b, warn},
		{"one interface", pool + a + network("b", "ens1", whereabouts), nil},
		{"VFs", pool + a + sriov, warn},
		{"another mask", pool + a + network("b", "ens2", `{"type": "whereabouts", "range": "192.168.1.0/25"}`), wrong},
		{"another range", pool + a + network("b", "ens2", `{"type": "whereabouts", "range": "192.168.2.0/24"}`), nil},
		{"a pool without a network", pool + b, nil},
		{"a part that the pool leaves out", fill(nvIPPool, "MORE", excluded) + a + network("b", "ens2", bounded), nil},
		{"more than that", fill(nvIPPool, "MORE", excluded) + a + b, warn},
		{"another namespace", pool + a + elsewhere, nil},
		{"a pod of both", pool + a + elsewhere + fill(somePod, "NETWORKS", "a, web/b", "POD", ""), warn},
		{"a pod of one", pool + a + elsewhere + fill(somePod, "NETWORKS", "a", "POD", ""), nil},
		{"CIDRPool", cidrPool + "---" + network("a", "ens1", `{"type": "nv-ipam", "poolName": "rail0", "poolType": `+
			`"cidrpool"}`) + b, wrong},
		{"a pool of another type", pool + network("a", "ens1", `{"type": "nv-ipam", "poolName": "rail0", "poolType": `+
			`"cidrpool"}`) + b, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, severitiesOf(check(t, "ipam-overlap", tt.text, ""))); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
	}
	in := Input{Manifests: manifest.Parse("in.yaml", []byte(pool+a)), Options: Options{Only: []string{"ipam-overlap"}}}
	in.Cluster.Objects = manifest.Parse("cluster.yaml", []byte(b)).Objects
	if got := Run(in).Findings; len(got) != 1 || got[0].Object != "MacvlanNetwork a" {
		t.Errorf("findings %+v, want one of the network that is to be applied", got)
	}
}
