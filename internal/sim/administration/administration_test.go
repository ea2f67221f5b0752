package administration_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

const (
	get, getTable = mad.MethodGet, mad.MethodGetTable
	set, remove   = mad.MethodSet, mad.MethodDelete
)

// request sends a request from LID 3 and returns the answer; nil: there is none.
func request(
	s *administration.Server, method mad.Method, a mad.Attribute, mask uint64, record []byte, change ...func(*mad.SA),
) *mad.SA {
	q := mad.NewSA(method, a, mask, 1)
	copy(q.Data[:], record)
	for _, f := range change {
		f(&q)
	}
	agent := administration.Agent{Server: s}
	answers := agent.Receive(time.Unix(0, 0), &q, 3)
	if len(answers) == 0 {
		return nil
	}
	return &answers[0]
}

// records returns the number of records in an answer of one segment.
func records(p *mad.SA) int {
	const headRest = mad.RMPPSegmentLen - mad.SADataLen
	if p.RecordSize() == 0 {
		return 0
	}
	if p.RMPP.Flags&mad.RMPPLast == 0 {
		return -1
	}
	return (int(p.RMPP.PayloadLength) - headRest) / p.RecordSize()
}

// TestStatuses: what is refused, and with what status.
func TestStatuses(t *testing.T) {
	s := &administration.Server{Subnet: star(), Key: 7}
	lid := func(n uint16) []byte { return []byte{byte(n >> 8), byte(n)} }
	key := func(k uint64) func(*mad.SA) { return func(q *mad.SA) { q.SMKey = k } }
	for name, tt := range map[string]struct {
		got  *mad.SA
		want mad.Status
	}{
		"one":       {request(s, get, mad.AttributeNodeRecord, 1, lid(3)), 0},
		"none":      {request(s, get, mad.AttributeNodeRecord, 1, lid(9)), mad.StatusSANoRecords},
		"all":       {request(s, get, mad.AttributeNodeRecord, 0, nil), mad.StatusSATooManyRecords},
		"attribute": {request(s, getTable, 0x77, 0, nil), mad.StatusUnsupportedMethodAttribute},
		"table of ClassPortInfo": {
			request(s, getTable, mad.AttributeClassPortInfo, 0, nil), mad.StatusUnsupportedMethodAttribute,
		},
		"method":      {request(s, 0x14, mad.AttributeNodeRecord, 0, nil), mad.StatusUnsupportedMethod},
		"set of node": {request(s, set, mad.AttributeNodeRecord, 0, nil), mad.StatusUnsupportedMethodAttribute},
		"right key":   {request(s, get, mad.AttributeNodeRecord, 1, lid(3), key(7)), 0},
		"too long": {
			request(&administration.Server{Subnet: star(), MaxLen: 4*112 - 1}, getTable,
				mad.AttributeNodeRecord, 0, nil), mad.StatusSANoResources,
		},
		"just fits": {
			request(&administration.Server{Subnet: star(), MaxLen: 4 * 112}, getTable,
				mad.AttributeNodeRecord, 0, nil), 0,
		},
	} {
		if tt.got == nil || tt.got.Status != tt.want || !tt.got.Method.IsResponse() || tt.got.TransactionID != 1 {
			t.Errorf("%s: %+v, want status 0x%04x", name, tt.got, uint16(tt.want))
		}
	}
	if got := request(s, get, mad.AttributeNodeRecord, 1, lid(3), key(6)); got != nil {
		t.Errorf("wrong key: %+v, want no answer", got)
	}
	response := mad.NewSA(mad.MethodGetTableResp, mad.AttributeNodeRecord, 0, 1)
	if got := (&administration.Agent{Server: s}).Receive(time.Time{}, &response, 3); got != nil {
		t.Errorf("answer to an answer: %+v", got)
	}
}

