package sa_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// recorder passes datagrams on and records them. drop loses a datagram of the client.
type recorder struct {
	fabric.Transport
	sent, received []fabric.Datagram
	drop           func(p *mad.SA) bool
	change         func(d *fabric.Datagram)
}

func (r *recorder) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		r.sent = append(r.sent, batch[i])
		var p mad.SA
		p.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		if r.drop != nil && p.MgmtClass == mad.ClassSA && r.drop(&p) {
			continue
		}
		if n, err := r.Transport.Send(batch[i : i+1]); n != 1 || err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func (r *recorder) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	n, err := r.Transport.Receive(ctx, batch, deadline)
	for i := range n {
		batch[i].Address.SL, batch[i].Address.QKey = 0, 0 // no transport has these of a sender
		if r.change != nil {
			r.change(&batch[i])
		}
		r.received = append(r.received, batch[i])
	}
	return n, err
}

// packets returns the packets of subnet administration in a list.
func packets(list []fabric.Datagram) (out []mad.SA) {
	for i := range list {
		var p mad.SA
		p.Decode(list[i].MAD[:]) //nolint:errcheck // long enough
		if p.MgmtClass == mad.ClassSA {
			out = append(out, p)
		}
	}
	return out
}

// simulated runs a test in a subnet of 6 leaves with 20 hosts each and 3 spines, whose manager is
// on its first port.
func simulated(t *testing.T, f func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(6, 20, 3)
		s.Delay = 10 * time.Microsecond
		s.MasterLID = s.Node("host0").LIDs[1]
		s.Node("host0").Manager = &mad.SMInfo{GUID: s.Node("host0").GUID, Priority: 5, State: mad.SMStateMaster}
		r := &recorder{Transport: s.Transport("host1")}
		f(t, s, r, &sa.Client{Transport: r})
	})
}

func nodes(t *testing.T, c *sa.Client) []mad.NodeRecord {
	t.Helper()
	table, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
	if err != nil {
		t.Fatal(err)
	}
	list, err := sa.Records[mad.NodeRecord](table)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestTable: a table in many segments has all records, in the order of the SA.
func TestTable(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		list := nodes(t, c)
		if len(list) != 129 {
			t.Fatalf("%d records, want 6 leaves, 120 hosts and 3 spines", len(list))
		}
		for i, n := range s.Nodes {
			lid := max(n.LIDs[0], n.LIDs[len(n.LIDs)-1])
			if list[i].LID != lid || list[i].Description.String() != n.Name || list[i].Info.NodeGUID != n.GUID {
				t.Errorf("record %d: LID %d, %s, want %d, %s", i, list[i].LID, list[i].Description, lid, n.Name)
			}
		}
		// 129 records of 112 bytes are 73 segments: one acknowledgement for the first, for each 8
		// of the following, and for the last.
		sent := packets(r.sent)
		if got := len(packets(r.received)); got != 73 || len(sent) != 1+1+9 {
			t.Errorf("%d segments and %d packets sent, want 73 and 11", got, len(sent))
		}
		if q := sent[0]; q.Method != mad.MethodGetTable || q.RMPP != (mad.RMPP{}) || q.ComponentMask != 0 {
			t.Errorf("query %+v", q.SAHeader)
		}
		for _, a := range sent[1:] {
			if a.RMPP.Type != mad.RMPPAck || a.Method != mad.MethodGetTable {
				t.Errorf("sent %+v, want an acknowledgement", a.SAHeader)
			}
		}
		for _, d := range r.sent[1:] {
			if d.Address.LID != s.MasterLID || d.Address.QPN != 1 || d.Address.QKey != fabric.QKeyGSI ||
				(d.Timeout == 0) != (d.MAD[25] == byte(mad.RMPPAck)) {
				t.Errorf("sent to %+v, timeout %v", d.Address, d.Timeout)
			}
		}
		if len(s.Ended) > 0 {
			t.Errorf("senders ended with %v", s.Ended)
		}
	})
}

