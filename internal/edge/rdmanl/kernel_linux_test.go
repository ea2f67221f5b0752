package rdmanl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// The tests in this file query the kernel that they run on, and compare the results with iproute2
// and sysfs. Without RDMA they expect ErrNoRDMANetlink. The kernel guest runs them with rxe, siw,
// VLANs, bonds and netdevsim VFs.

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// same compares two views of the system, and compares them again if the system has changed in
// between.
func same[T any](t *testing.T, what string, got, want func() (T, error)) {
	t.Helper()
	var diff string
	for range 5 {
		g, err := got()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		w, err := want()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff = cmp.Diff(w, g, cmpValues, cmpopts.EquateEmpty()); diff == "" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s: -iproute2 or sysfs +this package:\n%s", what, diff)
}

func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("needs %s (package iproute2): make deps", name)
	}
}

// tool runs a program that prints JSON, and decodes its output.
func tool[T any](t *testing.T, args ...string) (T, error) {
	t.Helper()
	var v T
	needTool(t, args[0])
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return v, fmt.Errorf("%v: %w", args, err)
	}
	err = json.Unmarshal(out, &v)
	return v, err
}

// ipLink is what `ip -j -d link` prints; ipVF is an entry of its vfinfo_list.
type ipLink struct {
	Index     int    `json:"ifindex"`
	Name      string `json:"ifname"`
	Lower     string `json:"link"`
	LowerIdx  int    `json:"link_index"`
	Master    string
	MTU       uint32
	OperState string
	Address   string
	LinkInfo  struct {
		Kind string `json:"info_kind"`
		Data struct {
			ID json.Number
		} `json:"info_data"`
	} `json:"linkinfo"`
	VFs []ipVF `json:"vfinfo_list"`
}

type ipVF struct {
	VF       uint32
	Address  string
	VLANList []struct{ VLAN, QoS uint32 } `json:"vlan_list"`
	Rate     struct {
		Max uint32 `json:"max_tx"`
		Min uint32 `json:"min_tx"`
	}
	SpoofCheck *bool  `json:"spoofchk"`
	LinkState  string `json:"link_state"`
	Trust      *bool
	NodeGUID   string `json:"node guid"`
	PortGUID   string `json:"port guid"`
}

// line is one line per link or VF, with the values that both sides report.
func (l ipLink) line(index map[string]int) string {
	lower := l.LowerIdx
	if l.Lower != "" {
		lower = index[l.Lower]
	}
	vlan := ""
	if l.LinkInfo.Kind == "vlan" {
		vlan = l.LinkInfo.Data.ID.String()
	}
	s := fmt.Sprintf("%d %s lower %d master %d mtu %d %s %s %s vlan %q", l.Index, l.Name, lower, index[l.Master],
		l.MTU, strings.ToLower(l.OperState), l.Address, l.LinkInfo.Kind, vlan)
	for _, v := range l.VFs {
		s += fmt.Sprintf("; vf %d %s vlan %d qos %d rate %d-%d spoof %s trust %s %s %s %s", v.VF, v.Address,
			v.VLANList[0].VLAN, v.VLANList[0].QoS, v.Rate.Min, v.Rate.Max, show(v.SpoofCheck), show(v.Trust),
			v.LinkState, v.NodeGUID, v.PortGUID)
	}
	return s
}

func lineOf(l Link) string {
	vlan := ""
	if l.VLANID != nil {
		vlan = show(l.VLANID)
	}
	s := fmt.Sprintf("%d %s lower %d master %d mtu %d %s %s %s vlan %q", l.Index, l.Name, zeroed(l.LowerIndex),
		zeroed(l.MasterIndex), zeroed(l.MTU), l.OperState, l.Address, l.Kind, vlan)
	for _, v := range l.VFs {
		s += fmt.Sprintf("; vf %d %s vlan %d qos %d rate %d-%d spoof %s trust %s %s %s %s",
			v.Index, v.MAC, zeroed(v.VLAN), zeroed(v.QoS), zeroed(v.MinTxRate), zeroed(v.MaxTxRate), show(v.SpoofCheck),
			show(v.Trust), v.LinkState, octets(v.NodeGUID), octets(v.PortGUID))
	}
	return s
}

