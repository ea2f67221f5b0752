package applet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// capability is a bit and its name.
type capability struct {
	bit  uint64
	name string
}

// deviceFlags are those of enum ibv_device_cap_flags that ibv_devinfo 44 names.
func deviceFlags() []capability {
	return []capability{
		{1 << 0, "RESIZE_MAX_WR"},
		{1 << 1, "BAD_PKEY_CNTR"},
		{1 << 2, "BAD_QKEY_CNTR"},
		{1 << 3, "RAW_MULTI"},
		{1 << 4, "AUTO_PATH_MIG"},
		{1 << 5, "CHANGE_PHY_PORT"},
		{1 << 6, "UD_AV_PORT_ENFORCE"},
		{1 << 7, "CURR_QP_STATE_MOD"},
		{1 << 8, "SHUTDOWN_PORT"},
		{1 << 9, "INIT_TYPE"},
		{1 << 10, "PORT_ACTIVE_EVENT"},
		{1 << 11, "SYS_IMAGE_GUID"},
		{1 << 12, "RC_RNR_NAK_GEN"},
		{1 << 13, "SRQ_RESIZE"},
		{1 << 14, "N_NOTIFY_CQ"},
		{1 << 17, "MEM_WINDOW"},
		{1 << 18, "UD_IP_CSUM"},
		{1 << 20, "XRC"},
		{1 << 21, "MEM_MGT_EXTENSIONS"},
		{1 << 23, "MEM_WINDOW_TYPE_2A"},
		{1 << 24, "MEM_WINDOW_TYPE_2B"},
		{1 << 25, "RC_IP_CSUM"},
		{1 << 26, "RAW_IP_CSUM"},
		{1 << 29, "MANAGED_FLOW_STEERING"},
	}
}

// Bits of enum ibv_qp_type.
const (
	qpTypeUD        = 1 << 4
	qpTypeRawPacket = 1 << 8
)

func qpFlags() []capability {
	return []capability{{qpTypeRawPacket, "SUPPORT_RAW_PACKET"}, {qpTypeUD, "SUPPORT_UD"}}
}

func odpFlags() []capability {
	return []capability{
		{1 << 0, "SUPPORT_SEND"},
		{1 << 1, "SUPPORT_RECV"},
		{1 << 2, "SUPPORT_WRITE"},
		{1 << 3, "SUPPORT_READ"},
		{1 << 4, "SUPPORT_ATOMIC"},
		{1 << 5, "SUPPORT_SRQ"},
	}
}

// flags prints the names of the bits that are set, and bits without a name as a number.
func (r *devinfo) flags(v uint64, known []capability) {
	for _, f := range known {
		if v&f.bit != 0 {
			r.printf("\t\t\t\t\t%s\n", f.name)
			v &^= f.bit
		}
	}
	if v != 0 {
		r.printf("\t\t\t\t\tUnknown flags: 0x%X\n", v)
	}
}

// field prints a line of a device, with the value aligned at a tab stop.
func (r *devinfo) field(name, format string, args ...any) {
	tabs := max(1, 4-(len(name)+1)/8)
	r.printf("\t%s:%s%s\n", name, strings.Repeat("\t", tabs), fmt.Sprintf(format, args...))
}

// portField prints a line of a port.
func (r *devinfo) portField(name, format string, args ...any) {
	tabs := max(1, 3-(len(name)+1)/8)
	r.printf("\t\t\t%s:%s%s\n", name, strings.Repeat("\t", tabs), fmt.Sprintf(format, args...))
}