// TestTableByComponents: the SA compares the components of the mask only.
func TestTableByComponents(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, _ *recorder, c *sa.Client) {
		for _, test := range []struct {
			name string
			q    sa.Query
			want int
		}{
			{"switches", sa.Query{
				Attribute: mad.AttributeNodeRecord, Mask: mad.NodeRecordMaskNodeType,
				Record: (&mad.NodeRecord{Info: mad.NodeInfo{NodeType: mad.NodeTypeSwitch}}).Append(nil),
			}, 9},
			{"no mask", sa.Query{
				Attribute: mad.AttributeNodeRecord,
				Record:    (&mad.NodeRecord{Info: mad.NodeInfo{NodeType: mad.NodeTypeSwitch}}).Append(nil),
			}, 129},
			{"ports of a leaf", sa.Query{
				Attribute: mad.AttributePortInfoRecord, Mask: mad.PortInfoRecordMaskLID,
				Record: (&mad.PortInfoRecord{EndportLID: s.Node("leaf2").LIDs[0]}).Append(nil),
			}, 24},
			{"managers", sa.Query{
				Attribute: mad.AttributePortInfoRecord, Mask: mad.PortInfoRecordMaskCapabilityMask,
				Modifier: mad.PortInfoRecordAllBits,
				Record: (&mad.PortInfoRecord{
					Info: mad.PortInfo{CapabilityMask: mad.CapabilityIsSM},
				}).Append(nil),
			}, 1},
			{"exactly these capabilities", sa.Query{
				Attribute: mad.AttributePortInfoRecord, Mask: mad.PortInfoRecordMaskCapabilityMask,
				Record: (&mad.PortInfoRecord{
					Info: mad.PortInfo{CapabilityMask: mad.CapabilityIsSM},
				}).Append(nil),
			}, 0},
			{"paths from here", sa.Query{
				Attribute: mad.AttributePathRecord, Mask: mad.PathRecordMaskSLID | mad.PathRecordMaskNumPath,
				Record: (&mad.PathRecord{SLID: 2, NumPath: 127}).Append(nil),
			}, 129},
			{"nothing", sa.Query{Attribute: mad.AttributeServiceRecord}, 0},
		} {
			table, err := c.Table(t.Context(), test.q)
			if err != nil || table.Len() != test.want {
				t.Errorf("%s: %+v, %v, want %d records", test.name, table != nil, err, test.want)
			}
		}
	})
}

// TestAllKinds decodes a table of each kind and checks what the subnet is known to have.
func TestAllKinds(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, _ *recorder, c *sa.Client) {
		s.Members = make([]mad.MCMemberRecord, 30)
		for i := range s.Members {
			mlid := mad.MulticastLIDBase + ib.LID(i)
			s.Members[i] = mad.MCMemberRecord{MLID: mlid, FlowLabel: uint32(i) << 8, JoinState: 1}
		}
		s.Services = make([]mad.ServiceRecord, 7)
		for i := range s.Services {
			s.Services[i] = mad.ServiceRecord{ServiceID: uint64(i), ServiceLease: 1<<32 - 1}
			copy(s.Services[i].ServiceName[:], fmt.Sprintf("service %d", i))
		}
		table := func(a mad.Attribute) *sa.Table {
			t.Helper()
			table, err := c.Table(t.Context(), sa.Query{Attribute: a})
			if err != nil {
				t.Fatal(err)
			}
			return table
		}
		members, err := sa.Records[mad.MCMemberRecord](table(mad.AttributeMCMemberRecord))
		if diff := cmp.Diff(s.Members, members); diff != "" || err != nil {
			t.Errorf("members, %v:\n%s", err, diff)
		}
		services, err := sa.Records[mad.ServiceRecord](table(mad.AttributeServiceRecord))
		if diff := cmp.Diff(s.Services, services); diff != "" || err != nil {
			t.Errorf("services, %v:\n%s", err, diff)
		}
		links, err := sa.Records[mad.LinkRecord](table(mad.AttributeLinkRecord))
		if err != nil || len(links) != 2*(120+18) {
			t.Errorf("%d links, %v, want both directions of 138", len(links), err)
		}
		mappings, err := sa.Records[mad.SLtoVLMappingTableRecord](table(mad.AttributeSLtoVLMappingTableRecord))
		if err != nil || len(mappings) != 120+6*24*24+3*7*7 || mappings[len(mappings)-1].VLs[15] != 3 {
			t.Errorf("%d mappings, %v", len(mappings), err)
		}
		lfts, err := sa.Records[mad.LinearForwardingTableRecord](table(mad.AttributeLinearForwardingTableRecord))
		if err != nil || len(lfts) != 9*3 || lfts[1].BlockNum != 1 || lfts[0].LID != s.Node("leaf0").LIDs[0] ||
			lfts[0].Ports[s.Node("host1").LIDs[1]] != 2 {
			t.Errorf("%d blocks of forwarding tables, %v", len(lfts), err)
		}
		ports, err := sa.Records[mad.PortInfoRecord](table(mad.AttributePortInfoRecord))
		if err != nil || len(ports) != 120+6*24+3*7 || ports[1].PortNum != 1 || ports[1].Info.LID != 0 {
			t.Errorf("%d ports, %v", len(ports), err)
		}
		managers, err := sa.Records[mad.SMInfoRecord](table(mad.AttributeSMInfoRecord))
		if err != nil || len(managers) != 1 || managers[0].Info.Priority != 5 {
			t.Errorf("managers %+v, %v", managers, err)
		}
		switches, err := sa.Records[mad.SwitchInfoRecord](table(mad.AttributeSwitchInfoRecord))
		if err != nil || len(switches) != 9 || switches[0].Info.LinearFDBTop != 129 {
			t.Errorf("%d switches, %v", len(switches), err)
		}
		guids, err := sa.Records[mad.GUIDInfoRecord](table(mad.AttributeGUIDInfoRecord))
		if err != nil || len(guids) != 129 || guids[0].GUIDs[0] != s.Node("leaf0").GUID {
			t.Errorf("%d GUID blocks, %v", len(guids), err)
		}
		if _, err := sa.Records[mad.NodeRecord](table(mad.AttributeLinkRecord)); !errors.Is(err, mad.ErrShort) {
			t.Errorf("links as nodes: %v", err)
		}
		info, err := c.ClassPortInfo(t.Context())
		if err != nil || info.ClassVersion != 2 || info.RespTimeValue != 16 {
			t.Errorf("ClassPortInfo %+v, %v", info, err)
		}
	})
}

