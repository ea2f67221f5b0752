package lint

import (
	"cmp"
	"encoding/json"
	"net"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// checkGUIDPools is the check of the group guid-pool.
func checkGUIDPools(p *pass) {
	pools := guidPools{pass: p, means: p.policiesByAddress()}
	for _, o := range p.objects {
		if data := o.Find("data"); o.Kind == k8s.KindConfigMap && data != nil {
			for _, f := range data.Fields {
				pools.file(o, f)
			}
		}
	}
	pools.reportDuplicates()
	for _, f := range pools.files {
		if more := f.reported - maxReported; more > 0 {
			p.error(f.object, f.at, "%s not shown", are(more, "more error"))
		}
	}
}

// guidEntry is an entry of a pool file, with the fields that the operator reads and those of its
// manual.
type guidEntry struct {
	Address    string    `json:"pciAddress"`
	PF         string    `json:"pfGuid"`
	GUIDs      []string  `json:"guids"`
	Range      *guidSpan `json:"guidsRange"`
	OldAddress string    `json:"pci_address"`
	OldPF      string    `json:"pf_guid"`
}

// guidSpan is a range of GUIDs, including both ends.
type guidSpan struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// guidPools checks all pool files together.
type guidPools struct {
	*pass
	means map[string][]*policy // by PCI address
	files []*guidFile
	taken []guidsTaken
}

// guidsTaken is a range of GUIDs of an entry, including both ends.
type guidsTaken struct {
	start, end uint64
	entry      *guidWalk
}

// maxMisses limits the entries that are not found in the text, because JSON may write a name with
// escapes.
const maxMisses = 16

func (g *guidPools) file(o *manifest.Object, f manifest.Field) {
	var entries []guidEntry
	text := f.Value.Text
	looks := strings.Contains(text, `"guids`) && strings.HasPrefix(strings.TrimSpace(text), "[")
	if !looks {
		return
	}
	file := &guidFile{guidPools: g, object: o, field: f, at: path{"data", f.Key}}
	if offset, what := jsonFault(text); what != "" {
		g.as("guid-pool-json").error(o, file.at, "the pool of GUIDs is not valid JSON: %s", what).place(
			o.Inside(f.Value, offset))
		return
	}
	if json.Unmarshal([]byte(text), &entries) != nil {
		g.as("guid-pool-json").error(o, file.at, "the pool of GUIDs is not a list of objects with string fields")
		return
	}
	g.files = append(g.files, file)
	addresses, byGUID := map[string]bool{}, false
	from, misses := 0, 0
	for _, e := range entries {
		w := &guidWalk{guidFile: file, offset: -1, name: strings.TrimSpace(e.Address + e.PF + e.OldAddress + e.OldPF)}
		if w.name != "" && misses < maxMisses {
			if i := strings.Index(text[from:], w.name); i >= 0 {
				from += i
				w.offset = from
			} else {
				misses++
			}
		}
		w.entry(e)
		w.count(e)
		addresses[e.Address] = true
		byGUID = byGUID || e.PF != ""
	}
	if !byGUID { // an entry with pfGuid names a PF that is known on the node only
		file.missing(addresses)
	}
}

// guidFile is one pool file.
type guidFile struct {
	*guidPools
	object *manifest.Object
	field  manifest.Field
	at     path

	reported int // number of findings, including those above maxReported
}

// maxReported limits the findings about one list, which may have very many entries.
const maxReported = 100

// guidWalk checks one entry.
type guidWalk struct {
	*guidFile
	name   string
	offset int // of the name in the text, -1 if it wasn't found
}

// errorf reports an error of a rule about the entry.
func (w *guidWalk) errorf(rule, format string, args ...any) *Finding {
	if w.reported++; w.reported > maxReported {
		return &Finding{} // not in the report
	}
	f := w.as(rule).error(w.object, w.at, format, args...)
	if w.offset >= 0 {
		f.place(w.object.Inside(w.field.Value, w.offset))
	}
	return f
}

func (w *guidWalk) entry(e guidEntry) {
	name := w.name
	switch {
	case e.OldAddress != "" && e.Address == "":
		w.errorf("guid-pool-entry", "the operator reads pciAddress; pci_address appears only in its manual").fix(
			`"pciAddress": %q`, e.OldAddress)
	case e.OldPF != "" && e.PF == "":
		w.errorf("guid-pool-entry", "the operator reads pfGuid; pf_guid appears only in its manual").fix(`"pfGuid": %q`,
			e.OldPF)
	case e.Address == "" && e.PF == "":
		w.errorf("guid-pool-entry", "an entry names no PF: it needs pciAddress or pfGuid")
	case e.Address != "" && e.PF != "":
		w.errorf("guid-pool-entry", "an entry has both pciAddress and pfGuid")
	case e.Address != "" && !pciForm.MatchString(e.Address):
		w.errorf("guid-pool-entry", "%q is not a PCI address: the kernel's form is 0000:3c:00.0", e.Address)
	}
	switch {
	case len(e.GUIDs) > 0 && e.Range != nil:
		w.errorf("guid-pool-entry", "%s has both guids and guidsRange", name)
	case len(e.GUIDs) > 0:
		for _, text := range e.GUIDs {
			if guid, ok := w.guid(text); ok {
				w.taken = append(w.taken, guidsTaken{guid, guid, w})
			}
		}
	case e.Range == nil || e.Range.Start == "" || e.Range.End == "":
		w.errorf("guid-pool-entry", "%s has no GUIDs: it needs guids, or guidsRange with start and end", name)
	default:
		start, ok1 := w.guid(e.Range.Start)
		end, ok2 := w.guid(e.Range.End)
		switch {
		case !ok1 || !ok2:
		case start > end:
			w.errorf("guid-pool-entry", "guidsRange of %s starts after its end", name)
		default:
			w.taken = append(w.taken, guidsTaken{start, end, w})
		}
	}
}

// guid parses a GUID as the operator does: eight bytes, separated by colons, dashes or dots.
func (w *guidWalk) guid(text string) (uint64, bool) {
	guid, ok := parseGUID(text)
	switch {
	case !ok:
		w.errorf("guid-pool-guid", "%q is not a GUID: write eight bytes as 02:00:00:00:00:00:00:01", shorten(text))
		return 0, false
	case guid == 0 || guid == 1<<64-1:
		w.errorf("guid-pool-guid", "%s can't be a port GUID: all zeros and all ones are reserved", text)
		return 0, false
	}
	return guid, true
}

// parseGUID parses eight bytes in the forms of net.ParseMAC.
func parseGUID(text string) (uint64, bool) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 8 {
		return 0, false
	}
	var guid uint64
	for _, b := range mac {
		guid = guid<<8 | uint64(b)
	}
	return guid, true
}

