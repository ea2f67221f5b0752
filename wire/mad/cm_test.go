package mad_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// cmCapture has messages of the communication manager: see testdata/cm/README.md.
const cmCapture = "testdata/cm/messages.pcap"

// madOffset is where the message is in a frame: after the headers of Ethernet, IPv4, UDP, BTH and
// DETH.
const madOffset = 14 + 20 + 8 + 12 + 8

// kernel is the address of the kernel's rxe in the capture; other messages are ours.
var kernel = netip.MustParseAddr("192.0.2.1")

// cmMessage is a message of the capture.
type cmMessage struct {
	kernel bool // sent by it
	bytes  []byte
	header mad.Header
}

func cmMessages(t *testing.T) (list []cmMessage) {
	t.Helper()
	b, err := os.ReadFile(cmCapture)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := tshark.ReadCapture(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		m := cmMessage{kernel: netip.AddrFrom4([4]byte(f[26:])) == kernel, bytes: f[madOffset : madOffset+mad.Len]}
		decode(t, &m.header, m.bytes)
		list = append(list, m)
	}
	return list
}

// newCM returns a message of the type for an attribute.
func newCM(a mad.Attribute) codec {
	return map[mad.Attribute]codec{
		mad.AttributeREQ: &mad.REQ{}, mad.AttributeMRA: &mad.MRA{}, mad.AttributeREJ: &mad.REJ{},
		mad.AttributeREP: &mad.REP{}, mad.AttributeRTU: &mad.RTU{}, mad.AttributeDREQ: &mad.DREQ{},
		mad.AttributeDREP: &mad.DREP{}, mad.AttributeSIDRREQ: &mad.SIDRREQ{}, mad.AttributeSIDRREP: &mad.SIDRREP{},
	}[a]
}

// TestCMCapture: the capture has a message of each kind that the kernel sends, and each survives.
func TestCMCapture(t *testing.T) {
	kinds := map[mad.Attribute]bool{}
	for i, m := range cmMessages(t) {
		if m.header.MgmtClass != mad.ClassCM || m.header.ClassVersion != mad.CMClassVersion ||
			m.header.Method != mad.MethodSend {
			t.Errorf("message %d: header %+v", i+1, m.header)
		}
		v := newCM(m.header.AttributeID)
		decode(t, v, m.bytes)
		if again := v.Append(nil); !bytes.Equal(again, m.bytes) {
			t.Errorf("message %d: Append(Decode(%x)) = %x", i+1, m.bytes, again)
		}
		if m.kernel {
			kinds[m.header.AttributeID] = true
		}
	}
	if len(kinds) != 9 {
		t.Errorf("the kernel sent messages of %d kinds, want 9: %v", len(kinds), kinds)
	}
}

// digits formats a value as tshark prints numbers of a width in bytes.
func digits(v any, width int) string { return fmt.Sprintf("0x%0*x", 2*width, v) }

// pathFields returns the fields of a path under tshark's names, without the GIDs. tshark 4.0 reads
// flow label and rate from three bytes instead of four, so that both are wrong: TestCMFields has
// them.
func pathFields(prefix string, p *mad.ConnectPath) map[string]string {
	return map[string]string{
		prefix + "locallid":  strconv.Itoa(int(p.LocalPortLID)),
		prefix + "remotelid": strconv.Itoa(int(p.RemotePortLID)),
		prefix + "tfcclass":  digits(p.TrafficClass, 1), prefix + "hoplim": digits(p.HopLimit, 1),
		prefix + "sl":           digits(p.SL, 1),
		prefix + "subnetlocal":  digits(boolNumber(p.SubnetLocal), 1),
		prefix + "localacktout": digits(p.LocalACKTimeout, 1),
	}
}

func boolNumber(v bool) int {
	if v {
		return 1
	}
	return 0
}

