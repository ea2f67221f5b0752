package kernel

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/devlink"
	"github.com/rdmakit/rdmakit/internal/edge/ethtool"
	"github.com/rdmakit/rdmakit/internal/edge/kmsg"
	"github.com/rdmakit/rdmakit/internal/edge/sff"
	"github.com/rdmakit/rdmakit/inventory"
)

// driver answers as a driver that supports a part of ethtool.
type driver struct{ pause, fec error }

func (driver) Driver(string) (string, error) { return "mlx5_core", nil }
func (driver) Stats(string) (map[string]uint64, error) {
	return map[string]uint64{"rx_symbol_err_phy": 7}, nil
}
func (d driver) Pause(string) (ethtool.Pause, error) { return ethtool.Pause{RX: true}, d.pause }
func (driver) Rings(string) (ethtool.Rings, error) {
	return ethtool.Rings{RX: 1024, RXMax: 8192, TX: 512, TXMax: 4096}, nil
}

func (d driver) FEC(context.Context, string) (ethtool.FEC, error) {
	return ethtool.FEC{Active: "RS", Configured: []string{"Auto"}, Auto: true}, d.fec
}

func (driver) LinkMode(context.Context, string) (ethtool.LinkMode, error) {
	return ethtool.LinkMode{Mbps: 200000, Lanes: 4, Duplex: "full"}, nil
}

func TestSettings(t *testing.T) {
	want := facts.Ethtool{
		Netdev: "eth0", Driver: "mlx5_core", Stats: map[string]uint64{"rx_symbol_err_phy": 7},
		Pause: &facts.Pause{RX: true}, FEC: &facts.FEC{Active: "RS", Configured: []string{"Auto"}, Auto: true},
		Rings: &facts.Rings{RX: 1024, RXMax: 8192, TX: 512, TXMax: 4096},
		Mode:  &facts.LinkMode{Mbps: 200000, Lanes: 4, Duplex: "full"},
	}
	if diff := cmp.Diff(want, settings(t.Context(), driver{}, "eth0")); diff != "" {
		t.Errorf("settings(), -want +got:\n%s", diff)
	}
	want.Pause, want.FEC, want.Errors = nil, nil, []string{"FEC: input/output error"}
	got := settings(t.Context(), driver{
		pause: &ethtool.Error{Op: "pause", Netdev: "eth0", Err: syscall.EOPNOTSUPP},
		fec:   &ethtool.Error{Op: "FEC", Netdev: "eth0", Err: syscall.EIO},
	}, "eth0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings() without pause and FEC, -want +got:\n%s", diff)
	}
	want.Errors, want.Denied = nil, []string{"pause: operation not permitted", "FEC: operation not permitted"}
	got = settings(t.Context(), driver{
		pause: &ethtool.Error{Op: "pause", Netdev: "eth0", Err: syscall.EPERM}, fec: syscall.EPERM,
	}, "eth0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings() without privilege, -want +got:\n%s", diff)
	}
	if err := got.State(facts.EthtoolPause); !errors.Is(err, facts.ErrDenied) ||
		err.Error() != "ethtool pause of eth0: operation not permitted" {
		t.Errorf("State(pause) = %v, want denied", err)
	}
	if err := got.State(facts.EthtoolRings); err != nil {
		t.Errorf("State(rings) = %v, want nil", err)
	}
}

