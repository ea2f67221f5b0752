package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func supportedNICs() Rule {
	return Rule{
		ID:       "supported-nics",
		Title:    "a vendor that the operator doesn't support, or a list of cards that it can't read",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindPolicy, k8s.KindConfigMap},
		Explanation: prose.Join(`
			The operator handles the cards in the ConfigMap supported-nic-ids of its namespace: each
			value is "VENDOR PF VF", three IDs in lower case with one blank between. A line with
			less makes it crash when it looks for a card of that vendor, and one in upper case never
			fits. The chart adds lines by supportedExtraNICs.`),
		Remedy:  "write the vendor of a supported card, or add a line \"vendor pf vf\"",
		Wrong:   "  extra: \"15b3 1027\"",
		Right:   "  extra: \"15b3 1027 101e\"",
		Sources: []string{srcNICs, srcSelector},
		check: func(p *pass) {
			vendors := supportedVendors()
			for _, o := range p.objects {
				if o.Kind == k8s.KindConfigMap && o.Name == supportedList {
					vendors = append(vendors, checkNICList(p, o)...)
				}
			}
			for _, pol := range p.policies {
				v := pol.Value.Spec.NicSelector.Vendor
				if isPCIID(v) && !slices.Contains(vendors, v) {
					p.warn(pol.Object, path{"spec", "nicSelector", "vendor"},
						"the operator supports no card of vendor %s", v).Remedy = prose.Join(`
							compare with lspci -nn; NVIDIA's vendor is 15b3, and cards that are not
							in the list are added by supportedExtraNICs of the chart`)
				}
			}
		},
	}
}

// supportedList is the ConfigMap with the operator's list of cards.
const supportedList = "supported-nic-ids"

// supportedVendors are those in the list of the operator.
func supportedVendors() []string {
	return []string{k8s.VendorMellanox, "8086", "14e4", "1077", "1af4", "177d", "1d0f"}
}

var nicLine = regexp.MustCompile(`^[0-9a-f]{4} [0-9a-f]{4} [0-9a-f]{4}$`)

// checkNICList judges the lines of the ConfigMap and returns their vendors.
func checkNICList(p *pass, o *manifest.Object) []string {
	var vendors []string
	data := o.Find("data")
	if data == nil {
		return nil
	}
	bad := 0
	for _, f := range data.Fields {
		text := f.Value.Text
		vendor, _, _ := strings.Cut(text, " ")
		vendors = append(vendors, vendor)
		if nicLine.MatchString(text) {
			continue
		}
		if bad++; bad > maxTold {
			continue
		}
		found := p.error(o, path{"data", f.Key},
			"%q is not VENDOR PF VF, three IDs of four hexadecimal digits in lower case", shorten(text))
		if clean := strings.Join(strings.Fields(strings.ToLower(text)), " "); nicLine.MatchString(clean) {
			found.fix("%s: %q", f.Key, clean)
		}
	}
	if bad > maxTold {
		p.error(o, path{"data"}, "%s not told", are(bad-maxTold, "more fault"))
	}
	return vendors
}
