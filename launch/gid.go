package launch

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
)

// profile is a kind of GID for RoCE connections. All ports of a job must use the same one, because
// each library has one setting for all its ports.
type profile struct {
	version int  // 1 or 2
	ipv4    bool // the GID is an IPv4 address
}

// profiles returns all profiles, the best first.
func profiles() []profile {
	return []profile{{2, true}, {2, false}, {1, true}, {1, false}}
}

func (f profile) String() string {
	family := "IPv6"
	if f.ipv4 {
		family = "IPv4"
	}
	return fmt.Sprintf("RoCE v%d over %s", f.version, family)
}

// addressFamily returns the value of NCCL_IB_ADDR_FAMILY and NVSHMEM_IB_ADDR_FAMILY.
func (f profile) addressFamily() string {
	if f.ipv4 {
		return "AF_INET"
	}
	return "AF_INET6"
}

// profileOf returns the profile of an entry; false for an entry that can't be used beyond the link.
// 169.254.0.0/16 is usable, because directly cabled machines usually have these addresses.
func profileOf(e inventory.GIDEntry) (profile, bool) {
	addr := e.GID.Addr()
	f := profile{ipv4: addr.Is4()}
	switch e.Type {
	case inventory.GIDTypeRoCEv1:
		f.version = 1
	case inventory.GIDTypeRoCEv2:
		f.version = 2
	default:
		return f, false
	}
	if e.GID.IsZero() || e.GID.IsLinkLocal() || addr.IsUnspecified() || addr.IsLoopback() || addr.IsMulticast() {
		return f, false
	}
	return f, true
}

// gidTable contains the usable entries of a RoCE port by profile, lowest index first.
type gidTable map[profile][]inventory.GIDEntry

// usableGIDs returns a port's usable entries. An entry of a bond member is not usable, because the
// address belongs to the bond. slave is the name of such a member, if there is one.
func usableGIDs(snapshot *inventory.Snapshot, p *inventory.Port) (table gidTable, slave string) {
	table = gidTable{}
	for _, e := range p.GIDs {
		f, ok := profileOf(e)
		if !ok {
			continue
		}
		if bondOf(snapshot, e.Netdev) != "" {
			slave = e.Netdev
			continue
		}
		table[f] = append(table[f], e)
	}
	for _, list := range table {
		slices.SortFunc(list, func(a, b inventory.GIDEntry) int { return a.Index - b.Index })
	}
	return table, slave
}

// bondOf returns the bond that a network device is a member of, or "".
func bondOf(snapshot *inventory.Snapshot, netdev string) string {
	n := snapshot.Netdev(netdev)
	if n == nil || n.Master == "" {
		return ""
	}
	if master := snapshot.Netdev(n.Master); master == nil || master.Bond == nil {
		return ""
	}
	return n.Master
}

// choose returns the entry of a profile that connections should use: the one with the lowest index,
// preferring an assigned address to a link-local IPv4 address (169.254.0.0/16).
func (t gidTable) choose(f profile) *GIDChoice {
	list := t[f]
	if len(list) == 0 {
		return nil
	}
	e := list[0]
	for _, other := range list {
		if !other.GID.Addr().IsLinkLocalUnicast() {
			e = other
			break
		}
	}
	return &GIDChoice{Index: e.Index, GID: e.GID, Type: e.Type, Netdev: e.Netdev, Addr: e.GID.Addr()}
}

// gidFiles returns the files of a GID entry.
func gidFiles(p *inventory.Port, index int) []string {
	n := strconv.Itoa(index)
	return []string{path.Join(p.Path, "gids", n), path.Join(p.Path, "gid_attrs/types", n)}
}

// coveringPrefix returns the smallest network that contains all of the prefixes, which must be of
// one address family; the zero value for an empty list.
func coveringPrefix(list []netip.Prefix) netip.Prefix {
	if len(list) == 0 {
		return netip.Prefix{}
	}
	cover := list[0].Masked()
	for _, p := range list[1:] {
		bits := min(cover.Bits(), p.Bits())
		for ; bits > 0; bits-- {
			if netip.PrefixFrom(cover.Addr(), bits).Contains(p.Addr()) {
				break
			}
		}
		cover = netip.PrefixFrom(cover.Addr(), bits).Masked()
	}
	return cover
}

// prefixOf returns the network of an address on its network device, or a network of only the
// address if the prefix is not known.
func prefixOf(snapshot *inventory.Snapshot, choice *GIDChoice) netip.Prefix {
	if n := snapshot.Netdev(choice.Netdev); n != nil {
		for _, p := range n.Addresses {
			if p.Addr() == choice.Addr && p.Bits() < choice.Addr.BitLen() {
				return p.Masked()
			}
		}
	}
	return netip.PrefixFrom(choice.Addr, choice.Addr.BitLen())
}

// indexList formats the index of each port: "mlx5_0:1 has 3, mlx5_1:1 has 5".
func indexList(list []*candidate) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s has %d", c.plan.Name(), c.plan.GID.Index))
	}
	return strings.Join(out, ", ")
}