func TestModules(t *testing.T) {
	optical := sff.Module{
		Type: "QSFP28", Vendor: "V", PartNumber: "P", Serial: "S", Revision: "A",
		Temperature: &sff.Reading{Value: 41, Limits: &sff.Limits{HighAlarm: 80, LowAlarm: -10, HighWarning: 75}},
		Voltage:     &sff.Reading{Value: 3.3, Limits: &sff.Limits{HighAlarm: 3.6, LowAlarm: 3}},
		RX:          []float64{0.5}, TX: []float64{1},
		RXLimits: &sff.Limits{HighAlarm: 3, LowAlarm: 0.1},
		TXLimits: &sff.Limits{HighAlarm: 1, LowAlarm: 2}, // nonsense
	}
	denied := &ethtool.Error{Op: "module", Netdev: "eth1", Err: syscall.EPERM}
	none := &ethtool.Error{Op: "module", Netdev: "eth2", Err: syscall.EOPNOTSUPP}
	broken := &ethtool.Error{Op: "module", Netdev: "eth3", Err: syscall.EIO}
	got, err := modules([]answer{
		{"eth0", optical, nil},
		{netdev: "eth1", err: denied},
		{netdev: "eth2", err: none},
		{"eth3", sff.Module{Type: "QSFP-DD"}, broken},
	})
	want := []facts.Module{
		{
			Netdev: "eth0", Type: "QSFP28", Vendor: "V", PartNumber: "P", Serial: "S", Revision: "A", Celsius: 41,
			HighAlarm: 80, HighWarning: 75, Volts: 3.3, VoltsLow: 3, VoltsHigh: 3.6, RXmW: []float64{0.5},
			TXmW: []float64{1}, RXLow: 0.1, RXHigh: 3,
		},
		{Netdev: "eth3", Type: "QSFP-DD", Error: "ethtool module eth3: input/output error"},
		{Netdev: "eth1", Error: "ethtool module eth1: operation not permitted"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("modules() = %v, -want +got:\n%s", err, diff)
	}
	_, err = modules([]answer{{netdev: "eth1", err: denied}, {netdev: "eth2", err: none}})
	if !errors.Is(err, facts.ErrDenied) || !strings.Contains(err.Error(), "CAP_NET_ADMIN") {
		t.Errorf("modules() without privileges = %v, want ErrDenied", err)
	}
	if _, err := modules([]answer{{netdev: "eth2", err: none}}); !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("modules() without modules = %v, want ErrAbsent", err)
	}
}

func TestDevices(t *testing.T) {
	port := uint32(65535)
	got, err := devices([]devlink.Reporter{
		{Bus: "pci", Device: "0000:3b:00.1", Name: "fw_fatal", Errored: true, Errors: 2, Recoveries: 1},
		{Bus: "pci", Device: "0000:3b:00.0", Port: &port, Name: "tx"},
		{Bus: "pci", Device: "0000:3b:00.0", Name: "rx", Err: errors.Join(syscall.EINVAL, syscall.EIO)},
	}, []devlink.Parameter{
		{Bus: "pci", Device: "0000:3b:00.0", Name: "max_macs", Err: syscall.EINVAL},
		{Bus: "pci", Device: "0000:3b:00.0", Name: "enable_roce", Values: map[string]string{"driverinit": "true"}},
		{Bus: "pci", Device: "0000:3b:00.0", Name: "fdb", Values: map[string]string{"driverinit": "1", "runtime": "2"}},
	}, nil, syscall.EIO)
	want := []facts.DevlinkDevice{
		{
			Name: "pci/0000:3b:00.0",
			Reporters: []facts.HealthReporter{
				{Name: "tx", Port: "65535"}, {Name: "rx", Error: "invalid argument; input/output error"},
			},
			Parameters:      map[string]string{"enable_roce": "true", "fdb": "2"},
			ParameterErrors: []string{"max_macs: invalid argument", "input/output error"},
		},
		{
			Name:            "pci/0000:3b:00.1",
			Reporters:       []facts.HealthReporter{{Name: "fw_fatal", Errored: true, Errors: 2, Recoveries: 1}},
			ParameterErrors: []string{"input/output error"},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("devices() = %v, -want +got:\n%s", err, diff)
	}
	got, err = devices([]devlink.Reporter{{Bus: "pci", Device: "0000:3b:00.0", Name: "fw"}}, nil, syscall.EIO, nil)
	want = []facts.DevlinkDevice{{
		Name: "pci/0000:3b:00.0", Reporters: []facts.HealthReporter{{Name: "fw"}}, Error: "input/output error",
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("devices() of an incomplete list = %v, -want +got:\n%s", err, diff)
	}
	if _, err := devices(nil, nil, syscall.EPERM, nil); !errors.Is(err, facts.ErrDenied) {
		t.Errorf("devices() without privileges = %v, want ErrDenied", err)
	}
	if _, err := devices(nil, nil, nil, nil); !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("devices() of nothing = %v, want ErrAbsent", err)
	}
}

func TestMessages(t *testing.T) {
	s := &inventory.Snapshot{Cards: []inventory.Card{{PCI: inventory.PCI{Address: "0000:c1:00.0"}}}}
	records := []kmsg.Record{
		{Since: time.Second, Level: 6, Text: "Command line: BOOT_IMAGE=/vmlinuz root=UUID=1234 token=secret"},
		{
			Since: 2 * time.Second, Level: 4,
			Text: "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable unplugged",
		},
		{Since: 3 * time.Second, Level: 6, Text: "pci 0000:c1:00.0: enabling Extended Tags"},
		{Since: 4 * time.Second, Level: 6, Text: "usb 1-1: SerialNumber: 123456"},
		{Since: 5 * time.Second, Level: 2, Text: "NETDEV WATCHDOG: eth1 (mlx5_core): transmit queue 19 timed out"},
		{Since: 6 * time.Second, Level: 6, Text: "nvme nvme0: a device"},
	}
	got, err := messages(s, records, nil)
	want := []facts.KernelMessage{
		{Since: 2 * time.Second, Level: 4, Text: records[1].Text},
		{Since: 3 * time.Second, Level: 6, Text: records[2].Text},
		{Since: 5 * time.Second, Level: 2, Text: records[4].Text},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("messages() = %v, -want +got:\n%s", err, diff)
	}
	if got, err := messages(s, records[:1], nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("messages() of a log without cards = %v, %v, want an empty list", got, err)
	}
	for _, tt := range []struct{ err, want error }{
		{&fs.PathError{Op: "open", Path: "/dev/kmsg", Err: syscall.ENOENT}, facts.ErrAbsent},
		{&fs.PathError{Op: "open", Path: "/dev/kmsg", Err: syscall.EPERM}, facts.ErrDenied},
		{&fs.PathError{Op: "read", Path: "/dev/kmsg", Err: syscall.EIO}, syscall.EIO},
		{nil, facts.ErrAbsent},
	} {
		if _, err := messages(s, nil, tt.err); !errors.Is(err, tt.want) {
			t.Errorf("messages() with %v = %v, want %v", tt.err, err, tt.want)
		}
	}
}

// TestCollectors runs the collectors on this machine, whatever it has.
func TestCollectors(t *testing.T) {
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: scanRoot(t)})
	f := facts.New(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, c := range Collectors(time.Now) {
		if c.Live {
			continue
		}
		f.Gather(ctx, &snap, []facts.Collector{c}, c.Kind)
		if err := f.State(c.Kind); errors.Is(err, facts.ErrNotGathered) {
			t.Errorf("the collector of %s gathered nothing", c.Kind)
		} else if err != nil {
			t.Logf("%s: %v", c.Kind, err)
		}
	}
}

