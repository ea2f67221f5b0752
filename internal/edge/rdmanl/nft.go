package rdmanl

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// FilterChain is a chain of nf_tables (nf_tables_fill_chain_info in net/netfilter/nf_tables_api.c).
type FilterChain struct {
	Family uint8  `json:"family"` // NFPROTO_INET, NFPROTO_IPV4, …
	Table  string `json:"table"`
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"` // filter, nat, route; "" unless it is a base chain
	// Hook, Priority and Policy are those of a base chain; Hook is nil for others. The numbers:
	// prerouting 0, input 1, forward 2, output 3, postrouting 4.
	Hook     *uint32 `json:"hook,omitempty"`
	Priority int32   `json:"priority,omitempty"`
	Policy   *uint32 `json:"policy,omitempty"` // NF_DROP 0, NF_ACCEPT 1
	// Devices are the network devices of a base chain at ingress or egress: hook 0 and 1 of the
	// family netdev, hook 5 of inet.
	Devices []string `json:"devices,omitempty"`
}

// FilterRule is a rule of nf_tables. Its conditions must all be true for its verdict.
type FilterRule struct {
	Family     uint8             `json:"family"`
	Table      string            `json:"table"`
	Chain      string            `json:"chain"`
	Conditions []FilterCondition `json:"conditions,omitempty"`
	// Verdict is accept, drop, reject, jump, goto, return, "" for none (it only counts or logs),
	// map if the last condition names a set that has the verdicts, or unknown.
	Verdict string   `json:"verdict,omitempty"`
	Target  string   `json:"target,omitempty"` // chain of jump and goto
	Sets    []string `json:"sets,omitempty"`   // keys of properties that the rule changes: mark, ct mark
}

// FilterCondition compares a property of a packet.
type FilterCondition struct {
	// Key is a property: iif, iifname, oif, oifname, ethertype, nfproto, l4proto, protocol, saddr,
	// daddr, sport, dport, tcp flags, pkttype, mark, ct state, ct mark, or another name in
	// parentheses, which the decoder doesn't know.
	Key  string `json:"key"`
	Op   string `json:"op"`            // ==, !=, <, <=, >, >=, in, not in (a range or a set)
	Mask []byte `json:"mask,omitzero"` // applied before the comparison; nil for none
	Low  []byte `json:"low,omitzero"`  // the value, or the lower end of the range
	High []byte `json:"high,omitzero"` // the upper end of the range
	Set  string `json:"set,omitempty"` // name of the set
	// Ranges are pairs of a lower and an upper end, in place of Low, High and Set.
	Ranges [][2][]byte `json:"ranges,omitempty"`
}

// FilterSet is a set of nf_tables with its elements.
type FilterSet struct {
	Family   uint8  `json:"family"`
	Table    string `json:"table"`
	Name     string `json:"name"`
	Interval bool   `json:"interval,omitempty"` // Elements are pairs of the first and the one behind the last
	// Opaque marks a set whose elements are not decoded: a map of values, keys of several fields,
	// more elements than Filter reads, or a set that no rule looks up.
	Opaque   bool     `json:"opaque,omitempty"`
	Elements [][]byte `json:"elements,omitempty"`
	Verdicts bool     `json:"verdicts,omitempty"` // a map of verdicts: Results has one for each element
	Results  []Result `json:"results,omitempty"`
}

// Result is what a map of verdicts has for an element; the fields are those of [FilterRule].
type Result struct {
	Verdict string `json:"verdict,omitempty"`
	Target  string `json:"target,omitempty"`
}

// Limits of what [Client.Filter] keeps: lists of blocked addresses have millions of elements.
const (
	maxSetElements = 4096  // of a set
	maxElements    = 65536 // of all sets together
)

const nfgenmsgLen = 4 // struct nfgenmsg

func nftRequest(op string, msg uint16, family uint8, attrs []byte) request {
	return request{
		op: "nf_tables " + op, family: NETLINK_NETFILTER,
		typ: netlink.HeaderType(NFNL_SUBSYS_NFTABLES<<8 | msg), body: append([]byte{family, 0, 0, 0}, attrs...),
	}
}

// Filter lists the chains, rules and sets of nf_tables of this namespace. It needs CAP_NET_ADMIN in
// the namespace, and makes the kernel load nf_tables if that is a module. Elements are those of the
// sets that rules look up; a set with too many of them is opaque.
func (c Client) Filter(ctx context.Context) (chains []FilterChain, rules []FilterRule, sets []FilterSet, err error) {
	q := nftRequest("chain dump", NFT_MSG_GETCHAIN, 0, nil)
	msgs, err := c.dump(ctx, q)
	chains, err = collect(q, msgs, err, decodeFilterChain)
	if err != nil {
		return nil, nil, nil, err
	}
	q = nftRequest("rule dump", NFT_MSG_GETRULE, 0, nil)
	msgs, err = c.dump(ctx, q)
	if rules, err = collect(q, msgs, err, decodeFilterRule); err != nil {
		return nil, nil, nil, err
	}
	q = nftRequest("set dump", NFT_MSG_GETSET, 0, nil)
	msgs, err = c.dump(ctx, q)
	if sets, err = collect(q, msgs, err, decodeFilterSet); err != nil {
		return nil, nil, nil, err
	}
	if err := c.filterElements(ctx, rules, sets); err != nil {
		return nil, nil, nil, err
	}
	return chains, rules, sets, nil
}

