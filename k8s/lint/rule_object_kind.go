package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// versions returns the apiVersion of each kind that rdmakit knows.
func versions() map[string]string {
	out := map[string]string{
		k8s.KindNAD: k8s.NADVersion, k8s.KindPod: k8s.CoreVersion, k8s.KindNode: k8s.CoreVersion,
		k8s.KindConfigMap: k8s.CoreVersion, k8s.KindNamespace: k8s.CoreVersion, k8s.KindNFD: k8s.NFDVersion,
	}
	for _, kind := range []string{
		"OVSNetwork", k8s.KindPolicy, k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindPoolConfig, k8s.KindOperatorConfig,
		k8s.KindNodeState,
	} {
		out[kind] = k8s.SriovVersion
	}
	return out
}

func checkObjectKind(p *pass) {
	p.problems(manifest.ProblemObject)
	known := versions()
	kinds := make([]string, 0, len(known))
	for kind := range known {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, o := range p.objects {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		sriov, _, _ := strings.Cut(k8s.SriovVersion, "/")
		if o.Found && (o.Kind == "" || o.APIVersion == "") && !p.ofNetworks(o) {
			continue // a file of another program
		}
		switch want := known[o.Kind]; {
		case o.Kind == "" && o.APIVersion == "":
			p.error(o, nil, "the object has neither apiVersion nor kind")
		case o.Kind == "" && group != sriov && o.Find("metadata") == nil && o.Find("spec") == nil:
			// Files of other programs can have an apiVersion, too.
		case o.Kind == "":
			p.error(o, path{"apiVersion"}, "the object has no kind")
		case o.APIVersion == "":
			p.error(o, path{"kind"}, "the %s has no apiVersion", o.Kind).fix("apiVersion: %s", want)
		case want == "" && group == sriov:
			f := p.error(o, path{"kind"}, "the SR-IOV operator has no kind %q", o.Kind)
			if near := spelling.Nearest(o.Kind, kinds, spelling.Loose); near != "" {
				f.fix("kind: %s", near)
			} else if strings.HasSuffix(o.Kind, "Policy") {
				f.fix("kind: %s", k8s.KindPolicy)
			}
		case want != "" && o.APIVersion != want && mayOnlyBe(o.Kind):
			p.error(o, path{"apiVersion"}, "%s belongs to %s, not to %s", o.Kind, want, o.APIVersion).fix(
				"apiVersion: %s", want)
		case want == "":
			if near := spelling.Nearest(o.Kind, kinds, 8); near != "" && strings.HasPrefix(near, "Sriov") {
				p.error(o, path{"kind"}, "unknown kind %q; %s belongs to %s", o.Kind, near, known[near]).fix(
					"kind: %s", near)
			}
		}
	}
}

// ofNetworks reports whether an incomplete object has to do with RDMA networking, by its kind, its
// group or what its containers want.
func (p *pass) ofNetworks(o *manifest.Object) bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return k8s.Schema(o.Kind) != nil || slices.Contains(networkGroups(), group) || p.wantsRDMA(o.Root)
}

// mayOnlyBe reports whether no other API has a kind of this name.
func mayOnlyBe(kind string) bool {
	return strings.HasPrefix(kind, "Sriov") || kind == k8s.KindNAD
}
