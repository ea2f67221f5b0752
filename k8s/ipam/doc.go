// Package ipam computes with the addresses of pods: it parses the ranges of whereabouts, host-local
// and static in the field ipam of a network, counts their addresses, and finds free subnets.
//
//	span, err := ipam.Parse(ipam.Range{Range: "192.168.0.0/24", Exclude: []string{"192.168.0.0/28"}})
//	span.Size() // 239
//
// It follows the rules of whereabouts (pkg/allocate, pkg/iphelpers): network and broadcast address
// are not used for pods, and bounds outside of the range are ignored.
//
// All types are plain data and may be read concurrently. Counts are limited to 2^31-1.
package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Kinds of IPAM plugins, the values of type.
const (
	TypeWhereabouts = "whereabouts" // addresses unique in the cluster
	TypeHostLocal   = "host-local"  // addresses unique on each node only
	TypeStatic      = "static"      // fixed addresses
)

// Config contains the fields of whereabouts, host-local and static that matter to addresses.
type Config struct {
	// Of the plugin: one of the constants, or another.
	Type  string `json:"type"`
	Range string `json:"range,omitempty"` // CIDR, or START-END/LENGTH
	// Of whereabouts: first address, within Range.
	RangeStart string `json:"range_start,omitempty"`
	// Of whereabouts: last address, within Range.
	RangeEnd string   `json:"range_end,omitempty"`
	Exclude  []string `json:"exclude,omitempty"` // CIDRs
	Gateway  string   `json:"gateway,omitempty"` // of the pod
	Routes   []Route  `json:"routes,omitempty"`  // of the pod
	// Of whereabouts: an interface gets an address from each.
	IPRanges    []Range `json:"ipRanges,omitempty"`
	NetworkName string  `json:"network_name,omitempty"` // pools with the same name share their addresses
	Subnet      string  `json:"subnet,omitempty"`       // host-local
	LocalStart  string  `json:"rangeStart,omitempty"`   // host-local
	LocalEnd    string  `json:"rangeEnd,omitempty"`     // host-local
	// Of host-local: an interface gets one address from each inner list.
	LocalRanges [][]LocalRange `json:"ranges,omitempty"`
	// Of static: an interface gets all of them. whereabouts adds them to its own.
	Addresses []Address `json:"addresses,omitempty"`
}

// Range is a range with its bounds.
type Range struct {
	Range      string `json:"range"`                 // CIDR, or START-END/LENGTH
	RangeStart string `json:"range_start,omitempty"` // first address, "" for the first of the range
	// Last address, inclusive; "" for the last of the range.
	RangeEnd string `json:"range_end,omitempty"`
	// CIDRs or addresses within the range that pods don't get
	Exclude []string `json:"exclude,omitempty"`
	// Gateway is the gateway of this range, "" if it has none.
	Gateway string `json:"-"`
	// Of is the plugin of the fields that contain the range.
	Of string `json:"-"`
}

// LocalRange is a range of host-local.
type LocalRange struct {
	Subnet     string `json:"subnet"`               // CIDR
	RangeStart string `json:"rangeStart,omitempty"` // first address, "" for the first of the subnet
	// Last address, inclusive; "" for the last of the subnet.
	RangeEnd string `json:"rangeEnd,omitempty"`
	Gateway  string `json:"gateway,omitempty"` // router of the subnet
}

// Address is a fixed address with its prefix length, such as 192.168.0.7/24.
type Address struct {
	Address string `json:"address"`           // with prefix length
	Gateway string `json:"gateway,omitempty"` // for routes without a gateway
}

// Route is a route of the pod.
type Route struct {
	Dst string `json:"dst"`          // CIDR of the destination
	GW  string `json:"gw,omitempty"` // router, "" for the plugin's gateway
}

// Ranges returns all ranges, including the top-level one. A fixed address is a range of one
// address.
func (c Config) Ranges() []Range { return slices.Concat(c.Sets()...) }

// Sets returns the ranges as sets. An interface gets one address from each set.
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

// JSON returns the configuration as a JSON object on one line, for the field ipam of a network.
func (c Config) JSON() (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return "", fmt.Errorf("encode ipam: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// ErrUnusable means that a range has no addresses besides network and broadcast address.
var ErrUnusable = errors.New("no usable address")

// Parse parses a range: a CIDR, or START-END/LENGTH, with which it ignores RangeStart and RangeEnd.
// Like whereabouts it ignores bounds outside of the CIDR, and a start after the end. It also
// ignores exclusions that are neither a CIDR nor an address. It returns [ErrUnusable] for a range
// without a usable address.
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

// ParseExclude parses a CIDR or an address.
func ParseExclude(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// Reserved is an address range that is already in use.
type Reserved struct {
	Use    string       // "pods", "services", "hosts"
	Prefix netip.Prefix // the range
}
