//go:build kernel

package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/inventory"
)

// output runs a script that must succeed.
func output(t *testing.T, g *guest.Guest, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := g.Output(ctx, script)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return out
}

// outputs runs scripts concurrently, all of which must succeed, and returns their outputs.
func outputs(t *testing.T, g *guest.Guest, scripts ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	texts, errs := make([]string, len(scripts)), make([]error, len(scripts))
	var wg sync.WaitGroup
	for i, script := range scripts {
		wg.Go(func() { texts[i], errs[i] = g.Output(ctx, script) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return texts
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
}

// TestInventoryAgainstTools compares the output of detect with rdma, ip and ibv_devinfo, in one
// state of the guest after the other.
func TestInventoryAgainstTools(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	states := []struct{ name, do, undo string }{
		{"as booted", "true", "true"},
		{"second IPv4 and IPv6 addresses", "ip addr add 192.0.2.77/25 dev eth0; ip addr add 2001:db8:7::1/64 dev " +
			"eth0 nodad; ip addr add 198.51.100.9/32 dev eth1", "ip addr del 192.0.2.77/25 dev eth0; ip addr del " +
			"2001:db8:7::1/64 dev eth0; ip addr del 198.51.100.9/32 dev eth1"},
		{"VLAN", "modprobe 8021q; ip link add link eth0 name eth0.100 type vlan id 100; ip addr add 203.0.113.1/24 " +
			"dev eth0.100; ip link set eth0.100 up", "ip link del eth0.100"},
		{
			"MTU 1500", "ip link set eth0 mtu 1500; ip link set eth1 mtu 1500",
			"ip link set eth0 mtu 9000; ip link set eth1 mtu 9000",
		},
		{
			"MTU just enough for 4096", "ip link set eth0 mtu 4176; ip link set eth1 mtu 4096",
			"ip link set eth0 mtu 9000; ip link set eth1 mtu 9000",
		},
		{
			"MTU just too small for 4096", "ip link set eth0 mtu 4175; ip link set eth1 mtu 4095",
			"ip link set eth0 mtu 9000; ip link set eth1 mtu 9000",
		},
		{
			"link down", "ip link set eth0 down; ip link set eth1 down",
			"ip link set eth0 up; ip link set eth1 up; ip addr replace 192.0.2.1/24 dev eth0",
		},
		{"link up again", "ip link set eth0 down; ip link set eth0 up", "true"},
		{
			"a second rxe on a dummy",
			"ip link add dummy1 type dummy; ip link set dummy1 up; ip addr add 203.0.113.9/24 dev dummy1; rdma link " +
				"add rxe1 type rxe netdev dummy1",
			"rdma link del rxe1; ip link del dummy1",
		},
		{"siw removed", "rdma link del siw0", "rdma link add siw0 type siw netdev eth1"},
		{"renamed device", "rdma dev set rxe0 name rocep0s4", "rdma dev set rocep0s4 name rxe0"},
	}
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			output(t, g, s.do)
			defer func() { output(t, g, s.undo) }()
			settle(t, g)
			compareNode(t, g)
		})
	}
}

// settle waits until two readings of the GID tables agree: the kernel fills them
// from a work queue after addresses change.
func settle(t *testing.T, g *guest.Guest) {
	t.Helper()
	output(t, g,
		`read_all() { grep -s . /sys/class/infiniband/*/ports/*/gids/? /sys/class/infiniband/*/ports/*/state /sys/class/net/*/operstate; }
		for i in $(seq 400); do a=$(read_all); sleep 0.3; b=$(read_all); [ "$a" = "$b" ] && exit 0; done
		echo "not settled" >&2; exit 1`)
}

func compareNode(t *testing.T, g *guest.Guest) {
	t.Helper()
	var report struct {
		Node inventory.Snapshot `json:"node"`
	}
	texts := outputs(t, g, rdmactl+" detect -o json", "rdma -j link", "rdma -j dev", "ibv_devinfo -v", "ip -j -d addr")
	decode(t, texts[0], &report)
	compareLinks(t, texts[1], &report.Node)
	compareDevices(t, texts[2], &report.Node)
	compareVerbs(t, texts[3], &report.Node)
	compareNetdevs(t, texts[4], &report.Node)
}

