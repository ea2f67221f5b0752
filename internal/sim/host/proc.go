package host

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// addHost adds the files that don't belong to a card.
func (b *builder) addHost() {
	b.addLoopback()
	b.addModules()
	b.addProcess()
	b.addRoutes()
	b.addLibraries()
	b.put("proc/sys/kernel", map[string]string{"hostname": b.Name, "osrelease": b.Kernel})
	b.put("sys/devices/system/cpu",
		map[string]string{"online": cpusOnline, "possible": cpusOnline, "present": cpusOnline})
	for node := range numaNodes {
		b.text(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node), localCPUs(node)+"\n")
	}
	for _, class := range []string{"infiniband", "infiniband_verbs", "infiniband_mad"} {
		if b.rdma() {
			b.mkdir("sys/class/" + class)
		}
	}
	if b.rdma() {
		b.text("sys/class/infiniband_verbs/abi_version", "6\n")
		b.text("sys/class/infiniband_mad/abi_version", "5\n")
		b.classDevice("misc", "sys/devices/virtual/misc/rdma_cm",
			"MAJOR=10", "MINOR=58", "DEVNAME=infiniband/rdma_cm", "DEVMODE=0666")
		b.put("sys/devices/virtual/misc/rdma_cm", map[string]string{"abi_version": "4", "dev": "10:58"})
		b.text("dev/infiniband/rdma_cm", "")
	}
	if b.GPUs > 0 {
		b.text("proc/driver/nvidia/params", "EnableUserNUMAManagement: 1\nRegistryDwords: \"\"\n")
		b.text("proc/driver/nvidia/version",
			"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build\n")
		for _, g := range b.gpus {
			b.text("proc/driver/nvidia/gpus/"+g.address+"/information",
				fmt.Sprintf("Model: \t\t %s\nBus Location: \t %s\n", h100().Model, g.address))
		}
	}
}

// rdma reports whether the node has an RDMA device.
func (b *builder) rdma() bool {
	return slices.ContainsFunc(b.ports, func(p port) bool { return p.device != "" })
}

// module is a loaded kernel module.
type module struct {
	name    string
	size    int
	users   []string
	version string // of out-of-tree modules
}

// modules returns the modules of a node with mlx5 cards, in the order of /proc/modules: the last
// loaded first.
func (b *builder) modules() []module {
	var out []module
	if b.GPUs > 0 {
		if b.rdma() {
			out = append(out, module{name: "nvidia_peermem", size: 16384})
		}
		out = append(out, module{name: "nvidia_uvm", size: 2068480}, module{
			name: "nvidia", size: 14381056, version: "570.133.20", users: []string{"nvidia_peermem", "nvidia_uvm"},
		})
		if !b.rdma() {
			out[1].users = out[1].users[1:]
		}
	}
	if b.rdma() {
		out = append(out,
			module{name: "rdma_ucm", size: 32768},
			module{name: "rdma_cm", size: 151552, users: []string{"rdma_ucm"}},
			module{name: "iw_cm", size: 61440, users: []string{"rdma_cm"}},
			module{name: "ib_umad", size: 40960})
		if b.LinkLayer == InfiniBand && b.Rails > 0 {
			out = append(out, module{name: "ib_ipoib", size: 147456})
		}
		out = append(out,
			module{name: "ib_cm", size: 155648, users: []string{"rdma_cm"}},
			module{name: "mlx5_ib", size: 520192},
			module{name: "ib_uverbs", size: 200704, users: []string{"rdma_ucm", "mlx5_ib"}},
			module{name: "ib_core", size: 507904, users: []string{
				"rdma_cm", "iw_cm", "rdma_ucm", "ib_umad", "ib_uverbs", "mlx5_ib", "ib_cm",
			}},
			module{name: "mlx5_core", size: 2404352, users: []string{"mlx5_ib"}})
	}
	for _, n := range b.NICs {
		known := slices.ContainsFunc(out, func(m module) bool { return m.name == n.Card.Driver })
		if !known {
			out = append(out, module{name: n.Card.Driver, size: 688128})
		}
	}
	return out
}

// addModules adds /proc/modules (kernel/module/procfs.c) and /sys/module.
func (b *builder) addModules() {
	var text strings.Builder
	address := uint64(0xffffffffc2200000)
	for _, m := range b.modules() {
		users := "-"
		if len(m.users) > 0 {
			users = strings.Join(m.users, ",") + ","
		}
		taint := ""
		if m.version != "" {
			taint = " (OE)"
		}
		fmt.Fprintf(&text, "%s %d %d %s Live 0x%016x%s\n", m.name, m.size, len(m.users), users, address, taint)
		address -= uint64(m.size + 0x10000)
		dir := "sys/module/" + m.name
		b.put(dir, map[string]string{"coresize": itoa(m.size), "initstate": "live", "refcnt": itoa(len(m.users))})
		if m.version != "" {
			b.text(dir+"/version", m.version+"\n")
		}
	}
	b.text("proc/modules", text.String())
	if b.rdma() {
		b.text("sys/module/ib_core/parameters/netns_mode", "Y\n")
	}
}

