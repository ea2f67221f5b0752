package ibdiags

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// saText is the text of a record: a title, and fields whose values begin in the same column.
type saText struct {
	strings.Builder
	column int // of the values, after the indentation
}

func newSAText(title string, column int) *saText {
	t := &saText{column: column}
	t.WriteString(title + "\n")
	return t
}

// line adds a line without a value.
func (t *saText) line(text string) *saText {
	t.WriteString("\t\t" + text + "\n")
	return t
}

// field adds a field, with dots up to its value.
func (t *saText) field(name, format string, v ...any) {
	t.line(name + strings.Repeat(".", max(0, t.column-len(name))) + fmt.Sprintf(format, v...))
}

// dec, hex and guid add a number.
func dec[T unsigned](t *saText, name string, v T) { t.field(name, "%d", uint64(v)) }

func upperHex[T unsigned](t *saText, name string, v T) { t.field(name, "0x%X", uint64(v)) }

func lowerHex[T unsigned](t *saText, name string, v T) { t.field(name, "0x%x", uint64(v)) }

func wide(t *saText, name string, v uint64) { t.field(name, "0x%016x", v) }

// ipv6 formats a GID as inet_ntop of glibc does, which writes the end of some addresses as IPv4.
func ipv6(g ib.GID) string {
	if [12]byte(g[:]) == [12]byte{} && (g[12] != 0 || g[13] != 0) {
		return "::" + netip.AddrFrom4([4]byte(g[12:])).String()
	}
	return netip.AddrFrom16(g).String()
}

// nodeTypeText is the name of a node type; unlike libibmad, libibmad's iba_types.h has only one for
// all unknown ones.
func nodeTypeText(t mad.NodeType) string {
	if t < mad.NodeTypeCA || t > mad.NodeTypeRouter {
		return "UNKNOWN"
	}
	return t.String()
}

func nodeText(q *saRun, r *mad.NodeRecord) string {
	t, i := newSAText("NodeRecord dump:", 24), &r.Info
	dec(t, "lid", r.LID)
	upperHex(t, "reserved", r.Reserved)
	upperHex(t, "base_version", i.BaseVersion)
	upperHex(t, "class_version", i.ClassVersion)
	t.field("node_type", "%s", nodeTypeText(i.NodeType))
	dec(t, "num_ports", i.NumPorts)
	wide(t, "sys_guid", guid64(i.SystemImageGUID))
	wide(t, "node_guid", guid64(i.NodeGUID))
	wide(t, "port_guid", guid64(i.PortGUID))
	upperHex(t, "partition_cap", i.PartitionCap)
	upperHex(t, "device_id", i.DeviceID)
	upperHex(t, "revision", i.Revision)
	dec(t, "port_num", i.LocalPortNum)
	upperHex(t, "vendor_id", i.VendorID)
	t.field("NodeDescription", "%s", q.names.name(i.NodeGUID, r.Description))
	return t.String()
}

// partText is the part of a node that the options select.
func (q *saRun) partText(r *mad.NodeRecord) string {
	name := q.names.name(r.Info.NodeGUID, r.Description)
	switch q.show {
	case showDescriptions:
		return fmt.Sprintf("%6d  ", uint16(r.LID)) + `"` + name + "\"\n"
	case showLIDs, showLID:
		return fmt.Sprintf("%d\n", uint16(r.LID))
	case showGUIDs:
		return fmt.Sprintf("0x%016x\n", guid64(r.Info.PortGUID))
	case showNameOfLID, showNameOfGUID:
		return name + "\n"
	default:
		return nodeText(q, r)
	}
}

func portText(q *saRun, r *mad.PortInfoRecord) string {
	t := newSAText("PortInfoRecord dump:\n\tRID", 24)
	dec(t, "EndPortLid", r.EndportLID)
	dec(t, "PortNum", r.PortNum)
	lowerHex(t, "Options", r.Options)
	t.WriteString("\tPortInfo dump:\n")
	for _, w := range portInfoRows(&r.Info, q.showKeys) {
		t.WriteString("\t\t" + w.String())
	}
	return t.String()
}