// compareLinks compares ports with `rdma -j link`.
func compareLinks(t *testing.T, text string, snap *inventory.Snapshot) {
	t.Helper()
	type link struct {
		Name      string `json:"ifname"`
		Port      int    `json:"port"`
		State     string `json:"state"`
		PhysState string `json:"physical_state"`
		Netdev    string `json:"netdev"`
	}
	var want, got []link
	decode(t, text, &want)
	phys := map[inventory.PhysState]string{
		inventory.PhysStateLinkUp: "LINK_UP", inventory.PhysStateDisabled: "DISABLED",
		inventory.PhysStatePolling: "POLLING",
	}
	for _, d := range snap.Devices {
		for _, p := range d.Ports {
			got = append(got, link{d.Name, p.Number, p.State.String(), phys[p.PhysState], p.Netdev})
		}
	}
	byName := func(a, b link) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports differ from rdma link (-rdma +ours):\n%s", diff)
	}
}

// compareDevices compares devices with `rdma -j dev`.
func compareDevices(t *testing.T, text string, snap *inventory.Snapshot) {
	t.Helper()
	type dev struct {
		Index    uint32 `json:"ifindex"`
		Name     string `json:"ifname"`
		NodeType string `json:"node_type"`
		NodeGUID string `json:"node_guid"`
		SysGUID  string `json:"sys_image_guid"`
	}
	var want, got []dev
	decode(t, text, &want)
	for _, d := range snap.Devices {
		v := dev{Name: d.Name, NodeType: strings.ToLower(d.NodeType.String())}
		if d.Index == nil || d.NodeGUID == nil || d.SystemGUID == nil {
			t.Errorf("%s: index %v, GUIDs %v %v, want all", d.Name, d.Index, d.NodeGUID, d.SystemGUID)
			continue
		}
		v.Index, v.NodeGUID, v.SysGUID = *d.Index, d.NodeGUID.String(), d.SystemGUID.String()
		got = append(got, v)
	}
	byName := func(a, b dev) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices differ from rdma dev (-rdma +ours):\n%s", diff)
	}
}

var (
	hcaLine   = regexp.MustCompile(`hca_id:\s+(\S+)`)
	fieldLine = regexp.MustCompile(`^\s*(\w+):\s+(\S+)`)
	gidLine   = regexp.MustCompile(`GID\[\s*(\d+)\]:\s+([0-9a-f:.]+)(?:, (RoCE v\d))?`)
)

// verbsPort has the fields of a port that both ibv_devinfo -v and the inventory provide.
type verbsPort struct {
	State, Transport, ActiveMTU, LinkLayer, GIDTable string
	GIDs                                             map[int]string
}

// compareVerbs compares ports with `ibv_devinfo -v`, which queries the drivers.
func compareVerbs(t *testing.T, text string, snap *inventory.Snapshot) {
	t.Helper()
	want, got := map[string]verbsPort{}, map[string]verbsPort{}
	name := ""
	for line := range strings.Lines(text) {
		if m := hcaLine.FindStringSubmatch(line); m != nil {
			name = m[1]
			want[name] = verbsPort{GIDs: map[int]string{}}
			continue
		}
		p := want[name]
		if m := gidLine.FindStringSubmatch(line); m != nil {
			index, _ := strconv.Atoi(m[1])
			addr, err := netip.ParseAddr(m[2])
			if err != nil {
				t.Fatalf("ibv_devinfo: %q: %v", line, err)
			}
			p.GIDs[index] = strings.TrimSpace(addr.String() + " " + m[3])
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "state":
				p.State = strings.TrimPrefix(m[2], "PORT_")
			case "transport":
				p.Transport = m[2]
			case "active_mtu":
				p.ActiveMTU = m[2]
			case "link_layer":
				p.LinkLayer = m[2]
			case "gid_tbl_len":
				p.GIDTable = m[2]
			}
		}
		want[name] = p
	}
	delete(want, "")
	for _, d := range snap.Devices {
		p := d.Ports[0]
		v := verbsPort{
			State: p.State.String(), Transport: "InfiniBand", ActiveMTU: strconv.Itoa(int(p.ActiveMTU)),
			LinkLayer: string(p.LinkLayer), GIDTable: strconv.Itoa(p.GIDTableSize), GIDs: map[int]string{},
		}
		if p.Transport == inventory.TransportIWARP {
			v.Transport = "iWARP"
		}
		for _, gid := range p.GIDs {
			v.GIDs[gid.Index] = strings.TrimSpace(netip.AddrFrom16(gid.GID).String() + " " + string(gid.Type))
		}
		got[d.Name] = v
	}
	for name := range want { // ibv_devinfo shows no GIDs of iWARP devices
		if p := got[name]; p.Transport == "iWARP" {
			want[name] = withGIDs(want[name], p.GIDs)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports differ from ibv_devinfo (-ibv_devinfo +ours):\n%s", diff)
	}
}