// addProcess adds the files of the scanning process, which runs as root unless the fault Memlock is
// injected.
func (b *builder) addProcess() {
	memlock := "unlimited"
	caps := "000001ffffffffff"
	if b.has(Memlock, -1) {
		memlock, caps = "65536", "0000000000000000"
	}
	limit := func(name, soft, hard, unit string) string {
		return fmt.Sprintf("%-25s %-20s %-20s %-10s", name, soft, hard, unit)
	}
	b.text("proc/self/limits", lines(
		limit("Limit", "Soft Limit", "Hard Limit", "Units"),
		limit("Max cpu time", "unlimited", "unlimited", "seconds"),
		limit("Max stack size", "8388608", "unlimited", "bytes"),
		limit("Max processes", "8254719", "8254719", "processes"),
		limit("Max open files", "1048576", "1048576", "files"),
		limit("Max locked memory", memlock, memlock, "bytes"),
		limit("Max address space", "unlimited", "unlimited", "bytes"),
	))
	uid := "0\t0\t0\t0"
	if caps[15] == '0' {
		uid = "1000\t1000\t1000\t1000"
	}
	b.text("proc/self/status", lines("Name:\trdmactl", "Uid:\t"+uid, "Gid:\t"+uid, "CapInh:\t0000000000000000",
		"CapPrm:\t"+caps,
		"CapEff:\t"+caps, "CapBnd:\t000001ffffffffff", "CapAmb:\t0000000000000000", "NoNewPrivs:\t0", "Seccomp:\t0"))
	b.text("proc/self/cgroup", "0::/user.slice/user-0.slice/session-1.scope\n")
	b.text("proc/1/cgroup", "0::/init.scope\n")
}

// addRoutes adds the routing tables and the list of IPv6 addresses
// (net/ipv4/fib_trie.c, net/ipv6/route.c, net/ipv6/addrconf.c).
func (b *builder) addRoutes() {
	v4 := []string{
		fmt.Sprintf("%-127s", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"),
	}
	var v6, addresses []string
	row4 := func(dev string, dst, gateway, mask [4]byte, flags, metric int) {
		v4 = append(v4, fmt.Sprintf("%-127s", fmt.Sprintf("%s\t%s\t%s\t%04X\t0\t0\t%d\t%s\t0\t0\t0",
			dev, word(dst), word(gateway), flags, metric, word(mask))))
	}
	row6 := func(dev string, dst netip.Addr, bits, metric, flags int) {
		zero := strings.Repeat("0", 32)
		v6 = append(v6, fmt.Sprintf("%s %02x %s 00 %s %08x 00000001 00000000 %08x %8s",
			hex16(dst), bits, zero, zero, metric, flags, dev))
	}
	for i := range b.ports {
		p := &b.ports[i]
		if p.gateway.IsValid() {
			row4(p.netdev, [4]byte{}, p.gateway.As4(), [4]byte{}, 3, 100)
		}
	}
	for i := range b.ports {
		p := &b.ports[i]
		if p.link != linkActive || p.layer == InfiniBand {
			continue
		}
		local := netip.MustParseAddr("fe80::" + b.eui64(p))
		addresses = append(addresses, fmt.Sprintf("%s %02x 40 20 80 %8s", hex16(local), p.index, p.netdev))
		row6(p.netdev, netip.MustParseAddr("fe80::"), 64, 256, 1)
		switch {
		case !p.address.IsValid():
		case p.address.Addr().Is4():
			mask := uint32(0xffffffff) << (32 - p.address.Bits())
			row4(p.netdev, p.address.Masked().Addr().As4(), [4]byte{},
				[4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}, 1, 0)
		default:
			addresses = append(addresses,
				fmt.Sprintf("%s %02x 40 00 80 %8s", hex16(p.address.Addr()), p.index, p.netdev))
			row6(p.netdev, p.address.Masked().Addr(), p.address.Bits(), 256, 1)
		}
	}
	addresses = append(addresses, fmt.Sprintf("%s 01 80 10 80 %8s", hex16(netip.IPv6Loopback()), "lo"))
	row6("lo", netip.IPv6Unspecified(), 0, 0xffffffff, 0x00200200)
	b.text("proc/net/route", lines(v4...))
	b.text("proc/net/ipv6_route", lines(v6...))
	b.text("proc/net/if_inet6", lines(addresses...))
}

// word returns an IPv4 address in the kernel's form: as a number in the byte order of
// the machine, little endian.
func word(a [4]byte) string { return fmt.Sprintf("%02X%02X%02X%02X", a[3], a[2], a[1], a[0]) }

func hex16(a netip.Addr) string {
	b := a.As16()
	return hex.EncodeToString(b[:])
}

// addLibraries adds the files of rdma-core at the paths of Debian and Ubuntu.
func (b *builder) addLibraries() {
	const dir = "usr/lib/x86_64-linux-gnu"
	if !b.rdma() {
		b.text(dir+"/libc.so.6", "")
		return
	}
	for name, version := range map[string]string{
		"libibverbs": "1.14.50.0", "librdmacm": "1.3.50.0", "libmlx5": "1.24.50.0",
	} {
		b.text(path.Join(dir, name+".so."+version), "")
		b.link(path.Join(dir, name+".so.1"), path.Join(dir, name+".so."+version))
	}
	b.link(dir+"/libibverbs/libmlx5-rdmav34.so", dir+"/libmlx5.so.1.24.50.0")
	b.text("etc/libibverbs.d/mlx5.driver", "driver mlx5\n")
}