// filterElements reads the elements of the sets that rules look up, as far as the limits allow.
func (c Client) filterElements(ctx context.Context, rules []FilterRule, sets []FilterSet) error {
	type key struct {
		family      uint8
		table, name string
	}
	used := map[key]bool{}
	for _, r := range rules {
		for _, condition := range r.Conditions {
			used[key{r.Family, r.Table, condition.Set}] = true
		}
	}
	left := maxElements
	for i := range sets {
		s := &sets[i]
		if !used[key{s.Family, s.Table, s.Name}] || left == 0 {
			s.Opaque, s.Verdicts = true, false
		}
		if s.Opaque && !s.Verdicts {
			continue
		}
		attrs := appendAttr(nil, NFTA_SET_ELEM_LIST_TABLE, append([]byte(s.Table), 0))
		attrs = appendAttr(attrs, NFTA_SET_ELEM_LIST_SET, append([]byte(s.Name), 0))
		q := nftRequest("set element dump", NFT_MSG_GETSETELEM, s.Family, attrs)
		msgs, err := c.dump(ctx, q)
		if err != nil {
			return err
		}
		for _, m := range msgs {
			if err := decodeFilterElements(s, m.Data); err != nil {
				return opError(q, err)
			}
			if len(s.Elements) > min(maxSetElements, left) || s.Opaque && !s.Verdicts {
				s.Opaque, s.Verdicts, s.Elements, s.Results = true, false, nil, nil
				break
			}
		}
		left -= len(s.Elements)
	}
	return nil
}

// be32 stores a big-endian number.
func be32(field **uint32) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 4 {
			return errors.New("not a number of 4 bytes")
		}
		n := binary.BigEndian.Uint32(v)
		*field = &n
		return nil
	}
}

func decodeFilterChain(b []byte) (FilterChain, error) {
	if len(b) < nfgenmsgLen {
		return FilterChain{}, missing(nil, "struct nfgenmsg")
	}
	c := FilterChain{Family: b[0]}
	var priority *uint32
	device := func(v []byte) error {
		name := ""
		err := nl.Text(&name)(v)
		if err == nil && !slices.Contains(c.Devices, name) { // one alone is in both attributes
			c.Devices = append(c.Devices, name)
		}
		return err
	}
	err := fields{
		NFTA_CHAIN_TABLE: nl.Text(&c.Table), NFTA_CHAIN_NAME: nl.Text(&c.Name), NFTA_CHAIN_TYPE: nl.Text(&c.Type),
		NFTA_CHAIN_POLICY: be32(&c.Policy),
		NFTA_CHAIN_HOOK: fields{
			NFTA_HOOK_HOOKNUM: be32(&c.Hook), NFTA_HOOK_PRIORITY: be32(&priority),
			NFTA_HOOK_DEV: device, NFTA_HOOK_DEVS: fields{NFTA_DEVICE_NAME: device}.decode,
		}.decode,
	}.decode(b[nfgenmsgLen:])
	if priority != nil {
		c.Priority = int32(*priority)
	}
	if c.Name == "" {
		return c, missing(err, "name of the chain")
	}
	return c, err
}

func decodeFilterSet(b []byte) (FilterSet, error) {
	if len(b) < nfgenmsgLen {
		return FilterSet{}, missing(nil, "struct nfgenmsg")
	}
	s := FilterSet{Family: b[0]}
	var flags, data *uint32
	err := fields{
		NFTA_SET_TABLE: nl.Text(&s.Table), NFTA_SET_NAME: nl.Text(&s.Name), NFTA_SET_FLAGS: be32(&flags),
		NFTA_SET_DATA_TYPE: be32(&data),
	}.decode(b[nfgenmsgLen:])
	if flags != nil {
		isMap := *flags&NFT_SET_MAP != 0
		s.Interval, s.Verdicts = *flags&NFT_SET_INTERVAL != 0, isMap && data != nil && *data == NFT_DATA_VERDICT
		s.Opaque = isMap && !s.Verdicts || *flags&NFT_SET_CONCAT != 0
	}
	if s.Name == "" {
		return s, missing(err, "name of the set")
	}
	return s, err
}

// decodeFilterElements adds the elements of one message. Those of intervals alternate between first
// and end in the order of the keys, but may arrive in any; the caller sorts them.
func decodeFilterElements(s *FilterSet, b []byte) error {
	if len(b) < nfgenmsgLen {
		return missing(nil, "struct nfgenmsg")
	}
	element := func(v []byte) error {
		var key []byte
		var flags *uint32
		keyEnd := false
		var result Result
		err := fields{
			NFTA_SET_ELEM_DATA:  fields{NFTA_DATA_VERDICT: result.decode}.decode,
			NFTA_SET_ELEM_KEY:   fields{NFTA_DATA_VALUE: bytesOf(&key)}.decode,
			NFTA_SET_ELEM_FLAGS: be32(&flags),
			NFTA_SET_ELEM_KEY_END: func([]byte) error {
				keyEnd = true
				return nil
			},
		}.decode(v)
		if keyEnd {
			s.Opaque = true
		}
		if s.Interval {
			end := flags != nil && *flags&NFT_SET_ELEM_INTERVAL_END != 0
			key = append(slices.Clip(key), map[bool]byte{true: 0, false: 1}[end])
		}
		s.Elements = append(s.Elements, key)
		if s.Verdicts {
			s.Results = append(s.Results, result)
		}
		return err
	}
	return fields{
		NFTA_SET_ELEM_LIST_ELEMENTS: fields{NFTA_LIST_ELEM: element}.decode,
	}.decode(b[nfgenmsgLen:])
}

func bytesOf(field *[]byte) func([]byte) error {
	return func(v []byte) error {
		*field = append([]byte(nil), v...)
		return nil
	}
}