func withGIDs(p verbsPort, gids map[int]string) verbsPort {
	p.GIDs = gids
	return p
}

// compareNetdevs compares network devices with `ip -j -d addr`.
func compareNetdevs(t *testing.T, text string, snap *inventory.Snapshot) {
	t.Helper()
	var links []struct {
		Index     int      `json:"ifindex"`
		Name      string   `json:"ifname"`
		Lower     string   `json:"link"`
		Flags     []string `json:"flags"`
		MTU       int      `json:"mtu"`
		OperState string   `json:"operstate"`
		Address   string   `json:"address"`
		LinkInfo  struct {
			Kind string `json:"info_kind"`
		} `json:"linkinfo"`
		Addresses []struct {
			Local     string `json:"local"`
			PrefixLen int    `json:"prefixlen"`
		} `json:"addr_info"`
	}
	type netdev struct {
		Index, MTU                      int
		OperState, Address, Kind, Lower string
		Up                              bool
		Addresses                       []string
	}
	decode(t, text, &links)
	want, got := map[string]netdev{}, map[string]netdev{}
	for _, l := range links {
		n := netdev{
			Index: l.Index, MTU: l.MTU, OperState: strings.ToLower(l.OperState), Address: l.Address,
			Kind: l.LinkInfo.Kind, Lower: l.Lower, Up: slices.Contains(l.Flags, "UP"),
		}
		for _, a := range l.Addresses {
			n.Addresses = append(n.Addresses, a.Local+"/"+strconv.Itoa(a.PrefixLen))
		}
		slices.Sort(n.Addresses)
		want[l.Name] = n
	}
	for _, n := range snap.Netdevs {
		v := netdev{
			Index: n.Index, MTU: n.MTU, OperState: n.OperState, Address: n.Address, Kind: n.Kind, Lower: n.Lower,
			Up: n.AdminUp,
		}
		for _, a := range n.Addresses {
			v.Addresses = append(v.Addresses, a.String())
		}
		slices.Sort(v.Addresses)
		got[n.Name] = v
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("network devices differ from ip addr (-ip +ours):\n%s", diff)
	}
}

// churnScript scans %d times without pause while siw7 and rxe7 come and go, on network devices of
// their own so that rxe0 and siw0 stay as other tests need them. It prints an archive of each
// scan's exit code, stderr and report. The pauses are random, so that every stage of the changes
// coincides with every stage of a scan at some time.
const churnScript = `cd /tmp; rm -f scan.*
	for i in 7 8; do ip link add dummy$i type dummy; ip link set dummy$i up; done
	nap() { sleep 0.$(printf %%02d $((RANDOM %% $1))); }
	(while [ ! -e scan.stop ]; do
		rdma link add rxe7 type rxe netdev dummy7; nap 5
		rdma link add siw7 type siw netdev dummy8; nap 25; rdma link del rxe7; nap 10; rdma link del siw7; nap 5
	done) >/dev/null 2>&1 & churn=$!
	for i in $(seq %d); do
		` + rdmactl + ` detect -o json >scan.$i 2>scan.$i.err; echo $? >scan.$i.rc
	done
	touch scan.stop; wait $churn
	rdma link del rxe7 2>/dev/null; rdma link del siw7 2>/dev/null; ip link del dummy7; ip link del dummy8
	tar -c scan.[0-9]*`

