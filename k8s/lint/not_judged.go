package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// KindCount is a number of objects of one kind.
type KindCount struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// networkGroups are the API groups of RDMA networking, of secondary networks and of dynamic
// resource allocation.
func networkGroups() []string {
	return []string{
		"sriovnetwork.openshift.io", "mellanox.com", "nv-ipam.nvidia.com", "configuration.net.nvidia.com",
		"maintenance.nvidia.com", "k8s.cni.cncf.io", "whereabouts.cni.cncf.io", "k8s.ovn.org",
		"spiderpool.spidernet.io", "resource.k8s.io", "networking.gke.io", "dranet.dev",
	}
}

// notJudged counts the objects that have to do with RDMA networking and that no rule looks at:
// those of a group of networking, and those whose containers are not in a pod template but want a
// network or a resource for RDMA.
func (m *model) notJudged() []KindCount {
	known := map[string]bool{}
	for _, r := range Rules() {
		for _, kind := range r.Kinds {
			known[kind] = true
		}
	}
	counts := map[string]int{}
	for _, o := range m.in.Manifests.Objects {
		if known[o.Kind] || k8s.Schema(o.Kind) != nil || len(m.podsIn[o]) > 0 || o.Kind == manifest.KindCRD {
			continue
		}
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if slices.Contains(networkGroups(), group) || m.wantsRDMA(o.Root) {
			counts[o.Kind]++
		}
	}
	var out []KindCount
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, KindCount{Kind: kind, Count: counts[kind]})
	}
	slices.SortStableFunc(out, func(a, b KindCount) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// wantsRDMA reports whether a value has the annotation of multus, or limits with a resource for
// RDMA.
func (m *model) wantsRDMA(v *manifest.Value) bool {
	if v == nil {
		return false
	}
	for _, f := range v.Fields {
		switch {
		case f.Key == k8s.AnnotationNetworks, m.wantsRDMA(f.Value):
			return true
		case f.Key != "limits" && f.Key != "requests" || f.Value.Kind != manifest.Mapping:
			continue
		}
		for _, r := range f.Value.Fields {
			if m.isRDMA(splitResource(r.Key)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(v.Items, m.wantsRDMA)
}

// mergeKinds returns the larger count of each kind: alternatives contain the same objects.
func mergeKinds(a, b []KindCount) []KindCount {
	for _, k := range b {
		i := slices.IndexFunc(a, func(o KindCount) bool { return o.Kind == k.Kind })
		if i < 0 {
			a = append(a, k)
		} else {
			a[i].Count = max(a[i].Count, k.Count)
		}
	}
	return a
}
