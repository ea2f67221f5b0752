package fabric_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestChoosePKey: the expected indices follow from the specification, section 10.9.3: the low 15
// bits of the keys must be equal and not 0, and at least one of the two must be a full member's.
func TestChoosePKey(t *testing.T) {
	for _, c := range []struct {
		name          string
		local, remote []ib.PKey
		want          int // -1: none
	}{
		{"usual table", []ib.PKey{0xffff}, nil, 0},
		{"limited first", []ib.PKey{0x7fff, 0xffff}, nil, 1},
		{"default after another", []ib.PKey{0x8001, 0, 0xffff}, nil, 2},
		{"limited in the default, full in another", []ib.PKey{0x8001, 0x7fff}, nil, 1},
		{"no default", []ib.PKey{0, 0x0005, 0x8006, 0x8007}, nil, 2},
		{"empty", []ib.PKey{0, 0}, nil, -1},
		{"partition 0 is invalid", []ib.PKey{0x8000}, nil, -1},
		{"unknown", nil, nil, -1},
		{"two limited members", []ib.PKey{0x7fff}, []ib.PKey{0x7fff}, -1},
		{"limited with full", []ib.PKey{0x7fff}, []ib.PKey{0xffff}, 0},
		{"full with limited", []ib.PKey{0xffff}, []ib.PKey{0x7fff}, 0},
		{"limited in the default, both in another", []ib.PKey{0x7fff, 0x8001}, []ib.PKey{0x7fff, 0x0001}, 1},
		{"remote not in the default", []ib.PKey{0xffff, 0x0009}, []ib.PKey{0x8009}, 1},
		{"nothing in common", []ib.PKey{0xffff}, []ib.PKey{0x8001}, -1},
		{"remote table empty", []ib.PKey{0xffff}, []ib.PKey{}, -1},
		{"partition 0 in both", []ib.PKey{0x8000}, []ib.PKey{0x8000}, -1},
	} {
		index, ok := fabric.ChoosePKey(c.local, c.remote)
		if got := int(index); ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: ChoosePKey(%v, %v) = %d, %v, want %d", c.name, c.local, c.remote, index, ok, c.want)
		}
	}
}

// addressed returns a transport at host0 whose addressing has the node's table.
func addressed(s *subnet.Subnet) *subnet.Transport {
	n := s.Node("host0")
	if n.PKeys == nil {
		n.PKeys = []ib.PKey{ib.PKeyDefault}
	}
	tr := s.Transport("host0")
	tr.Address = &fabric.Addressing{PKeys: n.PKeys}
	return tr
}

// counted sweeps with counters, and returns the nodes whose agent answers, and the reasons of the
// others.
func counted(t *testing.T, tr fabric.Transport) (answered, nodes int, reasons string) {
	t.Helper()
	topology, err := fabric.Discover(t.Context(), tr, fabric.Options{Counters: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range topology.Nodes {
		if n.Performance != nil {
			answered++
		}
	}
	for _, u := range topology.Unreached {
		reasons += u.Reason + "\n"
	}
	return answered, len(topology.Nodes), reasons
}

// TestPartitions: this host is a limited member of the default partition at index 0, and a full
// member at index 1; all others are limited members, except the switches. libibmad's index 0 would
// reach the switches only.
func TestPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1)
		for _, n := range s.Nodes {
			if n.Type == mad.NodeTypeCA {
				n.PKeys = []ib.PKey{0x7fff}
			}
		}
		s.Node("host0").PKeys = []ib.PKey{0x7fff, 0xffff}
		if got, all, why := counted(t, addressed(s)); got != all || why != "" {
			t.Errorf("%d of %d nodes have counters; unreached: %s", got, all, why)
		}
		tr := addressed(s)
		tr.Address.PKeyIndex = new(uint16(0))
		got, all, why := counted(t, tr)
		if got != 4 || all != 7 || !strings.Contains(why, "sent with P_Key 0x7fff (limited member), SL 0, no GRH") {
			t.Errorf("with index 0: %d of %d nodes have counters, want 4 of 7 (host0 reaches itself); "+
				"unreached: %s", got, all, why)
		}
	})
}

