package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
