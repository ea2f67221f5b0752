package rdmanl

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"net/netip"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// Rule is a routing policy rule (fib_nl_fill_rule in net/core/fib_rules.c).
type Rule struct {
	Family   string       `json:"family"`        // ipv4 or ipv6
	Priority uint32       `json:"priority"`      // the lowest comes first
	From     netip.Prefix `json:"from,omitzero"` // invalid: from everywhere
	To       netip.Prefix `json:"to,omitzero"`   // invalid: to everywhere
	Action   string       `json:"action"`        // lookup, goto, nop, blackhole, unreachable, prohibit, or a number
	Table    uint32       `json:"table"`         // of lookup; 0 for l3mdev
	Not      bool         `json:"not,omitempty"` // for the packets that don't match
	Input    string       `json:"iif,omitempty"` // lo for packets of this machine
	Output   string       `json:"oif,omitempty"`
	Mark     *uint32      `json:"mark,omitempty"`
	MarkMask *uint32      `json:"markMask,omitempty"`
	Goto     *uint32      `json:"goto,omitempty"` // priority of the next rule, of goto
	// SuppressPrefix rejects a found route whose prefix is not longer; nil or the largest number
	// for none. SuppressGroup does so for devices of a group.
	SuppressPrefix *uint32 `json:"suppressPrefix,omitempty"`
	SuppressGroup  *uint32 `json:"suppressGroup,omitempty"`
	TOS            uint8   `json:"tos,omitempty"`
	L3MDev         bool    `json:"l3mdev,omitempty"` // the table of the VRF that the packet belongs to
	// Selectors names further conditions that are not decoded: ipproto, sport, dport, uidrange,
	// tun_id.
	Selectors []string `json:"selectors,omitempty"`
}

const fibRuleHdrLen = 12 // struct fib_rule_hdr

var ruleActions = map[uint64]string{
	1: "lookup", 2: "goto", 3: "nop", 6: "blackhole", 7: "unreachable", 8: "prohibit",
}

// Rules lists the policy rules of this namespace, IPv4 first, in the order in which the kernel
// applies them. A kernel without policy routing gives an empty list.
func (c Client) Rules(ctx context.Context) ([]Rule, error) {
	var out []Rule
	var errs []error
	for _, f := range families {
		body := make([]byte, fibRuleHdrLen)
		body[0] = f.number
		q := rtnlRequest("rule dump", f.name, RTM_GETRULE, body)
		msgs, err := c.dump(ctx, q)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
			continue // the kernel has no rules for this family
		}
		rules, err := collect(q, msgs, err, decodeRule)
		errs = append(errs, err)
		for _, r := range rules {
			if r.Family == f.name {
				out = append(out, r)
			}
		}
	}
	return out, errors.Join(errs...)
}

// decodeRule decodes the body of RTM_NEWRULE.
func decodeRule(b []byte) (Rule, error) {
	if len(b) < fibRuleHdrLen {
		return Rule{}, missing(nil, "struct fib_rule_hdr")
	}
	f, err := familyOf(b[0])
	if err != nil {
		return Rule{}, err
	}
	r := Rule{
		Family: f.name, TOS: b[3], Table: uint32(b[4]), Action: nameOf(ruleActions, uint64(b[7])),
		Not: binary.NativeEndian.Uint32(b[8:])&FIB_RULE_INVERT != 0,
	}
	dst, src := f.zero, f.zero
	var table, priority *uint32
	var l3mdev *bool
	set := func(name string) func([]byte) error {
		return func([]byte) error {
			r.Selectors = append(r.Selectors, name)
			return nil
		}
	}
	err = fields{
		FRA_DST: addr(&dst, f), FRA_SRC: addr(&src, f), FRA_IIFNAME: nl.Text(&r.Input), FRA_OIFNAME: nl.Text(&r.Output),
		FRA_GOTO: number(&r.Goto), FRA_PRIORITY: number(&priority), FRA_TABLE: number(&table),
		FRA_FWMARK: number(&r.Mark), FRA_FWMASK: number(&r.MarkMask), FRA_L3MDEV: truth(&l3mdev),
		FRA_SUPPRESS_PREFIXLEN: number(&r.SuppressPrefix), FRA_SUPPRESS_IFGROUP: number(&r.SuppressGroup),
		FRA_UID_RANGE: set("uidrange"), FRA_IP_PROTO: set("ipproto"), FRA_SPORT_RANGE: set("sport"),
		FRA_DPORT_RANGE: set("dport"), FRA_TUN_ID: set("tun_id"),
	}.decode(b[fibRuleHdrLen:])
	if table != nil {
		r.Table = *table
	}
	if priority != nil {
		r.Priority = *priority
	}
	r.L3MDev = l3mdev != nil && *l3mdev
	if b[1] > 0 {
		r.To = netip.PrefixFrom(dst, int(b[1]))
	}
	if b[2] > 0 {
		r.From = netip.PrefixFrom(src, int(b[2]))
	}
	if b[1] > 0 && !r.To.IsValid() || b[2] > 0 && !r.From.IsValid() {
		return Rule{}, missing(err, "right prefix length")
	}
	return r, err
}

// Routes lists the routes of all tables, IPv4 first, one entry per next hop, without entries of
// caches. A table of the Internet's routes makes it long.
func (c Client) Routes(ctx context.Context) ([]Route, error) {
	return c.routes(ctx, RT_TABLE_UNSPEC, func(r Route) bool { return r.flags&RTM_F_CLONED == 0 })
}
