package lint

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func whereaboutsStale() Rule {
	return Rule{
		ID: "whereabouts-stale", Title: "a range whose addresses are taken, by pods that are gone or all of them",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			whereabouts keeps the addresses that are taken in IPPools. One of a pod that died with
			its node stays taken until the reconciler runs, once a day by default, and then new pods
			hang with "Could not allocate IP in range". Judged where the IPPools of the cluster are
			known, and against its pods where these are (kubectl get
			ippools.whereabouts.cni.cncf.io,pods -A -o yaml, by --nodes).`),
		Remedy:  "delete the reservations of pods that are gone, and take a range that has room for them",
		Wrong:   "    \"range\": \"192.168.5.0/29\"",
		Right:   "    \"range\": \"192.168.6.0/24\"",
		Reports: []string{"k8snetworkplumbingwg/whereabouts#291", "k8snetworkplumbingwg/multus-cni#1442"},
		Sources: []string{srcWhereabouts, srcIPPool},
		check: func(p *pass) {
			pools := ipPools(p)
			pods := p.knownPods()
			for _, ref := range p.ipams() {
				if ref.conf.Type == "whereabouts" && len(pools) > 0 {
					checkStale(p, ref, pools, pods)
				}
			}
		},
	}
}

// ipPool is what whereabouts has given away of a range.
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
				f := p.error(ref.Object, ref.at, "no address of %s is free, of %d", s.Prefix, size).place(
					ref.rangeAt(s.of))
				staleEvidence(f, pool, stale)
			case len(stale) > 0:
				f := p.warn(ref.Object, ref.at, "%s holds %s for pods that are gone; %d of %d are free",
					s.Prefix, english.Count(len(stale), "address"), size-taken, size).place(ref.rangeAt(s.of))
				staleEvidence(f, pool, stale)
			}
		}
	}
}

func staleEvidence(f *Finding, pool ipPool, stale []string) {
	for _, pod := range stale[:min(len(stale), cardsShown)] {
		f.because(pool.object.At("spec", "allocations"), "%s holds an address for pod %s, which is gone",
			pool.object, pod)
	}
}
