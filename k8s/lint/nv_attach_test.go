package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHostDeviceResources checks pods that attach networks of NVIDIA's network operator.
func TestHostDeviceResources(t *testing.T) {
	const (
		annotation = `metadata.annotations["k8s.v1.cni.cncf.io/networks"]`
		off        = "enableInjector: false"
	)
	network := func(kind, field string) string {
		return fill(nvNetwork, "KIND", kind, "FIELD", field, "IPAM", "{}")
	}
	hostDevice := network("HostDeviceNetwork", "resourceName: hostdev")
	config := fill(someConfig, "SPEC", off)
	pod := func(networks, limit string) string {
		return fill(somePod, "NETWORKS", networks, "POD", "", "nvidia.com/rail0", limit)
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no limit", hostDevice + pod("a", "nvidia.com/gpu"), []string{"warn " + annotation}},
		{"no limit, no injector", hostDevice + config + pod("a", "nvidia.com/gpu"), []string{"error " + annotation}},
		{"a limit", hostDevice + config + pod("a", "nvidia.com/hostdev"), nil},
		{"the prefix in the network", network("HostDeviceNetwork", "resourceName: nvidia.com/hostdev") + config +
			pod("a", "nvidia.com/hostdev"), nil},
		{"twice", hostDevice + config + pod("a, a", "nvidia.com/hostdev"), []string{"error " + annotation}},
		{"a network of another namespace", hostDevice + config + pod("web/a", "nvidia.com/gpu"), nil},
		{"another prefix", network("HostDeviceNetwork", "resourceName: intel.com/a") + config +
			pod("a", "nvidia.com/gpu"), nil},
		{"a network without a resource", network("MacvlanNetwork", "master: ens1") + config +
			pod("a", "nvidia.com/gpu"), nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, severitiesOf(check(t, "pod-resource", tt.text, ""))); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
	}
	in := hostDevice + config + pod("a", "nvidia.com/gpu")
	if got := check(t, "pod-resource", in, ""); len(got) != 1 || got[0].Fix != "limits: {nvidia.com/hostdev: 1}" {
		t.Errorf("findings %+v, want one whose fix is the limit nvidia.com/hostdev: 1", got)
	}
}

// TestNetworkNamesWithNVNetworks: a network of NVIDIA's network operator is no reason to report
// other names, which may be those of networks that aren't at hand.
func TestNetworkNamesWithNVNetworks(t *testing.T) {
	text := fill(nvNetwork, "KIND", "MacvlanNetwork", "NAME", "rail0", "FIELD", "master: ens1", "IPAM", "{}")
	for _, networks := range []string{"rail0", "rail1", "web/rail0"} {
		if got := check(t, "pod-network", text+fill(somePod, "NETWORKS", networks, "POD", ""), ""); len(got) > 0 {
			t.Errorf("findings %+v of the network %s, want none", got, networks)
		}
	}
}