// TestCommonPartition: subnet administration knows the partition that two ports share; without it,
// their own table does.
func TestCommonPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1)
		s.Node("host0").PKeys = []ib.PKey{0x7fff, 0x8001}
		s.Node("host3").PKeys = []ib.PKey{0x7fff, 0x0001}
		s.Node("host2").PKeys = []ib.PKey{0x8002}
		to := s.Node("host3").LIDs[1]
		read := func(tr fabric.Transport, lid ib.LID, readTable bool) error {
			client := fabric.Client{Transport: tr, ReadPKeys: readTable}
			_, err := client.Performance(t.Context(), lid, mad.MethodGet, mad.AttributeClassPortInfo, nil)
			return err
		}
		if got, all, _ := counted(t, addressed(s)); got != all-2 {
			t.Errorf("sweep: %d of %d nodes have counters, want all but host2 and host3", got, all)
		}
		if err := read(addressed(s), to, false); !errors.Is(err, fabric.ErrNoAnswer) {
			t.Errorf("without knowledge: %v, want no answer", err)
		}
		tr := addressed(s)
		client := sa.Client{Transport: tr}
		if err := client.LearnPath(t.Context(), to); err != nil || !tr.Address.HasPath(to) || tr.Address.Paths() != 1 {
			t.Errorf("LearnPath: %v, %d paths, want that to LID %d", err, tr.Address.Paths(), to)
		}
		if err := read(tr, to, false); err != nil {
			t.Errorf("with the path: %v", err)
		}
		if err := read(addressed(s), to, true); err != nil {
			t.Errorf("with the port's table: %v", err)
		}
		tr = addressed(s)
		err := read(tr, s.Node("host2").LIDs[1], true)
		sent, ok := fabric.SentOf(err)
		const want = "sent with P_Key 0x7fff (limited member), SL 0, no GRH: " +
			"the port is in no partition with this one, or the node answers subnet management, " +
			"but its performance agent has another PM_Key (PM_Key 0 was tried), " +
			"or it requires a GRH"
		if !errors.Is(err, fabric.ErrNoAnswer) || !ok || !sent.Disjoint || !sent.TableRead || sent.PKey != 0x7fff ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("no partition in common: %v, %+v", err, sent)
		}
		silent := fabric.Client{Transport: tr, ReadPKeys: true}
		s.Node("host2").Asked = 0
		for range 3 {
			const class = mad.AttributeClassPortInfo
			_, err := silent.Performance(t.Context(), s.Node("host2").LIDs[1], mad.MethodGet, class, nil)
			if !errors.Is(err, fabric.ErrNoAnswer) {
				t.Errorf("no partition in common: %v", err)
			}
		}
		if n := s.Node("host2").Asked; n != 2 {
			t.Errorf("the table and its length were read with %d requests, want 2", n)
		}
		start := time.Now()
		if err := read(tr, 999, true); !strings.Contains(err.Error(), ": the node is dead, or ") ||
			strings.Contains(err.Error(), "in no partition") || time.Since(start) > 6*time.Second {
			t.Errorf("no port at the LID: %v after %v", err, time.Since(start))
		}
	})
}

// TestServiceLevel: ports of one host are reached on service level 3 only, as the paths of subnet
// administration say.
func TestServiceLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1)
		s.Node("host3").SL, s.Node("leaf0").SL = 3, 2 // leaf0 has LID 1: the subnet manager
		tr := addressed(s)
		got, all, why := counted(t, tr)
		if got != all-2 || !strings.Contains(why, "SL 0") {
			t.Errorf("without paths: %d of %d nodes have counters; unreached: %s", got, all, why)
		}
		client := sa.Client{Transport: tr}
		if n, err := client.LearnPaths(t.Context()); n != all || err != nil {
			t.Errorf("LearnPaths = %d, %v, want %d paths", n, err, all)
		}
		if got, all, why := counted(t, tr); got != all || why != "" {
			t.Errorf("with paths: %d of %d nodes have counters; unreached: %s", got, all, why)
		}
		tr.Address.Forget()
		if got, _, _ := counted(t, tr); got != all-2 {
			t.Errorf("after Forget: %d nodes have counters, want %d", got, all-2)
		}
	})
}

// TestGRHRequired: the port refuses GMPs without a global route header (EINVAL). A sweep knows the
// GIDs; a query of subnet administration uses the well-known one.
func TestGRHRequired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1)
		s.Node("leaf0").PortInfo = func(port uint8, info *mad.PortInfo) {
			if port > 0 {
				info.GIDPrefix = 0x1234 << 48 // only that of port 0 is valid
			}
		}
		tr := addressed(s)
		tr.GRHRequired = true
		if got, all, why := counted(t, tr); got != all || why != "" || !tr.Address.GRH {
			t.Errorf("sweep: %d of %d nodes have counters, GRH %v; unreached: %s", got, all, tr.Address.GRH, why)
		}
		tr = addressed(s)
		tr.GRHRequired = true
		lid := s.Node("host3").LIDs[1]
		client := fabric.Client{Transport: tr}
		ping := func() error {
			_, err := client.Performance(t.Context(), lid, mad.MethodGet, mad.AttributeClassPortInfo, nil)
			return err
		}
		if err := ping(); !errors.Is(err, fabric.ErrRefused) || tr.Address.GRH {
			t.Errorf("to an unknown GID: %v, GRH %v, want a refusal", err, tr.Address.GRH)
		}
		admin := sa.Client{Transport: tr}
		if _, err := admin.LearnPaths(t.Context()); err != nil || !tr.Address.GRH {
			t.Errorf("LearnPaths: %v, GRH %v", err, tr.Address.GRH)
		}
		if err := ping(); err != nil {
			t.Errorf("to a known GID: %v", err)
		}
		s.Node("host3").Dead = true
		if sent, _ := fabric.SentOf(ping()); !sent.GRH || !sent.HasPath {
			t.Errorf("to a dead node: sent %+v, want with GRH", sent)
		}
		s.Node("host3").Dead = false
		tr = addressed(s) // a refusal for another reason
		refuser := &refusing{tr, lid}
		got, all, _ := counted(t, refuser)
		if got != all-1 || tr.Address.GRH {
			t.Errorf("one LID refused: %d of %d nodes, GRH %v, want all but one without", got, all, tr.Address.GRH)
		}
	})
}