func shortPortText(r *mad.PortInfoRecord) string {
	t := newSAText("PortInfoRecord dump:", 24)
	dec(t, "EndPortLid", r.EndportLID)
	dec(t, "PortNum", r.PortNum)
	dec(t, "base_lid", r.Info.LID)
	dec(t, "master_sm_base_lid", r.Info.MasterSMLID)
	upperHex(t, "capability_mask", uint32(r.Info.CapabilityMask))
	return t.String()
}

func pathText(r *mad.PathRecord) string {
	b := r.Append(nil)
	t := newSAText("PathRecord dump:", 24)
	wide(t, "service_id", r.ServiceID)
	t.field("dgid", "%s", ipv6(r.DGID))
	t.field("sgid", "%s", ipv6(r.SGID))
	dec(t, "dlid", r.DLID)
	dec(t, "slid", r.SLID)
	upperHex(t, "hop_flow_raw", binary.BigEndian.Uint32(b[44:]))
	upperHex(t, "tclass", r.TClass)
	upperHex(t, "num_path_revers", b[49])
	upperHex(t, "pkey", r.PKey)
	upperHex(t, "qos_class", r.QoSClass)
	upperHex(t, "sl", r.SL)
	upperHex(t, "mtu", b[54])
	upperHex(t, "rate", b[55])
	upperHex(t, "pkt_life", b[56])
	upperHex(t, "preference", r.Preference)
	t.field("resv2", "0x%012X", r.Reserved58[:])
	return t.String()
}

func classPortInfoText(a *mad.ClassPortInfo) string {
	b := a.Append(nil)
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	t := newSAText("SA ClassPortInfo:", 25)
	dec(t, "Base version", a.BaseVersion)
	dec(t, "Class version", a.ClassVersion)
	t.field("Capability mask", "0x%04X", a.CapabilityMask)
	t.field("Capability mask 2", "0x%08X", a.CapabilityMask2)
	t.field("Response time value", "0x%02X", a.RespTimeValue)
	for i, name := range []string{"Redirect", "Trap"} {
		address := []*mad.Address{&a.Redirect, &a.Trap}[i]
		at := 8 + 32*i
		t.field(name+" GID", "%s", ipv6(address.GID))
		t.field(name+" TC/SL/FL", "0x%08X", word(at+16))
		dec(t, name+" LID", address.LID)
		t.field(name+" PKey", "0x%04X", uint16(address.PKey))
		t.field(name+[]string{" QP", " HL/QP"}[i], "0x%08X", word(at+24))
		t.field(name+" QKey", "0x%08X", address.QKey)
	}
	return t.String()
}

// proxyJoinBit is C's bit for ProxyJoin, the last one of its byte, where the specification has the
// first one.
const proxyJoinBit = 1

func memberText(r *mad.MCMemberRecord) string {
	b := r.Append(nil)
	t := newSAText("MCMember Record dump:", 24)
	t.field("MGID", "%s", ipv6(r.MGID))
	t.field("PortGid", "%s", ipv6(r.PortGID))
	lowerHex(t, "qkey", r.QKey)
	lowerHex(t, "mlid", r.MLID)
	lowerHex(t, "mtu", b[38])
	lowerHex(t, "TClass", r.TClass)
	lowerHex(t, "pkey", r.PKey)
	lowerHex(t, "rate", b[42])
	lowerHex(t, "pkt_life", b[43])
	lowerHex(t, "SL", r.SL)
	lowerHex(t, "FlowLabel", r.FlowLabel)
	lowerHex(t, "HopLimit", r.HopLimit)
	lowerHex(t, "Scope", r.Scope)
	lowerHex(t, "JoinState", r.JoinState)
	lowerHex(t, "ProxyJoin", b[49]&proxyJoinBit)
	return t.String()
}

