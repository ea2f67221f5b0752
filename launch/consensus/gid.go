package consensus

import (
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/inventory"
)

// gidKind is a kind of GID that a connection can be made with; both ends need the
// same one. Smaller is better.
type gidKind uint8

const (
	kindV2IPv4 gidKind = iota
	kindV2IPv6
	kindV1IPv4
	kindV1IPv6
	kinds // how many there are
)

// String names the kind as package launch does.
func (k gidKind) String() string {
	return [kinds]string{"RoCE v2 over IPv4", "RoCE v2 over IPv6", "RoCE v1 over IPv4", "RoCE v1 over IPv6"}[k]
}

func (k gidKind) ipv4() bool { return k == kindV2IPv4 || k == kindV1IPv4 }

func (k gidKind) version() int {
	if k <= kindV2IPv6 {
		return 2
	}
	return 1
}

// family is the word of NCCL and NVSHMEM.
func (k gidKind) family() string {
	if k.ipv4() {
		return "AF_INET"
	}
	return "AF_INET6"
}

// gidEntry is an entry that connections can be made with.
type gidEntry struct {
	index  int
	kind   gidKind
	addr   netip.Addr
	subnet netip.Prefix // invalid: unknown
}

// kindOf tells what an entry is good for; false for one that reaches no further than the link.
func kindOf(e inventory.GIDEntry) (gidKind, bool) {
	addr := e.GID.Addr()
	if e.GID.IsZero() || e.GID.IsLinkLocal() || addr.IsUnspecified() || addr.IsLoopback() || addr.IsMulticast() {
		return 0, false
	}
	var k gidKind
	switch e.Type {
	case inventory.GIDTypeRoCEv2:
		k = kindV2IPv4
	case inventory.GIDTypeRoCEv1:
		k = kindV1IPv4
	default:
		return 0, false
	}
	if !addr.Is4() {
		k++
	}
	return k, true
}

// chosenKind is the kind of the entry that launch chose; false without one.
func (r *rail) chosenKind() (gidKind, bool) {
	if r.gid == nil {
		return 0, false
	}
	return kindOf(inventory.GIDEntry{GID: r.gid.GID, Type: r.gid.Type})
}

// best returns the entry of a kind that connections should use: the lowest index, an
// assigned address before a self-given one (169.254.0.0/16).
func (r *rail) best(k gidKind) *gidEntry {
	var found *gidEntry
	for i := range r.gids {
		e := &r.gids[i]
		switch {
		case e.kind != k:
		case !e.addr.IsLinkLocalUnicast():
			return e
		case found == nil:
			found = e
		}
	}
	return found
}

// at returns the entry of a kind at an index, nil for none.
func (r *rail) at(index int, k gidKind) *gidEntry {
	for i := range r.gids {
		if r.gids[i].index == index && r.gids[i].kind == k {
			return &r.gids[i]
		}
	}
	return nil
}

// roce reports that the rail has a GID that could be chosen by index.
func (r *rail) roce() bool { return r.gid != nil }

// location names the network that a rail is in: a subnet, or an InfiniBand fabric; "" for unknown.
func (r *rail) location() string {
	switch {
	case r.subnet.IsValid():
		return r.subnet.String()
	case r.fabric != nil && r.fabric.SMLID != 0:
		return fmt.Sprintf("%s SM %d", r.fabric.SubnetPrefix, r.fabric.SMLID)
	}
	return ""
}
