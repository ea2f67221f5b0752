package host

import (
	"fmt"
	"net/netip"
	"path"
	"syscall"

	"github.com/rdmakit/rdmakit/wire/ib"
)

const zeroGID = "0000:0000:0000:0000:0000:0000:0000:0000"

// addPort adds the network device of a port and, on an RDMA card, the RDMA device with
// its character devices.
func (b *builder) addPort(p *port) {
	b.addNetdev(p)
	if p.device == "" {
		return
	}
	fn := p.function.dir
	dir := fn + "/infiniband/" + p.device
	b.classDevice("infiniband", dir, "NAME="+p.device)
	b.link(dir+"/device", fn)
	system := p
	if p.pf != nil { // virtual functions share the system image GUID of their card
		system = p.pf
	}
	b.put(dir, map[string]string{
		"board_id": p.card.BoardID, "fw_ver": p.firmware, "hca_type": p.card.HCAType, "hw_rev": "0",
		"node_desc": b.Name + " " + p.device, "node_guid": b.guid(p), "node_type": "1: CA",
		"sys_image_guid": b.guid(system),
	})
	b.addPortFiles(p, dir+"/ports/1")
	b.addChars(p, fn)
}

// addPortFiles adds the files of a port (drivers/infiniband/core/sysfs.c).
func (b *builder) addPortFiles(p *port, dir string) {
	values := map[string]string{
		"state": "4: ACTIVE", "phys_state": "5: LinkUp", "link_layer": string(p.layer), "rate": rateText(p.rate),
		"lid": "0x0", "lid_mask_count": "0", "sm_lid": "0x0", "sm_sl": "0", "cap_mask": "0x04010000",
	}
	if p.layer == InfiniBand {
		values["lid"], values["sm_lid"] = fmt.Sprintf("0x%x", p.lid), fmt.Sprintf("0x%x", smLID)
		values["cap_mask"] = "0xa751e848"
		values["has_smi"] = "1"
	}
	switch p.link {
	case linkInit:
		values["state"], values["lid"], values["sm_lid"] = "2: INIT", "0xffff", "0x0"
	case linkDown:
		values["state"], values["phys_state"] = "1: DOWN", "3: Disabled"
		if p.layer == InfiniBand {
			values["phys_state"], values["lid"], values["sm_lid"] = "2: Polling", "0xffff", "0x0"
		}
	}
	b.put(dir, values)
	b.addGIDs(p, dir)
	for i := range pkeys(p.layer) {
		key := "0x0000"
		if i == 0 {
			key = "0xffff"
		}
		b.text(fmt.Sprintf("%s/pkeys/%d", dir, i), key+"\n")
	}
	for _, name := range counters() {
		b.text(dir+"/counters/"+name, "0\n")
	}
	for _, name := range hwCounters() {
		b.text(dir+"/hw_counters/"+name, "0\n")
	}
	b.text(dir+"/hw_counters/lifespan", "10\n")
}

// pkeys returns the size of the partition key table of mlx5.
func pkeys(layer LinkLayer) int {
	if layer == InfiniBand {
		return 128
	}
	return 1
}

// addGIDs fills the GID table like roce_gid_mgmt.c and cache.c: the link-local address
// and then the IP address, each as RoCE v1 and v2; on InfiniBand the port's GUID. Reading
// the attributes of empty entries, and the network devices on InfiniBand, returns EINVAL.
func (b *builder) addGIDs(p *port, dir string) {
	var entries []string
	switch p.layer {
	case InfiniBand:
		entries = []string{p.prefix + ":" + b.guid(p)}
	default:
		local := "fe80:0000:0000:0000:" + b.eui64(p)
		entries = []string{local, local}
		if p.address.IsValid() && p.link == linkActive {
			gid := gidText(p.address.Addr())
			entries = append(entries, gid, gid)
		}
	}
	for i := range p.gids {
		types, ndevs := fmt.Sprintf("%s/gid_attrs/types/%d", dir, i), fmt.Sprintf("%s/gid_attrs/ndevs/%d", dir, i)
		if i >= len(entries) {
			b.text(fmt.Sprintf("%s/gids/%d", dir, i), zeroGID+"\n")
			b.fail(types, syscall.EINVAL)
			b.fail(ndevs, syscall.EINVAL)
			continue
		}
		b.text(fmt.Sprintf("%s/gids/%d", dir, i), entries[i]+"\n")
		if p.layer == InfiniBand {
			b.text(types, "IB/RoCE v1\n")
			b.fail(ndevs, syscall.EINVAL)
			continue
		}
		kind := "IB/RoCE v1"
		if i%2 == 1 {
			kind = "RoCE v2"
		}
		b.text(types, kind+"\n")
		b.text(ndevs, p.netdev+"\n")
	}
}

func gidText(a netip.Addr) string {
	g := a.As16()
	return ib.GID(g).String()
}

// addChars adds the character devices of an RDMA device, their classes and their
// files below /dev/infiniband. The numbers are those of
// include/rdma/ib_verbs.h and drivers/infiniband/core/user_mad.c: major 231,
// minors from 0 for umad, 64 for issm, 192 for uverbs.
func (b *builder) addChars(p *port, fn string) {
	add := func(class, kind string, minor int, values map[string]string, mode ...string) {
		name := kind + itoa(p.number)
		dir := path.Join(fn, class, name)
		values["dev"], values["ibdev"] = fmt.Sprintf("231:%d", minor+p.number), p.device
		b.put(dir, values)
		b.link(dir+"/device", fn)
		uevent := []string{"MAJOR=231", fmt.Sprintf("MINOR=%d", minor+p.number), "DEVNAME=infiniband/" + name}
		b.classDevice(class, dir, append(uevent, mode...)...)
		if kind != "uverbs" || p.rail < 0 || !b.has(NoCharNode, p.rail) {
			b.text("dev/infiniband/"+name, "")
		}
	}
	add("infiniband_verbs", "uverbs", 192, map[string]string{"abi_version": itoa(p.card.ABI)}, "DEVMODE=0666")
	add("infiniband_mad", "umad", 0, map[string]string{"port": "1"})
	if p.layer == InfiniBand {
		add("infiniband_mad", "issm", 64, map[string]string{"port": "1"})
	}
}

// counters returns the classic counters of mlx5 (drivers/infiniband/core/sysfs.c).
func counters() []string {
	return []string{
		"VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
		"local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors",
		"port_rcv_data", "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
		"port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets",
	}
}

// hwCounters returns the driver's counters (drivers/infiniband/hw/mlx5/counters.c).
func hwCounters() []string {
	return []string{
		"duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "np_cnp_sent",
		"np_ecn_marked_roce_packets", "out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error",
		"req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request", "req_rnr_retries_exceeded",
		"req_transport_retries_exceeded", "resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error",
		"resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans", "roce_adp_retrans_to",
		"roce_slow_restart", "roce_slow_restart_cnps", "roce_slow_restart_trans", "rp_cnp_handled", "rp_cnp_ignored",
		"rx_atomic_requests", "rx_dct_connect", "rx_icrc_encapsulated", "rx_read_requests", "rx_write_requests",
	}
}
