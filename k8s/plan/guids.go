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
	// guidsPath is where the operator's daemon looks on the node
	// (sriov-network-operator, pkg/consts).
	guidsPath = "/etc/sriov-operator/infiniband/guids"
	guidsDir  = "guids" // of the files, one a node
	// guidBytes bounds the files of one ConfigMap: an object has 1 MiB at most.
	guidBytes = 900_000
)

// guidRange are the GUIDs of the VFs of a PF, as the operator's daemon reads them
// (sriov-network-operator, pkg/host/internal/infiniband/ib_guid_config.go). Its manual writes
// pci_address; the daemon reads pciAddress and refuses the other.
type guidRange struct {
	PciAddress string `json:"pciAddress"`
	GUIDsRange struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"guidsRange"`
}

// guids gives each node of an InfiniBand rail ranges for the VFs of all its InfiniBand PFs, by
// node. They have room for as many VFs as the operator admits, and stand for cards that the plan
// leaves out as well: with such a file each VF of the node needs its GUID there. So another plan,
// of other cards, with more nodes or VFs, gives the same. unknown are the nodes with a PF whose
// GUID nothing tells.
func (m *maker) guids() (out map[string][]guidRange, unknown []string) {
	links := map[*source.PF]string{} // what the plan takes a PF for
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

// pfGUID returns the GUID that a PF has by manufacture, 0 where nothing tells it: of its device, as
// snapshots have it, or of its port, at the end of the hardware address of IPoIB (RFC 4391, 9.1.1),
// which SriovNetworkNodeStates have. They are the same on mlx5 devices.
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

// ipoibAddress is the length of a hardware address of IPoIB in bytes.
const ipoibAddress = 20

// guidBase makes the GUID of the first VF: 02, which tells that it is administered locally (the
// universal bit of an EUI-64 is off), six bytes of a hash, and one for the number of the VF.
// identity is what no other PF has.
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
				GUIDs of the InfiniBand VFs. Without them the operator's daemon makes random ones
				each time it configures a PF, and memberships in partitions are lost. Nothing reads
				this ConfigMap: it only carries the files. Each node has its own, which has to be
				there before the policies are applied:`),
			fmt.Sprintf("  kubectl -n %s get configmap %s -o jsonpath='{.data.%s}'   # to %s on %s",
				m.plan.OperatorNamespace, name, jsonPathKey(part[0]), guidsPath, part[0]),
			fmt.Sprintf("Of each range VF 0 has the first, VF 1 the second and so on; there is room for %d. "+
				"They begin with 02, so they are administered locally, and follow from the GUID of the card "+
				"(where nothing tells it, from the names of node and card), so another plan gives the same. "+
				"With such a file all InfiniBand VFs of the node need an entry, so cards that the plan leaves "+
				"out have one too. Where a node has a file already, keep its entries for cards of other "+
				"policies, whose GUIDs others may know.", k8s.MaxMellanoxVFs),
		}
	}
	if len(unknown) > 0 && m.opts.GUIDSeed == "" {
		m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("nothing tells the GUIDs of cards of %s, so those of their "+
			"VFs follow from the names of node and card, and another cluster on the fabric may have the same: "+
			"snapshots of the nodes tell, or --guid-seed sets them apart", shortList(unknown)))
	}
}

// chunks splits the names of texts so that the texts of each part are not larger than limit
// together, unless one is by itself.
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

// jsonPathKey writes a key as kubectl takes it.
func jsonPathKey(key string) string { return strings.ReplaceAll(key, ".", `\.`) }