// TestLoss: lost, repeated and reordered packets cost time, but no record.
func TestLoss(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		s.Segments.Timeout = 20 * time.Millisecond
		s.Segments.Retries = 20
		received, sent := 0, 0
		s.Node("host0").Lie = func(*fabric.Datagram) int {
			received++
			return []int{1, 1, 2, 1, 0}[received%5]
		}
		r.drop = func(*mad.SA) bool { sent++; return sent%3 == 0 }
		for range 5 {
			if got := nodes(t, c); len(got) != 129 || got[128].Description.String() != "spine2" {
				t.Fatalf("%d records", len(got))
			}
		}
		if received < 400 || len(s.Ended) > 1 {
			// The last acknowledgement may be lost: nobody answers the repeated segments then.
			t.Errorf("%d segments, senders ended with %v", received, s.Ended)
		}
	})
}

// TestStatus: a status is an error with its name and meaning; a busy SA is asked again.
func TestStatus(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		for status, want := range map[mad.Status]string{
			mad.StatusSANoRecords: "subnet administration answers ERR_NO_RECORDS (0x0300): " +
				"no record matches the query",
			mad.StatusSAInvalidGID:        "ERR_REQ_INVALID_GID (0x0500): the subnet manager doesn't know the GID",
			mad.StatusSANoResources:       "ERR_NO_RESOURCES (0x0100)",
			mad.StatusSARequestInvalid:    "ERR_REQ_INVALID (0x0200)",
			mad.StatusSATooManyRecords:    "ERR_TOO_MANY_RECORDS (0x0400)",
			mad.StatusSARequestDenied:     "ERR_REQ_DENIED (0x0700)",
			mad.StatusSAPrioritySuggested: "ERR_STATUS_PRIO_SUGGESTED",
			mad.StatusSAInsufficientComponent: "ERR_REQ_INSUFFICIENT_COMPONENTS (0x0600): the query must select more " +
				"components",
			mad.StatusUnsupportedMethod: "subnet administration answers status 0x0008, method not supported",
			0x0900:                      "subnet administration answers status 0x0900",
		} {
			s.SAStatus = status
			_, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
			var e *sa.StatusError
			if !errors.As(err, &e) || e.Status != status || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "query subnet administration at LID 2 for NodeRecord: ") {
				t.Errorf("status 0x%04x: %v, want %q", uint16(status), err, want)
			}
		}
		s.SAStatus = 0
		q := sa.Query{Attribute: mad.AttributePathRecord}
		var e *sa.StatusError
		if all, err := c.Table(t.Context(), q); err != nil || all.Len() != 129*129 {
			t.Errorf("paths without a source: %v, want all, as of OpenSM", err)
		}
		if _, err := c.Get(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord}); !errors.As(err, &e) ||
			e.Name() != "ERR_TOO_MANY_RECORDS" {
			t.Errorf("Get of all nodes: %v", err)
		}
		r.sent = nil
		s.SAStatus = mad.StatusBusy
		busy := time.Now()
		r.drop = func(*mad.SA) bool { // drops nothing
			if time.Since(busy) > 1500*time.Millisecond {
				s.SAStatus = 0
			}
			return false
		}
		if got := nodes(t, c); len(got) != 129 {
			t.Errorf("%d records after a busy time", len(got))
		}
		r.drop = nil
		tries := 0
		for _, p := range packets(r.sent) {
			if p.RMPP.Type == 0 {
				tries++
			}
		}
		if tries != 3 {
			t.Errorf("%d queries in 2 s, want 3", tries)
		}
		s.SAStatus = mad.StatusBusy
		_, err := c.Table(t.Context(), q)
		if err == nil || !strings.HasSuffix(err.Error(), "subnet administration is busy after 3 tries in 3s") {
			t.Errorf("always busy: %v", err)
		}
	})
}

