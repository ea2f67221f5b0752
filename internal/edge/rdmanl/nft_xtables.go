package rdmanl

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// match decodes a match of iptables.
func (d *filterDecoder) match(data []byte) error {
	var name string
	var info []byte
	err := fields{NFTA_MATCH_NAME: nl.Text(&name), NFTA_MATCH_INFO: bytesOf(&info)}.decode(data)
	known := name == "comment"
	switch name {
	case "conntrack":
		known = d.conntrack(info)
	case "mark":
		known = d.mark(info)
	case "udp":
		known = d.ports(info, 8)
	case "tcp":
		known = d.ports(info, 11) && d.tcpFlags(info)
	case "multiport":
		known = d.multiport(info)
	}
	if !known {
		d.unknown("match " + name)
	}
	return err
}

// conntrack decodes struct xt_conntrack_mtinfo3 (linux/netfilter/xt_conntrack.h) that compares the
// state of a connection and nothing else.
func (d *filterDecoder) conntrack(info []byte) bool {
	const flagsAt, stateOnly = 146, 1
	if len(info) < flagsAt+6 || binary.NativeEndian.Uint16(info[flagsAt:])&^0x2000 != stateOnly {
		return false
	}
	op := "!="
	if binary.NativeEndian.Uint16(info[flagsAt+2:])&stateOnly != 0 {
		op = "=="
	}
	mask := binary.NativeEndian.AppendUint32(nil, uint32(binary.NativeEndian.Uint16(info[flagsAt+4:])))
	d.rule.Conditions = append(d.rule.Conditions,
		FilterCondition{Key: "ct state", Op: op, Mask: mask, Low: make([]byte, 4)})
	return true
}

// mark decodes struct xt_mark_mtinfo1 (linux/netfilter/xt_mark.h).
func (d *filterDecoder) mark(info []byte) bool {
	if len(info) < 9 {
		return false
	}
	op := "=="
	if info[8] != 0 {
		op = "!="
	}
	d.rule.Conditions = append(d.rule.Conditions, FilterCondition{Key: "mark", Op: op, Mask: info[4:8], Low: info[:4]})
	return true
}

// ports decodes the ports of struct xt_udp and xt_tcp (linux/netfilter/xt_tcpudp.h): ranges of
// source and destination ports, and at invertAt a byte with a bit for each that inverts it.
func (d *filterDecoder) ports(info []byte, invertAt int) bool {
	if len(info) <= invertAt {
		return false
	}
	for i, key := range []string{"sport", "dport"} {
		low, high := binary.NativeEndian.Uint16(info[4*i:]), binary.NativeEndian.Uint16(info[4*i+2:])
		inverted := info[invertAt]>>i&1 != 0
		if low == 0 && high == 0xffff && !inverted {
			continue
		}
		d.rule.Conditions = append(d.rule.Conditions, FilterCondition{
			Key: key, Op: inOrNot(inverted),
			Low: binary.BigEndian.AppendUint16(nil, low), High: binary.BigEndian.AppendUint16(nil, high),
		})
	}
	return true
}

// tcpFlags decodes the rest of struct xt_tcp: an option, a mask of flags and their values.
func (d *filterDecoder) tcpFlags(info []byte) bool {
	const invertFlags = 4
	option, mask, flags := info[8], info[9], info[10]
	if len(info) < 12 || option != 0 {
		return false
	}
	if mask == 0 {
		return true
	}
	op := "=="
	if info[11]&invertFlags != 0 {
		op = "!="
	}
	d.rule.Conditions = append(d.rule.Conditions,
		FilterCondition{Key: "tcp flags", Op: op, Mask: []byte{mask}, Low: []byte{flags}})
	return true
}

// multiport decodes struct xt_multiport_v1 (linux/netfilter/xt_multiport.h) of destination ports:
// 15 ports, and for each whether a range to the next one begins there.
func (d *filterDecoder) multiport(info []byte) bool {
	const destination, most = 1, 15
	if len(info) < 2+3*most+1 || info[0] != destination || info[1] > most {
		return false
	}
	c := FilterCondition{Key: "dport", Op: inOrNot(info[2+3*most] != 0)}
	port := func(i int) []byte {
		return binary.BigEndian.AppendUint16(nil, binary.NativeEndian.Uint16(info[2+2*i:]))
	}
	for i := 0; i < int(info[1]); i++ {
		low := port(i)
		if info[2+2*most+i] != 0 && i+1 < most {
			i++
		}
		c.Ranges = append(c.Ranges, [2][]byte{low, port(i)})
	}
	d.rule.Conditions = append(d.rule.Conditions, c)
	return true
}

// target decodes a target of iptables.
func (d *filterDecoder) target(data []byte) error {
	var name string
	err := fields{NFTA_TARGET_NAME: nl.Text(&name)}.decode(data)
	switch name {
	case "REJECT":
		d.rule.Verdict = "reject"
	case "SNAT", "MASQUERADE": // they end the chain, and change nothing for the filter
		d.rule.Verdict = "accept"
	case "MARK", "CONNMARK":
		d.rule.Sets = append(d.rule.Sets, "mark", "ct mark")
	case "LOG", "NFLOG", "CT", "TCPMSS", "SET", "CHECKSUM", "CLASSIFY", "DSCP", "TOS":
	default:
		d.rule.Verdict = "unknown"
	}
	return err
}
