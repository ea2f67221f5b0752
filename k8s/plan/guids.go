package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/source"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const (
	kindGUIDs = k8s.KindConfigMap
	guidsName = "vf-guids"
	// guidsPath is the file on the node that the operator's daemon reads
	// (sriov-network-operator, pkg/consts).
	guidsPath = "/etc/sriov-operator/infiniband/guids"
	guidsDir  = "guids" // folder with a file for each node
	// guidBytes limits the files in one ConfigMap, because an object is limited to 1 MiB.
	guidBytes = 900_000
)

// guidRange is the range of GUIDs for the VFs of a PF, as the operator's daemon reads it
// (sriov-network-operator, pkg/host/internal/infiniband/ib_guid_config.go). The operator's manual
// has pci_address, but the daemon reads pciAddress and rejects pci_address.
type guidRange struct {
	PciAddress string `json:"pciAddress"`
	GUIDsRange struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"guidsRange"`
}

// guids returns a range of GUIDs for each InfiniBand PF of each node on an InfiniBand rail, by
// node. Each range is large enough for the maximum number of VFs that the operator allows. Cards
// that the plan leaves out have a range, too, because with such a file every VF of the node needs a
// GUID. So a plan with other cards, or with more nodes or VFs, has the same GUIDs. unknown are the
// nodes with a PF whose GUID is unknown.
func (m *maker) guids() (out map[string][]guidRange, unknown []string) {
	links := map[*source.PF]string{} // link types in the plan
	nodes := map[string]*source.Node{}
	for _, r := range m.rails {
		for _, c := range r.members {
			links[c.pf] = r.link
			if r.link == source.LinkIB {
				nodes[c.node.Name] = c.node
			}
		}
	}
	out = map[string][]guidRange{}
	used := map[uint64]bool{}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n, known := nodes[name], true
		for i := range n.PFs {
			pf := &n.PFs[i]
			if cmp.Or(links[pf], pf.LinkType) != source.LinkIB {
				continue
			}
			identity := name + "\x00" + pf.Address
			if guid := pfGUID(n, pf); guid != 0 {
				identity = k8s.FormatGUID(guid)
			} else {
				known = false
			}
			base := guidBase(m.opts.GUIDSeed, identity, used)
			g := guidRange{PciAddress: pf.Address}
			g.GUIDsRange.Start, g.GUIDsRange.End = k8s.FormatGUID(base), k8s.FormatGUID(base+k8s.MaxMellanoxVFs-1)
			out[name] = append(out[name], g)
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	return out, unknown
}

// pfGUID returns the manufacturer's GUID of a PF, 0 if it is unknown. Snapshots contain the GUID of
// the device. SriovNetworkNodeStates contain the GUID of the port, at the end of the IPoIB hardware
// address (RFC 4391, 9.1.1). Both are the same on mlx5 devices.
func pfGUID(n *source.Node, pf *source.PF) uint64 {
	for _, id := range n.HardwareIDs {
		text, ok := strings.CutPrefix(id, pf.Address+" ")
		if guid, err := ib.ParseGUID(text); ok && err == nil && !guid.IsZero() {
			return binary.BigEndian.Uint64(guid[:])
		}
	}
	if n.State == nil {
		return 0
	}
	for _, i := range n.State.Status.Interfaces {
		mac, err := net.ParseMAC(i.Mac)
		if strings.EqualFold(i.PciAddress, pf.Address) && err == nil && len(mac) == ipoibAddress {
			return binary.BigEndian.Uint64(mac[ipoibAddress-8:])
		}
	}
	return 0
}

// ipoibAddress is the length of an IPoIB hardware address in bytes.
const ipoibAddress = 20

// guidBase returns the GUID of the first VF: 02, which marks it as locally administered (the
// universal bit of an EUI-64 is off), six bytes of a hash, and one byte for the number of the VF.
// identity must be unique to the PF.
func guidBase(seed, identity string, used map[uint64]bool) uint64 {
	for try := 0; ; try++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", seed, identity, try))
		base := 0x02<<56 | binary.BigEndian.Uint64(sum[:8])>>16<<8
		if !used[base] {
			used[base] = true
			return base
		}
	}
}

// guidTexts writes the files of the nodes.
func guidTexts(ranges map[string][]guidRange) map[string]string {
	out := map[string]string{}
	for node, list := range ranges {
		lines := make([]string, 0, len(list))
		for _, g := range list {
			line, err := compactJSON(g)
			if err == nil { // texts alone have no reason to fail
				lines = append(lines, "  "+line)
			}
		}
		out[node] = "[\n" + strings.Join(lines, ",\n") + "\n]\n"
	}
	return out
}

// guidFiles are the files as they go to the nodes.
func (m *maker) guidFiles() []File {
	var out []File
	for _, node := range slices.Sorted(maps.Keys(m.guidTexts)) {
		out = append(out, File{Name: guidsDir + "/" + node, Text: m.guidTexts[node]})
	}
	return out
}

// guidMaps are ConfigMaps that carry the files.
func (m *maker) guidMaps() {
	ranges, unknown := m.guids()
	m.guidTexts = guidTexts(ranges)
	for i, part := range chunks(m.guidTexts, guidBytes) {
		name := guidsName
		if i > 0 {
			name = fmt.Sprintf("%s-%d", guidsName, i+1)
		}
		data := map[string]string{}
		for _, n := range part {
			data[n] = m.guidTexts[n]
		}
		d := m.add("50-"+name, kindGUIDs, m.plan.OperatorNamespace, name, k8s.ConfigMap{
			TypeMeta: k8s.TypeMeta{APIVersion: k8s.CoreVersion, Kind: kindGUIDs},
			Metadata: k8s.ObjectMeta{Name: name, Namespace: m.plan.OperatorNamespace}, Data: data,
		})
		d.head = []string{
			prose.Join(`
				GUIDs of the InfiniBand VFs. Without them the operator's daemon assigns random GUIDs
				each time it configures a PF, and partition memberships are lost. No program reads
				this ConfigMap: it only contains the files. Copy each file to its node before you
				apply the policies:`),
			fmt.Sprintf("  kubectl -n %s get configmap %s -o jsonpath='{.data.%s}'   # to %s on %s",
				m.plan.OperatorNamespace, name, jsonPathKey(part[0]), guidsPath, part[0]),
			fmt.Sprintf("VF 0 gets the first GUID of the range, VF 1 the second and so on; each range has %d. "+
				"The GUIDs start with 02 (locally administered) and are derived from the GUID of the card, or from "+
				"the names of node and card if that is unknown, so another plan has the same GUIDs. "+
				"With such a file every InfiniBand VF of the node needs a GUID, so cards that the plan leaves "+
				"out have an entry, too. If a node already has a file, keep its entries for cards of other "+
				"policies, because partitions may contain these GUIDs.", k8s.MaxMellanoxVFs),
		}
	}
	if len(unknown) > 0 && m.opts.GUIDSeed == "" {
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("the GUIDs of cards of %s are unknown, so the GUIDs of their "+
			"VFs are derived from the names of node and card, and another cluster on the fabric may have the same: "+
			"add snapshots of the nodes, or set --guid-seed", shortList(unknown)))
	}
}

// chunks splits the names of texts into parts whose texts together are not larger than limit. A
// single larger text is a part by itself.
func chunks(texts map[string]string, limit int) [][]string {
	var out [][]string
	size := 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		size += len(name) + len(texts[name])
		if len(out) == 0 || size > limit {
			out, size = append(out, nil), len(name)+len(texts[name])
		}
		out[len(out)-1] = append(out[len(out)-1], name)
	}
	return out
}

// jsonPathKey escapes a key for kubectl's JSONPath.
func jsonPathKey(key string) string { return strings.ReplaceAll(key, ".", `\.`) }