// TestLocate: without a manager, or before the port is active, the error says so; the service level
// is that of the port's PortInfo.
func TestLocate(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		own := s.Node("host1")
		own.PortInfo = func(_ uint8, info *mad.PortInfo) { info.PortState = mad.PortStateInitialize }
		_, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
		if !errors.Is(err, sa.ErrNotActive) ||
			err.Error() != "find subnet administration: the local port is not active, but Initialize" {
			t.Errorf("port in state init: %v", err)
		}
		own.PortInfo = func(_ uint8, info *mad.PortInfo) { info.MasterSMLID = 0 }
		if _, err := c.Locate(t.Context()); !errors.Is(err, sa.ErrNoManager) {
			t.Errorf("no manager: %v", err)
		}
		own.PortInfo = func(_ uint8, info *mad.PortInfo) { info.MasterSMSL, info.PortState = 3, mad.PortStateArmed }
		if got := nodes(t, c); len(got) != 129 {
			t.Errorf("%d records", len(got))
		}
		for _, d := range r.sent {
			if mad.Class(d.MAD[1]) == mad.ClassSA && d.Address.SL != 3 {
				t.Errorf("sent with service level %d, want 3", d.Address.SL)
			}
		}
		asked := own.Asked
		if nodes(t, c); own.Asked != asked {
			t.Error("the port is asked again")
		}
		own.Dead = true
		fresh := &sa.Client{Transport: r, LID: s.MasterLID, SL: 1}
		if nodes(t, fresh); r.sent[len(r.sent)-1].Address.SL != 1 {
			t.Error("a given LID goes with its service level")
		}
		other := &sa.Client{Transport: r, LID: 77, Retries: -1}
		_, err = other.Table(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
		if !errors.Is(err, fabric.ErrNoAnswer) || !strings.HasSuffix(err.Error(), "to 1 try in 1s") {
			t.Errorf("no manager at the LID: %v", err)
		}
	})
}

