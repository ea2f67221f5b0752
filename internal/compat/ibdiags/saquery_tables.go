package ibdiags

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/wire/mad"
)

func managerText(_ *saRun, r *mad.SMInfoRecord) string {
	t := newSAText("SMInfoRecord dump:", 22).line("RID")
	dec(t, "LID", r.LID)
	t.line("SMInfo dump:")
	wide(t, "GUID", guid64(r.Info.GUID))
	wide(t, "SM_Key", r.Info.SMKey)
	dec(t, "ActCount", r.Info.ActCount)
	dec(t, "Priority", r.Info.Priority)
	dec(t, "SMState", uint8(r.Info.State))
	return t.String()
}

// saMulticastTop is the capability of an SA whose switches' MulticastFDBTop is valid
// (IsMulticastFDBTopSupported).
const saMulticastTop = 1 << 3

func switchText(q *saRun, r *mad.SwitchInfoRecord) string {
	b := r.Info.Append(nil)
	t := newSAText("SwitchInfoRecord dump:", 40).line("RID")
	dec(t, "LID", r.LID)
	t.line("SwitchInfo dump:")
	upperHex(t, "LinearFDBCap", r.Info.LinearFDBCap)
	upperHex(t, "RandomFDBCap", r.Info.RandomFDBCap)
	upperHex(t, "MulticastFDBCap", r.Info.MulticastFDBCap)
	upperHex(t, "LinearFDBTop", r.Info.LinearFDBTop)
	dec(t, "DefaultPort", r.Info.DefaultPort)
	dec(t, "DefaultMulticastPrimaryPort", r.Info.DefaultMulticastPrimaryPort)
	dec(t, "DefaultMulticastNotPrimaryPort", r.Info.DefaultMulticastNotPrimaryPort)
	upperHex(t, "LifeTimeValue/PortStateChange/OpSL2VL", b[11])
	upperHex(t, "LIDsPerPort", r.Info.LIDsPerPort)
	upperHex(t, "PartitionEnforcementCap", r.Info.PartitionEnforcementCap)
	upperHex(t, "flags", b[16])
	if q.info.CapabilityMask2&saMulticastTop != 0 {
		upperHex(t, "MulticastFDBTop", r.Info.MulticastFDBTop)
	}
	return t.String()
}

func subscriptionText(q *saRun, r *mad.InformInfoRecord) string {
	t, i := newSAText("InformInfoRecord dump:", 24).line("RID"), &r.Info
	t.field("SubscriberGID", "%s", ipv6(r.SubscriberGID))
	upperHex(t, "SubscriberEnum", r.Enum)
	t.line("InformInfo dump:")
	t.field("gid", "%s", ipv6(i.GID))
	dec(t, "lid_range_begin", i.LIDRangeBegin)
	dec(t, "lid_range_end", i.LIDRangeEnd)
	upperHex(t, "is_generic", i.IsGeneric)
	upperHex(t, "subscribe", i.Subscribe)
	upperHex(t, "trap_type", i.Type)
	if i.IsGeneric != 0 {
		dec(t, "trap_num", i.TrapNumber)
	} else {
		upperHex(t, "dev_id", i.TrapNumber)
	}
	if q.showKeys {
		t.field("qpn", "0x%06X", uint32(i.QPN))
	} else {
		t.field("qpn", "%s", notDisplayed)
	}
	upperHex(t, "resp_time_val", i.RespTimeValue)
	if i.IsGeneric != 0 {
		t.field("node_type", "0x%06X", i.ProducerType)
	} else {
		t.field("vendor_id", "0x%06X", i.ProducerType)
	}
	return t.String()
}

// tableColumn is the column of the values in records of tables.
const tableColumn = 27

func linkText(r *mad.LinkRecord) string {
	t := newSAText("LinkRecord dump:", tableColumn)
	dec(t, "FromLID", r.FromLID)
	dec(t, "FromPort", r.FromPort)
	dec(t, "ToPort", r.ToPort)
	dec(t, "ToLID", r.ToLID)
	return t.String()
}

// cells formats numbers in two columns each, with a bar after each.
func cells(values []uint8) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%2d|", v)
	}
	return b.String()
}

func mappingText(_ *saRun, r *mad.SLtoVLMappingTableRecord) string {
	t := newSAText("SL2VLTableRecord dump:", tableColumn)
	dec(t, "LID", r.LID)
	dec(t, "InPort", r.InputPortNum)
	dec(t, "OutPort", r.OutputPortNum)
	levels := make([]uint8, mad.SLs)
	for i := range levels {
		levels[i] = uint8(i)
	}
	return t.line("SL:" + cells(levels)).line("VL:" + cells(r.VLs[:])).String()
}

func arbitrationText(_ *saRun, r *mad.VLArbitrationTableRecord) string {
	t := newSAText("VLArbTableRecord dump:", tableColumn)
	dec(t, "LID", r.LID)
	dec(t, "Port", r.OutputPortNum)
	dec(t, "Block", r.BlockNum)
	for i := 0; i < len(r.Elements); i += 16 {
		var lanes, weights []uint8
		for _, e := range r.Elements[i : i+16] {
			lanes, weights = append(lanes, e.Reserved<<4|e.VL), append(weights, e.Weight)
		}
		t.line("VL    :" + cells(lanes)).line("Weight:" + cells(weights))
	}
	return t.String()
}

func pkeysText(r *mad.PKeyTableRecord) string {
	t := newSAText("PKeyTableRecord dump:", tableColumn)
	dec(t, "LID", r.LID)
	dec(t, "Port", r.PortNum)
	dec(t, "Block", r.BlockNum)
	t.line("PKey Table:")
	for i := 0; i < len(r.PKeys); i += 8 {
		words := make([]string, 8)
		for j := range words {
			words[j] = fmt.Sprintf("0x%04x", uint16(r.PKeys[i+j]))
		}
		t.line(strings.Join(words, " "))
	}
	return t.String() + "\n"
}

func forwardingText(r *mad.LinearForwardingTableRecord) string {
	t := newSAText("LFT Record dump:", tableColumn)
	dec(t, "LID", r.LID)
	dec(t, "Block", r.BlockNum)
	t.line("LFT:").line("LID\tPort Number")
	for i, port := range r.Ports {
		t.line(fmt.Sprintf("%d\t%d", int(r.BlockNum)*mad.LFTBlockLen+i, port))
	}
	return t.String() + "\n"
}

func multicastText(r *mad.MulticastForwardingTableRecord) string {
	t := newSAText("MFT Record dump:", tableColumn)
	dec(t, "LID", r.LID)
	dec(t, "Position", r.Position)
	dec(t, "Block", r.BlockNum)
	t.line("MFT:").line("MLID\tPort Mask")
	for i, mask := range r.Ports {
		t.line(fmt.Sprintf("0x%04x\t0x%04x", int(mad.MulticastLIDBase)+int(r.BlockNum)*mad.MFTBlockLen+i, mask))
	}
	return t.String() + "\n"
}

func guidsText(_ *saRun, r *mad.GUIDInfoRecord) string {
	t := newSAText("GUIDInfo Record dump:", tableColumn)
	dec(t, "LID", r.LID)
	dec(t, "Block", r.BlockNum)
	for i, guid := range r.GUIDs {
		wide(t, fmt.Sprintf("GUID %d", i), guid64(guid))
	}
	return t.String()
}
