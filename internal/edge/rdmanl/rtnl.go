package rdmanl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// HardwareAddr is a link-layer address: 6 bytes on Ethernet, 20 on IPoIB. It is
// a [net.HardwareAddr] with a text form.
type HardwareAddr []byte

// String returns colon-separated bytes.
func (a HardwareAddr) String() string { return net.HardwareAddr(a).String() }

// MarshalText implements [encoding.TextMarshaler] with the form of [HardwareAddr.String].
func (a HardwareAddr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts one or more
// colon-separated bytes.
func (a *HardwareAddr) UnmarshalText(b []byte) error {
	var out HardwareAddr
	for part := range strings.SplitSeq(string(b), ":") {
		v, err := strconv.ParseUint(part, 16, 8)
		if err != nil || len(part) != 2 {
			return fmt.Errorf("parse hardware address %q: not colon-separated bytes", b)
		}
		out = append(out, byte(v))
	}
	*a = out
	return nil
}

// Link is a network device (rtnl_fill_ifinfo in net/core/rtnetlink.c).
type Link struct {
	Index int    `json:"index"` // ifindex
	Name  string `json:"name"`  // eth0
	Type  uint16 `json:"type"`  // ARPHRD: 1 Ethernet, 32 InfiniBand, 772 loopback
	Flags uint32 `json:"flags"` // IFF; see Up and Carrier
	// Kind is the kind of a virtual device: vlan, bond, macvlan, veth, bridge, …; ipoib
	// for child interfaces; "" for hardware.
	Kind   string  `json:"kind,omitempty"`
	VLANID *uint16 `json:"vlanID,omitempty"` // of the kind vlan
	// LowerIndex is the lower device (of a VLAN, macvlan or IPoIB child), or the other
	// end of a veth. If LowerNetnsID is set, it is an index in another network
	// namespace.
	LowerIndex   *int    `json:"lowerIndex,omitempty"`
	LowerNetnsID *uint32 `json:"lowerNetnsID,omitempty"`
	MasterIndex  *int    `json:"masterIndex,omitempty"` // bond, bridge or VRF that it is a member of
	MTU          *uint32 `json:"mtu,omitempty"`         // bytes
	MaxMTU       *uint32 `json:"maxMTU,omitempty"`      // largest MTU of the driver; 0 if it has no limit
	OperState    string  `json:"operState,omitempty"`   // as in sysfs: up, down, lowerlayerdown, …
	// CarrierUps and CarrierDowns count the changes of the carrier since the device exists; nil on
	// kernels before 4.17.
	CarrierUps   *uint32 `json:"carrierUps,omitempty"`
	CarrierDowns *uint32 `json:"carrierDowns,omitempty"`

	Address HardwareAddr `json:"address,omitempty"`
	// NumVFs is the current number of virtual functions; nil without a parent device.
	// VFs may have fewer: some drivers don't report all.
	NumVFs *uint32 `json:"numVFs,omitempty"`
	VFs    []VF    `json:"vfs,omitempty"`
}

// Up reports whether the device is administratively up (IFF_UP).
func (l Link) Up() bool { return l.Flags&0x1 != 0 }

// Carrier reports whether the device has a carrier (IFF_LOWER_UP).
func (l Link) Carrier() bool { return l.Flags&0x10000 != 0 }

// VF is a virtual function as reported by the driver of its physical function
// (rtnl_fill_vfinfo in net/core/rtnetlink.c).
type VF struct {
	Index uint32 `json:"index"` // from 0
	// MAC is as long as the address of the device; all zeros mean that the physical
	// function has set none.
	MAC       HardwareAddr `json:"mac,omitempty"`
	VLAN      *uint32      `json:"vlan,omitempty"`      // 0: none
	QoS       *uint32      `json:"qos,omitempty"`       // 802.1p priority in the VLAN tag
	VLANProto *uint16      `json:"vlanProto,omitempty"` // 0x8100 802.1Q, 0x88a8 802.1ad
	LinkState string       `json:"linkState,omitempty"` // auto, enable, disable
	// Trust and SpoofCheck are nil if the driver doesn't report them.
	Trust      *bool `json:"trust,omitempty"`
	SpoofCheck *bool `json:"spoofCheck,omitempty"`
	// Rates in Mb/s; 0 means no limit.
	MinTxRate *uint32 `json:"minTxRate,omitempty"`
	MaxTxRate *uint32 `json:"maxTxRate,omitempty"`
	// The GUIDs are nil on Ethernet.
	NodeGUID *ib.GUID `json:"nodeGUID,omitempty"`
	PortGUID *ib.GUID `json:"portGUID,omitempty"`
}

// Flags of addresses (IFA_F_… in linux/if_addr.h).
const (
	AddrSecondary  = 0x01 // IPv4: not the first of its subnet; IPv6: temporary
	AddrDADFailed  = 0x08 // another node uses the address
	AddrDeprecated = 0x20 // IPv6: its preferred lifetime is over
	AddrTentative  = 0x40 // not usable yet: duplicate address detection is running
	AddrPermanent  = 0x80 // it doesn't expire
)

// Address is an IP address of a network device (inet_fill_ifaddr in
// net/ipv4/devinet.c, inet6_fill_ifaddr in net/ipv6/addrconf.c).
type Address struct {
	LinkIndex int    `json:"linkIndex"` // ifindex of the device
	Family    string `json:"family"`    // ipv4 or ipv6
	// Prefix is the address with its length, not masked: 192.0.2.1/24.
	Prefix netip.Prefix `json:"prefix"`
	Peer   netip.Addr   `json:"peer,omitzero"`   // other end of a point-to-point address
	Scope  string       `json:"scope"`           // global, site, link, host, nowhere, or a number
	Flags  uint32       `json:"flags,omitempty"` // AddrSecondary …
	Label  string       `json:"label,omitempty"` // IPv4: eth0, eth0:1
}

// Route is a route, or one next hop of a multipath route (fib_dump_info in
// net/ipv4/fib_semantics.c, rt6_fill_node in net/ipv6/route.c).
type Route struct {
	Family      string       `json:"family"`           // ipv4 or ipv6
	Type        string       `json:"type"`             // unicast, local, unreachable, …, or a number
	Table       uint32       `json:"table"`            // 254 is the main table, which RouteTo always returns on IPv4
	Destination netip.Prefix `json:"destination"`      // 0.0.0.0/0 and ::/0 are default routes
	From        netip.Prefix `json:"from,omitzero"`    // only for packets from these source addresses
	Gateway     netip.Addr   `json:"gateway,omitzero"` // invalid if the destination is on the link
	Source      netip.Addr   `json:"source,omitzero"`  // preferred source address
	// Ifindex of the device; nil for types without a device, such as unreachable.
	LinkIndex *int    `json:"linkIndex,omitempty"`
	Metric    *uint32 `json:"metric,omitempty"` // the lowest is used; nil means 0
	Weight    *int    `json:"weight,omitempty"` // of a next hop, from 1; nil unless multipath
	Scope     string  `json:"scope,omitempty"`  // IPv4: global, link, host, …
	TOS       uint8   `json:"tos,omitempty"`    // IPv4: only for packets with this type of service
	MTU       *uint32 `json:"mtu,omitempty"`    // of the path, if the route sets it
	Dead      bool    `json:"dead,omitempty"`   // its device is down, so the kernel skips it
	flags     uint32
}

// Links lists the network devices of this namespace by index, with their virtual
// functions. Drivers may query their firmware for each virtual function.
func (c Client) Links(ctx context.Context) ([]Link, error) {
	body := make([]byte, ifinfomsgLen) // struct ifinfomsg: AF_UNSPEC, no filter
	body = appendAttrU32(body, IFLA_EXT_MASK, RTEXT_FILTER_VF|RTEXT_FILTER_SKIP_STATS)
	q := rtnlRequest("link dump", "", RTM_GETLINK, body)
	msgs, err := c.dump(ctx, q)
	return collect(q, msgs, err, decodeLink)
}

// Addresses lists the IPv4 and IPv6 addresses of this namespace.
func (c Client) Addresses(ctx context.Context) ([]Address, error) {
	q := rtnlRequest("address dump", "", RTM_GETADDR, make([]byte, ifaddrmsgLen))
	msgs, err := c.dump(ctx, q)
	return collect(q, msgs, err, decodeAddress)
}

// DefaultRoutes lists the default routes of the main table, IPv4 first: one entry per next
// hop, without routes that reject packets or are for specific sources.
func (c Client) DefaultRoutes(ctx context.Context) ([]Route, error) {
	return c.routes(ctx, RT_TABLE_MAIN, Route.isDefault) // kernels before 4.20 return all tables
}

// routes lists the routes of a table that are to be kept, IPv4 first, one entry per next hop.
func (c Client) routes(ctx context.Context, table uint8, keep func(Route) bool) ([]Route, error) {
	var out []Route
	var errs []error
	for _, f := range families {
		body := make([]byte, rtmsgLen)
		body[0], body[4] = f.number, table
		q := rtnlRequest("route dump", f.name, RTM_GETROUTE, body)
		msgs, err := c.dump(ctx, q)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no route has been added to this namespace yet
		}
		lists, err := collect(q, msgs, err, decodeRoute)
		errs = append(errs, err)
		for _, hops := range lists {
			for _, r := range hops {
				if r.Family == f.name && keep(r) { // kernels without IPv6 return all families
					out = append(out, r)
				}
			}
		}
	}
	return out, errors.Join(errs...)
}

