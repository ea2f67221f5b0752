package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func checkVFGUID(p *pass) {
	owners := p.guidOwners()
	for _, pol := range p.policies {
		checkVFGUIDs(p, pol, owners)
	}
}

// plainGUID returns the 16 hexadecimal digits of a GUID, "" if s is not a GUID.
func plainGUID(s string) string {
	digits := strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(strings.TrimPrefix(s, "0x")))
	if len(digits) != 16 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	return digits
}

// unusableGUID reports whether a GUID is all zeros or all ones.
func unusableGUID(plain string) bool {
	return plain != "" && (strings.Trim(plain, "0") == "" || strings.Trim(plain, "f") == "")
}

// guidOwners returns the PFs by the GUIDs of their VFs.
func (m *model) guidOwners() map[string][]*source.PF {
	owners := map[string][]*source.PF{}
	for i := range m.nodes {
		for j := range m.nodes[i].PFs {
			pf := &m.nodes[i].PFs[j]
			for _, guid := range pf.VFGUIDs {
				if plain := plainGUID(guid); plain != "" && !unusableGUID(plain) {
					owners[plain] = append(owners[plain], pf)
				}
			}
		}
	}
	return owners
}

func checkVFGUIDs(p *pass, pol *policy, owners map[string][]*source.PF) {
	var empty, duplicate []card
	for _, c := range p.cards(pol) {
		if c.PF.LinkType != source.LinkIB {
			continue
		}
		missing, shared := false, false
		for i, guid := range c.PF.VFGUIDs {
			if i < c.First || i > c.Last {
				continue
			}
			missing = missing || unusableGUID(plainGUID(guid))
			shared = shared || len(owners[plainGUID(guid)]) > 1
		}
		if missing {
			empty = append(empty, c)
		}
		if shared {
			duplicate = append(duplicate, c)
		}
	}
	at := path{"spec", "nicSelector"}
	if len(empty) > 0 {
		p.warn(pol.Object, at, "VFs of %s have no GUID: pods with them don't start",
			english.Count(len(empty), "card")).onCards(empty)
	}
	if len(duplicate) > 0 {
		p.error(pol.Object, at, "VFs of %s have the same GUID as another VF",
			english.Count(len(duplicate), "card")).onCards(duplicate)
	}
}