// cmFields returns the fields of a message under tshark's names. tshark 4.0 has none for MRA,
// SIDR_REQ and SIDR_REP, and shows the queue pair of a DREQ as one of a REQ.
func cmFields(v codec) map[string]string {
	const p = "infiniband.cm."
	switch m := v.(type) {
	case *mad.REQ:
		f := map[string]string{
			p + "req.localqkey": digits(m.LocalQKey, 4), p + "req.localcaguid": fmt.Sprintf("0x%x", m.LocalCAGUID[:]),
			p + "req.localqpn": digits(uint32(m.LocalQPN), 3), p + "req.responderres": digits(m.ResponderResources, 1),
			p + "req.localeecn": digits(m.LocalEECN, 3), p + "req.initdepth": digits(m.InitiatorDepth, 1),
			p + "req.remoteeecn":     digits(m.RemoteEECN, 3),
			p + "req.remoteresptout": digits(m.RemoteCMResponseTimeout, 1),
			p + "req.transpsvctype":  digits(m.TransportService, 1), p + "req.startpsn": digits(uint32(m.StartingPSN),
				3),
			p + "req.e2eflowctrl":   digits(boolNumber(m.EndToEndFlowControl), 1),
			p + "req.localresptout": digits(m.LocalCMResponseTimeout, 1), p + "req.retrcount": digits(m.RetryCount, 1),
			p + "req.pkey": digits(uint16(m.PartitionKey), 2), p + "req.pppmtu": digits(m.PathPacketPayloadMTU, 1),
			p + "req.rdcexist": digits(boolNumber(m.RDCExists), 1), p + "req.rnrretrcount": digits(m.RNRRetryCount, 1),
			p + "req.maxcmretr": digits(m.MaxCMRetries, 1), p + "req.srq": digits(boolNumber(m.SRQ), 1),
			p + "req.ext_transport":       digits(m.ExtendedTransportType, 1),
			p + "req.prim_localgid_ipv4":  m.Primary.LocalPortGID.Addr().String(),
			p + "req.prim_remotegid_ipv4": m.Primary.RemotePortGID.Addr().String(),
		}
		for _, path := range []map[string]string{
			pathFields(p+"req.prim_", &m.Primary), pathFields(p+"req.alt_", &m.Alternate),
		} {
			maps.Copy(f, path)
		}
		var h mad.CMAHeader
		_, _ = h.Decode(m.PrivateData[:]) // it is longer
		from, to, _ := h.Addresses()
		_, port, _ := m.ServiceID.IP()
		f[p+"req.serviceid.dport"] = digits(port, 2)
		f[p+"req.ip_cm.sport"], f[p+"req.ip_cm.sip4"] = digits(from.Port(), 2), from.Addr().String()
		f[p+"req.ip_cm.dip4"], f[p+"req.ip_cm.ipv"] = to.String(), digits(h.IPVersion, 1)
		return f
	case *mad.REP:
		return map[string]string{
			p + "rep.remotecommid": digits(m.RemoteCommID, 4),
			p + "rep.localqkey":    digits(m.LocalQKey, 4), p + "rep.localqpn": digits(uint32(m.LocalQPN), 3),
			p + "rep.localeecn": digits(m.LocalEECN, 3), p + "rep.startpsn": digits(uint32(m.StartingPSN), 3),
			p + "rep.respres": digits(m.ResponderResources, 1), p + "rep.initdepth": digits(m.InitiatorDepth, 1),
			p + "rep.tgtackdelay": digits(m.TargetACKDelay, 1), p + "rep.failoveracc": digits(m.FailoverAccepted, 1),
			p + "rep.e2eflowctrl":  digits(boolNumber(m.EndToEndFlowControl), 1),
			p + "rep.rnrretrcount": digits(m.RNRRetryCount, 1), p + "rep.srq": digits(boolNumber(m.SRQ), 1),
			p + "rep.localcaguid": fmt.Sprintf("0x%x", m.LocalCAGUID[:]),
		}
	case *mad.REJ:
		return map[string]string{
			p + "rej.localcommid": digits(m.LocalCommID, 4), p + "rej.remotecommid": digits(m.RemoteCommID, 4),
			p + "rej.msgrej": digits(m.Message, 1), p + "rej.rejinfolen": digits(m.RejectedInfoLength, 1),
			p + "rej.reason": digits(uint16(m.Reason), 2), p + "rej.ari": fmt.Sprintf("%x", m.ARI[:]),
		}
	case *mad.RTU:
		return map[string]string{
			p + "rtu.localcommid": digits(m.LocalCommID, 4), p + "rtu.remotecommid": digits(m.RemoteCommID, 4),
		}
	case *mad.DREQ:
		return map[string]string{
			p + "dreq.localcommid": digits(m.LocalCommID, 4), p + "dreq.remotecommid": digits(m.RemoteCommID, 4),
			p + "req.remoteqpneecn": digits(uint32(m.RemoteQPN), 3),
		}
	case *mad.DREP:
		return map[string]string{
			p + "drsp.localcommid": digits(m.LocalCommID, 4), p + "drsp.remotecommid": digits(m.RemoteCommID, 4),
		}
	}
	return nil
}

