package mad_test

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// num formats a number as the comparison with tshark expects it.
func num[T ~uint8 | ~uint16 | ~uint32 | ~uint64](v T) string {
	return strconv.FormatUint(uint64(v), 10)
}

func truth(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// ipv6 formats a GID as tshark does.
func ipv6(g ib.GID) string { return netip.AddrFrom16(g).String() }

// saFields returns the fields of a record by tshark's names. Not in it is what tshark 4.0 doesn't
// decode or decodes wrongly: RRespTime (4 of its 5 bits), the high bit of P_Keys.
func saFields(v codec) map[string]string {
	switch r := v.(type) {
	case *mad.NodeRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "nodeinfo.nodetype": num(r.Info.NodeType), "nodeinfo.numports": num(r.Info.NumPorts),
			"nodeinfo.localportnum": num(r.Info.LocalPortNum), "nodeinfo.vendorid": num(r.Info.VendorID),
		}
	case *mad.PortInfoRecord:
		return map[string]string{"sa.endportlid": num(r.EndportLID), "sa.portnum": num(r.PortNum)}
	case *mad.SwitchInfoRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "switchinfo.linearfdbcap": num(r.Info.LinearFDBCap),
			"switchinfo.partitionenforcementcap": num(r.Info.PartitionEnforcementCap),
		}
	case *mad.SLtoVLMappingTableRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "sa.inputportnum": num(r.InputPortNum), "sa.outputportnum": num(r.OutputPortNum),
			"sltovlmappingtable.sltovlhighbits": num(r.VLs[0]), "sltovlmappingtable.sltovllowbits": num(r.VLs[1]),
		}
	case *mad.VLArbitrationTableRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "sa.outputportnum": num(r.OutputPortNum), "sa.blocknum_eightbit": num(r.BlockNum),
			"vlarbitrationtable.vl": num(r.Elements[0].VL), "vlarbitrationtable.weight": num(r.Elements[0].Weight),
		}
	case *mad.PKeyTableRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "sa.blocknum_sixteenbit": num(r.BlockNum), "sa.portnum": num(r.PortNum),
			"p_keytable.p_keybase": num(r.PKeys[0] & 0x7fff),
		}
	case *mad.LinearForwardingTableRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "sa.blocknum_sixteenbit": num(r.BlockNum),
			"linearforwardingtable.port": num(r.Ports[0]),
		}
	case *mad.MulticastForwardingTableRecord:
		return map[string]string{
			"sa.lid": num(r.LID), "sa.position": num(r.Position), "sa.blocknum_ninebit": num(r.BlockNum),
		}
	case *mad.GUIDInfoRecord:
		return map[string]string{"sa.lid": num(r.LID), "sa.blocknum_eightbit": num(r.BlockNum)}
	case *mad.LinkRecord:
		return map[string]string{
			"linkrecord.fromlid": num(r.FromLID), "linkrecord.fromport": num(r.FromPort),
			"linkrecord.toport": num(r.ToPort), "linkrecord.tolid": num(r.ToLID),
		}
	case *mad.ServiceRecord:
		return map[string]string{
			"linkrecord.serviceid": num(r.ServiceID), "linkrecord.servicegid": ipv6(r.ServiceGID),
			"linkrecord.servicep_key": num(r.ServicePKey), "linkrecord.servicelease": num(r.ServiceLease),
			"linkrecord.servicekey":  fmt.Sprintf("%x", r.ServiceKey),
			"linkrecord.servicename": fmt.Sprintf("%x", r.ServiceName),
		}
	case *mad.PathRecord:
		return map[string]string{
			"pathrecord.dgid": ipv6(r.DGID), "pathrecord.sgid": ipv6(r.SGID), "pathrecord.dlid": num(r.DLID),
			"pathrecord.slid": num(r.SLID), "pathrecord.rawtraffic": truth(r.RawTraffic),
			"pathrecord.flowlabel": num(r.FlowLabel), "pathrecord.hoplimit": num(r.HopLimit),
			"pathrecord.tclass": num(r.TClass), "pathrecord.reversible": truth(r.Reversible),
			"pathrecord.numbpath": num(r.NumPath), "pathrecord.p_key": num(r.PKey), "pathrecord.sl": num(r.SL),
			"pathrecord.mtuselector": num(r.MTUSelector), "pathrecord.mtu": num(r.MTU),
			"pathrecord.rateselector": num(r.RateSelector), "pathrecord.rate": num(r.Rate),
			"pathrecord.packetlifetimeselector": num(r.PacketLifeTimeSelector),
			"pathrecord.packetlifetime":         num(r.PacketLifeTime), "pathrecord.preference": num(r.Preference),
		}
	case *mad.MCMemberRecord:
		return map[string]string{
			"mcmemberrecord.mgid": ipv6(r.MGID), "mcmemberrecord.portgid": ipv6(r.PortGID),
			"mcmemberrecord.q_key": num(r.QKey), "mcmemberrecord.mlid": num(r.MLID),
			"mcmemberrecord.mtuselector": num(r.MTUSelector), "mcmemberrecord.mtu": num(r.MTU),
			"mcmemberrecord.tclass": num(r.TClass), "mcmemberrecord.p_key": num(r.PKey),
			"mcmemberrecord.rateselector": num(r.RateSelector), "mcmemberrecord.rate": num(r.Rate),
			"mcmemberrecord.packetlifetimeselector": num(r.PacketLifeTimeSelector),
			"mcmemberrecord.packetlifetime":         num(r.PacketLifeTime), "mcmemberrecord.sl": num(r.SL),
			"mcmemberrecord.flowlabel": num(r.FlowLabel), "mcmemberrecord.hoplimit": num(r.HopLimit),
			"mcmemberrecord.scope": num(r.Scope), "mcmemberrecord.joinstate": num(r.JoinState),
			"mcmemberrecord.proxyjoin": truth(r.ProxyJoin),
		}
	case *mad.InformInfoRecord:
		i := r.Info
		return map[string]string{
			"informinforecord.subscribergid": ipv6(r.SubscriberGID), "informinforecord.enum": num(r.Enum),
			"informinfo.gid": ipv6(i.GID), "informinfo.lidrangebegin": num(i.LIDRangeBegin),
			"informinfo.lidrangeend": num(i.LIDRangeEnd), "informinfo.isgeneric": num(i.IsGeneric),
			"informinfo.subscribe": num(i.Subscribe), "informinfo.type": num(i.Type),
			"informinfo.trapnumberdeviceid": num(i.TrapNumber), "informinfo.qpn": num(i.QPN),
			"informinfo.resptimevalue":        num(i.RespTimeValue),
			"informinfo.producertypevendorid": num(i.ProducerType),
		}
	}
	return nil
}

