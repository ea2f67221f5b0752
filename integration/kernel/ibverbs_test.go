//go:build kernel

package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

const probe = "/tmp/ibverbs-probe"

// withProbe returns the shared guest with a program that prints libibverbs' answers.
func withProbe(t *testing.T) *guest.Guest {
	t.Helper()
	g := withProgram(t, "github.com/rdmakit/rdmakit/verbs/provider/ibverbs/testdata/probe", probe)
	g.Exclusive(t)
	return g
}

// record runs a script that prints a recording.
func record(t *testing.T, g *guest.Guest, script string) recording.Recording {
	t.Helper()
	return decoded(t, output(t, g, script))
}

func decoded(t *testing.T, text string) recording.Recording {
	t.Helper()
	r, err := recording.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

// TestIbverbsAgainstDevinfo compares every field that ibv_devinfo -v prints, in one state of the
// guest after the other.
func TestIbverbsAgainstDevinfo(t *testing.T) {
	g := withProbe(t)
	for _, s := range []struct{ name, do, undo string }{
		{"as booted", "true", "true"},
		{
			"more addresses", "ip addr add 192.0.2.78/25 dev eth0; ip addr add 2001:db8:8::1/64 dev eth0 nodad",
			"ip addr del 192.0.2.78/25 dev eth0; ip addr del 2001:db8:8::1/64 dev eth0",
		},
		{
			"MTU 1500", "ip link set eth0 mtu 1500; ip link set eth1 mtu 1500",
			"ip link set eth0 mtu 9000; ip link set eth1 mtu 9000",
		},
		{
			"link down", "ip link set eth0 down; ip link set eth1 down",
			"ip link set eth0 up; ip link set eth1 up; ip addr replace 192.0.2.1/24 dev eth0",
		},
		{
			"three devices, one renamed",
			"ip link add dummy1 type dummy; ip link set dummy1 up; rdma link add rxe1 type rxe netdev dummy1; rdma " +
				"dev set rxe0 name rocep0s4",
			"rdma dev set rocep0s4 name rxe0; rdma link del rxe1; ip link del dummy1",
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			output(t, g, s.do)
			defer func() { output(t, g, s.undo) }()
			settle(t, g)
			texts := outputs(t, g, "ibv_devinfo -v", probe, "ibv_devices | awk 'NR > 2 { print $1, $2 }'")
			names, want := parseDevinfo(t, texts[0])
			r := decoded(t, texts[1])
			if err := r.Err(); err != nil {
				t.Errorf("Describe: %v", err)
			}
			var gotNames []string
			got := map[string]map[string]string{}
			for _, d := range r.Devices {
				gotNames = append(gotNames, d.Name)
				got[d.Name] = devinfoFields(&d)
			}
			if diff := cmp.Diff(names, gotNames); diff != "" {
				t.Errorf("devices differ from ibv_devinfo -v (-theirs +ours):\n%s", diff)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields differ from ibv_devinfo -v (-theirs +ours):\n%s", diff)
			}
			if l := r.Library; !strings.HasPrefix(filepath.Base(l.Path), "libibverbs.so.1.") ||
				!strings.HasSuffix(l.Path, l.Version) {
				t.Errorf("library %+v, want path and version", l)
			}
			one := record(t, g, probe+" "+names[1])
			if diff := cmp.Diff(r.Devices[1:2], one.Devices); diff != "" {
				t.Errorf("one device by name differs (-of all +alone):\n%s", diff)
			}
			list := ""
			for _, d := range r.Devices {
				list += fmt.Sprintf("%s %s\n", d.Name, strings.ReplaceAll(d.GUID.String(), ":", ""))
			}
			if list != texts[2] {
				t.Errorf("devices and GUIDs %q, ibv_devices says %q", list, texts[2])
			}
			files := output(t, g, "for i in "+strings.Join(gotNames, " ")+"; do ls "+
				"/sys/class/infiniband/$i/device/infiniband_verbs 2>/dev/null || grep -lx $i "+
				"/sys/class/infiniband_verbs/*/ibdev | cut -d/ -f5; done")
			for i, name := range strings.Fields(files) {
				if r.Devices[i].DevName != name {
					t.Errorf("%s: file %q, sysfs says %q", gotNames[i], r.Devices[i].DevName, name)
				}
			}
		})
	}
}

