package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkResourceNames(p *pass) {
	for _, o := range p.objects {
		if slices.Contains(p.rule.Kinds, o.Kind) {
			if v := o.Find("spec", "resourceName"); v != nil {
				checkResourceName(p, o, v.Text)
			}
		}
	}
}

var (
	resourceOld = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)
	resourceNew = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$`)
)

// oldVersion reports whether a release of the operator rejects a hyphen in resource names. certain
// reports whether the version is known.
func oldVersion(version string) (old, certain bool) {
	m := releaseForm.FindStringSubmatch(version)
	switch {
	case version == "":
		return true, false
	case m == nil: // main, or a name that is not a version
		return false, true
	case m[1] != "1":
		return m[1] == "0", true
	}
	return len(m[2]) == 1 && m[2] <= "6", true
}

var releaseForm = regexp.MustCompile(`^v?(\d+)\.(\d+)`)

func checkResourceName(p *pass, o *manifest.Object, name string) {
	at := path{"spec", "resourceName"}
	old, certain := oldVersion(p.in.Options.OperatorVersion)
	switch {
	case name == "":
		if o.Find(at...) != nil {
			p.error(o, at, "the resource has no name")
		}
	case strings.Contains(name, "/"):
		_, bare := splitResource(name)
		p.error(o, at, "%q has a prefix, but the operator adds its own", name).fix("resourceName: %s", bare)
	case len(name) > 63:
		p.error(o, at, "the resource name has %d characters, but at most 63 are allowed", len(name))
	case resourceOld.MatchString(name) && (resourceNew.MatchString(name) || old):
	case resourceNew.MatchString(name) && !old:
	case resourceNew.MatchString(name) && o.Kind != k8s.KindPolicy: // the webhook checks policies only
	case resourceNew.MatchString(name) && certain:
		p.error(o, at, "operator %s rejects %q because of its hyphen", p.in.Options.OperatorVersion, name).fix(
			"resourceName: %s", strings.ReplaceAll(name, "-", "_"))
	case resourceNew.MatchString(name):
		p.warn(o, at, "the webhook of operator releases up to v1.6.0, where it is on, rejects %q because of its hyphen",
			name).fix("resourceName: %s", strings.ReplaceAll(name, "-", "_"))
	default:
		p.error(o, at, "%q has characters that are not allowed in a resource name", name)
	}
}
