package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkDeviceID(p *pass, pol *policy) {
	s := pol.Value.Spec.NicSelector
	at := path{"spec", "nicSelector", "deviceID"}
	for _, field := range []string{"vendor", "deviceID"} {
		id := s.DeviceID
		if field == "vendor" {
			id = s.Vendor
		}
		if id != "" && !isPCIID(id) {
			clean := strings.TrimPrefix(strings.ToLower(id), "0x")
			f := p.error(pol.Object, path{"spec", "nicSelector", field},
				"%q is not four hexadecimal digits in lower case, and the operator compares exact strings", id)
			if isPCIID(clean) {
				f.fix("%s: %q", field, clean)
			}
			return
		}
	}
	if s.DeviceID == "" || s.Vendor != "" && s.Vendor != k8s.VendorMellanox {
		return
	}
	card, isPF := k8s.NICByPF(s.DeviceID)
	cards := k8s.NICsByVF(s.DeviceID)
	old, certain := oldVersion(p.in.Options.OperatorVersion)
	switch {
	case p.supported[s.DeviceID]:
	case len(cards) > 0 && !isPF:
		f := p.error(pol.Object, at,
			"%s is the device ID of VFs: no PF has it", s.DeviceID)
		if there := p.amongNodes(pol, cards); len(there) > 0 {
			cards = there
		}
		var ids []string
		for _, c := range cards {
			ids = append(ids, c.Name+" "+c.PF)
		}
		f.Remedy = "write the device ID of the PF: " + strings.Join(ids, ", ")
		if len(cards) == 1 {
			f.fix("deviceID: %q", cards[0].PF)
		}
	case isPF && card.MainOnly && old && certain:
		p.error(pol.Object, at, "operator %s doesn't support %s (%s)", p.in.Options.OperatorVersion, card.Name,
			s.DeviceID).Remedy = "add the card with supportedExtraNICs of the chart, or use a newer operator"
	case isPF && card.MainOnly && !certain:
		p.warn(pol.Object, at, "operator releases up to v1.6.0 don't support %s (%s)",
			card.Name, s.DeviceID).Remedy = "add the card with supportedExtraNICs of the chart, or use a newer operator"
	case !isPF && s.Vendor == k8s.VendorMellanox:
		p.warn(
			pol.Object, at, "the operator's list of supported cards doesn't contain 15b3:%s", s.DeviceID,
		).Remedy = "compare with lspci -nn, or add the card with supportedExtraNICs of the chart"
	}
}

// findSupported returns the device IDs of NVIDIA's cards in the operator's list, if the objects
// contain it.
func (m *model) findSupported() map[string]bool {
	out := map[string]bool{}
	for _, o := range m.objects {
		data := o.Find("data")
		if o.Kind != k8s.KindConfigMap || o.Name != supportedList || data == nil {
			continue
		}
		for _, f := range data.Fields {
			vendor, ids, _ := strings.Cut(f.Value.Text, " ")
			if device, _, ok := strings.Cut(ids, " "); ok && vendor == k8s.VendorMellanox {
				out[device] = true
			}
		}
	}
	return out
}

// amongNodes returns the cards that the nodes of a policy have.
func (m *model) amongNodes(pol *policy, cards []k8s.SupportedNIC) []k8s.SupportedNIC {
	nodes := m.candidates(pol)
	return slices.DeleteFunc(slices.Clone(cards), func(c k8s.SupportedNIC) bool {
		return !slices.ContainsFunc(nodes, func(n *source.Node) bool {
			return slices.ContainsFunc(n.PFs,
				func(pf source.PF) bool { return pf.Vendor == c.Vendor && pf.DeviceID == c.PF })
		})
	})
}

func isPCIID(s string) bool {
	return len(s) == 4 && strings.Trim(s, "0123456789abcdef") == ""
}
