package kernel

import (
	"fmt"
	"slices"
	"testing"
)

// The list of commands that TestAppletsAgainstDebian runs in each state doesn't need a kernel: this
// file has no build tag, and its tests run in make test.

// appletState is a state of the guest: the scripts to enter and leave it, and the device that
// commands name.
type appletState struct{ name, device, do, undo string }

// whole reports that all commands run in the state.
func (s appletState) whole() bool { return s.name == "as booted" || s.name == "no device" }

func appletStates() []appletState {
	return []appletState{
		{"as booted", "rxe0", "true", "true"},
		{"several addresses", "rxe0", "ip addr add 192.0.2.77/25 dev eth0; ip addr add 2001:db8:7::1/64 dev eth0 " +
			"nodad; ip addr add 198.51.100.9/32 dev eth1", "ip addr del 192.0.2.77/25 dev eth0; ip addr del " +
			"2001:db8:7::1/64 dev eth0; ip addr del 198.51.100.9/32 dev eth1"},
		{"VLAN", "rxe0", "modprobe 8021q; ip link add link eth0 name eth0.100 type vlan id 100; ip addr add " +
			"203.0.113.1/24 dev eth0.100; ip link set eth0.100 up", "ip link del eth0.100"},
		{
			"MTU 1500", "rxe0", "ip link set eth0 mtu 1500; ip link set eth1 mtu 1500",
			"ip link set eth0 mtu 9000; ip link set eth1 mtu 9000",
		},
		{
			"link down", "rxe0", "ip link set eth0 down; ip link set eth1 down",
			"ip link set eth0 up; ip link set eth1 up; ip addr replace 192.0.2.1/24 dev eth0",
		},
		{
			"two rxe devices", "rxe1",
			"ip link add dummy1 type dummy; ip link set dummy1 up; ip addr add 203.0.113.9/24 dev dummy1; rdma link " +
				"add rxe1 type rxe netdev dummy1",
			"rdma link del rxe1; ip link del dummy1",
		},
		{"renamed device", "rocep0s4", "rdma dev set rxe0 name rocep0s4", "rdma dev set rocep0s4 name rxe0"},
		{
			"name of 18 characters", "rocep129s0f0np0v12", "rdma dev set rxe0 name rocep129s0f0np0v12",
			"rdma dev set rocep129s0f0np0v12 name rxe0",
		},
		{
			"order of the kernel, not of names", "rxe0", "rdma link del rxe0; rdma link add rxe0 type rxe netdev eth0",
			"rdma link del siw0; rdma link add siw0 type siw netdev eth1",
		},
		{"one device", "rxe0", "rdma link del siw0", "rdma link add siw0 type siw netdev eth1"},
		{
			"iWARP only", "siw0", "rdma link del rxe0",
			"rdma link add rxe0 type rxe netdev eth0; rdma link del siw0; rdma link add siw0 type siw netdev eth1",
		},
		{
			"no device", "rxe0", "rdma link del rxe0; rdma link del siw0",
			"rdma link add rxe0 type rxe netdev eth0; rdma link add siw0 type siw netdev eth1",
		},
		{"no ib_umad", "rxe0", "modprobe -r ib_umad", "modprobe ib_umad"},
	}
}

// appletCommands are the uses of the tools that depend on the state of the node.
func appletCommands(device string) []string {
	list := append(appletViews(), appletUses(device)...)
	list = append(list, "ibv_devinfo", "ibv_devinfo -d siw0 -v", "ibv_devinfo -i 1", "ibv_devinfo -d nosuch",
		"ibstat -l", "ibstat -s", "ibstat -dd", "ibstat siw0", "ibstat nosuch",
		"ibstatus siw0:1", "ibstatus nosuch", "ibstatus nosuch:1 siw0")
	for _, f := range []string{
		"ibv_devinfo -vd %s", "ibv_devinfo -d %s -i 2", "ibstat %s", "ibstat %s 1", "ibstat -dd %s 3", "ibstat -p %s",
		"ibstatus %s",
	} {
		list = append(list, fmt.Sprintf(f, device))
	}
	return list
}

// appletViews are the uses that print everything a tool can print.
func appletViews() []string { return []string{"ibv_devices", "ibv_devinfo -v", "ibstat", "ibstatus"} }

// appletUses are the uses that print a part of it, those that name a device first.
func appletUses(device string) []string {
	return []string{
		"ibv_devinfo -d " + device, "ibstat -dd " + device + " 1", "ibstat " + device + " 2",
		"ibstatus " + device + ":2", "ibv_devinfo -l", "ibv_devinfo -i 2", "ibstat -p",
	}
}

// appletsBriefly returns fewer commands, because a start of rdmactl takes a third of a second on
// the guest's emulated processor: the views, the uses that name a device if the device has an
// unusual name, and three of the uses in turn.
func appletsBriefly(device string, turn int) []string {
	list := appletViews()
	uses := appletUses(device)
	for i, use := range uses {
		named := i < 4 && device != "rxe0"
		if (i-3*turn%len(uses)+len(uses))%len(uses) < 3 || named {
			list = append(list, use)
		}
	}
	return list
}

// TestAppletsBriefly checks that each state has all views and at least three uses, that each use
// runs in at least four states, and that all uses that name a device run for a device with an
// unusual name.
func TestAppletsBriefly(t *testing.T) {
	states := make([]int, len(appletUses("")))
	for turn, s := range appletStates() {
		if s.whole() {
			continue
		}
		list := appletsBriefly(s.device, turn)
		for _, view := range appletViews() {
			if !slices.Contains(list, view) {
				t.Errorf("%s: %q is missing %s", s.name, list, view)
			}
		}
		for i, use := range appletUses(s.device) {
			switch {
			case slices.Contains(list, use):
				states[i]++
			case i < 4 && s.device != "rxe0":
				t.Errorf("%s: %q is missing %s", s.name, list, use)
			}
		}
		if extra := len(list) - len(appletViews()); extra < 3 {
			t.Errorf("%s: %q has %d uses, want 3 at least", s.name, list, extra)
		}
	}
	for i, n := range states {
		if n < 4 {
			t.Errorf("%s runs in %d states, want 4 at least", appletUses("X")[i], n)
		}
	}
}