// TestScanWhileDevicesComeAndGo scans without pause while a second siw and a second rxe are added
// and removed: every scan must end, have rxe0 complete, and either have the other devices complete
// or report their problems.
func TestScanWhileDevicesComeAndGo(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	scans := 30
	if wantAll() {
		scans = 100
	}
	out, err := g.Output(ctx, fmt.Sprintf(churnScript, scans))
	if err != nil {
		t.Fatal(err)
	}
	files, err := readArchive(out)
	if err != nil {
		t.Fatal(err)
	}
	partial := 0
	seen := map[string]int{}
	for scan := 1; scan <= scans; scan++ {
		name := fmt.Sprintf("scan.%d", scan)
		var report struct {
			Node inventory.Snapshot `json:"node"`
		}
		decode(t, files[name], &report)
		want := "0"
		if len(report.Node.Problems) > 0 {
			want = "7"
			partial++
		}
		if code := strings.TrimSpace(files[name+".rc"]); code != want {
			t.Errorf("scan %d: exit code %s, stderr %q, %d problems told, want exit code %s",
				scan, code, files[name+".err"], len(report.Node.Problems), want)
		}
		rxe0 := report.Node.Device("rxe0")
		if rxe0 == nil || len(rxe0.Ports) != 1 || rxe0.Ports[0].State != inventory.PortStateActive ||
			len(rxe0.Ports[0].GIDs) < 2 {
			t.Errorf("scan %d: rxe0 = %+v, want it whole", scan, rxe0)
		}
		for name, netdev := range map[string]string{"siw7": "dummy8", "rxe7": "dummy7"} {
			if d := report.Node.Device(name); d != nil {
				seen[name]++
				checkWholeOrTold(t, scan, &report.Node, d, netdev)
			}
		}
	}
	t.Logf("%d scans: siw7 in %d, rxe7 in %d, something told in %d", scans, seen["siw7"], seen["rxe7"], partial)
	for _, name := range []string{"siw7", "rxe7"} {
		if n := seen[name]; n < 2 || n > scans-2 {
			t.Errorf("%s was there in %d of %d scans, want 2 to %d, else coming or going was not tested",
				name, n, scans, scans-2)
		}
	}
}

// checkWholeOrTold requires one port with a known state and its network device. Missing data of a
// device that is being added or removed must be reported under its name.
func checkWholeOrTold(t *testing.T, scan int, node *inventory.Snapshot, d *inventory.Device, netdev string) {
	t.Helper()
	var lacks string
	switch {
	case len(d.Ports) != 1:
		lacks = fmt.Sprintf("%d ports, want 1", len(d.Ports))
	case d.Ports[0].State != inventory.PortStateActive && d.Ports[0].State != inventory.PortStateDown:
		lacks = fmt.Sprintf("port state %v, want ACTIVE or DOWN", d.Ports[0].State)
	case d.Ports[0].Netdev != netdev:
		lacks = fmt.Sprintf("network device %q, want %s", d.Ports[0].Netdev, netdev)
	default:
		return
	}
	told := slices.ContainsFunc(node.Problems, func(p inventory.Problem) bool {
		return slices.Contains(strings.Split(p.Path, "/"), d.Name)
	})
	if !told {
		t.Errorf("scan %d: %s has %s, known to nldev: %t, and no problem tells it: %+v",
			scan, d.Name, lacks, d.Index != nil, node.Problems)
	}
}

// TestUnprivilegedUser reads the node as a user without privileges, who may open the devices at
// first and later may not: everything except opening must work, and denied access must be reported.
func TestUnprivilegedUser(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	output(t, g, "cp "+rdmactl+" /tmp/rdmactl-nobody && chmod 755 /tmp/rdmactl-nobody")
	const nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all /tmp/rdmactl-nobody "
	modes := output(t, g, "stat -c 'chmod %a %n' /dev/infiniband/uverbs*")
	if strings.Count(modes, "chmod 666 ") != 2 {
		t.Fatalf("modes of the device nodes: %q, want 666 for rxe0 and siw0", modes)
	}
	// The test's own context has ended when this runs.
	t.Cleanup(func() {
		if _, err := g.Output(context.Background(), modes); err != nil {
			t.Errorf("give the device nodes back their modes: %v", err)
		}
	})
	always := []string{"rxe0 ", "siw0 ", "RoCE v2 (software)", "192.0.2.1"}
	denied := []string{"this process is not permitted to open rxe0", "this process is not permitted to open siw0"}
	evidence := []string{"/dev/infiniband/uverbs", "permission denied"}
	for _, s := range []struct {
		name, script string
		want, not    []string
	}{
		{"may open", nobody + "detect -o wide", always, denied},
		{
			"may not open", "chmod 0600 /dev/infiniband/uverbs*; " + nobody + "detect -o wide",
			slices.Concat(always, denied, evidence), nil,
		},
		{"root opens all the same", rdmactl + " detect -o wide", always, denied},
	} {
		out := output(t, g, s.script)
		for _, want := range s.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: detect is missing %q:\n%s", s.name, want, out)
			}
		}
		for _, not := range s.not {
			if strings.Contains(out, not) {
				t.Errorf("%s: detect says %q:\n%s", s.name, not, out)
			}
		}
	}
}