func saRecords() map[mad.Attribute]codec {
	return map[mad.Attribute]codec{
		mad.AttributeNodeRecord: &mad.NodeRecord{}, mad.AttributePortInfoRecord: &mad.PortInfoRecord{},
		mad.AttributeSwitchInfoRecord:               &mad.SwitchInfoRecord{},
		mad.AttributeSLtoVLMappingTableRecord:       &mad.SLtoVLMappingTableRecord{},
		mad.AttributeVLArbitrationTableRecord:       &mad.VLArbitrationTableRecord{},
		mad.AttributePKeyTableRecord:                &mad.PKeyTableRecord{},
		mad.AttributeLinearForwardingTableRecord:    &mad.LinearForwardingTableRecord{},
		mad.AttributeMulticastForwardingTableRecord: &mad.MulticastForwardingTableRecord{},
		mad.AttributeGUIDInfoRecord:                 &mad.GUIDInfoRecord{}, mad.AttributeLinkRecord: &mad.LinkRecord{},
		mad.AttributeServiceRecord: &mad.ServiceRecord{}, mad.AttributePathRecord: &mad.PathRecord{},
		mad.AttributeMCMemberRecord:   &mad.MCMemberRecord{},
		mad.AttributeInformInfoRecord: &mad.InformInfoRecord{},
	}
}

// TestSAAgainstTshark compares headers and records with what tshark decodes of the same bytes.
func TestSAAgainstTshark(t *testing.T) {
	var packets [][]byte
	var want []map[string]string
	names := map[string]bool{}
	for a, v := range saRecords() {
		p := mad.NewSA(mad.MethodGetTableResp, a, 0x0123456789abcdef, 0x1122334455667788)
		for i := range p.Data {
			p.Data[i] = byte(37*i + 11*int(a) + 5)
		}
		p.SMKey, p.AttributeOffset = 0xfedcba9876543210, 0x0102
		p.RMPP = mad.RMPP{
			Version: 1, Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, SegmentNumber: 1,
			PayloadLength: uint32(a) + 12345,
		}
		decode(t, v, p.Data[:])
		fields := saFields(v)
		maps.Copy(fields, map[string]string{
			"mad.method": num(p.Method), "mad.attributeid": num(p.AttributeID),
			"mad.transactionid": num(p.TransactionID), "rmpp.rmppversion": "1", "rmpp.rmpptype": num(p.RMPP.Type),
			"rmpp.rmppflags": num(p.RMPP.Flags), "rmpp.rmppstatus": "0", "rmpp.segmentnumber": "1",
			"rmpp.payloadlength": num(p.RMPP.PayloadLength), "sa.smkey": num(p.SMKey),
			"sa.attributeoffset": num(p.AttributeOffset), "sa.componentmask": num(p.ComponentMask),
		})
		packets, want = append(packets, p.Append(nil)), append(want, fields)
	}
	ack := mad.NewSA(mad.MethodGetTable, mad.AttributeNodeRecord, 0, 7)
	ack.RMPP = mad.RMPP{Version: 1, Type: mad.RMPPAck, Flags: mad.RMPPActive, SegmentNumber: 5, PayloadLength: 21}
	packets = append(packets, ack.Append(nil))
	want = append(want, map[string]string{"rmpp.segmentnumber": "5", "rmpp.newwindowlast": "21"})
	compareWithTshark(t, packets, want, names)
}

func compareWithTshark(t *testing.T, packets [][]byte, want []map[string]string, names map[string]bool) {
	t.Helper()
	var list []string
	for _, fields := range want {
		for name := range fields {
			if !names[name] {
				names[name], list = true, append(list, "infiniband."+name)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "sa.pcap")
	if err := tshark.WriteMADs(file, packets); err != nil {
		t.Fatal(err)
	}
	frames, err := tshark.Values(t.Context(), file, list...)
	if err != nil || len(frames) != len(want) {
		t.Fatalf("tshark: %d frames, %v, want %d", len(frames), err, len(want))
	}
	compared, equal := 0, 0
	for i, fields := range want {
		for name, value := range fields {
			compared++
			got := frames[i]["infiniband."+name]
			if v, err := strconv.ParseUint(got, 0, 64); err == nil && (strings.HasPrefix(got, "0x") || len(got) == 1) {
				got = num(v)
			}
			if strings.ReplaceAll(value, ":", "") == strings.ReplaceAll(got, ":", "") {
				equal++
				continue
			}
			t.Errorf("packet %d: %s = %s, tshark prints %q", i, name, value, got)
		}
	}
	t.Logf("%d of %d fields of %d packets are equal", equal, compared, len(packets))
	if compared < 240 {
		t.Errorf("only %d fields are compared", compared)
	}
}