// TestComponents: records match in the components of the mask only, some of which are less than a
// byte; capabilities may also be a subset.
func TestComponents(t *testing.T) {
	s := &administration.Server{Subnet: star(), Members: []mad.MCMemberRecord{
		{MLID: 0xc000, SL: 3, FlowLabel: 0xabcde, Scope: 2, JoinState: 1},
		{MLID: 0xc001, SL: 3, FlowLabel: 0xabcdf, Scope: 5, JoinState: 1},
	}}
	member := mad.MCMemberRecord{MLID: 0xffff, SL: 3, FlowLabel: 0xabcde, Scope: 5, JoinState: 1}
	port := mad.PortInfoRecord{EndportLID: 1, PortNum: 2, Info: mad.PortInfo{CapabilityMask: 0x200}}
	allBits := func(q *mad.SA) { q.AttributeModifier = mad.PortInfoRecordAllBits }
	for name, tt := range map[string]struct {
		got  *mad.SA
		want int
	}{
		"no component": {request(s, getTable, mad.AttributeMCMemberRecord, 0, member.Append(nil)), 2},
		"SL": {
			request(s, getTable, mad.AttributeMCMemberRecord, mad.MCMemberRecordMaskSL, member.Append(nil)), 2,
		},
		"flow label": {
			request(s, getTable, mad.AttributeMCMemberRecord, mad.MCMemberRecordMaskFlowLabel,
				member.Append(nil)), 1,
		},
		"scope and flow label": {
			request(s, getTable, mad.AttributeMCMemberRecord,
				mad.MCMemberRecordMaskFlowLabel|mad.MCMemberRecordMaskScope, member.Append(nil)), 0,
		},
		"port of a switch": {request(s, getTable, mad.AttributePortInfoRecord, 3, port.Append(nil)), 1},
		"capabilities": {
			request(s, getTable, mad.AttributePortInfoRecord, mad.PortInfoRecordMaskCapabilityMask,
				port.Append(nil)), 1,
		},
		"capabilities among others": {
			request(s, getTable, mad.AttributePortInfoRecord, mad.PortInfoRecordMaskCapabilityMask,
				port.Append(nil), allBits), 2, // LIDs 2 and 3
		},
		"paths to":       {request(s, getTable, mad.AttributePathRecord, 1<<4|1<<5, path(2, 4)), 1},
		"paths from GID": {request(s, getTable, mad.AttributePathRecord, 1<<3|1<<4, path(2, 4)), 1},
		"links":          {request(s, getTable, mad.AttributeLinkRecord, 0, nil), 6},
		"managers":       {request(s, getTable, mad.AttributeSMInfoRecord, 0, nil), 1},
	} {
		if tt.got == nil || tt.got.Status != 0 || records(tt.got) != tt.want {
			t.Errorf("%s: %d records, want %d", name, records(tt.got), tt.want)
		}
	}
	got := request(s, getTable, mad.AttributePortInfoRecord, 3, port.Append(nil))
	var r mad.PortInfoRecord
	if _, err := r.Decode(got.Data[:]); err != nil || r.EndportLID != 1 || r.PortNum != 2 || r.Info.MKey != 0 {
		t.Errorf("port %+v, %v, want port 2 without M_Key", r, err)
	}
}

// path returns a path record with both ends.
func path(from, to ib.LID) []byte {
	gid := func(lid ib.LID) ib.GID { return ib.GID{0: 0xfe, 1: 0x80, 15: byte(lid)} }
	r := mad.PathRecord{SLID: from, DLID: to, SGID: gid(from), DGID: gid(to)}
	return r.Append(nil)
}