func octets(g *ib.GUID) string {
	if g == nil {
		return ""
	}
	return HardwareAddr(g[:]).String()
}

func show[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

func zeroed[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func TestKernelLinks(t *testing.T) {
	same(t, "links", func() (map[int]string, error) {
		links, err := Client{}.Links(testContext(t))
		lines := map[int]string{}
		for _, l := range links {
			lines[l.Index] = lineOf(l)
		}
		return lines, err
	}, func() (map[int]string, error) {
		links, err := tool[[]ipLink](t, "ip", "-j", "-d", "link", "show")
		index := map[string]int{}
		for _, l := range links {
			index[l.Name] = l.Index
		}
		lines := map[int]string{}
		for _, l := range links {
			lines[l.Index] = l.line(index)
		}
		return lines, err
	})
}

// TestKernelLinksFlags compares the links with the standard library, which needs no tool.
func TestKernelLinksFlags(t *testing.T) {
	type row struct {
		Name    string
		MTU     int
		Up, Run bool
		Address string
	}
	same(t, "interfaces", func() (map[int]row, error) {
		links, err := Client{}.Links(testContext(t))
		rows := map[int]row{}
		for _, l := range links {
			a := l.Address.String()
			if strings.Trim(a, "0:") == "" {
				a = "" // as in the standard library
			}
			rows[l.Index] = row{l.Name, int(zeroed(l.MTU)), l.Up(), l.Flags&0x40 != 0, a}
		}
		return rows, err
	}, func() (map[int]row, error) {
		ifs, err := net.Interfaces()
		rows := map[int]row{}
		for _, i := range ifs {
			rows[i.Index] = row{
				i.Name, i.MTU, i.Flags&net.FlagUp != 0, i.Flags&net.FlagRunning != 0, i.HardwareAddr.String(),
			}
		}
		return rows, err
	})
}

func TestKernelAddresses(t *testing.T) {
	same(t, "addresses", func() ([]Address, error) {
		list, err := Client{}.Addresses(testContext(t))
		for i := range list {
			list[i].Flags &= AddrSecondary | AddrTentative | AddrDeprecated | AddrDADFailed
		}
		return list, err
	}, func() ([]Address, error) {
		links, err := tool[[]struct {
			Index int    `json:"ifindex"`
			Name  string `json:"ifname"`
			Addrs []struct {
				Family, Local, Address, Scope, Label                   string
				PrefixLen                                              int
				Secondary, Temporary, Tentative, Deprecated, DADFailed bool
			} `json:"addr_info"`
		}](t, "ip", "-j", "addr", "show")
		var v4, v6 []Address // the order of the kernel
		for _, l := range links {
			for _, a := range l.Addrs {
				w := Address{LinkIndex: l.Index, Family: "ipv4", Scope: a.Scope, Label: a.Label}
				w.Prefix = netip.PrefixFrom(netip.MustParseAddr(a.Local), a.PrefixLen)
				if a.Address != "" {
					w.Peer = netip.MustParseAddr(a.Address)
				}
				for flag, on := range map[uint32]bool{
					AddrSecondary: a.Secondary || a.Temporary, AddrTentative: a.Tentative,
					AddrDeprecated: a.Deprecated, AddrDADFailed: a.DADFailed,
				} {
					if on {
						w.Flags |= flag
					}
				}
				if a.Family == "inet6" {
					w.Family = "ipv6"
					v6 = append(v6, w)
				} else {
					v4 = append(v4, w)
				}
			}
		}
		return append(v4, v6...), err
	})
}

type ipRoute struct {
	Type, Dst, Gateway, Dev, PrefSrc, From string
	Via                                    struct{ Host string }
	Metric                                 *uint32
	Nexthops                               []struct {
		Gateway, Dev string
		Weight       int
	}
}

// route converts the output of ip to a Route.
func (r ipRoute) route(family string, bits int) (Route, error) {
	w := Route{Family: family, Type: "unicast", Table: RT_TABLE_MAIN, Metric: r.Metric}
	if r.Type != "" {
		w.Type = r.Type
	}
	zero := netip.IPv4Unspecified()
	if family == "ipv6" {
		zero = netip.IPv6Unspecified()
	}
	w.Destination = netip.PrefixFrom(zero, 0)
	if r.Dst != "default" {
		w.Destination = netip.PrefixFrom(netip.MustParseAddr(r.Dst), bits)
	}
	if r.PrefSrc != "" {
		w.Source = netip.MustParseAddr(r.PrefSrc)
	}
	return w.via(r.Gateway+r.Via.Host, r.Dev)
}

func (r Route) via(gateway, dev string) (Route, error) {
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	if dev == "" {
		return r, nil
	}
	i, err := net.InterfaceByName(dev)
	if err != nil {
		return r, err
	}
	r.LinkIndex = &i.Index
	return r, nil
}

func TestKernelDefaultRoutes(t *testing.T) {
	same(t, "default routes", func() ([]Route, error) {
		routes, err := Client{}.DefaultRoutes(testContext(t))
		return plain(routes), err
	}, func() ([]Route, error) {
		var want []Route
		for flag, family := range []string{"-4", "-6"} {
			list, err := tool[[]ipRoute](t, "ip", "-j", family, "route", "show", "default", "type", "unicast")
			if err != nil {
				return nil, err
			}
			for _, r := range list {
				if r.From != "" {
					continue // only for specific sources
				}
				w, err := r.route([]string{"ipv4", "ipv6"}[flag], 0)
				if err != nil {
					return nil, err
				}
				if len(r.Nexthops) == 0 {
					want = append(want, w)
				}
				for _, h := range r.Nexthops {
					hop, err := w.via(h.Gateway, h.Dev)
					if err != nil {
						return nil, err
					}
					hop.Weight = &h.Weight
					want = append(want, hop)
				}
			}
		}
		return want, nil
	})
}

func TestKernelRouteTo(t *testing.T) {
	needTool(t, "ip")
	destinations := []string{
		"127.0.0.1", "::1", "192.0.2.1", "192.0.2.254", "203.0.113.9", "198.51.100.7", "2001:db8::5", "2600::1",
	}
	for _, s := range destinations {
		dst := netip.MustParseAddr(s)
		if _, err := exec.CommandContext(t.Context(), "ip", "route", "get", s).Output(); err != nil {
			if _, err := (Client{}).RouteTo(testContext(t), dst); err == nil {
				t.Errorf("RouteTo(%s) = nil error, want one: ip has no route", s)
			}
			continue
		}
		same(t, "route to "+s, func() (Route, error) {
			r, err := Client{}.RouteTo(testContext(t), dst)
			r.Table = RT_TABLE_MAIN // ip doesn't show the table
			return plain([]Route{r})[0], err
		}, func() (Route, error) {
			list, err := tool[[]ipRoute](t, "ip", "-j", "route", "get", s)
			if err != nil {
				return Route{}, err
			}
			return list[0].route(map[bool]string{true: "ipv4", false: "ipv6"}[dst.Is4()], dst.BitLen())
		})
	}
}

// sysfsDevices lists /sys/class/infiniband; false means that the kernel has no RDMA.
func sysfsDevices(t *testing.T) ([]string, bool) {
	t.Helper()
	entries, err := os.ReadDir("/sys/class/infiniband")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err == nil
}

func sysfs(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"/sys/class"}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// kernelDevices returns the devices. Without RDMA, it checks the error and ends the test.
func kernelDevices(t *testing.T) []Device {
	t.Helper()
	names, there := sysfsDevices(t)
	devices, err := Client{}.Devices(testContext(t))
	if !there && err != nil {
		if !errors.Is(err, ErrNoRDMANetlink) || !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("Devices() without RDMA = %v, want ErrNoRDMANetlink", err)
		}
		return nil
	}
	if err != nil {
		t.Fatalf("Devices() = %v", err)
	}
	if len(devices) != len(names) {
		t.Fatalf("Devices() = %v, want %v", devices, names)
	}
	return devices
}

func TestKernelDevices(t *testing.T) {
	types := map[string]string{}
	for _, d := range kernelDevices(t) {
		nodeType := sysfs(t, "infiniband", d.Name, "node_type") // "1: CA"
		types[d.Name] = nodeType
		if got := show(d.NodeType); !strings.HasPrefix(nodeType, got+":") {
			t.Errorf("%s: node type %s, want %s", d.Name, got, nodeType)
		}
		if got, want := show(d.NodeGUID), sysfs(t, "infiniband", d.Name, "node_guid"); got != want {
			t.Errorf("%s: node GUID %s, want %s", d.Name, got, want)
		}
		if got, want := show(d.SysImageGUID), sysfs(t, "infiniband", d.Name, "sys_image_guid"); got != want {
			t.Errorf("%s: system image GUID %s, want %s", d.Name, got, want)
		}
	}
	if len(types) == 0 {
		return
	}
	list, err := tool[[]struct {
		Index uint32 `json:"ifindex"`
		Name  string `json:"ifname"`
		FW    string
		GUID  string `json:"node_guid"`
	}](t, "rdma", "-j", "dev", "show")
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range kernelDevices(t) {
		want := Device{Index: list[i].Index, Name: list[i].Name, Firmware: list[i].FW}
		if got := (Device{Index: d.Index, Name: d.Name, Firmware: d.Firmware}); got != want ||
			show(d.NodeGUID) != list[i].GUID {
			t.Errorf("Devices()[%d] = %+v, rdma dev has %+v", i, d, list[i])
		}
	}
}

func TestKernelPorts(t *testing.T) {
	var got []string
	for _, d := range kernelDevices(t) {
		ports, err := Client{}.Ports(testContext(t), d)
		if err != nil {
			t.Fatalf("Ports(%s) = %v", d.Name, err)
		}
		for _, p := range ports {
			n := strconv.Itoa(int(p.Number))
			for file, v := range map[string]*uint8{"state": p.State, "phys_state": p.PhysState} {
				if want := sysfs(t, "infiniband", d.Name, "ports", n, file); !strings.HasPrefix(want, show(v)+":") {
					t.Errorf("%s/%s: %s %s, want %s", d.Name, n, file, show(v), want)
				}
			}
			got = append(got, fmt.Sprintln(p.DeviceIndex, p.DeviceName, n, p.NetdevName, zeroed(p.NetdevIndex)))
		}
	}
	if got == nil {
		return
	}
	list, err := tool[[]struct {
		Index  uint32 `json:"ifindex"`
		Name   string `json:"ifname"`
		Port   int
		Netdev string
		NetIdx int `json:"netdev_index"`
	}](t, "rdma", "-j", "link", "show")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, l := range list {
		want = append(want, fmt.Sprintln(l.Index, l.Name, l.Port, l.Netdev, l.NetIdx))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports: -rdma link +Ports():\n%s", diff)
	}
}

func TestKernelSystem(t *testing.T) {
	if kernelDevices(t) == nil {
		return
	}
	s, err := Client{}.System(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	needTool(t, "rdma")
	out, err := exec.CommandContext(t.Context(), "rdma", "system").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := "netns exclusive"
	if zeroed(s.SharedNetns) {
		got = "netns shared"
	}
	if s.CopyOnFork != nil {
		got += " copy-on-fork " + map[bool]string{true: "on", false: "off"}[*s.CopyOnFork]
	}
	if want := strings.TrimSpace(string(out)); !strings.HasPrefix(want, got) {
		t.Errorf("System() = %q, rdma system prints %q", got, want)
	}
}

func TestKernelCharDevices(t *testing.T) {
	for _, d := range kernelDevices(t) {
		list, err := Client{}.CharDevices(testContext(t), d)
		if err != nil {
			t.Fatalf("CharDevices(%s) = %v", d.Name, err)
		}
		for _, cd := range list {
			class := map[CharKind]string{CharUverbs: "infiniband_verbs", CharUMAD: "infiniband_mad"}[cd.Kind]
			if got, want := fmt.Sprintf("%d:%d", cd.Major, cd.Minor), sysfs(t, class, cd.Name, "dev"); got != want {
				t.Errorf("%s %s: device number %s, want %s", d.Name, cd.Name, got, want)
			}
			if want := sysfs(t, class, cd.Name, "ibdev"); want != d.Name {
				t.Errorf("CharDevices(%s) has %s, which belongs to %s", d.Name, cd.Name, want)
			}
			if cd.Kind == CharUverbs {
				if want := sysfs(t, class, cd.Name, "abi_version"); show(cd.ABI) != want {
					t.Errorf("%s: ABI %s, want %s", cd.Name, show(cd.ABI), want)
				}
			}
		}
	}
}