// reportDuplicates reports GUIDs that two entries have, once for each entry. It reports the later
// entry, or the earlier one if only that is to be checked.
func (g *guidPools) reportDuplicates() {
	order := make([]int, len(g.taken))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.taken[a].start, g.taken[b].start) })
	other := map[*guidWalk]guidsTaken{}
	first := map[*guidWalk]uint64{}
	for i, reach := 1, 0; i < len(order); i++ {
		later, earlier := max(order[i], order[reach]), min(order[i], order[reach])
		if g.taken[order[i]].start <= g.taken[order[reach]].end {
			if !g.checked[g.taken[later].entry.object] {
				later, earlier = earlier, later
			}
			if w := g.taken[later].entry; other[w].entry == nil {
				other[w], first[w] = g.taken[earlier], g.taken[order[i]].start
			}
		}
		if g.taken[order[i]].end > g.taken[order[reach]].end {
			reach = i
		}
	}
	for _, t := range g.taken {
		if o := other[t.entry].entry; o != nil {
			t.entry.errorf("guid-pool-duplicate", "GUID %s of %s also belongs to %s in %s of %s",
				k8s.FormatGUID(first[t.entry]), t.entry.name, o.name, o.field.Key, o.object)
			delete(other, t.entry)
		}
	}
}

// count compares the number of GUIDs of a PF with the VFs that policies give it.
func (w *guidWalk) count(e guidEntry) {
	have := uint64(len(e.GUIDs))
	if e.Range != nil && have == 0 {
		start, ok1 := parseGUID(e.Range.Start)
		end, ok2 := parseGUID(e.Range.End)
		if !ok1 || !ok2 || start > end {
			return
		}
		have = end - start + 1
	}
	if have == 0 || e.Address == "" {
		return
	}
	for _, pol := range w.means[e.Address] {
		if n := numVfs(pol); n > 0 && uint64(n) > have && strings.EqualFold(pol.Value.Spec.LinkType, "ib") &&
			w.concerns(pol) {
			w.errorf("guid-pool-size", "%s has %d GUIDs, but %s gives it %d VFs", e.Address, have, pol, n).because(
				pol.At("spec", "numVfs"), "numVfs")
			return
		}
	}
}

// concerns reports whether a policy may select a node with this file. A file that has the name of a
// node is for that node.
func (f *guidFile) concerns(pol *policy) bool {
	node := f.field.Key
	for i := range f.nodes {
		if f.nodes[i].Name == node {
			selected, maybe := f.nodes[i].Selected(pol.Value.Spec.NodeSelector)
			return selected || maybe
		}
	}
	host, ok := pol.Value.Spec.NodeSelector["kubernetes.io/hostname"]
	return !ok || host == node || f.object.Find("data", host) == nil
}

// mayHave reports whether the node of the file may have a PF at an address.
func (f *guidFile) mayHave(address string) bool {
	i := slices.IndexFunc(f.nodes, func(n source.Node) bool { return n.Name == f.field.Key })
	return i < 0 || !f.nodes[i].CardsKnown ||
		slices.ContainsFunc(f.nodes[i].PFs, func(pf source.PF) bool { return pf.Address == address })
}

// policiesByAddress returns the policies by PCI address: those that name it in rootDevices, and
// those that select a card with it.
func (m *model) policiesByAddress() map[string][]*policy {
	out := map[string][]*policy{}
	for _, pol := range m.policies {
		seen := map[string]bool{}
		note := func(address string) {
			if !seen[address] {
				seen[address], out[address] = true, append(out[address], pol)
			}
		}
		for _, address := range pol.Value.Spec.NicSelector.RootDevices {
			note(address)
		}
		for _, c := range m.cards(pol) {
			note(c.PF.Address)
		}
	}
	return out
}

// missing reports PFs on InfiniBand that get VFs but have no entry.
func (f *guidFile) missing(addresses map[string]bool) {
	for _, pol := range f.policies {
		if !strings.EqualFold(pol.Value.Spec.LinkType, "ib") || !f.concerns(pol) {
			continue
		}
		for _, address := range pol.Value.Spec.NicSelector.RootDevices {
			if pciForm.MatchString(address) && !addresses[address] && f.mayHave(address) {
				f.as("guid-pool-size").warn(f.object, f.at,
					"the pool has no entry for %s, but %s gives it VFs: they fail on a node with this file", address,
					pol).because(pol.At("spec", "nicSelector", "rootDevices"), "the policy")
				return
			}
		}
	}
}
