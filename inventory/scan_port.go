package inventory

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func (s *scanner) readPort(r *sysfs.Reader, d *Device, number int) Port {
	p := Port{Number: number, Path: r.Path(".")}
	p.State = PortState(numbered(r, "state"))
	if r.Exists("phys_state") {
		p.PhysState = physState(r)
	}
	switch layer := r.String("link_layer"); layer {
	case string(LinkLayerInfiniBand), string(LinkLayerEthernet):
		p.LinkLayer = LinkLayer(layer)
	}
	if p.LinkLayer == LinkLayerUnknown && d.PCI != nil && !r.Exists("link_layer") {
		p.LinkLayer = linkLayerOfClass(d.PCI.Class)
		p.LinkLayerOfClass = p.LinkLayer != LinkLayerUnknown
	}
	p.Rate = readRate(r)
	p.LID, p.SMLID = lid(r, "lid"), lid(r, "sm_lid")
	p.LMC, p.SMSL = small(r, "lid_mask_count"), small(r, "sm_sl")
	if v := r.Uint("cap_mask", 32); v != nil {
		p.CapMask = new(uint32(*v))
	}
	if v := r.Uint("has_smi", 8); v != nil {
		p.HasSMI = new(*v != 0)
	}
	p.PKeys = readPKeys(r)
	p.GIDs, p.GIDTableSize = readGIDs(r, p.LinkLayer)
	p.Transport = transport(d, &p)
	if p.Transport == TransportIWARP || p.Transport == TransportERDMA {
		for i := range p.GIDs {
			p.GIDs[i].Type = GIDTypeUnknown // the kernel reports "IB/RoCE v1", but the GID is a padded MAC address
		}
	}
	if p.LinkLayer == LinkLayerInfiniBand {
		p.Fabric = fabricOf(&p)
	}
	return p
}

// physState returns the state of the physical link; unknown if the file's number and word disagree,
// which no kernel writes.
func physState(r *sysfs.Reader) PhysState {
	const name = "phys_state"
	number, word := numberAndWord(r, name)
	state := PhysState(number)
	if word != "" && state != PhysStateUnknown && !strings.EqualFold(word, state.String()) {
		r.Fail(name, fmt.Errorf("%d is %s, not %q", uint8(state), state, word))
		return PhysStateUnknown
	}
	return state
}

// linkLayerOfClass returns the link layer that the PCI class of a card stands for. It is for
// recordings without the file link_layer: a card may have ports of both.
func linkLayerOfClass(class PCIClass) LinkLayer {
	switch class >> 8 {
	case subclassInfiniBand:
		return LinkLayerInfiniBand
	case subclassEthernet:
		return LinkLayerEthernet
	}
	return LinkLayerUnknown
}

// readLinkDowned reads the counter of the compute ports only, because reading a counter takes a
// firmware command on some cards.
func (s *scanner) readLinkDowned() {
	for d, p := range s.snap.Ports() {
		dir := path.Join(sysfs.ClassInfiniBand, d.Name, "ports", strconv.Itoa(p.Number), classicCounters)
		if p.Role != RoleCompute || !s.root.Exists(path.Join(dir, "link_downed")) {
			continue
		}
		r, ok := s.root.Dir(dir)
		if !ok {
			continue
		}
		p.LinkDowned = readCounter(r, classicCounters, "link_downed").Value
		r.Close()
	}
}

func readRate(r *sysfs.Reader) *Rate {
	s, ok := r.Text("rate")
	if !ok {
		return nil
	}
	rate, err := ParseRate(s)
	if err != nil {
		r.Fail("rate", err)
		return nil
	}
	return &rate
}

