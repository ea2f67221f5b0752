// Package ipam reckons with the addresses of pods: the ranges of whereabouts and host-local as
// they stand in the field ipam of a network, how many pods they serve, and which subnets are free
// for others.
//
//	span, err := ipam.Parse(ipam.Range{Range: "192.168.0.0/24", Exclude: []string{"192.168.0.0/28"}})
//	span.Size() // 239
//
// Rules are those of whereabouts (pkg/allocate, pkg/iphelpers): network and broadcast address serve
// no pod, and bounds that lie outside of the range are passed over.
//
// Everything is plain data and safe for use by several goroutines. Counts end at 2^31-1.
package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Kinds of IPAM plugins, as type has them.
const (
	TypeWhereabouts = "whereabouts" // addresses unique in the cluster
	TypeHostLocal   = "host-local"  // addresses unique on each node only
	TypeStatic      = "static"      // addresses as they are written
)

// Config are the fields of whereabouts, host-local and static that matter to addresses.
type Config struct {
	// Of the plugin: one of the constants, or another.
	Type  string `json:"type"`
	Range string `json:"range,omitempty"` // CIDR, or START-END/LENGTH
	// Of whereabouts: first address, within Range.
	RangeStart string `json:"range_start,omitempty"`
	// Of whereabouts: last address, within Range.
	RangeEnd string   `json:"range_end,omitempty"`
	Exclude  []string `json:"exclude,omitempty"` // CIDRs
	Gateway  string   `json:"gateway,omitempty"` // that the pod gets
	Routes   []Route  `json:"routes,omitempty"`  // that the pod gets
	// Of whereabouts: an interface gets an address of each.
	IPRanges    []Range `json:"ipRanges,omitempty"`
	NetworkName string  `json:"network_name,omitempty"` // pools of one name share their addresses
	Subnet      string  `json:"subnet,omitempty"`       // host-local
	LocalStart  string  `json:"rangeStart,omitempty"`   // host-local
	LocalEnd    string  `json:"rangeEnd,omitempty"`     // host-local
	// LocalRanges are host-local's: of each list an interface gets one address.
	LocalRanges [][]LocalRange `json:"ranges,omitempty"`
	// Addresses are static's: an interface gets all of them. whereabouts adds them to its own.
	Addresses []Address `json:"addresses,omitempty"`
}

// Range is a range with its bounds.
type Range struct {
	Range      string `json:"range"`                 // CIDR, or START-END/LENGTH
	RangeStart string `json:"range_start,omitempty"` // first address, "": that of the range
	// Last address, itself included; "": that of the range.
	RangeEnd string `json:"range_end,omitempty"`
	// CIDRs or addresses within it that pods don't get
	Exclude []string `json:"exclude,omitempty"`
	// Gateway is that of the range, where it has one of its own.
	Gateway string `json:"-"`
	// Of is the plugin in whose fields the range stands.
	Of string `json:"-"`
}

// LocalRange is a range of host-local.
type LocalRange struct {
	Subnet     string `json:"subnet"`               // CIDR
	RangeStart string `json:"rangeStart,omitempty"` // first address, "": that of the subnet
	// Last address, itself included; "": that of the subnet.
	RangeEnd string `json:"rangeEnd,omitempty"`
	Gateway  string `json:"gateway,omitempty"` // router of the subnet
}

// Address is a fixed address with its mask, as 192.168.0.7/24.
type Address struct {
	Address string `json:"address"`           // with its length
	Gateway string `json:"gateway,omitempty"` // for routes that name none
}

// Route is a route that the pod gets.
type Route struct {
	Dst string `json:"dst"`          // CIDR of the destination
	GW  string `json:"gw,omitempty"` // router, "": the plugin's gateway
}

// Ranges returns all ranges, that of the top included; a fixed address is a range of one.
func (c Config) Ranges() []Range { return slices.Concat(c.Sets()...) }

// Sets returns the ranges by what an interface gets: one address of each set.
func (c Config) Sets() [][]Range {
	var out [][]Range
	if c.Range != "" {
		out = append(out, []Range{
			{Range: c.Range, RangeStart: c.RangeStart, RangeEnd: c.RangeEnd, Exclude: c.Exclude, Of: TypeWhereabouts},
		})
	}
	if c.Subnet != "" {
		out = append(out, []Range{LocalRange{c.Subnet, c.LocalStart, c.LocalEnd, c.Gateway}.plain()})
	}
	for _, r := range c.IPRanges {
		r.Of = TypeWhereabouts
		out = append(out, []Range{r})
	}
	for _, list := range c.LocalRanges {
		var set []Range
		for _, r := range list {
			set = append(set, r.plain())
		}
		out = append(out, set)
	}
	for _, a := range c.Addresses {
		host, _, _ := strings.Cut(a.Address, "/")
		out = append(out,
			[]Range{{Range: a.Address, RangeStart: host, RangeEnd: host, Gateway: a.Gateway, Of: TypeStatic}})
	}
	return out
}

func (r LocalRange) plain() Range {
	return Range{Range: r.Subnet, RangeStart: r.RangeStart, RangeEnd: r.RangeEnd, Gateway: r.Gateway, Of: TypeHostLocal}
}

// JSON returns the configuration as networks have it in their field ipam: one object, in one line.
func (c Config) JSON() (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return "", fmt.Errorf("encode ipam: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// ErrUnusable is the error of a range in which network and broadcast address leave nothing.
var ErrUnusable = errors.New("no usable address")

// Parse reads a range: a CIDR, or START-END/LENGTH, beside which bounds of their own don't count.
// Bounds outside of the CIDR, and a start behind the end, are passed over as whereabouts does; so
// are exclusions that are neither a CIDR nor an address. A range without a usable address is
// [ErrUnusable].
func Parse(r Range) (Span, error) {
	var s Span
	text := r.Range
	if head, tail, ok := strings.Cut(text, "-"); ok {
		text = strings.TrimSpace(tail)
		r.RangeStart = strings.TrimSpace(head)
		r.RangeEnd, _, _ = strings.Cut(text, "/")
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return s, err
	}
	s.Prefix = prefix.Masked()
	s.First, s.Last = Hosts(s.Prefix)
	if !s.First.IsValid() {
		return s, ErrUnusable
	}
	start, err1 := netip.ParseAddr(r.RangeStart)
	end, err2 := netip.ParseAddr(r.RangeEnd)
	if err1 == nil && s.Prefix.Contains(start) && (err2 != nil || start.Compare(end) <= 0) &&
		start.Compare(s.First) > 0 {
		s.First = start
	}
	if err2 == nil && s.Prefix.Contains(end) && (err1 != nil || start.Compare(end) <= 0) && end.Compare(s.Last) < 0 {
		s.Last = end
	}
	for _, text := range r.Exclude {
		if p, err := ParseExclude(text); err == nil {
			s.Exclude = append(s.Exclude, p)
		}
	}
	return s, nil
}

// ParseExclude reads a CIDR or an address.
func ParseExclude(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// Reserved is a range of addresses with its use: "pods", "services", "hosts".
type Reserved struct {
	Use    string       // what for
	Prefix netip.Prefix // the range
}
