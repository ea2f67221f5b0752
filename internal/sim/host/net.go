package host

import (
	"fmt"
	"strings"
	"syscall"
)

// addNetdev adds the network device of a port (net/core/net-sysfs.c).
func (b *builder) addNetdev(p *port) {
	dir := p.function.dir + "/net/" + p.netdev
	b.classDevice("net", dir, "INTERFACE="+p.netdev, fmt.Sprintf("IFINDEX=%d", p.index))
	b.link(dir+"/device", p.function.dir)
	values := map[string]string{
		"addr_assign_type": "0", "addr_len": "6", "address": b.macText(p), "broadcast": "ff:ff:ff:ff:ff:ff",
		"type": "1", "carrier": "1", "carrier_changes": "2", "carrier_up_count": "1", "carrier_down_count": "1",
		"operstate": "up", "flags": "0x1003", "duplex": "full", "speed": itoa(p.rate * 1000), "mtu": itoa(p.mtu),
		"dev_id": "0x0", "dev_port": "0", "ifindex": itoa(p.index), "iflink": itoa(p.index), "link_mode": "0",
		"name_assign_type": "4", "tx_queue_len": "1000", "proto_down": "0", "dormant": "0", "testing": "0",
	}
	if p.layer == InfiniBand {
		values["type"], values["addr_len"], values["address"] = "32", "20", b.ipoibAddress(p)
		values["broadcast"] = "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff"
		values["mode"], values["pkey"], values["umcast"] = "datagram", "0xffff", "0"
	}
	if p.link != linkActive {
		values["carrier"], values["operstate"] = "0", "down"
		delete(values, "speed")
		delete(values, "duplex")
		b.fail(dir+"/speed", syscall.EINVAL)
		b.fail(dir+"/duplex", syscall.EINVAL)
	}
	if p.card.Driver == "mlx5_core" && p.layer == Ethernet {
		values["phys_port_name"] = "p" + p.function.dir[len(p.function.dir)-1:]
		if p.pf != nil {
			delete(values, "phys_port_name")
			b.fail(dir+"/phys_port_name", syscall.EOPNOTSUPP)
		}
	}
	b.put(dir, values)
	for _, name := range statistics() {
		b.text(dir+"/statistics/"+name, "0\n")
	}
}

// ipoibAddress returns an IPoIB address: flags, queue pair number and port GID (RFC 4391 section
// 9.1.1).
func (b *builder) ipoibAddress(p *port) string {
	hex := strings.ReplaceAll(fmt.Sprintf("0000%04x%s%s", 0x1049+p.id, p.prefix, b.guid(p)), ":", "")
	var parts []string
	for i := 0; i < len(hex); i += 2 {
		parts = append(parts, hex[i:i+2])
	}
	return strings.Join(parts, ":")
}

func statistics() []string {
	return []string{
		"collisions", "multicast", "rx_bytes", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors",
		"rx_fifo_errors", "rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler", "rx_over_errors",
		"rx_packets", "tx_aborted_errors", "tx_bytes", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors",
		"tx_fifo_errors", "tx_heartbeat_errors", "tx_packets", "tx_window_errors",
	}
}

// addLoopback adds the network device lo.
func (b *builder) addLoopback() {
	dir := "sys/devices/virtual/net/lo"
	b.classDevice("net", dir, "INTERFACE=lo", "IFINDEX=1")
	b.put(dir, map[string]string{
		"addr_len": "6", "address": "00:00:00:00:00:00", "type": "772", "carrier": "1", "operstate": "unknown",
		"flags": "0x9", "mtu": "65536", "dev_id": "0x0", "dev_port": "0", "ifindex": "1", "iflink": "1",
	})
	b.fail(dir+"/speed", syscall.EINVAL)
}
