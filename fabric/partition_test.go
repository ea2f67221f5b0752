package fabric_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// readAgent reads from the performance agent of a node, and its partition table after silence.
func readAgent(t *testing.T, tr fabric.Transport, lid ib.LID) error {
	t.Helper()
	client := fabric.Client{Transport: tr, ReadPKeys: true}
	_, err := client.Performance(t.Context(), lid, mad.MethodGet, mad.AttributeClassPortInfo, nil)
	return err
}

// TestLongPartitionTable: the key that both ports have may be in any block of the other table, and
// a table that is too long proves nothing.
func TestLongPartitionTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const own = 0x8005
		for _, test := range []struct {
			table      []ib.PKey
			reached    bool
			disjoint   bool
			tableKnown bool
		}{
			{table: append(make([]ib.PKey, 70), own), reached: true},
			{table: append(slices.Repeat([]ib.PKey{0x8006}, 32), own), reached: true},
			{table: append([]ib.PKey{own}, make([]ib.PKey, 600)...), reached: true},
			{table: make([]ib.PKey, 100), disjoint: true, tableKnown: true},
			{table: make([]ib.PKey, 512), disjoint: true, tableKnown: true},
			{table: append(make([]ib.PKey, 512), 0x8006)},
		} {
			s := subnet.FatTree(1, 2, 0)
			s.Node("host0").PKeys = []ib.PKey{ib.PKeyDefault, own}
			s.Node("host1").PKeys = test.table
			err := readAgent(t, addressed(s), s.Node("host1").LIDs[1])
			sent, _ := fabric.SentOf(err)
			if (err == nil) != test.reached || sent.Disjoint != test.disjoint || sent.TableRead != test.tableKnown {
				t.Errorf("table of %d keys: %v, %+v", len(test.table), err, sent)
			}
		}
	})
}

// TestForcedPartition: with a P_Key of the caller's choice that the other port doesn't accept, the
// error says so; it doesn't say that the ports have no partition in common.
func TestForcedPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(1, 2, 0)
		s.Node("host0").PKeys = []ib.PKey{ib.PKeyDefault, 0x8005}
		tr := addressed(s)
		tr.Address.PKeyIndex = new(uint16(1))
		err := readAgent(t, tr, s.Node("host1").LIDs[1])
		const want = ": the port doesn't accept P_Key 0x8005, but another one that this port has, or "
		if !errors.Is(err, fabric.ErrNoAnswer) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "no common partition") || strings.Contains(err.Error(), "is dead") {
			t.Errorf("%v, want %q", err, want)
		}
	})
}

// TestSentWithGRH: the header that the port requires was added to a request without an answer, so
// that its absence is no possible cause.
func TestSentWithGRH(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(1, 2, 0)
		tr := addressed(s)
		tr.GRHRequired = true
		tr.Address.GRH = true
		node := s.Node("host1")
		path := mad.PathRecord{DLID: node.LIDs[1], DGID: ib.GID{0: 0xfe, 1: 0x80, 15: 0x99}, PKey: ib.PKeyDefault}
		tr.Address.LearnPaths([]mad.PathRecord{path})
		err := readAgent(t, tr, node.LIDs[1])
		if !errors.Is(err, fabric.ErrNoAnswer) || !strings.Contains(err.Error(), "SL 0, GRH: ") ||
			strings.Contains(err.Error(), "requires a GRH") {
			t.Errorf("a request with a GRH: %v", err)
		}
	})
}

// TestSweepWithGRH: a sweep names no missing GRH for counters that it requested with one, and no
// cause twice.
func TestSweepWithGRH(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(1, 2, 0)
		s.Node("host1").PKeys = []ib.PKey{0x8005}
		for _, grh := range []bool{false, true} {
			tr := addressed(s)
			tr.GRHRequired, tr.Address.GRH = grh, grh
			topology, err := fabric.Discover(t.Context(), tr, fabric.Options{Counters: true})
			if err != nil || len(topology.Unreached) == 0 {
				t.Fatalf("Discover: %v, %d unreached", err, len(topology.Unreached))
			}
			why := topology.Unreached[0].Why()
			if strings.Contains(why, "requires a GRH") == grh || strings.Count(why, "partition") != 1 {
				t.Errorf("GRH %v: %s", grh, why)
			}
		}
	})
}

// TestPathsWithMKey: the query for paths begins at the local port, which may need its M_Key.
func TestPathsWithMKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1)
		s.Node("host0").MKey, s.Node("host0").Protect = 7, 2
		for _, key := range []uint64{7, 0} {
			tr := addressed(s)
			client := sa.Client{Transport: tr, Keys: fabric.Keys{M: fabric.KeyTable{Default: key}}}
			err := client.LearnPath(t.Context(), s.Node("host3").LIDs[1])
			if (err == nil) != (key == 7) || (tr.Address.Paths() == 1) != (key == 7) {
				t.Errorf("M_Key %d: %v, %d paths", key, err, tr.Address.Paths())
			}
		}
	})
}

// TestRegistersInOtherPartition: registers aren't read in another partition, and the reason is
// that, not the key.
func TestRegistersInOtherPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(1, 2, 0)
		s.Node("host1").PKeys = []ib.PKey{0x8005}
		client := phy.Client{Caller: &fabric.Client{Transport: addressed(s), ReadPKeys: true}}
		err := client.Probe(t.Context(), phy.Port{LID: s.Node("host1").LIDs[1], Number: 1})
		const want = "no answer to class 0x0a: the port is in no partition with this one"
		if !errors.Is(err, phy.ErrNoClass) || err.Error() != want {
			t.Errorf("Probe: %v, want %s", err, want)
		}
	})
}