var (
	devinfoNumber = regexp.MustCompile(`\((-?\d+)\)$`)
	devinfoGID    = regexp.MustCompile(`^GID\[\s*(\d+)\]:\s+(\S+?)(?:, (.*))?$`)
)

// parseDevinfo returns a flat map for each device: names of ports' fields begin with "port N ". Of
// "TEXT (NUMBER)" it keeps the number. Lines with names of flags are ignored in favour of the
// number before them, except for on-demand paging, which has no number.
func parseDevinfo(t *testing.T, text string) (names []string, devices map[string]map[string]string) {
	t.Helper()
	devices = map[string]map[string]string{}
	var fields map[string]string
	port, last := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := devinfoGID.FindStringSubmatch(line); m != nil {
			addr, err := netip.ParseAddr(m[2])
			if err != nil {
				t.Fatalf("ibv_devinfo: %q: %v", line, err)
			}
			fields[port+"GID "+m[1]] = strings.TrimSpace(addr.String() + " " + m[3])
			continue
		}
		key, value, isField := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case line == "":
			continue
		case key == "hca_id":
			fields, port = map[string]string{}, ""
			names = append(names, value)
			devices[value] = fields
			continue
		case key == "port":
			port = "port " + value + " "
			continue
		case strings.HasSuffix(line, " not supported"):
			key, value = strings.TrimSuffix(line, " not supported"), "not supported"
		case !isField && strings.HasSuffix(last, "odp_caps"):
			fields[last] = strings.TrimSpace(fields[last] + " " + line)
			continue
		case !isField:
			continue
		}
		if m := devinfoNumber.FindStringSubmatch(value); m != nil {
			value = m[1]
		}
		last = port + key
		fields[last] = value
	}
	if len(names) < 2 {
		t.Fatalf("ibv_devinfo shows %d devices, want two at least: %s", len(names), text)
	}
	return names, devices
}

// devinfoFields returns the result of parseDevinfo that is expected for a device.
func devinfoFields(d *recording.Device) map[string]string {
	a := d.Attributes
	if a == nil {
		return nil
	}
	f := map[string]string{
		"transport": strconv.Itoa(int(d.Transport)), "num_comp_vectors": strconv.Itoa(d.NumCompVectors),
	}
	put := func(format string, keysAndValues ...any) {
		for i := 0; i < len(keysAndValues); i += 2 {
			f[fmt.Sprint(keysAndValues[i])] = fmt.Sprintf(format, keysAndValues[i+1])
		}
	}
	put("%s", "fw_ver", a.Firmware, "node_guid", a.NodeGUID, "sys_image_guid", a.SystemGUID)
	put("%d", "vendor_part_id", a.VendorPartID, "phys_port_cnt", a.PhysPortCount, "max_qp", a.MaxQP,
		"max_qp_wr", a.MaxQPWR,
		"max_sge", a.MaxSGE, "max_sge_rd", a.MaxSGERead, "max_cq", a.MaxCQ, "max_cqe", a.MaxCQE, "max_mr", a.MaxMR,
		"max_pd", a.MaxPD,
		"max_qp_rd_atom", a.MaxQPReadAtomic, "max_ee_rd_atom", a.MaxEEReadAtomic, "max_res_rd_atom", a.MaxResReadAtomic,
		"max_qp_init_rd_atom", a.MaxQPInitReadAtomic, "max_ee_init_rd_atom", a.MaxEEInitReadAtomic, "atomic_cap",
		a.AtomicCap,
		"max_ee", a.MaxEE, "max_rdd", a.MaxRDD, "max_mw", a.MaxMW, "max_raw_ipv6_qp", a.MaxRawIPv6QP, "max_raw_ethy_qp",
		a.MaxRawEthertypeQP,
		"max_mcast_grp", a.MaxMulticastGroups, "max_mcast_qp_attach", a.MaxMulticastQPAttach,
		"max_total_mcast_qp_attach", a.MaxTotalMulticastQPs,
		"max_ah", a.MaxAH, "max_fmr", a.MaxFMR, "max_srq", a.MaxSRQ, "max_pkeys", a.MaxPKeys, "local_ca_ack_delay",
		a.LocalCAAckDelay,
		"max_tso", a.TSO.Max, "max_rwq_indirection_tables", a.RSS.MaxRWQIndirectionTables,
		"max_rwq_indirection_table_size", a.RSS.MaxRWQIndirectionTableSize, "max_wq_type_rq", a.MaxWQTypeRQ)
	put("0x%x", "max_mr_size", a.MaxMRSize, "page_size_cap", a.PageSizeCap, "rx_hash_function", a.RSS.RXHashFunction)
	put("0x%X", "hw_ver", a.HWVersion, "device_cap_flags_ex", a.CapFlagsExtended, "rx_hash_fields_mask",
		a.RSS.RXHashFieldsMask)
	put("0x%04x", "vendor_id", a.VendorID)
	put("0x%08x", "device_cap_flags", a.CapFlags)
	put("%dkbps", "qp_rate_limit_min", a.PacketPacing.RateLimitMin, "qp_rate_limit_max", a.PacketPacing.RateLimitMax)
	for _, section := range []string{"general_odp_caps", "tso_caps", "rss_caps", "packet_pacing_caps"} {
		f[section] = ""
	}
	for key, caps := range map[string]uint32{"rc": a.ODP.RC, "uc": a.ODP.UC, "ud": a.ODP.UD, "xrc": a.ODP.XRC} {
		f[key+"_odp_caps"] = map[bool]string{true: "NO SUPPORT", false: fmt.Sprintf("%#x", caps)}[caps == 0]
	}
	// Neither rxe nor siw has these; a driver that has them would cause a difference here.
	for key, value := range map[string]uint64{
		"completion_timestamp_mask": a.CompletionTimestampMask, "core clock": a.HCACoreClock,
		"tag matching": uint64(a.TagMatching.MaxTags),
	} {
		f[key] = map[bool]string{true: "not supported", false: strconv.FormatUint(value, 10)}[value == 0]
	}
	if a.MaxSRQ != 0 {
		put("%d", "max_srq_wr", a.MaxSRQWR, "max_srq_sge", a.MaxSRQSGE)
	}
	if d.BoardID != "" {
		put("%s", "board_id", d.BoardID)
	}
	for _, p := range d.Ports {
		devinfoPort(d, &p, put)
	}
	return f
}

