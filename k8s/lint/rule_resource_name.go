package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func resourceName() Rule {
	return Rule{
		ID: "resource-name", Title: "a resource name that the operator or the kubelet doesn't take",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPolicy, k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			The operator puts its prefix in front of the name, so the name has none:
			"nvidia.com/rail0" makes a resource that no pod can ask for. Releases up to v1.6.0 take
			letters, digits and _ only, later ones - as well between other characters. The CRD
			admits anything, and the webhook that would refuse it is off by default.`),
		Remedy:  "use letters, digits and _ only, 63 at most, and no prefix",
		Wrong:   "  resourceName: nvidia.com/rail0",
		Right:   "  resourceName: rail0",
		Sources: []string{srcWebhook, srcAPIServer},
		check: func(p *pass) {
			for _, o := range p.objects {
				if slices.Contains(p.rule.Kinds, o.Kind) {
					if v := o.Find("spec", "resourceName"); v != nil {
						checkResourceName(p, o, v.Text)
					}
				}
			}
		},
	}
}

var (
	resourceOld = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)
	resourceNew = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$`)
)

// oldVersion reports a release of the operator that refuses a hyphen in resource names; certain
// tells whether the version is known.
func oldVersion(version string) (old, certain bool) {
	m := releaseForm.FindStringSubmatch(version)
	switch {
	case version == "":
		return true, false
	case m == nil: // main, or a name of somebody's own
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
		p.error(o, at, "%q has a prefix: the operator puts its own in front of it", name).fix("resourceName: %s", bare)
	case len(name) > 63:
		p.error(o, at, "%d characters, and 63 are allowed", len(name))
	case resourceOld.MatchString(name) && (resourceNew.MatchString(name) || old):
	case resourceNew.MatchString(name) && !old:
	case resourceNew.MatchString(name) && certain:
		p.error(o, at, "the operator %s refuses %q for its hyphen", p.in.Options.OperatorVersion, name).fix(
			"resourceName: %s", strings.ReplaceAll(name, "-", "_"))
	case resourceNew.MatchString(name):
		p.warn(o, at, "releases of the operator up to v1.6.0 refuse %q for its hyphen", name).fix("resourceName: %s",
			strings.ReplaceAll(name, "-", "_"))
	default:
		p.error(o, at, "%q has characters that a resource name can't have", name)
	}
}
