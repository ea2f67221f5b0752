//go:build kernel

package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// Program gather in the guest, and its package.
const (
	gather        = "/root/gather"
	gatherPackage = "github.com/rdmakit/rdmakit/integration/kernel/testdata/gather"
)

// gathered returns what the collectors of doctor get of the guest's kernel.
func gathered(t *testing.T, g *guest.Guest, kinds ...facts.Kind) facts.Facts {
	t.Helper()
	withProgram(t, gatherPackage, gather)
	var f facts.Facts
	command := gather
	for _, k := range kinds {
		command += " " + string(k)
	}
	decode(t, output(t, g, command), &f)
	return f
}

// settingsOf returns ethtool's data of a network device.
func settingsOf(t *testing.T, f facts.Facts, netdev string) facts.Ethtool {
	t.Helper()
	if err := f.Ethtool.State(); err != nil {
		t.Fatalf("settings of network devices: %v", err)
	}
	i := slices.IndexFunc(f.Ethtool.Value, func(e facts.Ethtool) bool { return e.Netdev == netdev })
	if i < 0 {
		t.Fatalf("settings of %s are missing in %+v", netdev, f.Ethtool.Value)
	}
	return f.Ethtool.Value[i]
}

// compareSettings compares what rdmactl recorded of a network device with ethtool's output.
func compareSettings(t *testing.T, g *guest.Guest, got facts.Ethtool) {
	t.Helper()
	texts := outputs(t, g, "ethtool -a "+got.Netdev, "ethtool --show-fec "+got.Netdev, "ethtool -g "+got.Netdev)
	lines := map[string]string{}
	for line := range strings.Lines(texts[0] + texts[1]) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			lines[name] = strings.TrimSpace(value)
		}
	}
	onOff := map[bool]string{true: "on", false: "off"}
	mine := map[string]string{
		"Active FEC encoding":                cmp.Or(got.FEC.Active, "None"),
		"Supported/Configured FEC encodings": cmp.Or(strings.Join(got.FEC.Configured, " "), "None"),
	}
	mine["RX"], mine["TX"] = onOff[got.Pause.RX], onOff[got.Pause.TX]
	mine["Autonegotiate"] = onOff[got.Pause.Autoneg]
	for name, value := range mine {
		if lines[name] != value {
			t.Errorf("%s of %s = %q, want %q as ethtool:\n%s%s", name, got.Netdev, value, lines[name],
				texts[0], texts[1])
		}
	}
	var rings []string
	for line := range strings.Lines(texts[2]) {
		name, value, _ := strings.Cut(line, ":")
		if name == "RX" || name == "TX" {
			rings = append(rings, strings.TrimSpace(value))
		}
	}
	var want []string
	for _, n := range []uint32{got.Rings.RXMax, got.Rings.TXMax, got.Rings.RX, got.Rings.TX} {
		want = append(want, strconv.FormatUint(uint64(n), 10))
	}
	if !slices.Equal(rings, want) {
		t.Errorf("rings of %s = %q, want as ethtool:\n%s", got.Netdev, want, texts[2])
	}
}

// devlinkHealth is the output of devlink -j health show.
type devlinkHealth struct {
	Health map[string][]struct {
		Reporter string `json:"reporter"`
		State    string `json:"state"`
		Error    uint64 `json:"error"`
		Recover  uint64 `json:"recover"`
	} `json:"health"`
}

// devlinkParameters is the output of devlink -j dev param show.
type devlinkParameters struct {
	Param map[string][]struct {
		Name   string `json:"name"`
		Values []struct {
			Mode  string `json:"cmode"`
			Value any    `json:"value"`
		} `json:"values"`
	} `json:"param"`
}