// ParseRate reads a port's rate as sysfs prints it: "400 Gb/sec (4X NDR)",
// "2.5 Gb/sec (1X SDR)" (rate_show in drivers/infiniband/core/sysfs.c). The
// part in parentheses may be missing.
func ParseRate(s string) (Rate, error) {
	bad := fmt.Errorf("parse rate %q: not of the form \"400 Gb/sec (4X NDR)\"", s)
	number, rest, ok := strings.Cut(strings.TrimSpace(s), " Gb/sec")
	if !ok {
		return Rate{}, bad
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v > 1e6 || v != v {
		return Rate{}, bad
	}
	rate := Rate{GbPerSecond: v}
	inner := strings.Trim(strings.TrimSpace(rest), "()")
	if inner == "" {
		return rate, nil
	}
	width, generation, _ := strings.Cut(inner, "X")
	lanes, err := strconv.Atoi(width)
	if err != nil || lanes < 1 || lanes > 16 {
		return Rate{}, bad
	}
	rate.Width, rate.Generation = lanes, strings.TrimSpace(generation)
	if rate.Generation == "" { // some kernel versions omit SDR
		rate.Generation = "SDR"
	}
	return rate, nil
}

func lid(r *sysfs.Reader, name string) *ib.LID {
	v := r.Uint(name, 16)
	if v == nil {
		return nil
	}
	return new(ib.LID(*v))
}

func small(r *sysfs.Reader, name string) *int {
	v := r.Uint(name, 8)
	if v == nil {
		return nil
	}
	return new(int(*v))
}

func readPKeys(r *sysfs.Reader) []PKey {
	dir, ok := r.Dir("pkeys")
	if !ok {
		return nil
	}
	defer dir.Close()
	var out []PKey
	for _, name := range dir.List(".") {
		index, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, ok := dir.Text(name)
		if !ok {
			continue
		}
		key, err := ib.ParsePKey(text)
		if err != nil {
			dir.Fail(name, err)
			continue
		}
		if key != 0 {
			out = append(out, PKey{Index: index, PKey: key})
		}
	}
	return out
}

// readGIDs reads the non-empty entries of the GID table and its size. Type and network
// device are read for non-empty entries only: for a table of 256 entries that saves two
// thirds of all reads of a scan.
func readGIDs(r *sysfs.Reader, layer LinkLayer) (entries []GIDEntry, size int) {
	gids, ok := r.Dir("gids")
	if !ok {
		return nil, 0
	}
	defer gids.Close()
	types, haveTypes := r.Dir("gid_attrs/types")
	if haveTypes {
		defer types.Close()
	}
	ndevs, haveNdevs := r.Dir("gid_attrs/ndevs")
	if haveNdevs {
		defer ndevs.Close()
	}
	for _, name := range gids.List(".") {
		index, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		size++
		gid, ok := readGID(gids, name)
		if !ok || gid.IsZero() {
			continue
		}
		e := GIDEntry{Index: index, GID: gid}
		if haveTypes {
			e.Type = readGIDType(types, name, layer)
		}
		if haveNdevs && layer != LinkLayerInfiniBand {
			e.Netdev = ndevs.String(name)
		}
		entries = append(entries, e)
	}
	return entries, size
}

func readGID(r *sysfs.Reader, name string) (ib.GID, bool) {
	text, ok := r.Text(name)
	if !ok {
		return ib.GID{}, false
	}
	gid, err := ib.ParseGID(text)
	if err != nil {
		r.Fail(name, err)
		return ib.GID{}, false
	}
	return gid, true
}

// readGIDType maps the kernel's two names ("IB/RoCE v1", "RoCE v2", from
// drivers/infiniband/core/cache.c); the meaning of the first depends on the link layer.
func readGIDType(r *sysfs.Reader, name string, layer LinkLayer) GIDType {
	text, ok := r.Text(name)
	switch {
	case !ok:
		return GIDTypeUnknown
	case text == string(GIDTypeRoCEv2):
		return GIDTypeRoCEv2
	case text != "IB/RoCE v1" && text != "IB" && text != "RoCE v1":
		r.Fail(name, fmt.Errorf("unknown gid type %q", text))
		return GIDTypeUnknown
	case layer == LinkLayerInfiniBand:
		return GIDTypeIB
	}
	return GIDTypeRoCEv1
}

// isOmniPath reports whether the device is a host fabric interface. The drivers hfi1 and hfi2 give
// their devices these names; a recording may have nothing else that tells.
func isOmniPath(d *Device) bool {
	if d.PCI != nil {
		return d.PCI.Class>>8 == subclassFabric
	}
	return strings.HasPrefix(d.Name, "hfi1_") || strings.HasPrefix(d.Name, "hfi2_")
}

// transport determines the transport of a port.
func transport(d *Device, p *Port) Transport {
	switch {
	case d.Driver == "efa" || isEFA(d.PCI):
		return TransportEFA
	case d.Driver == "erdma":
		return TransportERDMA
	case d.NodeType == NodeTypeRNIC, d.NodeType == NodeTypeUnknown && d.HCAType == "I40IW":
		return TransportIWARP
	case d.NodeType == NodeTypeUSNIC || d.NodeType == NodeTypeUSNICUDP:
		return TransportUSNIC
	case isOmniPath(d):
		return TransportOmniPath
	case p.LinkLayer == LinkLayerInfiniBand:
		return TransportInfiniBand
	case p.LinkLayer != LinkLayerEthernet:
		return TransportUnknown
	}
	t := TransportRoCE
	for _, g := range p.GIDs {
		if g.Type == GIDTypeRoCEv2 {
			return TransportRoCEv2
		}
		if g.Type == GIDTypeRoCEv1 {
			t = TransportRoCEv1
		}
	}
	return t
}

// fabricOf identifies the subnet of an InfiniBand port by the prefix of its first GID and its
// subnet manager.
func fabricOf(p *Port) *Fabric {
	if len(p.GIDs) == 0 {
		return nil
	}
	f := &Fabric{SubnetPrefix: p.GIDs[0].GID.SubnetPrefix()}
	if p.SMLID != nil {
		f.SMLID = *p.SMLID
	}
	return f
}

// errNoCounters is the error for a port with neither counters nor hw_counters.
var errNoCounters = errors.New("there are none: hidden by the network namespace, not recorded, or the driver has none")
