package rdmanl

import (
	"fmt"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// register holds what an expression has loaded into a register.
type register struct {
	key  string
	mask []byte
}

// filterDecoder follows the registers through the expressions of a rule.
type filterDecoder struct {
	rule      *FilterRule
	registers map[uint32]register
}

// decodeFilterRule decodes the body of NFT_MSG_NEWRULE.
func decodeFilterRule(b []byte) (FilterRule, error) {
	if len(b) < nfgenmsgLen {
		return FilterRule{}, missing(nil, "struct nfgenmsg")
	}
	r := FilterRule{Family: b[0]}
	d := filterDecoder{rule: &r, registers: map[uint32]register{}}
	err := fields{
		NFTA_RULE_TABLE: nl.Text(&r.Table), NFTA_RULE_CHAIN: nl.Text(&r.Chain),
		NFTA_RULE_EXPRESSIONS: fields{NFTA_LIST_ELEM: d.expression}.decode,
	}.decode(b[nfgenmsgLen:])
	if r.Chain == "" {
		return r, missing(err, "chain of the rule")
	}
	return r, err
}

// expression decodes one expression. One that may decide about the packet and isn't known becomes a
// condition with its name in parentheses.
func (d *filterDecoder) expression(b []byte) error {
	var name string
	var data []byte
	if err := (fields{NFTA_EXPR_NAME: nl.Text(&name), NFTA_EXPR_DATA: bytesOf(&data)}).decode(b); err != nil {
		return err
	}
	switch name {
	case "meta":
		return d.load(data, NFTA_META_DREG, NFTA_META_KEY, name, map[uint32]string{
			NFT_META_IIFNAME: "iifname", NFT_META_OIFNAME: "oifname", NFT_META_NFPROTO: "nfproto",
			NFT_META_L4PROTO: "l4proto", NFT_META_PROTOCOL: "ethertype", NFT_META_MARK: "mark", NFT_META_IIF: "iif",
			NFT_META_OIF: "oif", NFT_META_PKTTYPE: "pkttype",
		})
	case "ct":
		return d.load(data, NFTA_CT_DREG, NFTA_CT_KEY, name, map[uint32]string{
			NFT_CT_STATE: "ct state", NFT_CT_MARK: "ct mark",
		})
	case "payload":
		return d.payload(data)
	case "bitwise":
		return d.bitwise(data)
	case "cmp":
		return d.compare(data)
	case "range":
		return d.inRange(data)
	case "lookup":
		return d.lookup(data)
	case "immediate":
		return d.immediate(data)
	case "reject":
		d.rule.Verdict = "reject"
	case "match":
		return d.match(data)
	case "target":
		return d.target(data)
	case "masq": // nft_masq_ipv4_eval: the verdict is that of nf_nat_setup_info, NF_ACCEPT
		d.rule.Verdict = "accept"
	case "nat":
		return d.nat(data)
	case "redir", "queue", "fwd", "synproxy": // to another destination, or to a program
		d.rule.Verdict = "unknown"
	case "counter", "log", "notrack", "last", "objref":
	default:
		d.unknown(name)
	}
	return nil
}

func (d *filterDecoder) unknown(name string) {
	d.rule.Conditions = append(d.rule.Conditions, FilterCondition{Key: "(" + name + ")", Op: "=="})
}

// reg maps the registers of 16 bytes to the first of their four bytes each.
func reg(n *uint32) uint32 {
	if n == nil {
		return 0
	}
	if *n >= 1 && *n <= 4 {
		return 8 + 4*(*n-1)
	}
	return *n
}

func (d *filterDecoder) load(data []byte, dregType, keyType uint16, name string, keys map[uint32]string) error {
	var dreg, key *uint32
	err := fields{dregType: be32(&dreg), keyType: be32(&key)}.decode(data)
	if key == nil {
		return err
	}
	text, ok := keys[*key]
	if !ok {
		text = fmt.Sprintf("(%s %d)", name, *key)
	}
	if dreg == nil { // it sets the property
		d.rule.Sets = append(d.rule.Sets, text)
		return err
	}
	d.registers[reg(dreg)] = register{key: text}
	return err
}

func (d *filterDecoder) payload(data []byte) error {
	var dreg, base, offset, length *uint32
	err := fields{
		NFTA_PAYLOAD_DREG: be32(&dreg), NFTA_PAYLOAD_BASE: be32(&base), NFTA_PAYLOAD_OFFSET: be32(&offset),
		NFTA_PAYLOAD_LEN: be32(&length),
	}.decode(data)
	if dreg == nil || base == nil || offset == nil || length == nil {
		return err
	}
	key, ok := map[[3]uint32]string{
		{NFT_PAYLOAD_NETWORK_HEADER, 9, 1}: "protocol", {NFT_PAYLOAD_NETWORK_HEADER, 12, 4}: "saddr",
		{NFT_PAYLOAD_NETWORK_HEADER, 16, 4}:  "daddr",
		{NFT_PAYLOAD_TRANSPORT_HEADER, 0, 2}: "sport", {NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2}: "dport",
		{NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1}: "tcp flags",
	}[[3]uint32{*base, *offset, *length}]
	mask := []byte(nil)
	switch {
	case ok:
	case *base == NFT_PAYLOAD_NETWORK_HEADER && *offset == 12 && *length < 4: // a prefix of whole bytes
		key = "saddr"
	case *base == NFT_PAYLOAD_NETWORK_HEADER && *offset == 16 && *length < 4:
		key = "daddr"
	default:
		key = fmt.Sprintf("(payload %d+%d)", *offset, *length)
	}
	d.registers[reg(dreg)] = register{key, mask}
	return err
}

func (d *filterDecoder) bitwise(data []byte) error {
	var sreg, dreg *uint32
	var mask, xor []byte
	err := fields{
		NFTA_BITWISE_SREG: be32(&sreg), NFTA_BITWISE_DREG: be32(&dreg),
		NFTA_BITWISE_MASK: fields{NFTA_DATA_VALUE: bytesOf(&mask)}.decode,
		NFTA_BITWISE_XOR:  fields{NFTA_DATA_VALUE: bytesOf(&xor)}.decode,
	}.decode(data)
	from := d.registers[reg(sreg)]
	if mask == nil || anySet(xor) || from.mask != nil {
		from = register{key: "(bitwise)"}
	} else {
		from.mask = mask
	}
	d.registers[reg(dreg)] = from
	return err
}

func anySet(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return true
		}
	}
	return false
}

