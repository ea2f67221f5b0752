package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// Join makes one list of nodes: those of one name become one. Of what several tell, a
// SriovNetworkNodeState stands before snapshots, for the operator goes by it; a newer snapshot
// before an older one; and otherwise an earlier one before a later one. Labels are those of all.
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

// rank orders those that tell of one node.
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

// noteLabel takes a label over, unless an earlier file told it.
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

// keepPromises adds what plans give to what the Node objects have.
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

// joinVFs takes over counts of VFs where none was told, and what VFs are where the counts agree:
// those of an older look are gone.
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

// apart leaves out the snapshots of machines that have the host name of another, and says which.
// One machine may have several.
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
					"host name %s is also that of %s, with other cards by their GUIDs, MAC and PCI addresses: taken "+
						"as two machines, of which this one is passed over", n.Name, o.Origins[0]),
				Remedy: "give each node its own host name, or leave one of the files out",
			})
			continue
		}
		first[n.Name] = append(first[n.Name], i)
		kept = append(kept, *n)
	}
	return kept, problems
}

// snapshot reports that a node comes from a snapshot alone.
func (n *Node) snapshot() bool { return n.State == nil && n.CardsKnown && len(n.Origins) == 1 }

// oneMachine reports that two snapshots of one name are of one machine: they share cards, and none
// of them is elsewhere in the other; or no card has anything that tells it from others, and they
// have the same PFs.
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