// TestPaths: a path has the least MTU and rate of its ports, and needs entries in all tables.
func TestPaths(t *testing.T) {
	const ends = mad.PathRecordMaskSLID | mad.PathRecordMaskDLID
	list := star()
	ask := func(from, to ib.LID) (r mad.PathRecord, status mad.Status) {
		got := request(&administration.Server{Subnet: list}, get, mad.AttributePathRecord, ends, path(from, to))
		r.Decode(got.Data[:]) //nolint:errcheck // long enough
		return r, got.Status
	}
	check := func(from, to ib.LID, mtu, rate, life uint8) {
		t.Helper()
		r, status := ask(from, to)
		if status != 0 || r.MTU != mtu || r.Rate != rate || r.PacketLifeTime != life ||
			r.SLID != from || r.DLID != to ||
			!r.Reversible || r.MTUSelector != 2 || r.RateSelector != 2 || r.PKey != 0xffff {
			t.Errorf("path %d to %d: status 0x%04x, MTU %d, rate %d, life %d, want %d, %d, %d", from, to,
				uint16(status), r.MTU, r.Rate, r.PacketLifeTime, mtu, rate, life)
		}
	}
	check(2, 3, 5, 21, 18) // 4096 bytes, 400 Gb/s
	check(2, 2, 5, 21, 0)
	check(2, 1, 4, 21, 18) // port 0 has its capability of 2048
	check(1, 2, 4, 21, 18)
	check(1, 1, 4, 21, 0)
	for _, tt := range []struct {
		own, far []ib.PKey
		want     ib.PKey // 0: no path
	}{
		{[]ib.PKey{0x8005, 0xffff}, nil, 0xffff},
		{[]ib.PKey{0x8005, 0x8006}, []ib.PKey{6, 5}, 0x8005},
		{[]ib.PKey{5}, []ib.PKey{5}, 0}, // limited members
		{[]ib.PKey{5}, []ib.PKey{0x8005}, 0x8005},
		{[]ib.PKey{0x8000}, []ib.PKey{0x8000}, 0},
	} {
		list[1].pkeys, list[2].pkeys, list[2].sl = tt.own, tt.far, 4
		if r, status := ask(2, 3); r.PKey != tt.want || (status == 0) != (tt.want != 0) || status == 0 && r.SL != 4 {
			t.Errorf("path with keys %v and %v: status 0x%04x, %s, SL %d", tt.own, tt.far, uint16(status), r.PKey, r.SL)
		}
	}
	list[1].pkeys, list[2].pkeys = nil, nil
	list[2].info.NeighborMTU, list[2].info.LinkWidthActive, list[2].info.LinkSpeedExtActive = 3, mad.LinkWidth1X, 2
	check(2, 3, 3, 15, 18) // 25 Gb/s
	check(3, 4, 3, 15, 18)
	check(2, 4, 5, 21, 18)
	list[2].info.LinkSpeedExtActive, list[2].info.LinkSpeedActive, list[2].info.LinkWidthActive = 0, 1, mad.LinkWidth4X
	check(2, 3, 3, 3, 18) // 10 Gb/s
	list[0].table[4] = mad.LFTPortNone
	if _, status := ask(2, 4); status != mad.StatusSANoRecords {
		t.Errorf("path without an entry: status 0x%04x", uint16(status))
	}
	list[0].table[4] = 2 // to another host
	if _, status := ask(2, 4); status != mad.StatusSANoRecords {
		t.Errorf("path to another port: status 0x%04x", uint16(status))
	}
	list[0].table[4] = 3
	delete(list[0].peers, 3)
	if _, status := ask(2, 4); status != mad.StatusSANoRecords {
		t.Errorf("path through a port without a cable: status 0x%04x", uint16(status))
	}
	far := map[uint8]uint8{1: 1}
	a := &node{lid: 8, ports: 3, table: []uint8{255, 0, 1, 3, 9, 9, 9, 9, 0, 1}, far: far}
	b := &node{lid: 9, ports: 3, table: []uint8{255, 0, 1, 3, 9, 9, 9, 9, 1, 0}, far: far}
	a.peers, b.peers = map[uint8]*node{1: b}, map[uint8]*node{1: a}
	list = append(list, a, b)
	if _, status := ask(8, 2); status != mad.StatusSANoRecords {
		t.Errorf("path in a loop: status 0x%04x", uint16(status))
	}
}

