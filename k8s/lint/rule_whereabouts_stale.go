package lint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkWhereaboutsStale(p *pass) {
	pools := ipPools(p)
	pods := p.knownPods()
	for _, ref := range p.ipams() {
		if ref.conf.Type == "whereabouts" && len(pools) > 0 {
			checkStale(p, ref, pools, pods)
		}
	}
}

// ipPool contains the allocated addresses of a range.
type ipPool struct {
	object *manifest.Object
	prefix netip.Prefix
	pods   []string // namespace/name of each address
}

func ipPools(p *pass) []ipPool {
	var out []ipPool
	for _, o := range p.objects {
		if o.Kind != "IPPool" || !strings.HasPrefix(o.APIVersion, "whereabouts.cni.cncf.io/") {
			continue
		}
		var spec struct {
			Range       string `json:"range"`
			Allocations map[string]struct {
				PodRef string `json:"podref"`
			} `json:"allocations"`
		}
		v := o.Find("spec")
		if v == nil {
			continue
		}
		v.Decode(&spec)
		prefix, err := netip.ParsePrefix(spec.Range)
		if err != nil {
			continue
		}
		pool := ipPool{object: o, prefix: prefix.Masked()}
		for _, a := range spec.Allocations {
			pool.pods = append(pool.pods, a.PodRef)
		}
		slices.Sort(pool.pods)
		out = append(out, pool)
	}
	return out
}

// knownPods returns the pods of the cluster by namespace and name; nil where none are known.
func (m *model) knownPods() map[string]bool {
	var pods map[string]bool
	for _, o := range m.in.Cluster.Objects {
		if o.Kind == k8s.KindPod {
			if pods == nil {
				pods = map[string]bool{}
			}
			pods[o.Namespace+"/"+o.Name] = true
		}
	}
	return pods
}

func checkStale(p *pass, ref ipamRef, pools []ipPool, pods map[string]bool) {
	for _, s := range ref.spans {
		for _, pool := range pools {
			name := ref.conf.NetworkName
			if pool.prefix != s.Prefix || name != "" && !strings.HasPrefix(pool.object.Name, name+"-") {
				continue
			}
			var stale []string
			for _, pod := range pool.pods {
				if pods != nil && !pods[pod] {
					stale = append(stale, pod)
				}
			}
			taken, size := len(pool.pods), s.Size()
			switch {
			case taken >= size:
				f := p.error(ref.Object, ref.at, "all %d addresses of %s are allocated", size, s.Prefix).place(
					ref.rangeAt(s.of))
				staleEvidence(f, pool, stale)
			case len(stale) > 0:
				f := p.warn(ref.Object, ref.at, "%s has %s allocated to deleted pods; %d of %d are free",
					s.Prefix, english.Count(len(stale), "address"), size-taken, size).place(ref.rangeAt(s.of))
				staleEvidence(f, pool, stale)
			}
		}
	}
}

func staleEvidence(f *Finding, pool ipPool, stale []string) {
	for _, pod := range stale[:min(len(stale), cardsShown)] {
		f.because(pool.object.At("spec", "allocations"), "%s has an address for pod %s, which doesn't exist",
			pool.object, pod)
	}
}