// compareDevlink compares what rdmactl recorded of a device with devlink's output.
func compareDevlink(t *testing.T, g *guest.Guest, f facts.Facts, device string) facts.DevlinkDevice {
	t.Helper()
	if err := f.Devlink.State(); err != nil {
		t.Fatalf("devices of devlink: %v", err)
	}
	i := slices.IndexFunc(f.Devlink.Value, func(d facts.DevlinkDevice) bool { return d.Name == device })
	if i < 0 {
		t.Fatalf("%s is missing in %+v", device, f.Devlink.Value)
	}
	got := f.Devlink.Value[i]
	texts := outputs(t, g, "devlink -j health show", "devlink -j dev param show")
	var health devlinkHealth
	var parameters devlinkParameters
	decode(t, texts[0], &health)
	decode(t, texts[1], &parameters)
	var reporters []facts.HealthReporter
	for _, r := range health.Health[device] {
		reporters = append(reporters, facts.HealthReporter{
			Name: r.Reporter, Errored: r.State == "error", Errors: r.Error, Recoveries: r.Recover,
		})
	}
	if diff := gocmp.Diff(reporters, got.Reporters); diff != "" {
		t.Errorf("health reporters differ (-devlink +rdmactl):\n%s", diff)
	}
	var values map[string]string
	for _, p := range parameters.Param[device] {
		for _, v := range p.Values {
			if values == nil {
				values = map[string]string{}
			}
			values[p.Name] = asText(v.Value)
		}
	}
	if diff := gocmp.Diff(values, got.Parameters); diff != "" {
		t.Errorf("parameters differ (-devlink +rdmactl):\n%s", diff)
	}
	return got
}

func asText(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// TestDoctorNetdevsim compares what rdmactl records of netdevsim's devices, whose settings programs
// can change, with the output of ethtool and devlink. The network device belongs to an RDMA device,
// because only such ones are recorded: to one of siw, whose table of GIDs is short.
func TestDoctorNetdevsim(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	netdev := strings.TrimSpace(output(t, g, `modprobe netdevsim
		mountpoint -q /sys/kernel/debug || mount -t debugfs debug /sys/kernel/debug
		echo '7 1' >/sys/bus/netdevsim/new_device
		netdev=$(ls /sys/bus/netdevsim/devices/netdevsim7/net)
		ip link set $netdev up && rdma link add siw7 type siw netdev $netdev && echo $netdev`))
	defer output(t, g, "rdma link del siw7; echo 7 >/sys/bus/netdevsim/del_device; modprobe -r netdevsim")
	const debug = "/sys/kernel/debug/netdevsim/netdevsim7/"
	states := []struct{ name, do string }{
		{"as made", "true"},
		{"pause received, BaseR", "ethtool -A NETDEV autoneg off rx on tx off; ethtool --set-fec NETDEV encoding " +
			"baser"},
		{"pause sent, FEC auto, a fault that ended", "ethtool -A NETDEV rx off tx on; ethtool --set-fec NETDEV " +
			"encoding auto; echo hello >" + debug + "health/break_health"},
		{"FEC off, a fault", "ethtool --set-fec NETDEV encoding off; ethtool -G NETDEV rx 77 tx 99; echo Y >" + debug +
			"health/fail_recover; echo fault >" + debug + "health/break_health; true"},
	}
	var last facts.DevlinkDevice
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			output(t, g, strings.ReplaceAll(s.do, "NETDEV", netdev))
			f := gathered(t, g, facts.KindEthtool, facts.KindDevlink)
			compareSettings(t, g, settingsOf(t, f, netdev))
			last = compareDevlink(t, g, f, "netdevsim/netdevsim7")
		})
	}
	// The last state's ring is small, and now siw's sockets are, too.
	before := strings.TrimSpace(output(t, g, "cat /proc/sys/net/ipv4/tcp_rmem; "+
		"echo 4096 131072 1048576 >/proc/sys/net/ipv4/tcp_rmem"))
	defer output(t, g, "echo "+before+" >/proc/sys/net/ipv4/tcp_rmem")
	situation{
		args: "--only receive-ring,receive-buffer", do: "true", undo: "true",
		want: "INFO     receive-ring siw7:1: the receive ring of " + netdev + " has 77 entries of 4096 that it can " +
			"have\nINFO     receive-buffer: net.ipv4.tcp_rmem allows receive buffers of 1 MiB",
	}.find(t, g)
	if i := slices.IndexFunc(last.Reporters, func(r facts.HealthReporter) bool { return r.Errored }); i < 0 {
		t.Errorf("no health reporter of %+v has an error, want dummy", last)
	}
	output(t, g, "echo 5 >"+debug+"ports/0/ethtool/get_err") // EIO
	e := settingsOf(t, gathered(t, g, facts.KindEthtool), netdev)
	if want := []string{"FEC: input/output error"}; e.FEC != nil || !slices.Equal(e.Errors, want) {
		t.Errorf("with a driver that fails: FEC %+v, errors %q, want only the error %q", e.FEC, e.Errors, want)
	}
}
