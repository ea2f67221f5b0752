package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// Join joins nodes with the same name. If several have a value, a SriovNetworkNodeState has
// precedence over snapshots, because the operator uses it, a newer snapshot over an older one, and
// otherwise an earlier node in the list over a later one. The labels of all are combined.
func Join(nodes []Node) []Node {
	byName := map[string][]*Node{}
	for i := range nodes {
		byName[nodes[i].Name] = append(byName[nodes[i].Name], &nodes[i])
	}
	out := make([]Node, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		n := Node{Name: name}
		for _, o := range byName[name] {
			n.joinLabels(o)
			n.joinOrigins(o)
		}
		n.keepPromises()
		slices.SortStableFunc(byName[name], func(a, b *Node) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), b.Taken.Compare(a.Taken))
		})
		for _, o := range byName[name] {
			n.join(o)
		}
		n.shareFirmware()
		n.sort()
		out = append(out, n)
	}
	return out
}

// rank orders nodes by precedence.
func rank(n *Node) int {
	if n.State != nil {
		return 0
	}
	return 1
}

func (n *Node) joinLabels(o *Node) {
	if o.Labels != nil && n.Labels == nil {
		n.Labels = map[string]string{}
	}
	for key, value := range o.Labels {
		n.noteLabel(&n.Labels, key, value, o)
	}
	for key, value := range o.Promised {
		n.noteLabel(&n.Promised, key, value, o)
	}
}

// noteLabel adds a label, unless it is already known from an earlier file.
func (n *Node) noteLabel(labels *map[string]string, key, value string, from *Node) {
	if _, known := (*labels)[key]; known {
		return
	}
	if *labels == nil {
		*labels = map[string]string{}
	}
	(*labels)[key] = value
	if origin := from.LabelOrigins[key]; origin != "" && n.LabelOrigins[key] == "" {
		if n.LabelOrigins == nil {
			n.LabelOrigins = map[string]string{}
		}
		n.LabelOrigins[key] = origin
	}
}

// keepPromises adds the labels of plans that the Node objects don't have.
func (n *Node) keepPromises() {
	if n.Labels == nil {
		return
	}
	for key, value := range n.Promised {
		if _, known := n.Labels[key]; !known {
			n.Labels[key] = value
		}
	}
}

func (n *Node) joinOrigins(o *Node) {
	for _, origin := range o.Origins {
		if !slices.Contains(n.Origins, origin) {
			n.Origins = append(n.Origins, origin)
		}
	}
}

func (n *Node) join(o *Node) {
	if n.Allocatable == nil {
		n.Allocatable = o.Allocatable
	}
	if len(n.PodCIDRs) == 0 {
		n.PodCIDRs = o.PodCIDRs
	}
	for _, a := range o.Addresses {
		n.addAddress(a)
	}
	n.RDMAMode = cmp.Or(n.RDMAMode, o.RDMAMode)
	n.SyncStatus, n.SyncError = cmp.Or(n.SyncStatus, o.SyncStatus), cmp.Or(n.SyncError, o.SyncError)
	n.State = cmp.Or(n.State, o.State)
	n.CardsKnown = n.CardsKnown || o.CardsKnown
	if o.Taken.After(n.Taken) {
		n.Taken = o.Taken
	}
	for _, id := range o.HardwareIDs {
		if !slices.Contains(n.HardwareIDs, id) {
			n.HardwareIDs = append(n.HardwareIDs, id)
		}
	}
	for _, pf := range o.PFs {
		i := slices.IndexFunc(n.PFs, func(p PF) bool { return p.Address == pf.Address })
		if i < 0 {
			n.PFs = append(n.PFs, pf)
			continue
		}
		n.PFs[i].join(pf)
	}
}

