package lint

import (
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
)

func vfGUID() Rule {
	return Rule{
		ID: "vf-guid", Title: "VFs without a GUID, or with one that others have", Severity: SeverityError, Nodes: true,
		Kinds: []string{k8s.KindPolicy},
		Explanation: prose.Join(`
			A VF of InfiniBand needs a GUID that is its own in the fabric. With one of zeros or ones
			its port stays down, and ib-sriov fails with "VF ... GUID is not valid" while the pod
			stays in ContainerCreating. The operator gives random GUIDs whenever it configures a VF,
			unless the node has a pool file, /etc/sriov-operator/infiniband/guids; so partitions
			(PKeys) by GUID are lost with a reboot.`),
		Remedy: "give the node a pool file of GUIDs, and restart the operator's daemon there",
		Wrong:  "    pfNames: [\"ibs1\"]",
		Right:  "    pfNames: [\"ibs2\"]",
		Reports: []string{
			"Mellanox/network-operator#1825", "k8snetworkplumbingwg/sriov-network-operator#307",
			"k8snetworkplumbingwg/ib-sriov-cni#66", "openshift/sriov-network-operator#941",
		},
		Sources: []string{srcGUIDs, srcIBCNI},
		check: func(p *pass) {
			owners := p.guidOwners()
			for _, pol := range p.policies {
				checkVFGUIDs(p, pol, owners)
			}
		},
	}
}

// plainGUID returns the 16 hexadecimal digits of a GUID, "" for what is none.
func plainGUID(s string) string {
	digits := strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(strings.TrimPrefix(s, "0x")))
	if len(digits) != 16 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	return digits
}

// unusableGUID reports a GUID of zeros or ones.
func unusableGUID(plain string) bool {
	return plain != "" && (strings.Trim(plain, "0") == "" || strings.Trim(plain, "f") == "")
}

// guidOwners returns which PFs have VFs with a GUID.
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
	var empty, twice []card
	for _, c := range p.cards(pol) {
		if c.PF.LinkType != source.LinkIB {
			continue
		}
		lacks, shares := false, false
		for i, guid := range c.PF.VFGUIDs {
			if i < c.First || i > c.Last {
				continue
			}
			lacks = lacks || unusableGUID(plainGUID(guid))
			shares = shares || len(owners[plainGUID(guid)]) > 1
		}
		if lacks {
			empty = append(empty, c)
		}
		if shares {
			twice = append(twice, c)
		}
	}
	at := path{"spec", "nicSelector"}
	if len(empty) > 0 {
		p.warn(pol.Object, at, "VFs of %s have no GUID: pods with them don't start",
			english.Count(len(empty), "card")).onCards(empty)
	}
	if len(twice) > 0 {
		p.error(pol.Object, at, "VFs of %s have a GUID that another VF has too",
			english.Count(len(twice), "card")).onCards(twice)
	}
}