// TestRegister registers, replaces and removes.
func TestRegister(t *testing.T) {
	s := &administration.Server{
		Subnet: star(), Key: 7, Members: []mad.MCMemberRecord{administration.BroadcastGroup()},
	}
	const all = 1<<63 - 1
	trusted := func(q *mad.SA) { q.SMKey = 7 }
	step := func(name string, got *mad.SA, want mad.Status, sizes ...int) {
		t.Helper()
		if got == nil || got.Status != want {
			t.Errorf("%s: %+v, want status 0x%04x", name, got, uint16(want))
		}
		if diff := cmp.Diff(sizes, []int{len(s.Members), len(s.Services), len(s.Subscriptions)}); diff != "" {
			t.Errorf("%s: members, services, subscriptions (-want +got):\n%s", name, diff)
		}
	}
	service := mad.ServiceRecord{ServiceID: 1, ServicePKey: 2, ServiceKey: [16]byte{9}}
	const service1 = mad.AttributeServiceRecord
	step("service without key", request(s, set, service1, 3, service.Append(nil)),
		mad.StatusSAInsufficientComponent, 1, 0, 0)
	step("service", request(s, set, service1, all, service.Append(nil)), 0, 1, 1, 0)
	service.ServiceLease = 5
	step("again", request(s, set, service1, all, service.Append(nil)), 0, 1, 1, 0)
	if s.Services[0].ServiceLease != 5 {
		t.Errorf("service %+v isn't replaced", s.Services[0])
	}
	for _, change := range []func(*mad.SA){func(*mad.SA) {}, trusted} {
		var r mad.ServiceRecord
		got := request(s, get, service1, 0, nil, change)
		r.Decode(got.Data[:]) //nolint:errcheck // long enough
		if r.ServiceID != 1 || (r.ServiceKey[0] == 9) != (got.SMKey == 7) {
			t.Errorf("service with SM_Key %d: %+v", got.SMKey, r)
		}
	}
	service.ServicePKey = 3
	step("another", request(s, set, service1, all, service.Append(nil)), 0, 1, 2, 0)
	step("removed", request(s, remove, service1, all, service.Append(nil)), 0, 1, 1, 0)
	step("removed twice", request(s, remove, service1, all, service.Append(nil)), mad.StatusSANoRecords, 1, 1, 0)

	info := mad.InformInfoRecord{Info: mad.InformInfo{Subscribe: 1, QPN: 1, TrapNumber: 128}}
	inform := func(subscribe uint8, trap uint16) []byte {
		info.Info.Subscribe, info.Info.TrapNumber = subscribe, trap
		return info.Append(nil)[24:]
	}
	step("not subscribed", request(s, set, 3, 0, inform(0, 128)), mad.StatusSARequestInvalid, 1, 1, 0)
	step("subscribed", request(s, set, 3, 0, inform(1, 128)), 0, 1, 1, 1)
	step("subscribed again", request(s, set, 3, 0, inform(1, 128)), 0, 1, 1, 1)
	step("two events", request(s, set, 3, 0, inform(1, 129)), 0, 1, 1, 2)
	if a, b := s.Subscriptions[0], s.Subscriptions[1]; a.SubscriberGID[15] != 3 || b.Enum != a.Enum+1 {
		t.Errorf("subscriptions %+v, %+v, want those of LID 3, numbered", a, b)
	}
	step("unsubscribed", request(s, set, 3, 0, inform(0, 128)), 0, 1, 1, 1)

	const members = mad.AttributeMCMemberRecord
	group := func(mgid, gid, join byte) []byte {
		r := mad.MCMemberRecord{
			MGID: ib.GID{0: 0xff, 15: mgid}, PortGID: ib.GID{15: gid}, JoinState: join, MTU: 5, QKey: uint32(gid),
		}
		return r.Append(nil)
	}
	const joins = mad.MCMemberRecordMaskMGID | mad.MCMemberRecordMaskPortGID | mad.MCMemberRecordMaskJoinState
	step("unknown group", request(s, set, members, joins, group(1, 1, 1)), mad.StatusSAInsufficientComponent,
		1, 1, 1)
	step("not as a sender", request(s, set, members, all, group(1, 1, 4)), mad.StatusSAInsufficientComponent,
		1, 1, 1)
	step("new group", request(s, set, members, all, group(1, 1, 1)), 0, 2, 1, 1)
	step("second member", request(s, set, members, joins, group(1, 2, 4)), 0, 3, 1, 1)
	if r := s.Members[2]; r.MLID != 0xc001 || r.QKey != 1 || r.MTUSelector != 2 || r.JoinState != 4 {
		t.Errorf("member %+v, want the parameters of the group", r)
	}
	step("not multicast", request(s, set, members, all, make([]byte, 52)), mad.StatusSAInsufficientComponent,
		3, 1, 1)
	step("also full", request(s, set, members, joins, group(1, 2, 1)), 0, 3, 1, 1)
	step("leaves in part", request(s, remove, members, joins, group(1, 2, 1)), 0, 3, 1, 1)
	for name, want := range map[string]int{"groups": 2, "members": 2} {
		got := request(s, getTable, members, 0, nil, func(q *mad.SA) {
			if name == "members" {
				q.SMKey = 7
			}
		})
		var r mad.MCMemberRecord
		r.Decode(got.Data[got.RecordSize():]) //nolint:errcheck // long enough
		if records(got) != want || (r.PortGID[15] == 2) != (name == "members") {
			t.Errorf("%d %s, the second %+v, want %d", records(got), name, r, want)
		}
	}
	step("leaves", request(s, remove, members, joins, group(1, 2, 4)), 0, 2, 1, 1)
	step("leaves twice", request(s, remove, members, joins, group(1, 2, 4)), mad.StatusSARequestInvalid, 2, 1, 1)
	step("last member", request(s, remove, members, joins, group(1, 1, 1)), 0, 1, 1, 1)
}

