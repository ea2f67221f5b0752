package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkSupportedNICs(p *pass) {
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
							compare with lspci -nn; NVIDIA's vendor ID is 15b3; add other cards with
							supportedExtraNICs of the chart`)
		}
	}
}

// supportedList is the ConfigMap with the operator's list of supported cards.
const supportedList = "supported-nic-ids"

// supportedVendors returns the vendors in the operator's list.
func supportedVendors() []string {
	return []string{k8s.VendorMellanox, "8086", "14e4", "1077", "1af4", "177d", "1d0f"}
}

var nicLine = regexp.MustCompile(`^[0-9a-f]{4} [0-9a-f]{4} [0-9a-f]{4}$`)

// checkNICList checks the values of the ConfigMap and returns their vendors.
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
		if bad++; bad > maxReported {
			continue
		}
		found := p.error(o, path{"data", f.Key},
			"%q is not VENDOR PF VF, three IDs of four hexadecimal digits in lower case", shorten(text))
		if clean := strings.Join(strings.Fields(strings.ToLower(text)), " "); nicLine.MatchString(clean) {
			found.fix("%s: %q", f.Key, clean)
		}
	}
	if bad > maxReported {
		p.error(o, path{"data"}, "%s not shown", are(bad-maxReported, "more error"))
	}
	return vendors
}