// TestSwitchesOfBlueField asks for BlueField cards only. mlx5 answers EPERM for a function that
// does not manage its switch, and EOPNOTSUPP for InfiniBand (mlx5_eswitch_check).
func TestSwitchesOfBlueField(t *testing.T) {
	card := func(address string, id inventory.PCIID) inventory.Device {
		return inventory.Device{PCI: &inventory.PCI{Address: address, VendorID: 0x15b3, DeviceID: id}}
	}
	vf := card("4", 0xa2dc)
	vf.VF = &inventory.VFInfo{}
	s := &inventory.Snapshot{Devices: []inventory.Device{
		card("0", 0xa2dc), card("1", 0xa2d6), card("2", 0x1021), card("3", 0xa2dc), vf, card("9", 0xa2dc), {},
	}}
	list := []facts.DevlinkDevice{{Name: "pci/0"}, {Name: "pci/1"}, {Name: "pci/2"}, {Name: "pci/3"}, {Name: "pci/4"}}
	addSwitches(s, list, func(address string) (string, error) {
		switch address {
		case "1":
			return "", syscall.EPERM
		case "3":
			return "", syscall.EOPNOTSUPP
		}
		return "legacy", nil
	})
	for i, want := range []string{"legacy", facts.SwitchForeign, "", "", ""} {
		if list[i].Switch != want {
			t.Errorf("switch of %s = %q, want %q", list[i].Name, list[i].Switch, want)
		}
	}
}

func TestNetAdmin(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0": true, "CapEff:\t0000000000001000": true,
		"CapEff:\t00000000a80425fb": false, "CapEff:\tx": false, "CapPrm:\t1000": false, "": false,
	} {
		if got := netAdmin(facts.NewFiles(fstest.MapFS{"proc/self/status": {Data: []byte(status)}})); got != want {
			t.Errorf("netAdmin(%q) = %v, want %v", status, got, want)
		}
	}
}
