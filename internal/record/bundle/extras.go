package bundle

import (
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// extraFiles are further files that support needs. Reading them has no side effect, and they
// contain no data of other processes.
var extraFiles = []string{
	"etc/os-release", "usr/lib/os-release",
	sysfs.ProcModules, sysfs.ProcSelfLimits, sysfs.ProcSelfStatus, sysfs.ProcSelfCgroup, sysfs.ProcNetRoute,
	sysfs.ProcNetIPv6Route,
	"proc/cmdline", "proc/meminfo", "proc/net/dev", "proc/net/snmp", "proc/net/snmp6", "proc/net/netstat",
	"proc/net/sockstat",
	"proc/net/if_inet6", "proc/driver/nvidia/version", "proc/driver/nvidia/params",
	"proc/sys/kernel/numa_balancing", "proc/sys/kernel/ostype", "proc/sys/kernel/version", "proc/sys/kernel/tainted",
	"proc/sys/vm/nr_hugepages", "proc/sys/vm/overcommit_memory", "proc/sys/vm/max_map_count",
	"proc/sys/vm/compaction_proactiveness",
	sysfs.ClassInfiniBandVerbs + "/abi_version", sysfs.ClassInfiniBandMAD + "/abi_version",
}

// netSysctls are read of each family in proc/sys/net, and interfaceSysctls of each network device.
var (
	netSysctls = []string{
		"core/rmem_max", "core/wmem_max", "core/rmem_default", "core/wmem_default", "core/netdev_max_backlog",
		"core/somaxconn", "core/optmem_max", "ipv4/tcp_rmem", "ipv4/tcp_wmem", "ipv4/tcp_mem",
		"ipv4/tcp_congestion_control", "ipv4/tcp_ecn", "ipv4/tcp_mtu_probing", "ipv4/ip_forward",
		"ipv4/neigh/default/gc_thresh1", "ipv4/neigh/default/gc_thresh2", "ipv4/neigh/default/gc_thresh3",
		"ipv6/neigh/default/gc_thresh1", "ipv6/neigh/default/gc_thresh2", "ipv6/neigh/default/gc_thresh3",
	}
	interfaceSysctls = []string{
		"ipv4/conf/%/arp_ignore", "ipv4/conf/%/arp_announce", "ipv4/conf/%/arp_filter", "ipv4/conf/%/rp_filter",
		"ipv4/conf/%/accept_local", "ipv6/conf/%/disable_ipv6", "ipv6/conf/%/accept_ra", "ipv6/conf/%/addr_gen_mode",
		"ipv6/conf/%/forwarding",
	}
)

var (
	deviceFiles = []string{
		"node_type", "node_guid", "sys_image_guid", "node_desc", "fw_ver", "hw_rev", "hca_type", "board_id", "parent",
		"device/vendor", "device/device", "device/subsystem_vendor", "device/subsystem_device", "device/numa_node",
		"device/local_cpulist", "device/resource", "device/vpd", "device/uevent", "device/revision", "device/irq",
		"device/class",
	}
	portFiles = []string{
		"state", "phys_state", "rate", "link_layer", "lid", "lid_mask_count", "sm_lid", "sm_sl", "cap_mask", "has_smi",
	}
	portFolders = []string{
		"pkeys", "gids", "gid_attrs/types", "gid_attrs/ndevs", "counters", "hw_counters", "cm_rx_msgs", "cm_tx_msgs",
		"cm_tx_retries", "cm_rx_duplicates",
	}
	netdevFiles = []string{
		"address", "addr_assign_type", "addr_len", "broadcast", "carrier", "carrier_changes", "dev_id", "dev_port",
		"dormant", "duplex", "flags", "ifindex", "iflink", "link_mode", "mode", "mtu", "name_assign_type", "operstate",
		"phys_port_name", "pkey", "proto_down", "speed", "tx_queue_len", "type", "uevent", "umcast", "device/vendor",
		"device/device", "device/sriov_numvfs", "device/sriov_totalvfs", "ecn/roce_np/enable/0", "qos/trust",
		"bonding/mode", "bonding/slaves", "bonding/miimon", "bonding/lacp_rate", "bonding/xmit_hash_policy",
		"bonding/active_slave", "bonding/mii_status",
	}
	functionFiles = []string{
		"vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision", "numa_node", "local_cpulist",
		"current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "sriov_totalvfs",
		"sriov_numvfs", "aer_dev_correctable", "aer_dev_fatal", "aer_dev_nonfatal", "power_state", "enable",
	}
	charFiles   = []string{"ibdev", "port", "abi_version", "dev", "uevent", "device/vendor", "device/device"}
	moduleFiles = []string{"version", "srcversion", "refcnt", "initstate"}
)

// moduleParameters are the modules whose parameters are read.
var moduleParameters = []string{
	"ib_core", "ib_uverbs", "ib_umad", "ib_ipoib", "rdma_cm", "rdma_rxe", "siw", "mlx5_core", "mlx5_ib", "irdma",
	"bnxt_re", "hfi1", "nvidia_peermem", "iommu",
}

// modules are the modules whose version is read.
var modules = append(slices.Clone(moduleParameters), "mlx4_core", "mlx4_ib", "bnxt_en", "ice", "efa", "qedr",
	"iw_cxgb4", "hns_roce_hw_v2", "mana_ib", "erdma", "nvidia", "amdgpu", "gdrdrv", "ib_cm", "iw_cm", "rdma_ucm")

// extra reads a fixed list of small files.
type extra struct {
	stop func() error
	root fs.FS
}

// readExtras reads all files of the lists through root, which records them.
func readExtras(ctx context.Context, root fs.FS) {
	x := extra{stop: ctx.Err, root: root}
	for _, name := range slices.Concat(extraFiles, sysfs.MachineFiles) {
		x.file(x.root, name)
	}
	for _, name := range netSysctls {
		x.file(x.root, path.Join("proc/sys/net", name))
	}
	for _, name := range x.list(x.root, sysfs.ClassInfiniBand) {
		x.device(path.Join(sysfs.ClassInfiniBand, name))
	}
	for _, class := range []string{sysfs.ClassInfiniBandVerbs, sysfs.ClassInfiniBandMAD} {
		for _, name := range x.list(x.root, class) {
			x.within(path.Join(class, name), func(dir fs.FS) { x.files(dir, charFiles) })
		}
	}
	for _, name := range x.list(x.root, sysfs.ClassNet) {
		x.netdev(name)
	}
	for _, name := range x.list(x.root, sysfs.BusPCIDevices) {
		x.function(path.Join(sysfs.BusPCIDevices, name))
	}
	for _, m := range modules {
		x.within(path.Join(sysfs.ModuleDir, m), func(dir fs.FS) { x.files(dir, moduleFiles) })
	}
	for _, m := range moduleParameters {
		x.folder(x.root, path.Join(sysfs.ModuleDir, m, "parameters"))
	}
	x.folder(x.root, "proc/net/bonding")
	x.list(x.root, sysfs.DevInfiniBand)
	x.list(x.root, "proc/driver/nvidia/gpus")
}

// readPatterns reads the files that match patterns of absolute paths through root, which records
// them, and follows the links on the way to them.
func (r *recorder) readPatterns(ctx context.Context, root fs.FS, patterns []string) {
	for _, pattern := range patterns {
		names, _ := fs.Glob(root, strings.TrimPrefix(pattern, "/")) // only a bad pattern fails
		for _, name := range names {
			if ctx.Err() != nil {
				return
			}
			if !r.has(name) {
				_, _ = fs.ReadFile(root, name) // noted
			}
		}
	}
}

func (x extra) device(dir string) {
	x.within(dir, func(of fs.FS) {
		x.files(of, deviceFiles)
		x.folder(of, "hw_counters")
		for _, p := range x.list(of, "ports") {
			port := path.Join("ports", p)
			for _, name := range portFiles {
				x.file(of, path.Join(port, name))
			}
			for _, name := range portFolders {
				x.folder(of, path.Join(port, name))
			}
		}
	})
	for _, name := range deviceFiles { // links out of the device's directory
		if strings.Contains(name, "/") {
			x.file(x.root, path.Join(dir, name))
		}
	}
	for _, name := range []string{
		"device/net", "device/infiniband_verbs", "device/infiniband", "device/infiniband_mad",
	} {
		x.list(x.root, path.Join(dir, name))
	}
}

func (x extra) netdev(name string) {
	dir := path.Join(sysfs.ClassNet, name)
	x.within(dir, func(of fs.FS) {
		x.files(of, netdevFiles)
		x.folder(of, "statistics")
	})
	for _, pattern := range interfaceSysctls {
		x.file(x.root, path.Join("proc/sys/net", strings.ReplaceAll(pattern, "%", name)))
	}
	for _, link := range []string{"device/driver", "device", "master", "device/driver/module"} {
		_, _ = fs.ReadLink(x.root, path.Join(dir, link)) // noted
		_, _ = fs.Stat(x.root, path.Join(dir, link))
	}
}

// function reads a PCI function that is a network card, an RDMA card or a GPU.
func (x extra) function(dir string) {
	class, err := fs.ReadFile(x.root, path.Join(dir, "class"))
	if err != nil || !slices.ContainsFunc([]string{"0x02", "0x03", "0x12"},
		func(p string) bool { return strings.HasPrefix(string(class), p) }) {
		return
	}
	x.within(dir, func(of fs.FS) { x.files(of, functionFiles) })
	for _, link := range []string{"driver", "physfn", "driver/module"} {
		_, _ = fs.ReadLink(x.root, path.Join(dir, link)) // noted
	}
}

// within calls f with a directory, if it exists.
func (x extra) within(name string, f func(fs.FS)) {
	if x.stop() != nil {
		return
	}
	if info, err := fs.Stat(x.root, name); err != nil || !info.IsDir() {
		return // classes have plain files besides directories
	}
	sub, err := fs.Sub(x.root, name)
	if err != nil {
		return
	}
	f(sub)
	if c, ok := sub.(io.Closer); ok {
		_ = c.Close() // was only read
	}
}

func (x extra) files(dir fs.FS, names []string) {
	for _, name := range names {
		x.file(dir, name)
	}
}

// file reads regular files only, because reading a device or a pipe may block or have a side
// effect.
func (x extra) file(dir fs.FS, name string) {
	if x.stop() != nil {
		return
	}
	if info, err := fs.Stat(dir, name); err == nil && info.Mode().IsRegular() {
		_, _ = fs.ReadFile(dir, name) // noted
	}
}

// list lists a directory if it exists.
func (x extra) list(dir fs.FS, name string) []string {
	if x.stop() != nil {
		return nil
	}
	if info, err := fs.Stat(dir, name); err != nil || !info.IsDir() {
		return nil
	}
	if n, ok := dir.(interface {
		ReadNames(string) ([]string, error)
	}); ok {
		names, _ := n.ReadNames(name) // noted
		slices.Sort(names)
		return names
	}
	return nil
}

// folder reads all files of a directory of small files.
func (x extra) folder(dir fs.FS, name string) {
	names := x.list(dir, name)
	if len(names) == 0 {
		return
	}
	sub, err := fs.Sub(dir, name)
	if err != nil {
		return
	}
	for _, n := range names {
		x.file(sub, n)
	}
	if c, ok := sub.(io.Closer); ok {
		_ = c.Close() // was only read
	}
}