func devinfoPort(d *recording.Device, p *recording.Port, put func(string, ...any)) {
	a, port := p.Attributes, fmt.Sprintf("port %d ", p.Number)
	if a == nil {
		return
	}
	put("%d", port+"state", int(a.State), port+"sm_lid", a.SMLID, port+"port_lid", a.LID,
		port+"max_mtu", provider.DriverMTUCode(a.MaxMTU), port+"active_mtu", provider.DriverMTUCode(a.ActiveMTU),
		port+"max_vl_num", a.MaxVLs, port+"sm_sl", a.SMSL, port+"pkey_tbl_len", a.PKeyTableLength, port+"gid_tbl_len",
		a.GIDTableLength,
		port+"subnet_timeout", a.SubnetTimeout, port+"init_type_reply", a.InitTypeReply, port+"active_width",
		a.ActiveWidth, port+"active_speed", a.ActiveSpeed)
	put("0x%x", port+"max_msg_sz", a.MaxMessageSize, port+"bad_pkey_cntr", a.BadPKeyCounter, port+"qkey_viol_cntr",
		a.QKeyViolations)
	put("0x%02x", port+"port_lmc", a.LMC)
	put("0x%04x", port+"port_cap_flags2", a.CapFlags2)
	put("0x%08x", port+"port_cap_flags", a.CapFlags)
	put("%s", port+"link_layer", a.LinkLayer)
	if d.Transport == provider.TransportTypeInfiniBand {
		put("%d", port+"phys_state", a.PhysState)
	}
	for _, gid := range p.GIDs {
		if gid.GID.HasZeroInterfaceID() {
			continue // ibv_devinfo checks only the lower half, so it shows no GID of an iWARP device
		}
		put("%s", fmt.Sprintf("%sGID %d", port, gid.Index), fmt.Sprintf("%s %s", netip.AddrFrom16(gid.GID), gid.Type))
	}
}

