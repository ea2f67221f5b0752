package consensus

import (
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/inventory"
)

// gidKind is a kind of GID for connections; both ends need the same kind. Smaller values are
// better.
type gidKind uint8

const (
	kindV2IPv4 gidKind = iota
	kindV2IPv6
	kindV1IPv4
	kindV1IPv6
	kinds // how many there are
)

// String returns the name that package launch uses.
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

// family returns the value of NCCL_IB_ADDR_FAMILY and NVSHMEM_IB_ADDR_FAMILY.
func (k gidKind) family() string {
	if k.ipv4() {
		return "AF_INET"
	}
	return "AF_INET6"
}

// gidEntry is an entry that can be used for connections.
type gidEntry struct {
	index  int
	kind   gidKind
	addr   netip.Addr
	subnet netip.Prefix // invalid: unknown
}

// kindOf returns the kind of an entry; false if the entry can't be used beyond the link.
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

// chosenKind returns the kind of the entry that launch chose; false if there is none.
func (r *rail) chosenKind() (gidKind, bool) {
	if r.gid == nil {
		return 0, false
	}
	return kindOf(inventory.GIDEntry{GID: r.gid.GID, Type: r.gid.Type})
}

// best returns the entry of a kind that connections should use: the one with the lowest index,
// preferring an assigned address to a link-local IPv4 address (169.254.0.0/16).
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

// roce reports whether the rail has a GID that can be chosen by index.
func (r *rail) roce() bool { return r.gid != nil }

// location returns the network of a rail: an IP subnet or an InfiniBand subnet; "" if unknown.
func (r *rail) location() string {
	switch {
	case r.subnet.IsValid():
		return r.subnet.String()
	case r.fabric != nil && r.fabric.SMLID != 0:
		return fmt.Sprintf("%s SM %d", r.fabric.SubnetPrefix, r.fabric.SMLID)
	}
	return ""
}
