package applet

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// withoutVerbs prints the lines that files and netlink provide, and lists the missing lines on
// standard error.
func (r *devinfo) withoutVerbs(ctx context.Context, why string) int {
	snap := r.scan(ctx)
	devices, errno := visibleDevices(&snap, r.tree())
	if errno != 0 {
		return r.perrorList(errno, exitMinusOne)
	}
	var missing missingLines
	code := each(r, devices, func(d *inventory.Device) (string, func() int) {
		return d.Name, func() int {
			s := &sysfsDevice{devinfo: r, tree: r.tree(), dev: d, missing: &missing}
			return s.print()
		}
	})
	missing.report(r.Env, why)
	return code
}

// sysfsDevice prints a device without opening it.
type sysfsDevice struct {
	*devinfo
	tree    *sysTree
	dev     *inventory.Device
	missing *missingLines
}

// omit records a line that can't be printed.
func (s *sysfsDevice) omit(names ...string) { s.missing.add(s.dev.Name, names) }

func (s *sysfsDevice) print() int {
	d := s.dev
	if s.port != 0 && !slices.ContainsFunc(d.Ports, func(p inventory.Port) bool { return p.Number == int(s.port) }) {
		s.errorf("Invalid port requested for device\n")
		return 4
	}
	transport := transportOf(d.NodeType)
	s.printf("hca_id:\t%s\n", d.Name)
	if transport != provider.TransportTypeUnknown {
		s.field("transport", "%s", transportText(transport))
	} else {
		s.omit("transport")
	}
	// The drivers of software devices report a constant firmware version that is not in sysfs.
	if d.Firmware != "" {
		s.field("fw_ver", "%s", d.Firmware)
	} else {
		s.omit("fw_ver")
	}
	s.guidLine("node_guid", d.NodeGUID)
	s.guidLine("sys_image_guid", d.SystemGUID)
	s.omit("vendor_id")
	s.cardLines()
	if d.BoardID != "" {
		s.field("board_id", "%s", d.BoardID)
	}
	s.field("phys_port_cnt", "%d", len(d.Ports))
	if s.verbose {
		s.omit(verboseDeviceLines()...)
	}
	for i := range d.Ports {
		if s.port == 0 || d.Ports[i].Number == int(s.port) {
			s.portFrom(&d.Ports[i], transport)
		}
	}
	return 0
}

// transportOf returns the transport that libibverbs derives from a node type.
func transportOf(t inventory.NodeType) provider.TransportType {
	switch t {
	case inventory.NodeTypeCA, inventory.NodeTypeSwitch, inventory.NodeTypeRouter:
		return provider.TransportTypeInfiniBand
	case inventory.NodeTypeRNIC:
		return provider.TransportTypeIWARP
	case inventory.NodeTypeUSNIC:
		return provider.TransportTypeUSNIC
	case inventory.NodeTypeUSNICUDP:
		return provider.TransportTypeUSNICUDP
	case inventory.NodeTypeUnspecified:
		return provider.TransportTypeUnspecified
	}
	return provider.TransportTypeUnknown
}

func (s *sysfsDevice) guidLine(name string, guid *ib.GUID) {
	if guid == nil {
		s.omit(name)
		return
	}
	s.field(name, "%s", guidText(*guid))
}

// cardLines prints the attributes that mlx4_ib and mlx5_ib take from PCI: the part ID is the device
// number, the hardware version is the revision, which hw_rev has in hexadecimal.
func (s *sysfsDevice) cardLines() {
	d := s.dev
	if d.PCI == nil || d.Driver != "mlx5_core" && d.Driver != "mlx4_core" {
		s.omit("vendor_part_id", "hw_ver")
		return
	}
	s.field("vendor_part_id", "%d", uint16(d.PCI.DeviceID))
	revision, err := strconv.ParseUint(strings.TrimPrefix(d.HWRevision, "0x"), 16, 32)
	if err != nil {
		s.omit("hw_ver")
		return
	}
	s.field("hw_ver", "0x%X", revision)
}

// verboseDeviceLines returns the lines of -v about a device, which only an opened device provides.
func verboseDeviceLines() []string {
	return strings.Fields(`max_mr_size page_size_cap max_qp max_qp_wr device_cap_flags max_sge max_sge_rd max_cq max_cqe
		max_mr max_pd max_qp_rd_atom max_ee_rd_atom max_res_rd_atom max_qp_init_rd_atom max_ee_init_rd_atom atomic_cap
		max_ee max_rdd max_mw max_raw_ipv6_qp max_raw_ethy_qp max_mcast_grp max_mcast_qp_attach
		max_total_mcast_qp_attach max_ah max_fmr max_srq max_pkeys local_ca_ack_delay general_odp_caps rc_odp_caps
		uc_odp_caps ud_odp_caps xrc_odp_caps completion_timestamp_mask core_clock device_cap_flags_ex tso_caps rss_caps
		max_wq_type_rq packet_pacing_caps tag_matching num_comp_vectors`)
}