// TestCMAgainstTshark compares every field that tshark decodes of a message.
func TestCMAgainstTshark(t *testing.T) {
	compared := 0
	list := cmMessages(t)
	var names []string
	seen := map[string]bool{}
	for _, m := range list {
		v := newCM(m.header.AttributeID)
		decode(t, v, m.bytes)
		for name := range cmFields(v) {
			if !seen[name] {
				seen[name], names = true, append(names, name)
			}
		}
	}
	frames, err := tshark.Values(t.Context(), cmCapture, names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list {
		v := newCM(m.header.AttributeID)
		decode(t, v, m.bytes)
		for name, got := range cmFields(v) {
			compared++
			if want := frames[i][name]; got != want {
				t.Errorf("message %d: %s = %q, tshark prints %q", i+1, name, got, want)
			}
		}
	}
	t.Logf("%d fields of %d messages", compared, len(list))
	if compared < 130 {
		t.Errorf("only %d fields are compared", compared)
	}
}

// TestCMFields checks what tshark doesn't decode, and what the kernel is known to send.
func TestCMFields(t *testing.T) {
	var mra, lookups, answers int
	for _, m := range cmMessages(t) {
		switch v := newCM(m.header.AttributeID); v := v.(type) {
		case *mad.REQ: // the kernel derives the flow label from the ports of the sockets
			decode(t, v, m.bytes)
			if p := v.Primary; m.kernel && (p.FlowLabel != 0xa4aed || p.PacketRate != 0 || p.HopLimit != 64 ||
				p.LocalACKTimeout != 19 || v.LocalQPN != 0x14) {
				t.Errorf("REQ %+v", v)
			}
		case *mad.MRA:
			decode(t, v, m.bytes)
			mra++
			if v.Message != mad.MRAMessageREQ || v.ServiceTimeout != 24 || v.LocalCommID == 0 || v.RemoteCommID == 0 {
				t.Errorf("MRA %+v", v)
			}
		case *mad.SIDRREQ:
			decode(t, v, m.bytes)
			lookups++
			space, port, ok := v.ServiceID.IP()
			var h mad.CMAHeader
			decode(t, &h, v.PrivateData[:])
			from, to, valid := h.Addresses()
			if space != 0x0111 || !ok || !valid || v.PartitionKey != 0xffff || v.RequestID == 0 ||
				m.kernel && (port != 7174 || from.Addr() != kernel || to.String() != "192.0.2.254") {
				t.Errorf("SIDR_REQ %+v from %v to %v, space %#x port %d", v, from, to, space, port)
			}
		case *mad.SIDRREP:
			decode(t, v, m.bytes)
			answers++
			switch {
			case v.Status == mad.SIDRStatusSuccess && (v.QPN != 0x18 || v.QKey != 0x01234567),
				v.Status != mad.SIDRStatusSuccess && v.Status != mad.SIDRStatusUnsupported:
				t.Errorf("SIDR_REP %+v", v)
			}
		}
	}
	if mra != 2 || lookups != 2 || answers != 3 {
		t.Errorf("%d MRA, %d SIDR_REQ, %d SIDR_REP", mra, lookups, answers)
	}
}

func TestCMAHeader(t *testing.T) {
	for _, tt := range []struct{ from, to string }{
		{"192.0.2.1:7174", "192.0.2.2"}, {"[2001:db8::1]:9", "2001:db8::2"}, {
			"[::ffff:192.0.2.1]:1",
			"::ffff:192.0.2.2",
		},
	} {
		from, to := netip.MustParseAddrPort(tt.from), netip.MustParseAddr(tt.to)
		h := mad.NewCMAHeader(from, to)
		gotFrom, gotTo, ok := h.Addresses()
		if !ok || gotFrom != netip.AddrPortFrom(from.Addr().Unmap(), from.Port()) || gotTo != to.Unmap() {
			t.Errorf("%v to %v: %v to %v, %t", from, to, gotFrom, gotTo, ok)
		}
	}
	for _, h := range []mad.CMAHeader{{Version: 0x10, IPVersion: 4}, {IPVersion: 5}, {}} {
		if from, to, ok := h.Addresses(); ok {
			t.Errorf("Addresses of %+v = %v, %v", h, from, to)
		}
	}
	if space, port, ok := mad.IPService(0x0106, 7174).IP(); space != 0x0106 || port != 7174 || !ok {
		t.Errorf("IP = %#x, %d, %t", space, port, ok)
	}
	if _, _, ok := mad.ServiceID(0x0200000000000000).IP(); ok {
		t.Error("an assigned service ID is taken for an IP service")
	}
	if got := mad.IPService(0x0106, 7174).String(); got != "0x0000000001061c06" {
		t.Errorf("String = %s", got)
	}
}

func TestReasons(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"invalid service ID": mad.RejectInvalidServiceID, "reason 34": mad.RejectReason(34),
		"reason 0":   mad.RejectReason(0),
		"reason 999": mad.RejectReason(999), "vendor option not supported": mad.RejectReason(35),
		"service ID not supported": mad.SIDRStatusUnsupported,
	} {
		if got.String() != want {
			t.Errorf("String = %q, want %q", got, want)
		}
	}
}