// TestGivesUp: a transfer ends with a reason if the SA stops, goes silent, takes too long or sends
// too much, or if the context ends; the SA is told.
func TestGivesUp(t *testing.T) {
	q := sa.Query{Attribute: mad.AttributeNodeRecord}
	last := func(r *recorder) mad.RMPP { p := packets(r.sent); return p[len(p)-1].RMPP }
	for name, test := range map[string]struct {
		plant  func(s *subnet.Subnet, r *recorder, c *sa.Client, cancel context.CancelCauseFunc)
		check  func(err error) bool
		text   string
		status mad.RMPPStatus // of the last packet sent, 0: an acknowledgement
		within time.Duration
	}{
		"silent": {
			func(s *subnet.Subnet, _ *recorder, _ *sa.Client, _ context.CancelCauseFunc) {
				count := 0
				s.Node("host0").Lie = func(*fabric.Datagram) int { count++; return min(1, max(0, 21-count)) }
			},
			func(err error) bool {
				var e *sa.StalledError
				return errors.As(err, &e) && e.Segments == 20 && !e.Total && !errors.Is(err, fabric.ErrNoAnswer)
			},
			"the transfer stopped after 20 segments: nothing more arrives", 118, 9 * time.Second,
		},
		"slow": {
			func(s *subnet.Subnet, _ *recorder, c *sa.Client, _ context.CancelCauseFunc) {
				s.Delay, c.TotalTime = 700*time.Millisecond, 3*time.Second
			},
			func(err error) bool { var e *sa.StalledError; return errors.As(err, &e) && e.Total },
			"the transfer takes too long", 118, 6 * time.Second,
		},
		"stopped by the SA": {
			func(_ *subnet.Subnet, r *recorder, _ *sa.Client, _ context.CancelCauseFunc) {
				count := 0
				r.change = func(d *fabric.Datagram) {
					if count++; count == 12 {
						var p mad.SA
						p.Decode(d.MAD[:]) //nolint:errcheck // long enough
						p.RMPP = mad.RMPP{Version: 1, Type: mad.RMPPStop, Flags: mad.RMPPActive, Status: 1}
						p.Append(d.MAD[:0])
					}
				}
			},
			func(err error) bool { var e *rmpp.Error; return errors.As(err, &e) && e.Peer && e.Type == mad.RMPPStop },
			"the other end has ended the transfer: RMPP STOP, status 1, resources exhausted", 0, time.Second,
		},
		"invalid segment": {
			func(_ *subnet.Subnet, r *recorder, _ *sa.Client, _ context.CancelCauseFunc) {
				r.change = func(d *fabric.Datagram) { d.MAD[25] = 7 }
			},
			func(err error) bool { var e *rmpp.Error; return errors.As(err, &e) && !e.Peer },
			"transfer ended: RMPP ABORT, status 121, bad RMPP type", 121, time.Second,
		},
		"too much": {
			func(_ *subnet.Subnet, _ *recorder, c *sa.Client, _ context.CancelCauseFunc) { c.MaxLen = 5000 },
			func(err error) bool { var e *rmpp.Error; return errors.As(err, &e) && e.Type == mad.RMPPStop },
			"transfer ended: RMPP STOP, status 1, resources exhausted", 1, time.Second,
		},
		"cancelled": {
			func(s *subnet.Subnet, _ *recorder, _ *sa.Client, cancel context.CancelCauseFunc) {
				s.Delay = 100 * time.Millisecond
				time.AfterFunc(500*time.Millisecond, func() { cancel(errors.New("enough")) })
			},
			func(err error) bool { return strings.HasSuffix(err.Error(), ": enough") },
			"", 127, 2 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				c.LID = s.MasterLID
				test.plant(s, r, c, cancel)
				start := time.Now()
				table, err := c.Table(ctx, q)
				if table != nil || err == nil || !test.check(err) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("table: %v, %v, want %q", table != nil, err, test.text)
				}
				if h := last(r); h.Status != test.status || (test.status != 0) != (h.Type >= mad.RMPPStop) {
					t.Errorf("last packet %+v, want status %d", h, test.status)
				}
				if took := time.Since(start); took > test.within {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// TestLateAnswer: if the answer to the first try comes after the second one was sent, segments of
// both are told apart.
func TestLateAnswer(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		c.LID = s.MasterLID
		s.Delay = 600 * time.Millisecond
		c.Timeout = 500 * time.Millisecond
		if got := nodes(t, c); len(got) != 129 {
			t.Errorf("%d records", len(got))
		}
		sent := packets(r.sent)
		if sent[0].TransactionID == sent[1].TransactionID || sent[1].RMPP.Type != 0 {
			t.Fatalf("no second try: %+v", sent[1].SAHeader)
		}
		for _, p := range sent[2:] {
			if p.TransactionID != sent[0].TransactionID || p.RMPP.Type != mad.RMPPAck {
				t.Errorf("sent %+v, want acknowledgements of the answer to the first try", p.SAHeader)
			}
		}
	})
}

// TestStrangers: answers to other queries don't count.
func TestStrangers(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		for name, change := range map[string]func(p *mad.SA){
			"transaction": func(p *mad.SA) { p.TransactionID += 1000 },
			"attribute":   func(p *mad.SA) { p.AttributeID++ },
			"class":       func(p *mad.SA) { p.MgmtClass = mad.ClassPerformance },
			"method":      func(p *mad.SA) { p.Method = 0x12 },
		} {
			c.LID, c.Retries, c.Timeout = s.MasterLID, -1, 100*time.Millisecond
			r.change = func(d *fabric.Datagram) {
				var p mad.SA
				p.Decode(d.MAD[:]) //nolint:errcheck // long enough
				change(&p)
				p.Append(d.MAD[:0])
			}
			_, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
			if !errors.Is(err, fabric.ErrNoAnswer) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestTsharkReadsTable compares what tshark decodes of a whole query, its segments and
// acknowledgements with what the client returns.
func TestTsharkReadsTable(t *testing.T) {
	simulated(t, func(t *testing.T, _ *subnet.Subnet, r *recorder, c *sa.Client) {
		table, err := c.Table(t.Context(), sa.Query{
			Attribute: mad.AttributePathRecord, Mask: mad.PathRecordMaskSLID,
			Record: (&mad.PathRecord{SLID: 3}).Append(nil),
		})
		if err != nil || table.Len() != 129 || table.Segments != (129*64+199)/200 {
			t.Fatalf("table: %v, %v", table != nil, err)
		}
		var all [][]byte
		for _, d := range append(packets(r.sent), packets(r.received)...) {
			all = append(all, d.Append(nil))
		}
		file := filepath.Join(t.TempDir(), "sa.pcap")
		if err := tshark.WriteMADs(file, all); err != nil {
			t.Fatal(err)
		}
		const p = "infiniband."
		frames, err := tshark.Values(t.Context(), file, p+"mad.attributeid", p+"rmpp.rmpptype", p+"rmpp.segmentnumber",
			p+"sa.attributeoffset", p+"pathrecord.slid", p+"mad.method", "_ws.malformed")
		if err != nil {
			t.Fatal(err)
		}
		segments := 0
		for i, f := range frames {
			if f["_ws.malformed"] != "" || f[p+"mad.attributeid"] != "0x0035" {
				t.Errorf("packet %d: %v", i, f)
			}
			if n, _ := strconv.ParseUint(f[p+"rmpp.segmentnumber"], 0, 32); f[p+"mad.method"] == "0x92" {
				segments++
				if int(n) != segments || f[p+"sa.attributeoffset"] != "0x0008" || f[p+"rmpp.rmpptype"] != "0x01" {
					t.Errorf("segment %d: %v", segments, f)
				}
				if n == 1 && f[p+"pathrecord.slid"] != "0x0003" {
					t.Errorf("first record: %v", f)
				}
			}
		}
		if segments != table.Segments {
			t.Errorf("tshark reads %d segments, want %d", segments, table.Segments)
		}
	})
}

// kernel delivers answers as the kernel and ibsim do: whole, or with only the first segment.
type kernel struct {
	answer func(query mad.SA) fabric.Datagram
	queue  []fabric.Datagram
	sent   int
}

func (k *kernel) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var p mad.SA
		p.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		k.sent++
		k.queue = append(k.queue, k.answer(p))
	}
	return len(batch), nil
}

func (k *kernel) Receive(context.Context, []fabric.Datagram, time.Time) (int, error) {
	panic("wrapped")
}

func (k *kernel) Close() error { return nil }

type reassembling struct{ *kernel }

func (reassembling) Reassembles(class mad.Class) bool { return class == mad.ClassSA }

func (r reassembling) Receive(_ context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	return receive(r.kernel, batch)
}

type bare struct{ *kernel }

func (b bare) Receive(_ context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	return receive(b.kernel, batch)
}

// single delivers one datagram at a time.
type single struct{ *kernel }

func (s single) Receive(_ context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	return receive(s.kernel, batch[:1])
}

func receive(k *kernel, batch []fabric.Datagram) (int, error) {
	n := copy(batch, k.queue)
	k.queue = k.queue[n:]
	return n, nil
}

// table returns an answer with link records, of which the datagram has the first 256 bytes.
func table(q mad.SA, records int, h mad.RMPP) (d fabric.Datagram, rest []byte) {
	q.Method, q.AttributeOffset, q.RMPP = mad.MethodGetTableResp, 1, h
	var data []byte
	for i := range records {
		data = append((&mad.LinkRecord{FromLID: ib.LID(i + 1)}).Append(data), 0xee, 0xee)
	}
	n := copy(q.Data[:], data)
	for i := n; i < len(q.Data); i++ {
		q.Data[i] = 0xdd // uninitialized
	}
	q.Append(d.MAD[:0])
	d.Length = mad.SAHeaderLen + len(data)
	return d, data[n:]
}

// TestKernel: a message that the kernel has reassembled isn't acknowledged, and has all records.
func TestKernel(t *testing.T) {
	for _, records := range []int{0, 1, 24, 25, 26, 1000} {
		k := &kernel{answer: func(q mad.SA) fabric.Datagram {
			d, rest := table(q, records, mad.RMPP{
				Version: 1, Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, SegmentNumber: 1,
			})
			d.Rest = rest
			return d
		}}
		c := sa.Client{Transport: reassembling{k}, LID: 1}
		got, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord})
		if err != nil || got.Len() != records || k.sent != 1 || got.Segments != max(1, (8*records+199)/200) {
			t.Fatalf("%d records: %v, %d packets sent", records, err, k.sent)
		}
		links, err := sa.Records[mad.LinkRecord](got)
		for i, l := range links {
			if err != nil || l.FromLID != ib.LID(i+1) {
				t.Fatalf("%d records, record %d: %+v, %v", records, i, l, err)
			}
		}
	}
}