func (s *sysfsDevice) portFrom(p *inventory.Port, transport provider.TransportType) {
	s.printf("\t\tport:\t%d\n", p.Number)
	if p.State != inventory.PortStateNoChange {
		s.portField("state", "%s", stateText(int64(p.State)))
	} else {
		s.omit("state")
	}
	s.omit("max_mtu")
	if p.ActiveMTU.Code() != 0 {
		s.portField("active_mtu", "%s", mtuText(p.ActiveMTU))
	} else {
		s.omit("active_mtu")
	}
	s.lidLine("sm_lid", p.SMLID)
	s.lidLine("port_lid", p.LID)
	if p.LMC != nil {
		s.portField("port_lmc", "0x%02x", *p.LMC)
	} else {
		s.omit("port_lmc")
	}
	switch p.LinkLayer {
	case inventory.LinkLayerInfiniBand, inventory.LinkLayerEthernet:
		s.portField("link_layer", "%s", string(p.LinkLayer))
	default:
		s.omit("link_layer")
	}
	if s.verbose {
		s.verbosePort(p, transport)
	}
	s.printf("\n")
}

func (s *sysfsDevice) lidLine(name string, lid *ib.LID) {
	if lid == nil {
		s.omit(name)
		return
	}
	s.portField(name, "%d", uint16(*lid))
}

func (s *sysfsDevice) verbosePort(p *inventory.Port, transport provider.TransportType) {
	s.omit("max_msg_sz")
	// On Ethernet the kernel reports a flag to libibverbs that sysfs doesn't show.
	if p.CapMask != nil && p.LinkLayer == inventory.LinkLayerInfiniBand {
		s.portField("port_cap_flags", "0x%08x", *p.CapMask)
	} else {
		s.omit("port_cap_flags")
	}
	s.omit("port_cap_flags2", "max_vl_num", "bad_pkey_cntr", "qkey_viol_cntr")
	if p.SMSL != nil {
		s.portField("sm_sl", "%d", *p.SMSL)
	} else {
		s.omit("sm_sl")
	}
	pkeys, _ := s.tree.names(path.Join(sysfs.ClassInfiniBand, s.dev.Name, "ports", strconv.Itoa(p.Number), "pkeys"))
	s.portField("pkey_tbl_len", "%d", len(pkeys))
	if p.GIDTableSize > 0 {
		s.portField("gid_tbl_len", "%d", p.GIDTableSize)
	} else {
		s.omit("gid_tbl_len")
	}
	s.omit("subnet_timeout", "init_type_reply")
	width, speed := rateCodes(p.Rate)
	if width != 0 {
		s.portField("active_width", "%s", widthText(width))
	} else {
		s.omit("active_width")
	}
	if speed != 0 {
		s.portField("active_speed", "%s", speedText(speed))
	} else {
		s.omit("active_speed")
	}
	if transport == provider.TransportTypeInfiniBand {
		if p.PhysState != inventory.PhysStateUnknown {
			s.portField("phys_state", "%s", physStateText(int64(p.PhysState)))
		} else {
			s.omit("phys_state")
		}
	}
	for _, g := range p.GIDs {
		format := g.Type
		if format == inventory.GIDTypeIB {
			format = inventory.GIDTypeRoCEv1
		}
		s.gidLine(g.Index, g.GID, format, p.LinkLayer == inventory.LinkLayerEthernet)
	}
}

// rateCodes turns a rate into the codes of width and speed, 0 if there is no code. XDR doesn't fit
// the field of rdma-core 44.
func rateCodes(rate *inventory.Rate) (width, speed int64) {
	if rate == nil {
		return 0, 0
	}
	widths := map[int]int64{1: 1, 2: 16, 4: 2, 8: 4, 12: 8}
	speeds := map[string]int64{"SDR": 1, "DDR": 2, "QDR": 4, "FDR10": 8, "FDR": 16, "EDR": 32, "HDR": 64, "NDR": 128}
	return widths[rate.Width], speeds[rate.Generation]
}

// missingLines collects the lines that could not be printed, by device.
type missingLines struct {
	order  []string // devices
	byName map[string][]string
}

func (m *missingLines) add(device string, names []string) {
	if m.byName == nil {
		m.byName = map[string][]string{}
	}
	if _, known := m.byName[device]; !known {
		m.order = append(m.order, device)
	}
	for _, name := range names {
		if !slices.Contains(m.byName[device], name) {
			m.byName[device] = append(m.byName[device], name)
		}
	}
}

// report lists the missing lines: first those missing for all devices, then those of single
// devices.
func (m *missingLines) report(env *Env, why string) {
	if len(m.order) == 0 {
		return
	}
	env.errorf("%s: some lines need an opened device and are missing: %s\n", env.Name, why)
	common := slices.Clone(m.byName[m.order[0]])
	for _, device := range m.order[1:] {
		common = slices.DeleteFunc(common, func(line string) bool { return !slices.Contains(m.byName[device], line) })
	}
	env.errorf("%s: %s: %s\n", env.Name, strings.Join(m.order, " "), strings.Join(common, ", "))
	for _, device := range m.order {
		more := slices.DeleteFunc(slices.Clone(m.byName[device]),
			func(line string) bool { return slices.Contains(common, line) })
		if len(more) > 0 {
			env.errorf("%s: %s: also %s\n", env.Name, device, strings.Join(more, ", "))
		}
	}
}
