package mad_test

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

type fields = map[string]string

func dec[N ~uint8 | ~uint16 | ~uint32 | ~uint64](v N) string { return fmt.Sprint(uint64(v)) }

func hexN[N ~uint8 | ~uint16 | ~uint32 | ~uint64](digits int, v N) string {
	return fmt.Sprintf("0x%0*x", digits, uint64(v))
}

func guid(g ib.GUID) string { return fmt.Sprintf("0x%x", g[:]) }

func oneZero(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// or returns the names of the bits that are set, or none if no bit is set.
func or(bits uint8, none string, names ...string) string {
	var set []string
	for i, name := range names {
		if bits>>i&1 != 0 {
			set = append(set, name)
		}
	}
	if set == nil {
		return none
	}
	return strings.Join(set, " or ")
}

// Names of the bits, as libibmad prints them.
var (
	baseSpeeds     = []string{"2.5 Gbps", "5.0 Gbps", "10.0 Gbps"}
	extendedSpeeds = []string{"14.0625 Gbps", "25.78125 Gbps", "53.125 Gbps", "106.25 Gbps"}
	widths         = []string{"1X", "4X", "8X", "12X", "2X"}
	vls            = map[uint8]string{1: "VL0", 2: "VL0-1", 3: "VL0-3", 4: "VL0-7", 5: "VL0-14"}
	downDefaults   = map[uint8]string{1: "Sleep", 2: "Polling"}
)

func mtu(code uint8) string { return fmt.Sprint(int(ib.MTUFromCode(int(code)))) }

func nodeInfoFields(a *mad.NodeInfo) fields {
	return fields{
		"BaseVers": dec(a.BaseVersion), "ClassVers": dec(a.ClassVersion),
		"NodeType": a.NodeType.String(), "NumPorts": dec(a.NumPorts),
		"SystemGuid": guid(a.SystemImageGUID), "Guid": guid(a.NodeGUID), "PortGuid": guid(a.PortGUID),
		"PartCap": dec(a.PartitionCap), "DevId": hexN(4, a.DeviceID), "Revision": hexN(8, a.Revision),
		"LocalPort": dec(a.LocalPortNum), "VendorId": hexN(6, a.VendorID),
	}
}

func portInfoFields(a *mad.PortInfo) fields {
	return fields{
		"Mkey":                            "<not displayed>",
		"GidPrefix":                       hexN(16, a.GIDPrefix),
		"Lid":                             dec(a.LID),
		"SMLid":                           dec(a.MasterSMLID),
		"CapMask":                         fmt.Sprintf("0x%x", uint32(a.CapabilityMask)),
		"DiagCode":                        hexN(4, a.DiagCode),
		"MkeyLeasePeriod":                 dec(a.MKeyLeasePeriod),
		"LocalPort":                       dec(a.LocalPortNum),
		"LinkWidthEnabled":                or(uint8(a.LinkWidthEnabled), "0", widths...),
		"LinkWidthSupported":              or(uint8(a.LinkWidthSupported), "0", widths...),
		"LinkWidthActive":                 a.LinkWidthActive.String(),
		"LinkSpeedSupported":              or(a.LinkSpeedSupported, "0", baseSpeeds...),
		"LinkState":                       a.PortState.String(),
		"PhysLinkState":                   a.PortPhysicalState.String(),
		"LinkDownDefState":                downDefaults[a.LinkDownDefaultState],
		"ProtectBits":                     dec(a.MKeyProtectBits),
		"LMC":                             dec(a.LMC),
		"LinkSpeedActive":                 or(a.LinkSpeedActive, "Extended speed", baseSpeeds...),
		"LinkSpeedEnabled":                or(a.LinkSpeedEnabled, "0", baseSpeeds...),
		"NeighborMTU":                     mtu(a.NeighborMTU),
		"SMSL":                            dec(a.MasterSMSL),
		"VLCap":                           vls[a.VLCap],
		"InitType":                        hexN(2, a.InitType),
		"VLHighLimit":                     dec(a.VLHighLimit),
		"VLArbHighCap":                    dec(a.VLArbitrationHighCap),
		"VLArbLowCap":                     dec(a.VLArbitrationLowCap),
		"InitReply":                       hexN(2, a.InitTypeReply),
		"MtuCap":                          mtu(a.MTUCap),
		"VLStallCount":                    dec(a.VLStallCount),
		"HoqLife":                         dec(a.HOQLife),
		"OperVLs":                         vls[a.OperationalVLs],
		"PartEnforceInb":                  oneZero(a.PartitionEnforcementIn),
		"PartEnforceOutb":                 oneZero(a.PartitionEnforcementOut),
		"FilterRawInb":                    oneZero(a.FilterRawIn),
		"FilterRawOutb":                   oneZero(a.FilterRawOut),
		"MkeyViolations":                  dec(a.MKeyViolations),
		"PkeyViolations":                  dec(a.PKeyViolations),
		"QkeyViolations":                  dec(a.QKeyViolations),
		"GuidCap":                         dec(a.GUIDCap),
		"ClientReregister":                oneZero(a.ClientReregister),
		"McastPkeyTrapSuppressionEnabled": dec(a.MulticastPKeyTrapSuppress),
		"SubnetTimeout":                   dec(a.SubnetTimeout),
		"RespTimeVal":                     dec(a.RespTimeValue),
		"LocalPhysErr":                    dec(a.LocalPhyErrors),
		"OverrunErr":                      dec(a.OverrunErrors),
		"MaxCreditHint":                   dec(a.MaxCreditHint),
		"RoundTrip":                       dec(a.LinkRoundTripLatency),
		"CapabilityMask2":                 fmt.Sprintf("0x%x", uint16(a.CapabilityMask2)),
		"LinkSpeedExtActive":              or(a.LinkSpeedExtActive, "No Extended Speed", extendedSpeeds...),
		"LinkSpeedExtSupported":           or(a.LinkSpeedExtSupported, "0", extendedSpeeds...),
		"LinkSpeedExtEnabled":             or(a.LinkSpeedExtEnabled, "0", extendedSpeeds...),
	}
}

func switchInfoFields(a *mad.SwitchInfo) fields {
	return fields{
		"LinearFdbCap": dec(a.LinearFDBCap), "RandomFdbCap": dec(a.RandomFDBCap),
		"McastFdbCap": dec(a.MulticastFDBCap), "LinearFdbTop": dec(a.LinearFDBTop),
		"DefPort": dec(a.DefaultPort), "DefMcastPrimPort": dec(a.DefaultMulticastPrimaryPort),
		"DefMcastNotPrimPort": dec(a.DefaultMulticastNotPrimaryPort), "LifeTime": dec(a.LifeTimeValue),
		"StateChange": oneZero(a.PortStateChange), "OptSLtoVLMapping": dec(a.OptimizedSLToVLMappingProgramming),
		"LidsPerPort": dec(a.LIDsPerPort), "PartEnforceCap": dec(a.PartitionEnforcementCap),
		"InboundPartEnf": oneZero(a.InboundEnforcementCap), "OutboundPartEnf": oneZero(a.OutboundEnforcementCap),
		"FilterRawInbound": oneZero(a.FilterRawInboundCap), "FilterRawOutbound": oneZero(a.FilterRawOutboundCap),
		"EnhancedPort0": oneZero(a.EnhancedPort0), "MulticastFDBTop": hexN(4, a.MulticastFDBTop),
	}
}

func counterFields(a *mad.PortCounters) fields {
	return fields{
		"PortSelect": dec(a.PortSelect), "CounterSelect": hexN(4, a.CounterSelect),
		"SymbolErrorCounter": dec(a.SymbolErrorCounter), "LinkErrorRecoveryCounter": dec(a.LinkErrorRecoveryCounter),
		"LinkDownedCounter": dec(a.LinkDownedCounter), "PortRcvErrors": dec(a.PortRcvErrors),
		"PortRcvRemotePhysicalErrors": dec(a.PortRcvRemotePhysicalErrors),
		"PortRcvSwitchRelayErrors":    dec(a.PortRcvSwitchRelayErrors), "PortXmitDiscards": dec(a.PortXmitDiscards),
		"PortXmitConstraintErrors":     dec(a.PortXmitConstraintErrors),
		"PortRcvConstraintErrors":      dec(a.PortRcvConstraintErrors),
		"CounterSelect2":               hexN(2, a.CounterSelect2),
		"LocalLinkIntegrityErrors":     dec(a.LocalLinkIntegrityErrors),
		"ExcessiveBufferOverrunErrors": dec(a.ExcessiveBufferOverrunErrors),
		// libibmad 44 reads QP1Dropped from the bytes of VL15Dropped.
		"QP1Dropped": dec(a.VL15Dropped), "VL15Dropped": dec(a.VL15Dropped),
		"PortXmitData": dec(a.PortXmitData), "PortRcvData": dec(a.PortRcvData),
		"PortXmitPkts": dec(a.PortXmitPkts), "PortRcvPkts": dec(a.PortRcvPkts), "PortXmitWait": dec(a.PortXmitWait),
	}
}

func extendedCounterFields(a *mad.PortCountersExtended) fields {
	return fields{
		"PortSelect": dec(a.PortSelect), "CounterSelect": hexN(4, a.CounterSelect),
		"PortXmitData": dec(a.PortXmitData), "PortRcvData": dec(a.PortRcvData),
		"PortXmitPkts": dec(a.PortXmitPkts), "PortRcvPkts": dec(a.PortRcvPkts),
		"PortUnicastXmitPkts": dec(a.PortUnicastXmitPkts), "PortUnicastRcvPkts": dec(a.PortUnicastRcvPkts),
		"PortMulticastXmitPkts": dec(a.PortMulticastXmitPkts), "PortMulticastRcvPkts": dec(a.PortMulticastRcvPkts),
	}
}

func addressFields(kind, hop string, a *mad.Address) fields {
	return fields{
		kind + " GID":      netip.AddrFrom16(a.GID).String(),
		kind + " TC/SL/FL": hexN(8, uint32(a.TrafficClass)<<24|uint32(a.SL)<<20|a.FlowLabel),
		kind + " LID":      dec(a.LID), kind + " PKey": hexN(4, a.PKey), kind + " QKey": hexN(8, a.QKey),
		kind + hop: hexN(8, uint32(a.HopLimit)<<24|uint32(a.QP)),
	}
}

func classPortInfoFields(a *mad.ClassPortInfo) fields {
	f := fields{
		"Base version": dec(a.BaseVersion), "Class version": dec(a.ClassVersion),
		"Capability mask":     hexN(4, a.CapabilityMask),
		"Capability mask 2":   fmt.Sprintf("0x%08X", a.CapabilityMask2),
		"Response time value": hexN(2, a.RespTimeValue),
	}
	maps.Copy(f, addressFields("Redirect", " QP", &a.Redirect))
	maps.Copy(f, addressFields("Trap", " HL/QP", &a.Trap))
	return f
}

func nodeRecordFields(r *mad.NodeRecord) fields {
	return fields{
		"lid": dec(r.LID), "reserved": hexN(1, r.Reserved), "base_version": hexN(1, r.Info.BaseVersion),
		"class_version": hexN(1, r.Info.ClassVersion), "node_type": r.Info.NodeType.String(),
		"num_ports": dec(r.Info.NumPorts), "sys_guid": guid(r.Info.SystemImageGUID), "node_guid": guid(r.Info.NodeGUID),
		"port_guid": guid(r.Info.PortGUID), "partition_cap": hexN(1, r.Info.PartitionCap),
		"device_id": hexN(1, r.Info.DeviceID), "revision": fmt.Sprintf("0x%X", r.Info.Revision),
		"port_num": dec(r.Info.LocalPortNum), "vendor_id": hexN(1, r.Info.VendorID),
		"NodeDescription": r.Description.String(),
	}
}

func pathRecordFields(r *mad.PathRecord) fields {
	selected := func(selector, v uint8) string { return hexN(1, selector<<6|v) }
	return fields{
		"service_id": hexN(16, r.ServiceID),
		"dgid":       netip.AddrFrom16(r.DGID).String(), "sgid": netip.AddrFrom16(r.SGID).String(),
		"dlid": dec(r.DLID), "slid": dec(r.SLID),
		"hop_flow_raw": hexN(1, r.FlowLabel<<8|uint32(r.HopLimit)), "tclass": hexN(1, r.TClass),
		"num_path_revers": "0x" + map[bool]string{true: "80", false: "0"}[r.Reversible],
		"pkey":            fmt.Sprintf("0x%X", uint16(r.PKey)), "qos_class": hexN(1, r.QoSClass), "sl": hexN(1, r.SL),
		"mtu": selected(r.MTUSelector, r.MTU), "rate": selected(r.RateSelector, r.Rate),
		"pkt_life":   selected(r.PacketLifeTimeSelector, r.PacketLifeTime),
		"preference": hexN(1, r.Preference), "resv2": fmt.Sprintf("0x%x", r.Reserved58[:]),
	}
}

func smInfoRecordFields(r *mad.SMInfoRecord) fields {
	return fields{
		"LID": dec(r.LID), "GUID": guid(r.Info.GUID), "SM_Key": hexN(16, r.Info.SMKey),
		"ActCount": dec(r.Info.ActCount), "Priority": dec(r.Info.Priority), "SMState": dec(r.Info.State),
	}
}

// Decode returns the values that the C tools print for the same responses.
func TestFieldsAreWhatTheToolsPrint(t *testing.T) {
	nodeInfo := func(b []byte) fields {
		var a mad.NodeInfo
		decode(t, &a, b[64:])
		return nodeInfoFields(&a)
	}
	portInfo := func(b []byte) fields {
		var a mad.PortInfo
		decode(t, &a, b[64:])
		return portInfoFields(&a)
	}
	tests := []struct {
		attribute mad.Attribute
		vectors   string
		fields    func(b []byte) fields
	}{
		{
			mad.AttributeNodeInfo,
			"nodeinfo-direct-own nodeinfo-direct-switch nodeinfo-direct-far nodeinfo-lid", nodeInfo,
		},
		{
			mad.AttributePortInfo,
			"portinfo-own portinfo-switch0 portinfo-hdr portinfo-ddr portinfo-down portinfo-lid", portInfo,
		},
		{mad.AttributeSwitchInfo, "switchinfo", func(b []byte) fields {
			var a mad.SwitchInfo
			decode(t, &a, b[64:])
			return switchInfoFields(&a)
		}},
		{mad.AttributeNodeDescription, "nodedesc", func(b []byte) fields {
			var a mad.NodeDescription
			decode(t, &a, b[64:])
			return fields{"Node Description": a.String()}
		}},
		{mad.AttributeExtendedPortInfo, "extendedportinfo", func(b []byte) fields {
			var a mad.ExtendedPortInfo
			decode(t, &a, b[64:])
			return fields{
				"StateChangeEnable": hexN(2, a.StateChangeEnable), "LinkSpeedSupported": hexN(2, a.LinkSpeedSupported),
				"LinkSpeedEnabled": hexN(2, a.LinkSpeedEnabled), "LinkSpeedActive": hexN(2, a.LinkSpeedActive),
			}
		}},
		{mad.AttributePortCounters, "counters", func(b []byte) fields {
			var a mad.PortCounters
			decode(t, &a, b[64:])
			return counterFields(&a)
		}},
		{mad.AttributePortCountersExtended, "counters-extended", func(b []byte) fields {
			var a mad.PortCountersExtended
			decode(t, &a, b[64:])
			return extendedCounterFields(&a)
		}},
		{mad.AttributeClassPortInfo, "classportinfo-sa", func(b []byte) fields {
			var a mad.ClassPortInfo
			decode(t, &a, b[mad.SAHeaderLen:])
			return classPortInfoFields(&a)
		}},
		{mad.AttributeNodeRecord, "noderecord", func(b []byte) fields {
			var r mad.NodeRecord
			decode(t, &r, b[mad.SAHeaderLen:])
			return nodeRecordFields(&r)
		}},
		{mad.AttributePortInfoRecord, "portinforecord", func(b []byte) fields {
			var r mad.PortInfoRecord
			decode(t, &r, b[mad.SAHeaderLen:])
			f := portInfoFields(&r.Info)
			f["EndPortLid"], f["PortNum"], f["Options"] = dec(r.EndportLID), dec(r.PortNum), hexN(1, r.Options)
			return f
		}},
		{mad.AttributePathRecord, "pathrecord", func(b []byte) fields {
			var r mad.PathRecord
			decode(t, &r, b[mad.SAHeaderLen:])
			return pathRecordFields(&r)
		}},
		{mad.AttributeSMInfoRecord, "sminforecord", func(b []byte) fields {
			var r mad.SMInfoRecord
			decode(t, &r, b[mad.SAHeaderLen:])
			return smInfoRecordFields(&r)
		}},
	}
	for _, tt := range tests {
		for name := range strings.FieldsSeq(tt.vectors) {
			got := tt.fields(find(t, name).answer(t, tt.attribute))
			if diff := cmp.Diff(printed(t, name), got); diff != "" {
				t.Errorf("%s (-the tool printed +decoded):\n%s", name, diff)
			}
		}
	}
}

func output(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/output/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantLine(t *testing.T, name, line string) {
	t.Helper()
	if out := output(t, name); !strings.Contains(out, line+"\n") {
		t.Errorf("%s: decoded %q, the tool printed:\n%s", name, line, out)
	}
}

func TestLFTIsWhatIbroutePrints(t *testing.T) {
	var block mad.LFTBlock
	decode(t, &block, find(t, "lft").answer(t, mad.AttributeLFT)[64:])
	valid := 0
	for lid, port := range block {
		if port == mad.LFTPortNone {
			continue
		}
		valid++
		if out, row := output(t, "lft"), fmt.Sprintf("\n0x%04x %03d : ", lid, port); !strings.Contains(out, row) {
			t.Errorf("ibroute did not print %q:\n%s", row, out)
		}
	}
	wantLine(t, "lft", fmt.Sprintf("%d valid lids dumped ", valid))
}

// ibroute reads the positions of a block in turn, then the next block.
func TestMFTModifier(t *testing.T) {
	i := 0
	for _, e := range find(t, "mft").exchanges {
		var h mad.Header
		decode(t, &h, e.request)
		if h.AttributeID != mad.AttributeMFT {
			continue
		}
		block, position := i/3, i%3 // 36 ports and port 0 take three positions
		if got := mad.MFTModifier(uint16(block), uint8(position)); got != h.AttributeModifier {
			t.Errorf("MFTModifier(%d, %d) = %#x, ibroute sent %#x", block, position, got, h.AttributeModifier)
		}
		i++
	}
	if i < 4 {
		t.Errorf("ibroute's requests for the MFT: %d, want at least 4", i)
	}
}

func TestSMInfoIsWhatSminfoPrints(t *testing.T) {
	var a mad.SMInfo
	decode(t, &a, find(t, "sminfo").answer(t, mad.AttributeSMInfo)[64:])
	wantLine(t, "sminfo", fmt.Sprintf("sminfo: sm lid 1 sm guid 0x%s, activity count %d priority %d state %d %s",
		strings.TrimLeft(fmt.Sprintf("%x", a.GUID[:]), "0"), a.ActCount, a.Priority, a.State, a.State))
}

func TestTablesAreWhatSmpqueryPrints(t *testing.T) {
	var keys mad.PKeyTable
	decode(t, &keys, find(t, "pkeys").exchanges[2].reply[64:])
	var row strings.Builder
	row.WriteString("   0:")
	for _, k := range keys[:8] {
		fmt.Fprintf(&row, " %s", k)
	}
	wantLine(t, "pkeys", row.String())

	var guids mad.GUIDInfo
	decode(t, &guids, find(t, "guids").exchanges[1].reply[64:])
	wantLine(t, "guids", fmt.Sprintf("   0: %s %s", guid(guids[0]), guid(guids[1])))
}

func TestLinkRecordsAreWhatSaqueryPrints(t *testing.T) {
	b := find(t, "linkrecord").answer(t, mad.AttributeLinkRecord)
	var h mad.SAHeader
	decode(t, &h, b)
	text := output(t, "linkrecord")
	count := strings.Count(text, "LinkRecord dump:")
	if h.RecordSize() != 8 || count == 0 {
		t.Fatalf("RecordSize() = %d, want 8; saquery printed %d records", h.RecordSize(), count)
	}
	var made strings.Builder
	for i := range count {
		var r mad.LinkRecord
		decode(t, &r, b[mad.SAHeaderLen+i*h.RecordSize():])
		fmt.Fprintf(&made, "LinkRecord dump:\n\t\tFromLID....................%d\n\t\tFromPort...................%d\n"+
			"\t\tToPort.....................%d\n\t\tToLID......................%d\n",
			r.FromLID, r.FromPort, r.ToPort, r.ToLID)
	}
	if diff := cmp.Diff(text, made.String()); diff != "" {
		t.Errorf("link records (-saquery +decoded):\n%s", diff)
	}
}

func TestRecordSizes(t *testing.T) {
	tests := map[string]int{
		"noderecord": mad.NodeRecordLen, "portinforecord": mad.PortInfoRecordLen,
		"pathrecord": mad.PathRecordLen, "sminforecord": mad.SMInfoRecordLen, "linkrecord": mad.LinkRecordLen,
	}
	for name, length := range tests {
		var h mad.SAHeader
		decode(t, &h, find(t, name).exchanges[0].reply)
		if want := (length + 7) / 8 * 8; h.RecordSize() != want {
			t.Errorf("RecordSize() of %s = %d, want %d", name, h.RecordSize(), want)
		}
	}
}

func TestPongIsWhatIbpingPrints(t *testing.T) {
	var p mad.VendorMAD
	decode(t, &p, find(t, "ping").exchanges[0].reply)
	host, _, _ := strings.Cut(string(p.Data[:]), "\x00")
	if p.MgmtClass != mad.ClassPing || p.Method != mad.MethodGetResp || p.OUI != mad.OUIPing() {
		t.Errorf("answer = class %#x, method %#x, OUI %x, want those of a pong", p.MgmtClass, p.Method, p.OUI)
	}
	if want := "Pong from " + host + " (Lid 4): "; !strings.Contains(output(t, "ping"), want) {
		t.Errorf("ibping did not print %q:\n%s", want, output(t, "ping"))
	}
}

func TestMFTIsWhatIbroutePrints(t *testing.T) {
	ports := map[int][]int{} // by position of the entry in block 0
	for _, e := range find(t, "mft").exchanges {
		var h mad.Header
		decode(t, &h, e.reply)
		if h.AttributeID != mad.AttributeMFT || h.AttributeModifier&0xfffffff != 0 {
			continue
		}
		var block mad.MFTBlock
		decode(t, &block, e.reply[64:])
		for entry, mask := range block {
			for bit := range mad.MFTPortsPerPosition {
				if mask>>bit&1 != 0 {
					ports[entry] = append(ports[entry], int(h.AttributeModifier>>28)*mad.MFTPortsPerPosition+bit)
				}
			}
		}
	}
	const firstColumn = 12 // from here ibroute prints two columns per port
	for entry, members := range ports {
		row := fmt.Appendf(nil, "%#04x%*s", int(mad.MulticastLIDBase)+entry, firstColumn+2*36, "")
		row = row[:firstColumn+2*36+1]
		for _, p := range members {
			row[firstColumn+2*p] = 'x'
		}
		if out := output(t, "mft"); !strings.Contains(out, strings.TrimRight(string(row), " ")+" ") {
			t.Errorf("ibroute did not print %q:\n%s", row, out)
		}
	}
	if len(ports) != 1 {
		t.Errorf("groups with ports = %v, want one", ports)
	}
}