func (r Route) isDefault() bool {
	return r.Table == RT_TABLE_MAIN && r.Type == "unicast" && r.Destination.Bits() == 0 &&
		!r.From.IsValid() && r.flags&RTM_F_CLONED == 0
}

// RouteTo returns the route that a packet to dst would take: `ip route get`. A zone of
// dst, a name or an index, selects the network device. An address of this machine gives
// the type "local" on the loopback device. If there is no route, the error is one such as
// [syscall.ENETUNREACH].
func (c Client) RouteTo(ctx context.Context, dst netip.Addr) (Route, error) {
	q := rtnlRequest("route get", dst.String(), RTM_GETROUTE, nil)
	if !dst.IsValid() {
		return Route{}, opError(q, errors.New("no address"))
	}
	dst = dst.Unmap()
	family := families[0]
	if dst.Is6() {
		family = families[1]
	}
	q.body = make([]byte, rtmsgLen)
	q.body[0], q.body[1] = family.number, uint8(dst.BitLen())
	q.body = appendAttr(q.body, RTA_DST, dst.AsSlice())
	if zone := dst.Zone(); zone != "" {
		index, err := zoneIndex(zone)
		if err != nil {
			return Route{}, opError(q, err)
		}
		q.body = appendAttrU32(q.body, RTA_OIF, index)
	}
	b, err := c.get(ctx, q)
	if err != nil {
		return Route{}, err
	}
	hops, err := decodeRoute(b)
	if err == nil && len(hops) == 0 {
		err = errIncomplete
	}
	if err != nil {
		return Route{}, opError(q, err)
	}
	return hops[0], nil
}

func zoneIndex(zone string) (uint32, error) {
	if n, err := strconv.ParseUint(zone, 10, 31); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("zone %s: %w", zone, err)
	}
	return uint32(i.Index), nil
}

func rtnlRequest(op, object string, typ netlink.HeaderType, body []byte) request {
	return request{op: "rtnetlink " + op, object: object, family: NETLINK_ROUTE, typ: typ, body: body}
}
