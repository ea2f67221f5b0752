package kernel

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/dcbnl"
	"github.com/rdmakit/rdmakit/inventory"
)

// dcbNode has two ports on eth0 and a bond of eth1 and eth2, and one on InfiniBand.
func dcbNode() *inventory.Snapshot {
	return &inventory.Snapshot{
		Devices: []inventory.Device{{Name: "mlx5_0", Ports: []inventory.Port{
			{Number: 1, Netdev: "eth0"}, {Number: 2, Netdev: "bond0"}, {Number: 3, Netdev: "ib0"}, {Number: 4},
		}}},
		Netdevs: []inventory.Netdev{
			{Name: "eth0", Type: inventory.ARPHRDEther},
			{Name: "ib0", Type: inventory.ARPHRDInfiniBand},
			{Name: "bond0", Type: inventory.ARPHRDEther, Bond: &inventory.Bond{Slaves: []string{"eth1", "eth2"}}},
			{Name: "eth1", Type: inventory.ARPHRDEther},
			{Name: "eth2", Type: inventory.ARPHRDEther},
		},
	}
}

func TestReadDCB(t *testing.T) {
	mode := uint8(9)
	got, err := readDCB(t.Context(), dcbNode(), func(_ context.Context, name string) (dcbnl.State, error) {
		switch name {
		case "eth0":
			return dcbnl.State{
				Netdev: name, DCBX: &mode,
				PFC:      &dcbnl.PFC{Capacity: 8, Enabled: 8, Delay: 7, Requests: [8]uint64{3: 5}},
				ETS:      &dcbnl.ETS{Willing: 1, TxBandwidth: [8]uint8{100}, PriorityClass: [8]uint8{3: 1}},
				Apps:     []dcbnl.App{{Selector: 5, Protocol: 26, Priority: 3}},
				PeerPFC:  &dcbnl.PFC{Enabled: 16, Indications: [8]uint64{1}},
				PeerETS:  &dcbnl.ETS{Algorithm: [8]uint8{2}},
				PeerApps: []dcbnl.App{{Selector: 1, Protocol: 2, Priority: 3}},
				Buffer:   &dcbnl.Buffer{Priority: [8]uint8{3: 1}, Bytes: [8]uint32{1, 2}, Total: 3},
			}, nil
		case "eth1":
			return dcbnl.State{Netdev: name}, syscall.EOPNOTSUPP
		}
		return dcbnl.State{Netdev: name, PFC: &dcbnl.PFC{}}, errors.New("broken framing")
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []facts.DCB{
		{
			Netdev: "eth0", DCBX: &mode, PFC: &facts.PFC{Capacity: 8, Enabled: 8, Delay: 7, Requests: [8]uint64{3: 5}},
			ETS:      &facts.ETS{Willing: true, Bandwidth: [8]uint8{100}, PriorityTC: [8]uint8{3: 1}},
			Apps:     []facts.DCBApp{{Selector: 5, Protocol: 26, Priority: 3}},
			PeerPFC:  &facts.PFC{Enabled: 16, Indications: [8]uint64{1}},
			PeerETS:  &facts.ETS{Algorithm: [8]uint8{2}},
			PeerApps: []facts.DCBApp{{Selector: 1, Protocol: 2, Priority: 3}},
			Buffer:   &facts.Buffer{Priority: [8]uint8{3: 1}, Bytes: [8]uint32{1, 2}, Total: 3},
		},
		{Netdev: "eth2", PFC: &facts.PFC{}, Errors: []string{"broken framing"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("readDCB (-want +got):\n%s", diff)
	}
}

// TestReadDCBOfSome has a device for each kind of error: only the one without DCB is left out.
func TestReadDCBOfSome(t *testing.T) {
	got, err := readDCB(t.Context(), dcbNode(), func(_ context.Context, name string) (dcbnl.State, error) {
		return dcbnl.State{Netdev: name}, map[string]error{
			"eth0": &dcbnl.OpError{Op: "IEEE get", Netdev: name, Err: syscall.EPERM}, "eth1": syscall.EOPNOTSUPP,
		}[name]
	})
	want := []facts.DCB{
		{Netdev: "eth0", Denied: []string{"dcbnl IEEE get eth0: operation not permitted"}}, {Netdev: "eth2"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("readDCB: %v (-want +got):\n%s", err, diff)
	}
	if err := got[0].State(); !errors.Is(err, facts.ErrDenied) || !strings.Contains(err.Error(), "eth0") {
		t.Errorf("State of eth0: %v, want denied", err)
	}
	got[0].Errors = []string{"input/output error"}
	if err := got[0].State(); errors.Is(err, facts.ErrDenied) || !strings.Contains(err.Error(), "input/output") {
		t.Errorf("State of eth0: %v, want a failure", err)
	}
	if err := got[1].State(); err != nil {
		t.Errorf("State of eth2: %v, want nil", err)
	}
}

func TestReadDCBWithoutAnswers(t *testing.T) {
	for _, c := range []struct {
		err, want error
		text      string
	}{
		{syscall.EOPNOTSUPP, facts.ErrAbsent, "no driver of the RDMA ports' network devices has DCB"},
		{syscall.EPERM, facts.ErrDenied, "operation not permitted"},
		{syscall.EIO, syscall.EIO, "input/output error"},
	} {
		_, err := readDCB(t.Context(), dcbNode(), func(_ context.Context, name string) (dcbnl.State, error) {
			return dcbnl.State{Netdev: name}, c.err
		})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("readDCB with %v: %v, want %v with %q", c.err, err, c.want, c.text)
		}
	}
	_, err := readDCB(t.Context(), &inventory.Snapshot{}, nil)
	if !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("readDCB without ports: %v", err)
	}
}

// TestDCBOfThisMachine asks the running kernel: the answer has a value or a reason.
func TestDCBOfThisMachine(t *testing.T) {
	s := dcbNode()
	s.Devices[0].Ports = []inventory.Port{{Number: 1, Netdev: "lo"}}
	s.Netdevs = []inventory.Netdev{{Name: "lo", Type: inventory.ARPHRDEther}}
	_, err := readDCB(t.Context(), s, dcbnl.Client{}.Query)
	if !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("readDCB(lo): %v, want absent", err)
	}
}