// refusing is a subnet.Refuser with the addressing of its transport.
type refusing struct {
	*subnet.Transport
	lid ib.LID
}

func (r *refusing) Send(batch []fabric.Datagram) (int, error) {
	return (&subnet.Refuser{Transport: r.Transport, LID: r.lid}).Send(batch)
}

// TestRouter: the path to a GID of another subnet leads to a router, and needs a header with a hop
// limit above 1.
func TestRouter(t *testing.T) {
	far := ib.GID{0: 0xfe, 1: 0xc0, 15: 9}
	a := fabric.Addressing{PKeys: []ib.PKey{0xffff}}
	a.LearnPaths([]mad.PathRecord{
		{DLID: 7, DGID: far, PKey: 0xffff, SL: 1, HopLimit: 0xff, TClass: 5, FlowLabel: 6},
		{DLID: 8, DGID: ib.GID{0: 0xfe, 1: 0x80, 15: 8}, PKey: 0xffff},
	})
	got := fabric.Address{LID: 7, QPN: 1}
	a.Apply(&got, mad.ClassPerformance)
	want := fabric.Address{
		LID: 7, QPN: 1, SL: 1, HasGRH: true, GID: far, HopLimit: 0xff, TrafficClass: 5, FlowLabel: 6,
	}
	if got != want {
		t.Errorf("to another subnet: %+v, want %+v", got, want)
	}
	got = fabric.Address{LID: 8, QPN: 1}
	if a.Apply(&got, mad.ClassPerformance); got.HasGRH {
		t.Errorf("in this subnet: %+v, want no GRH", got)
	}
	a.LearnPaths([]mad.PathRecord{
		{DLID: 9, DGID: far, PKey: 0xffff, SL: 4},                                    // the prefix alone
		{DLID: 10, DGID: ib.GID{0: 0xfe, 1: 0x80, 15: 8}, PKey: 0xffff, HopLimit: 2}, // the hop limit alone
	})
	for _, lid := range []ib.LID{9, 10} {
		got := fabric.Address{LID: lid, QPN: 1}
		if a.Apply(&got, mad.ClassPerformance); !got.HasGRH {
			t.Errorf("to LID %d through a router: %+v, want a GRH", lid, got)
		}
	}
	admin := fabric.Address{LID: 9, QPN: 1}
	if a.Apply(&admin, mad.ClassSA); admin.SL != 0 {
		t.Errorf("to subnet administration: SL %d, want the caller's 0", admin.SL)
	}
	hinted := fabric.Address{LID: 11, QPN: 1, GID: far}
	if a.AddGRH(&hinted, syscall.EHOSTUNREACH) || hinted.HasGRH {
		t.Errorf("AddGRH after EHOSTUNREACH: %+v, want it unchanged", hinted)
	}
	smp := fabric.Address{LID: 7}
	if a.Apply(&smp, mad.ClassSubnet); smp != (fabric.Address{LID: 7}) {
		t.Errorf("an SMP: %+v, want it unchanged", smp)
	}
	own := fabric.Address{LID: 7, QPN: 1, PKeyIndex: 4, SL: 2}
	if a.Apply(&own, mad.ClassPerformance); own.PKeyIndex != 4 || own.SL != 2 {
		t.Errorf("an address of the caller's: %+v, want index 4 and SL 2", own)
	}
}

// TestSentText: the texts are for administrators, in the terms of the specification.
func TestSentText(t *testing.T) {
	for want, s := range map[string]fabric.Sent{
		"P_Key 0x7fff (limited member), SL 0, no GRH": {PKey: 0x7fff},
		"P_Key 0x8001 (full member), SL 3, GRH":       {PKey: 0x8001, SL: 3, GRH: true},
		"P_Key index 2, SL 0, no GRH":                 {PKeyIndex: 2},
	} {
		if got := s.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}