func guidText(g ib.GUID) string {
	return fmt.Sprintf("%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7])
}

// transportText names enum ibv_transport_type.
func transportText(t provider.TransportType) string {
	return enumText(int64(t), "invalid transport", map[int64]string{
		0: "InfiniBand", 1: "iWARP", 2: "usNIC", 3: "usNIC UDP", 4: "unspecified",
	})
}

// enumText is "NAME (NUMBER)", as ibv_devinfo prints codes.
func enumText(v int64, invalid string, names map[int64]string) string {
	name, ok := names[v]
	if !ok {
		name = invalid
	}
	return name + " (" + strconv.FormatInt(v, 10) + ")"
}

func (r *devinfo) deviceLines(d *recording.Device, a *provider.DeviceAttributes) {
	r.printf("hca_id:\t%s\n", d.Name)
	r.field("transport", "%s", transportText(d.Transport))
	if a.Firmware != "" {
		r.field("fw_ver", "%s", a.Firmware)
	}
	r.field("node_guid", "%s", guidText(a.NodeGUID))
	r.field("sys_image_guid", "%s", guidText(a.SystemGUID))
	r.field("vendor_id", "0x%04x", a.VendorID)
	r.field("vendor_part_id", "%d", int32(a.VendorPartID)) //nolint:gosec // %d of an unsigned in C
	r.field("hw_ver", "0x%X", a.HWVersion)
	if d.BoardID != "" {
		r.field("board_id", "%s", d.BoardID)
	}
	r.field("phys_port_cnt", "%d", a.PhysPortCount)
	if r.verbose {
		r.limits(a)
		r.extended(a)
		r.field("num_comp_vectors", "%d", d.NumCompVectors)
	}
}

// limits prints the fields of struct ibv_device_attr that only -v shows.
func (r *devinfo) limits(a *provider.DeviceAttributes) {
	number := func(name string, v int32) { r.field(name, "%d", v) }
	r.field("max_mr_size", "0x%x", a.MaxMRSize)
	r.field("page_size_cap", "0x%x", a.PageSizeCap)
	number("max_qp", a.MaxQP)
	number("max_qp_wr", a.MaxQPWR)
	r.field("device_cap_flags", "0x%08x", a.CapFlags)
	r.flags(uint64(a.CapFlags), deviceFlags())
	number("max_sge", a.MaxSGE)
	number("max_sge_rd", a.MaxSGERead)
	number("max_cq", a.MaxCQ)
	number("max_cqe", a.MaxCQE)
	number("max_mr", a.MaxMR)
	number("max_pd", a.MaxPD)
	number("max_qp_rd_atom", a.MaxQPReadAtomic)
	number("max_ee_rd_atom", a.MaxEEReadAtomic)
	number("max_res_rd_atom", a.MaxResReadAtomic)
	number("max_qp_init_rd_atom", a.MaxQPInitReadAtomic)
	number("max_ee_init_rd_atom", a.MaxEEInitReadAtomic)
	r.field("atomic_cap", "%s", enumText(int64(a.AtomicCap), "invalid atomic capability",
		map[int64]string{0: "ATOMIC_NONE", 1: "ATOMIC_HCA", 2: "ATOMIC_GLOB"}))
	number("max_ee", a.MaxEE)
	number("max_rdd", a.MaxRDD)
	number("max_mw", a.MaxMW)
	number("max_raw_ipv6_qp", a.MaxRawIPv6QP)
	number("max_raw_ethy_qp", a.MaxRawEthertypeQP)
	number("max_mcast_grp", a.MaxMulticastGroups)
	number("max_mcast_qp_attach", a.MaxMulticastQPAttach)
	number("max_total_mcast_qp_attach", a.MaxTotalMulticastQPs)
	number("max_ah", a.MaxAH)
	number("max_fmr", a.MaxFMR)
	if a.MaxFMR != 0 {
		number("max_map_per_fmr", a.MaxMapPerFMR)
	}
	number("max_srq", a.MaxSRQ)
	if a.MaxSRQ != 0 {
		number("max_srq_wr", a.MaxSRQWR)
		number("max_srq_sge", a.MaxSRQSGE)
	}
	number("max_pkeys", int32(a.MaxPKeys))
	number("local_ca_ack_delay", int32(a.LocalCAAckDelay))
}

// extended prints the fields that struct ibv_device_attr_ex adds.
func (r *devinfo) extended(a *provider.DeviceAttributes) {
	r.printf("\tgeneral_odp_caps:\n")
	r.flags(a.ODP.General, []capability{{1, "ODP_SUPPORT"}, {2, "ODP_SUPPORT_IMPLICIT"}})
	for _, t := range []struct {
		name string
		caps uint32
	}{{"rc", a.ODP.RC}, {"uc", a.ODP.UC}, {"ud", a.ODP.UD}, {"xrc", a.ODP.XRC}} {
		r.printf("\t%s_odp_caps:\n", t.name)
		if t.caps == 0 {
			r.printf("\t\t\t\t\tNO SUPPORT\n")
		}
		r.flags(uint64(t.caps), odpFlags())
	}
	if a.CompletionTimestampMask != 0 {
		r.printf("\tcompletion timestamp_mask:\t\t\t0x%016x\n", a.CompletionTimestampMask)
	} else {
		r.printf("\tcompletion_timestamp_mask not supported\n")
	}
	if a.HCACoreClock != 0 {
		r.field("hca_core_clock", "%dkHZ", a.HCACoreClock)
	} else {
		r.printf("\tcore clock not supported\n")
	}
	if a.RawPacketCaps != 0 {
		r.rawPacketCaps(a.RawPacketCaps)
	}
	r.field("device_cap_flags_ex", "0x%X", a.CapFlagsExtended)
	r.flags(a.CapFlagsExtended&^0xffffffff,
		[]capability{{1 << 34, "RAW_SCATTER_FCS"}, {1 << 36, "PCI_WRITE_END_PADDING"}})
	r.offloads(a)
}

func (r *devinfo) rawPacketCaps(caps uint32) {
	r.printf("\traw packet caps:\n")
	r.flags(uint64(caps&0xf), []capability{
		{1, "C-VLAN stripping offload"}, {2, "Scatter FCS offload"}, {4, "IP csum offload"}, {8, "Delay drop"},
	})
}

func (r *devinfo) offloads(a *provider.DeviceAttributes) {
	queuePairs := func(condition, types uint32) {
		if condition != 0 {
			r.printf("\t\tsupported_qp:\n")
			r.flags(uint64(types), qpFlags())
		}
	}
	r.printf("\ttso_caps:\n\t\tmax_tso:\t\t\t%d\n", int32(a.TSO.Max)) //nolint:gosec // %d of an unsigned in C
	queuePairs(a.TSO.Max, a.TSO.SupportedQPs)
	r.printf("\trss_caps:\n")
	r.printf("\t\tmax_rwq_indirection_tables:\t\t\t%d\n", a.RSS.MaxRWQIndirectionTables)
	r.printf("\t\tmax_rwq_indirection_table_size:\t\t\t%d\n", a.RSS.MaxRWQIndirectionTableSize)
	r.printf("\t\trx_hash_function:\t\t\t\t0x%x\n", a.RSS.RXHashFunction)
	r.printf("\t\trx_hash_fields_mask:\t\t\t\t0x%X\n", a.RSS.RXHashFieldsMask)
	queuePairs(a.RSS.SupportedQPs, a.RSS.SupportedQPs)
	r.field("max_wq_type_rq", "%d", a.MaxWQTypeRQ)
	r.printf("\tpacket_pacing_caps:\n")
	r.printf("\t\tqp_rate_limit_min:\t%dkbps\n", a.PacketPacing.RateLimitMin)
	r.printf("\t\tqp_rate_limit_max:\t%dkbps\n", a.PacketPacing.RateLimitMax)
	queuePairs(a.PacketPacing.RateLimitMax, a.PacketPacing.SupportedQPs)
	if tm := a.TagMatching; tm.MaxTags != 0 {
		r.field("max_rndv_hdr_size", "%d", tm.MaxRendezvousHeader)
		r.field("max_num_tags", "%d", tm.MaxTags)
		r.field("max_ops", "%d", tm.MaxOps)
		r.field("max_sge", "%d", tm.MaxSGE)
		r.printf("\tflags:\n")
		r.flags(uint64(tm.Flags&1), []capability{{1, "IBV_TM_CAP_RC"}})
	} else {
		r.printf("\ttag matching not supported\n")
	}
	if cq := a.CQModeration; cq.MaxCount != 0 && cq.MaxPeriod != 0 {
		r.printf("\n\tcq moderation caps:\n\t\tmax_cq_count:\t%d\n\t\tmax_cq_period:\t%d us\n\n",
			cq.MaxCount, cq.MaxPeriod)
	}
	if a.MaxDMSize != 0 {
		r.printf("\tmaximum available device memory:\t%dBytes\n\n", a.MaxDMSize)
	}
}

func mtuText(m ib.MTU) string {
	names := map[int64]string{1: "256", 2: "512", 3: "1024", 4: "2048", 5: "4096"}
	return enumText(int64(provider.DriverMTUCode(m)), "invalid MTU", names)
}

func stateText(v int64) string {
	return enumText(v, "invalid state",
		map[int64]string{1: "PORT_DOWN", 2: "PORT_INIT", 3: "PORT_ARMED", 4: "PORT_ACTIVE"})
}

func physStateText(v int64) string {
	return enumText(v, "invalid physical state", map[int64]string{
		1: "SLEEP", 2: "POLLING", 3: "DISABLED", 4: "PORT_CONFIGURATION TRAINNING",
		5: "LINK_UP", 6: "LINK_ERROR_RECOVERY", 7: "PHY TEST",
	})
}

func widthText(v int64) string {
	names := map[int64]string{1: "1X", 2: "4X", 4: "8X", 8: "12X", 16: "2X"}
	return enumText(v, "invalid widthX", names)
}

func speedText(v int64) string {
	return enumText(v, "invalid speed", map[int64]string{
		1: "2.5 Gbps", 2: "5.0 Gbps", 4: "10.0 Gbps", 8: "10.0 Gbps", 16: "14.0 Gbps",
		32: "25.0 Gbps", 64: "50.0 Gbps", 128: "100.0 Gbps",
	})
}

func linkLayerText(l provider.LinkLayer) string {
	switch l {
	case provider.LinkLayerUnspecified:
		return "Unspecified"
	case provider.LinkLayerInfiniBand:
		return "InfiniBand"
	case provider.LinkLayerEthernet:
		return "Ethernet"
	}
	return "Unknown"
}

func (r *devinfo) portAttributes(d *recording.Device, port *recording.Port) {
	a := port.Attributes
	r.printf("\t\tport:\t%d\n", port.Number)
	r.portField("state", "%s", stateText(int64(a.State)))
	r.portField("max_mtu", "%s", mtuText(a.MaxMTU))
	r.portField("active_mtu", "%s", mtuText(a.ActiveMTU))
	r.portField("sm_lid", "%d", uint16(a.SMLID))
	r.portField("port_lid", "%d", uint16(a.LID))
	r.portField("port_lmc", "0x%02x", a.LMC)
	r.portField("link_layer", "%s", linkLayerText(a.LinkLayer))
	if !r.verbose {
		return
	}
	r.portField("max_msg_sz", "0x%x", a.MaxMessageSize)
	r.portField("port_cap_flags", "0x%08x", a.CapFlags)
	r.portField("port_cap_flags2", "0x%04x", a.CapFlags2)
	r.portField("max_vl_num", "%s",
		enumText(int64(a.MaxVLs), "invalid value", map[int64]string{1: "1", 2: "2", 3: "4", 4: "8", 5: "15"}))
	r.portField("bad_pkey_cntr", "0x%x", a.BadPKeyCounter)
	r.portField("qkey_viol_cntr", "0x%x", a.QKeyViolations)
	r.portField("sm_sl", "%d", a.SMSL)
	r.portField("pkey_tbl_len", "%d", a.PKeyTableLength)
	r.portField("gid_tbl_len", "%d", a.GIDTableLength)
	r.portField("subnet_timeout", "%d", a.SubnetTimeout)
	r.portField("init_type_reply", "%d", a.InitTypeReply)
	r.portField("active_width", "%s", widthText(int64(a.ActiveWidth)))
	r.portField("active_speed", "%s", speedText(int64(a.ActiveSpeed)))
	if d.Transport == provider.TransportTypeInfiniBand {
		r.portField("phys_state", "%s", physStateText(int64(a.PhysState)))
	}
}

// gidLine prints a slot of the GID table. As in C, a slot whose second half is zero is treated as
// empty, and a slot whose type the kernel doesn't report is not shown.
func (r *devinfo) gidLine(index int, gid ib.GID, format inventory.GIDType, ethernet bool) {
	if [8]byte(gid[8:]) == [8]byte{} {
		return
	}
	suffix := ""
	if ethernet {
		suffix = ", " + string(format)
	}
	switch format {
	case inventory.GIDTypeRoCEv1:
		var groups []string
		for i := 0; i < len(gid); i += 2 {
			groups = append(groups, fmt.Sprintf("%02x%02x", gid[i], gid[i+1]))
		}
		r.printf("\t\t\tGID[%3d]:\t\t%s%s\n", index, strings.Join(groups, ":"), suffix)
	case inventory.GIDTypeRoCEv2:
		r.printf("\t\t\tGID[%3d]:\t\t%s%s\n", index, inet6(gid), suffix)
	}
}

// inet6 is glibc's inet_ntop, which writes the last four bytes of ::1.2.3.4 in decimal.
func inet6(gid ib.GID) string {
	a := netip.AddrFrom16(gid)
	if [12]byte(gid[:12]) == [12]byte{} && (gid[12] != 0 || gid[13] != 0) {
		return "::" + netip.AddrFrom4([4]byte(gid[12:])).String()
	}
	return a.String()
}