// A device that is removed between listing and opening has an error, and the others are read.
func TestIbverbsDeviceDisappears(t *testing.T) {
	g := withProbe(t)
	output(t, g, "ip link add dummy1 type dummy; ip link set dummy1 up; rdma link add rxe1 type rxe netdev dummy1")
	defer func() {
		output(t, g, "rdma link del rxe1 2>/dev/null; ip link del dummy1; rm -f /tmp/wait /tmp/recording")
	}()
	r := record(t, g, probe+` -wait /tmp/wait >/tmp/recording 2>/dev/null &
		`+await("[ -e /tmp/wait ]")+`
		rdma link del rxe1; `+await("[ ! -e /sys/class/infiniband/rxe1 ]")+`
		rm /tmp/wait; wait; cat /tmp/recording`)
	gone := r.Device("rxe1")
	if gone == nil {
		t.Fatalf("rxe1 is not in the recording: %+v", r)
	}
	e := gone.Failed(recording.QueryOpen, -1, -1)
	if e == nil || e.Errno == 0 || !errors.Is(e, fs.ErrNotExist) || gone.Attributes != nil {
		t.Errorf("rxe1 = %+v, %v, want an open that failed because it is gone", gone, e)
	}
	for _, name := range []string{"rxe0", "siw0"} {
		if d := r.Device(name); d == nil || d.Attributes == nil || len(d.Ports) != 1 || len(d.Errors) != 0 {
			t.Errorf("%s = %+v, want all of it", name, d)
		}
	}
}

// Without permission the list is complete, each device has an error, and ibv_devinfo fails too.
func TestIbverbsWithoutPermission(t *testing.T) {
	g := withProbe(t)
	output(t, g, "chmod 600 /dev/infiniband/uverbs*")
	defer func() { output(t, g, "chmod 666 /dev/infiniband/uverbs*") }()
	const nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups "
	r := record(t, g, nobody+probe+" 2>/dev/null")
	if len(r.Devices) != 2 || !errors.Is(r.Err(), fs.ErrPermission) {
		t.Errorf("recording %+v, want two devices and fs.ErrPermission", r)
	}
	for _, d := range r.Devices {
		e := d.Failed(recording.QueryOpen, -1, -1)
		if e == nil || e.Name != "EACCES" || e.Remedy == "" || d.GUID.IsZero() || d.Attributes != nil {
			t.Errorf("%s = %+v, %v, want a GUID, and EACCES with a remedy", d.Name, d, e)
		}
	}
	if out := output(t, g, nobody+"ibv_devinfo 2>&1 >/dev/null; true"); !strings.Contains(out,
		"Failed to open device") {
		t.Errorf("ibv_devinfo without permission: %q: the test's premise is wrong", out)
	}
}

// Without devices the list is empty, without an error.
func TestIbverbsWithoutDevices(t *testing.T) {
	g := withProbe(t)
	output(t, g, "rdma link del rxe0; rdma link del siw0")
	defer func() {
		output(t, g, "rdma link add rxe0 type rxe netdev eth0; rdma link add siw0 type siw netdev eth1")
	}()
	if r := record(t, g, probe); len(r.Devices) != 0 || r.Err() != nil {
		t.Errorf("recording %+v, %v, want neither devices nor errors", r, r.Err())
	}
	r := record(t, g, probe+" rxe0 2>/dev/null")
	if e := r.Err(); len(r.Errors) != 1 || !errors.Is(e, fs.ErrNotExist) || r.Errors[0].Device != "rxe0" {
		t.Errorf("recording of an absent device %+v, %v, want one error that names it", r, e)
	}
}

// Without libibverbs the recording says so and names the package.
func TestIbverbsWithoutLibrary(t *testing.T) {
	g := withProbe(t)
	output(t, g, "mkdir /root/aside; mv /usr/lib/x86_64-linux-gnu/libibverbs.so.* /root/aside")
	defer func() {
		output(t, g, "mv /root/aside/* /usr/lib/x86_64-linux-gnu; rmdir /root/aside; ibv_devinfo >/dev/null")
	}()
	r := record(t, g, probe+" 2>/dev/null")
	if len(r.Errors) != 1 || !errors.Is(r.Err(), errors.ErrUnsupported) || !errors.Is(r.Err(), fs.ErrNotExist) {
		t.Fatalf("recording %+v, want one error, unsupported", r)
	}
	if e := r.Errors[0]; e.Name != recording.NameNotInstalled || !strings.Contains(e.Text, "libibverbs.so.1") ||
		!strings.Contains(e.Remedy, "libibverbs1") {
		t.Errorf("error %+v, want %s with library and package", e, recording.NameNotInstalled)
	}
}