func (p *PF) join(o PF) {
	p.Vendor = cmp.Or(p.Vendor, o.Vendor)
	p.DeviceID = cmp.Or(p.DeviceID, o.DeviceID)
	p.Driver = cmp.Or(p.Driver, o.Driver)
	p.Netdev = cmp.Or(p.Netdev, o.Netdev)
	p.RDMADevice = cmp.Or(p.RDMADevice, o.RDMADevice)
	p.LinkType = cmp.Or(p.LinkType, o.LinkType)
	p.MTU = cmp.Or(p.MTU, o.MTU)
	p.Firmware = cmp.Or(p.Firmware, o.Firmware)
	p.ESwitchMode = cmp.Or(p.ESwitchMode, o.ESwitchMode)
	p.Role = cmp.Or(p.Role, o.Role)
	p.ExternallyManaged = p.ExternallyManaged || o.ExternallyManaged
	p.Fabric = cmp.Or(p.Fabric, o.Fabric)
	p.Rail = cmp.Or(p.Rail, o.Rail)
	p.NUMANode = cmp.Or(p.NUMANode, o.NUMANode)
	if len(p.AltNames) == 0 {
		p.AltNames = o.AltNames
	}
	p.joinVFs(o)
}

// joinVFs takes the numbers of VFs from o if they are unknown, and the properties of VFs if the
// numbers agree. If they don't, o describes VFs that don't exist any more.
func (p *PF) joinVFs(o PF) {
	if !p.VFsKnown {
		p.NumVFs, p.TotalVFs = cmp.Or(p.NumVFs, o.NumVFs), cmp.Or(p.TotalVFs, o.TotalVFs)
		if o.VFsKnown {
			p.NumVFs, p.TotalVFs, p.VFsKnown = o.NumVFs, o.TotalVFs, true
		}
	}
	if p.NumVFs != o.NumVFs {
		return
	}
	if len(p.VFDeviceIDs) == 0 {
		p.VFDeviceIDs = o.VFDeviceIDs
	}
	if len(p.VFGUIDs) == 0 {
		p.VFGUIDs = o.VFGUIDs
	}
	if len(p.VFMTUs) == 0 {
		p.VFMTUs = o.VFMTUs
	}
}

// apart removes snapshots of machines with the host name of another machine, and reports them as
// problems. Several snapshots of one machine are kept.
func apart(nodes []Node) (kept []Node, problems []manifest.Problem) {
	first := map[string][]int{} // snapshots that are kept, by name
	for i := range nodes {
		n := &nodes[i]
		if !n.snapshot() {
			kept = append(kept, *n)
			continue
		}
		other := slices.IndexFunc(first[n.Name], func(j int) bool { return !oneMachine(&nodes[j], n) })
		if other >= 0 {
			o := &nodes[first[n.Name][other]]
			problems = append(problems, manifest.Problem{
				At: manifest.Region{Pos: manifest.Pos{File: n.Origins[0]}}, Type: manifest.ProblemNode,
				Text: fmt.Sprintf(
					"host name %s also occurs in %s, but GUIDs, MAC and PCI addresses of the cards differ: assumed to "+
						"be two machines; this one is ignored", n.Name, o.Origins[0]),
				Remedy: "use a unique host name for each node, or remove one of the files",
			})
			continue
		}
		first[n.Name] = append(first[n.Name], i)
		kept = append(kept, *n)
	}
	return kept, problems
}

// snapshot reports whether a node is known from a snapshot only.
func (n *Node) snapshot() bool { return n.State == nil && n.CardsKnown && len(n.Origins) == 1 }

// oneMachine reports whether two snapshots with the same name are of the same machine: they have
// common cards, and none of these at different addresses. If the cards have no IDs, they must have
// the same PFs.
func oneMachine(a, b *Node) bool {
	if len(a.HardwareIDs) == 0 && len(b.HardwareIDs) == 0 {
		return slices.EqualFunc(a.PFs, b.PFs,
			func(p, q PF) bool { return p.Address == q.Address && p.Vendor == q.Vendor && p.DeviceID == q.DeviceID })
	}
	shared := false
	for _, id := range a.HardwareIDs {
		if slices.Contains(b.HardwareIDs, id) {
			shared = true
			continue
		}
		_, guid, _ := strings.Cut(id, " ")
		if slices.ContainsFunc(b.HardwareIDs, func(other string) bool { return strings.HasSuffix(other, " "+guid) }) {
			return false
		}
	}
	return shared
}