// TestTruncated: ibsim delivers the first datagram of a message, with the length of all. OpenSM
// leaves RMPP to the kernel and writes only the flag.
func TestTruncated(t *testing.T) {
	for records, want := range map[int]int{12: 12, 25: 25, 26: 25, 500: 25} {
		k := &kernel{answer: func(q mad.SA) fabric.Datagram {
			d, _ := table(q, records, mad.RMPP{Flags: mad.RMPPActive})
			return d
		}}
		c := sa.Client{Transport: bare{k}, LID: 1}
		got, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord})
		var e *sa.TruncatedError
		if got == nil || got.Len() != want || errors.As(err, &e) != (records >= 25) || k.sent != 1 {
			t.Fatalf("%d records: %v", records, err)
		}
		if e != nil && records > 25 && *e != (sa.TruncatedError{Length: 56 + 8*records, Received: 256}) {
			t.Errorf("%d records: %+v", records, e)
		}
	}
}

// TestLost: a transport that reports lost requests ends the wait early.
func TestLost(t *testing.T) {
	k := &kernel{answer: func(q mad.SA) fabric.Datagram {
		d := fabric.Datagram{Lost: true}
		q.Append(d.MAD[:0])
		return d
	}}
	c := sa.Client{Transport: bare{k}, LID: 1}
	_, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord})
	if !errors.Is(err, fabric.ErrNoAnswer) || k.sent != 3 ||
		!strings.HasSuffix(err.Error(), "the transport reports "+fabric.ErrNoAnswer.Error()+" to 3 tries") {
		t.Errorf("%v after %d tries", err, k.sent)
	}
	// The report about the first try doesn't end the second one.
	late := &kernel{}
	var first mad.SA
	late.answer = func(q mad.SA) (d fabric.Datagram) {
		if late.sent == 1 {
			first = q
			d.MAD[1] = byte(mad.ClassPerformance) // a stranger
			return d
		}
		d.Lost = true
		first.Append(d.MAD[:0])
		answer, _ := table(q, 2, mad.RMPP{})
		late.queue = append(late.queue, d)
		return answer
	}
	c = sa.Client{Transport: single{late}, LID: 1, Timeout: 20 * time.Millisecond, Retries: 1}
	if got, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord}); err != nil || got.Len() != 2 {
		t.Errorf("answer after a report about an earlier try: %v", err)
	}
	c = sa.Client{Transport: bare{k}, LID: 1}
	_, err = c.Get(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord, Record: make([]byte, 201)})
	if err == nil || k.sent != 3 {
		t.Errorf("a record of 201 bytes: %v", err)
	}
}