// TestAgentWithoutAcknowledgements: a client that doesn't acknowledge gets the first segment again,
// and at the end an ABORT; then the transfer is forgotten. There may be 64 of them.
func TestAgentWithoutAcknowledgements(t *testing.T) {
	var ended []error
	a := administration.Agent{
		Server:   &administration.Server{Subnet: net{}, Services: make([]mad.ServiceRecord, 5)},
		Segments: rmpp.SenderOptions{Timeout: time.Second, Retries: 2},
		Ended:    func(err error) { ended = append(ended, err) },
	}
	start := time.Unix(0, 0)
	query := func(id uint64) []mad.SA {
		q := mad.NewSA(getTable, mad.AttributeServiceRecord, 0, 0)
		q.TransactionID = id
		return a.Receive(start, &q, 1)
	}
	first := query(7)
	if len(first) != 1 || first[0].RMPP.SegmentNumber != 1 || first[0].RecordSize() != 176 {
		t.Fatalf("answer %+v", first)
	}
	for i, want := range []mad.RMPPType{mad.RMPPData, mad.RMPPData, mad.RMPPAbort} {
		now := start.Add(time.Duration(i+1) * time.Second)
		if early, again := a.Expire(now.Add(-time.Nanosecond)); len(early) != 0 || !again.Equal(now) {
			t.Errorf("before %v: %d packets, again at %v", now, len(early), again)
		}
		send, again := a.Expire(now)
		if len(send) != 1 || send[0].RMPP.Type != want || again.IsZero() != (want == mad.RMPPAbort) {
			t.Errorf("at %v: %+v, again at %v", now, send, again)
		}
	}
	if send, again := a.Expire(start.Add(time.Hour)); len(send) != 0 || !again.IsZero() || len(ended) != 1 {
		t.Errorf("afterwards %v, %v; ended %v", send, again, ended)
	}
	for id := range uint64(65) {
		if got := query(id)[0].Status; (got == mad.StatusSANoResources) != (id == 64) {
			t.Errorf("query %d: status 0x%04x", id, uint16(got))
		}
	}
	ack := mad.SA{SAHeader: first[0].SAHeader}
	ack.TransactionID, ack.Method = 3, getTable
	ack.RMPP = mad.RMPP{Version: 1, Type: mad.RMPPAck, Flags: mad.RMPPActive, SegmentNumber: 1, PayloadLength: 9}
	if send := a.Receive(start, &ack, 1); len(send) != 4 || send[3].RMPP.SegmentNumber != 5 {
		t.Errorf("after an acknowledgement %d segments, want 2 to 5", len(send))
	}
	ack.RMPP.SegmentNumber = 5
	if send := a.Receive(start, &ack, 1); len(send) != 0 || query(64)[0].Status != 0 {
		t.Error("an acknowledged transfer still takes a place")
	}
	if send := a.Receive(start, &ack, 1); len(send) != 0 {
		t.Errorf("acknowledgement of nothing: %+v", send)
	}
}
