package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkObjectName(p *pass, o *manifest.Object) {
	namespace := o.Kind == k8s.KindNamespace && o.APIVersion == k8s.CoreVersion
	if !p.takesPart(o) && !namespace {
		return
	}
	if namespace || p.hasDNSName(o) {
		checkName(p, o, "name", namespace)
	}
	checkName(p, o, "namespace", true)
}

// hasDNSName reports whether the names of a kind are DNS names. This is known for the kinds that
// rules check and for all CRDs; the name of a Role, for example, is not a DNS name.
func (m *model) hasDNSName(o *manifest.Object) bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	custom := strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	return custom || len(m.podsIn[o]) > 0 || slices.Contains([]string{k8s.KindConfigMap, k8s.KindNode}, o.Kind) ||
		k8s.Schema(o.Kind) != nil
}

var notDNS = regexp.MustCompile(`[^a-z0-9]+`)

func checkName(p *pass, o *manifest.Object, field string, label bool) {
	at := path{"metadata", field}
	v := o.Find(at...)
	if v.Empty() {
		return
	}
	isName, longest := k8s.IsSubdomain, k8s.LongestSubdomain
	if label {
		isName, longest = k8s.IsLabel, k8s.LongestLabel
	}
	switch {
	case v.Kind == manifest.Mapping || v.Kind == manifest.List:
		p.error(o, at, "metadata.%s must be a string, not %s", field, v.Kind)
	case v.Kind != manifest.String:
		p.error(o, at, "metadata.%s must be a string, not %s", field, v.Kind).fix("%s: %q", field, v.Text)
	case len(v.Text) > longest:
		p.error(o, at, "the %s has %d characters, but at most %d are allowed", field, len(v.Text), longest)
	case !isName(v.Text):
		f := p.error(o, at, "the API server rejects the %s %q: it is not a DNS name", field, shorten(v.Text))
		if better := strings.Trim(notDNS.ReplaceAllString(strings.ToLower(v.Text), "-"), "-"); better != "" {
			f.fix("%s: %s", field, better)
		}
	}
}