func groupText(r *mad.MCMemberRecord) string {
	b := r.Append(nil)
	t := newSAText("MCMemberRecord group dump:", 24)
	t.field("MGID", "%s", ipv6(r.MGID))
	upperHex(t, "Mlid", r.MLID)
	upperHex(t, "Mtu", b[38])
	upperHex(t, "pkey", r.PKey)
	upperHex(t, "Rate", b[42])
	upperHex(t, "SL", r.SL)
	return t.String()
}

func memberOfGroupText(r *mad.MCMemberRecord, name string) string {
	b := r.Append(nil)
	t := newSAText("MCMemberRecord member dump:", 24)
	t.field("MGID", "%s", ipv6(r.MGID))
	upperHex(t, "Mlid", r.MLID)
	t.field("PortGid", "%s", ipv6(r.PortGID))
	upperHex(t, "ScopeState", b[48])
	upperHex(t, "ProxyJoin", b[49]&proxyJoinBit)
	t.field("NodeDescription", "%s", name)
	return t.String()
}

func serviceText(q *saRun, r *mad.ServiceRecord) string {
	t := newSAText("ServiceRecord dump:", 24)
	wide(t, "ServiceID", r.ServiceID)
	t.field("ServiceGID", "%s", ipv6(r.ServiceGID))
	upperHex(t, "ServiceP_Key", r.ServicePKey)
	upperHex(t, "ServiceLease", r.ServiceLease)
	key := notDisplayed
	if q.showKeys {
		key = fmt.Sprintf("0x%x", r.ServiceKey)
	}
	t.field("ServiceKey", "%s", key)
	t.field("ServiceName", "%s", r.Name())
	for i, v := range r.ServiceData8 {
		upperHex(t, fmt.Sprintf("ServiceData8.%d", i+1), v)
	}
	for i, v := range r.ServiceData16 {
		upperHex(t, fmt.Sprintf("ServiceData16.%d", i+1), v)
	}
	for i, v := range r.ServiceData32 {
		upperHex(t, fmt.Sprintf("ServiceData32.%d", i+1), v)
	}
	for i, v := range r.ServiceData64 {
		wide(t, fmt.Sprintf("ServiceData64.%d", i+1), v)
	}
	return t.String()
}

// saStatusText is C's message for a status (C twin: sa_report_err).
func saStatusText(s mad.Status) string {
	mads := [...]string{
		"MAD No invalid fields", "MAD Bad version", "MAD Method specified is not supported",
		"MAD Method/Attribute combination is not supported", "MAD Reserved", "MAD Reserved", "MAD Reserved",
		"MAD Invalid value in Attribute field(s) or Attribute Modifier", "MAD UNKNOWN ERROR",
	}
	names := [...]string{
		"SA_NO_ERROR", "SA_ERR_NO_RESOURCES", "SA_ERR_REQ_INVALID", "SA_ERR_NO_RECORDS", "SA_ERR_TOO_MANY_RECORDS",
		"SA_ERR_REQ_INVALID_GID", "SA_ERR_REQ_INSUFFICIENT_COMPONENTS", "SA_ERR_REQ_DENIED",
		"SA_ERR_STATUS_PRIO_SUGGESTED", "SA_ERR_UNKNOWN",
	}
	text := fmt.Sprintf("ERROR: Query result returned 0x%04x, ", uint16(s))
	if low := uint8(s); low != 0 {
		busy, redirect := "", ""
		if s&mad.StatusBusy != 0 {
			busy = "BUSY"
		}
		if s&mad.StatusRedirect != 0 {
			redirect = "Redirection Required"
		}
		text += fmt.Sprintf(" (%s; %s; %s)", busy, redirect, mads[min(int(low>>2), len(mads)-1)])
	}
	if high := int(s >> 8); high != 0 {
		text += fmt.Sprintf(" SA(%s)", names[min(high, len(names)-1)])
	}
	return text
}