// add appends a condition on a register.
func (d *filterDecoder) add(sreg *uint32, c FilterCondition) {
	r, ok := d.registers[reg(sreg)]
	if !ok {
		r.key = "(register)"
	}
	c.Key, c.Mask = r.key, r.mask
	d.rule.Conditions = append(d.rule.Conditions, c)
}

func (d *filterDecoder) compare(data []byte) error {
	var sreg, op *uint32
	var value []byte
	err := fields{
		NFTA_CMP_SREG: be32(&sreg), NFTA_CMP_OP: be32(&op),
		NFTA_CMP_DATA: fields{NFTA_DATA_VALUE: bytesOf(&value)}.decode,
	}.decode(data)
	ops := []string{"==", "!=", "<", "<=", ">", ">="}
	if op == nil || int(*op) >= len(ops) {
		d.unknown("cmp")
		return err
	}
	d.add(sreg, FilterCondition{Op: ops[*op], Low: value})
	return err
}

func (d *filterDecoder) inRange(data []byte) error {
	var sreg, op *uint32
	var low, high []byte
	err := fields{
		NFTA_RANGE_SREG: be32(&sreg), NFTA_RANGE_OP: be32(&op),
		NFTA_RANGE_FROM_DATA: fields{NFTA_DATA_VALUE: bytesOf(&low)}.decode,
		NFTA_RANGE_TO_DATA:   fields{NFTA_DATA_VALUE: bytesOf(&high)}.decode,
	}.decode(data)
	d.add(sreg, FilterCondition{Op: inOrNot(op != nil && *op != 0), Low: low, High: high})
	return err
}

func inOrNot(not bool) string {
	if not {
		return "not in"
	}
	return "in"
}

func (d *filterDecoder) lookup(data []byte) error {
	var set string
	var sreg, dreg, flags *uint32
	err := fields{
		NFTA_LOOKUP_SET: nl.Text(&set), NFTA_LOOKUP_SREG: be32(&sreg), NFTA_LOOKUP_DREG: be32(&dreg),
		NFTA_LOOKUP_FLAGS: be32(&flags),
	}.decode(data)
	if dreg != nil && *dreg != 0 { // a map of values; without an element the rule ends
		d.unknown("map " + set)
		d.registers[reg(dreg)] = register{key: "(map " + set + ")"}
		return err
	}
	if dreg != nil { // NFT_REG_VERDICT
		d.rule.Verdict = "map"
	}
	d.add(sreg, FilterCondition{Op: inOrNot(flags != nil && *flags&NFT_LOOKUP_F_INV != 0), Set: set})
	return err
}

// verdicts are codes of linux/netfilter.h and enum nft_verdicts.
var verdicts = map[int32]string{0: "drop", 1: "accept", -1: "", -2: "", -3: "jump", -4: "goto", -5: "return"}

func (d *filterDecoder) immediate(data []byte) error {
	var result Result
	err := fields{
		NFTA_IMMEDIATE_DATA: fields{NFTA_DATA_VERDICT: result.decode}.decode,
	}.decode(data)
	if result != (Result{}) {
		d.rule.Verdict, d.rule.Target = result.Verdict, result.Target
	}
	return err // without a verdict it is a value for another expression
}

// decode decodes NFTA_DATA_VERDICT.
func (r *Result) decode(data []byte) error {
	var code *uint32
	err := fields{NFTA_VERDICT_CODE: be32(&code), NFTA_VERDICT_CHAIN: nl.Text(&r.Target)}.decode(data)
	if code == nil {
		return err
	}
	verdict, ok := verdicts[int32(*code)]
	if !ok {
		verdict = "unknown" // a queue to a program
	}
	r.Verdict = verdict
	return err
}

// nat decodes the translation of addresses. That of the source ends the chain and changes nothing
// for the filter.
func (d *filterDecoder) nat(data []byte) error {
	var kind *uint32
	err := fields{NFTA_NAT_TYPE: be32(&kind)}.decode(data)
	d.rule.Verdict = "unknown"
	if kind != nil && *kind == NFT_NAT_SNAT {
		d.rule.Verdict = "accept"
	}
	return err
}
