package inventory

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

func (s *scanner) scanHost() {
	h := &s.snap.Host
	h.Name = s.root.String(sysfs.ProcHostname)
	h.Kernel = s.root.String(sysfs.ProcOSRelease)
	h.Container = s.container()
	h.Modules = s.modules()
	h.Memlock = s.memlock()
	h.NetnsMode = s.live.NetnsMode
	h.DefaultRoutes = slices.Concat(s.routes4(), s.routes6())
	slices.SortStableFunc(h.DefaultRoutes, func(a, b DefaultRoute) int { return cmp.Compare(a.Metric, b.Metric) })
	h.Userspace = s.userspace()
	h.DevInfiniBand = s.root.Exists(sysfs.DevInfiniBand)
	h.DevVisible = s.root.Exists(sysfs.Dev)
	h.VerbsVisible = s.root.Exists(sysfs.ClassInfiniBandVerbs)
	if s.root.Exists(sysfs.DevInfiniBand + "/rdma_cm") {
		c := s.charDevice("rdma_cm")
		h.RDMACM = &c
	}
}

// container detects a container from the files that container runtimes create.
func (s *scanner) container() *Container {
	account := sysfs.KubernetesServiceAccount
	if !s.root.Exists(account) {
		account = sysfs.KubernetesServiceAccountRun
	}
	c := &Container{Kubernetes: s.root.Exists(account)}
	switch {
	case s.root.Exists(sysfs.DockerEnv):
		c.Runtime, c.Evidence = "docker", s.root.Path(sysfs.DockerEnv)+" exists"
	case s.root.Exists(sysfs.ContainerEnv):
		c.Runtime, c.Evidence = "podman", s.root.Path(sysfs.ContainerEnv)+" exists"
	case c.Kubernetes:
		c.Evidence = s.root.Path(account) + " exists"
	default:
		return s.containerByCgroup()
	}
	return c
}

// containerByCgroup detects a container runtime from the control group path, which works only with
// cgroup v1 or if the host's hierarchy is visible.
func (s *scanner) containerByCgroup() *Container {
	words := []struct{ word, runtime string }{
		{"kubepods", "containerd"},
		{"docker", "docker"},
		{"libpod", "podman"},
		{"containerd", "containerd"},
		{"crio", "cri-o"},
		{"lxc", "lxc"},
	}
	for line := range strings.Lines(s.root.String(sysfs.ProcSelfCgroup)) {
		line = strings.TrimSpace(line)
		for _, w := range words {
			if strings.Contains(line, w.word) {
				return &Container{
					Runtime: w.runtime, Kubernetes: strings.Contains(line, "kubepods"),
					Evidence: s.root.Path(sysfs.ProcSelfCgroup) + " = " + line,
				}
			}
		}
	}
	return nil
}

// rdmaModules are the kernel modules of RDMA and GPUs.
var rdmaModules = []string{
	"ib_core", "ib_uverbs", "ib_umad", "ib_ipoib", "ib_cm", "iw_cm", "rdma_cm", "rdma_ucm", "rdma_rxe", "siw",
	"mlx5_core", "mlx5_ib", "mlx4_core", "mlx4_ib", "bnxt_en", "bnxt_re", "irdma", "qedr", "iw_cxgb4", "efa", "hfi1",
	"hns_roce_hw_v2", "ionic_rdma", "mana_ib", "erdma", "usnic_verbs", "vmw_pvrdma", "nvidia", "nvidia_peermem",
	"nv_peer_mem", "amdgpu", "gdrdrv",
}

func (s *scanner) modules() []Module {
	loaded := map[string]bool{}
	for line := range strings.Lines(s.root.String(sysfs.ProcModules)) {
		if f := strings.Fields(line); len(f) > 0 {
			loaded[f[0]] = true
		}
	}
	var out []Module
	for _, name := range rdmaModules {
		dir := path.Join(sysfs.ModuleDir, name)
		if !loaded[name] && !s.root.Exists(dir) {
			continue
		}
		out = append(out, Module{Name: name, Version: s.root.String(path.Join(dir, "version"))})
	}
	return out
}

// capIPCLock is the number of CAP_IPC_LOCK (include/uapi/linux/capability.h).
const capIPCLock = 14

func (s *scanner) memlock() *Memlock {
	const label = "Max locked memory"
	for line := range strings.Lines(s.root.String(sysfs.ProcSelfLimits)) {
		rest, ok := strings.CutPrefix(line, label)
		if !ok {
			continue
		}
		f := strings.Fields(rest)
		if len(f) < 2 {
			break
		}
		soft, err1 := ParseLimit(f[0])
		hard, err2 := ParseLimit(f[1])
		if err := cmp.Or(err1, err2); err != nil {
			s.root.Fail(sysfs.ProcSelfLimits, err)
			return nil
		}
		return &Memlock{Soft: soft, Hard: hard, IPCLock: s.capability(capIPCLock)}
	}
	return nil
}

// capability reports whether the scanning process has a capability in its effective set.
func (s *scanner) capability(bit uint) *bool {
	for line := range strings.Lines(s.root.String(sysfs.ProcSelfStatus)) {
		rest, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
		if err != nil {
			s.root.Fail(sysfs.ProcSelfStatus,
				fmt.Errorf("CapEff %q is not a hexadecimal mask", strings.TrimSpace(rest)))
			return nil
		}
		has := mask>>bit&1 == 1
		return &has
	}
	return nil
}

// ParseLimit parses a limit of /proc/PID/limits: a number, or "unlimited". Numbers that nobody
// reaches count as unlimited.
func ParseLimit(s string) (Limit, error) {
	if s == "unlimited" {
		return Limit{Unlimited: true}, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return Limit{}, fmt.Errorf("limit %q is not a number or unlimited", s)
	}
	const endless = 1 << 62 // RLIM_INFINITY as a number, of either sign, and what else nobody reaches
	if v >= endless {
		return Limit{Unlimited: true}, nil
	}
	return Limit{Bytes: v}, nil
}

// rtfReject is the flag of the unreachable routes that every namespace has (RTF_REJECT).
const rtfReject = 0x0200

// routes4 reads the IPv4 default routes (fib_route_seq_show in net/ipv4/fib_trie.c):
// Iface Destination Gateway Flags RefCnt Use Metric Mask …, addresses as host-order words.
func (s *scanner) routes4() []DefaultRoute {
	var out []DefaultRoute
	for line := range strings.Lines(s.root.String(sysfs.ProcNetRoute)) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" || f[0] == "*" {
			continue
		}
		flags, err1 := strconv.ParseUint(f[3], 16, 32)
		metric, err2 := strconv.ParseUint(f[6], 10, 32)
		if err1 != nil || err2 != nil || flags&rtfReject != 0 {
			continue
		}
		r := DefaultRoute{Family: "ipv4", Netdev: f[0], Metric: uint32(metric)}
		if gw, err := strconv.ParseUint(f[2], 16, 32); err == nil && gw != 0 {
			r.Gateway = netip.AddrFrom4([4]byte{byte(gw), byte(gw >> 8), byte(gw >> 16), byte(gw >> 24)}).String()
		}
		out = append(out, r)
	}
	return out
}

// routes6 reads the IPv6 default routes (rt6_info_route in net/ipv6/route.c): destination, prefix
// length, source, its length, gateway, metric, references, use, flags, device; all hexadecimal.
func (s *scanner) routes6() []DefaultRoute {
	var out []DefaultRoute
	for line := range strings.Lines(s.root.String(sysfs.ProcNetIPv6Route)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[1] != "00" || strings.Trim(f[0], "0") != "" {
			continue
		}
		metric, err1 := strconv.ParseUint(f[5], 16, 32)
		flags, err2 := strconv.ParseUint(f[8], 16, 32)
		if err1 != nil || err2 != nil || flags&rtfReject != 0 || f[9] == "lo" {
			continue
		}
		r := DefaultRoute{Family: "ipv6", Netdev: f[9], Metric: uint32(metric)}
		if gw, ok := parseHexAddr(f[4]); ok && !gw.IsUnspecified() {
			r.Gateway = gw.String()
		}
		out = append(out, r)
	}
	return out
}

func parseHexAddr(s string) (netip.Addr, bool) {
	if len(s) != 32 {
		return netip.Addr{}, false
	}
	var b [16]byte
	for i := range b {
		v, err := strconv.ParseUint(s[2*i:2*i+2], 16, 8)
		if err != nil {
			return netip.Addr{}, false
		}
		b[i] = byte(v)
	}
	return netip.AddrFrom16(b), true
}

// userspace searches for the libraries of rdma-core in the library folders of distributions.
func (s *scanner) userspace() Userspace {
	var u Userspace
	for _, dir := range sysfs.LibraryDirs {
		if !s.root.Exists(dir) {
			continue
		}
		u.Searched = true
		if lib := path.Join(dir, "libibverbs.so.1"); u.Libibverbs == "" && s.root.Exists(lib) {
			u.Libibverbs = s.root.Path(lib)
		}
		if lib := path.Join(dir, "librdmacm.so.1"); u.Librdmacm == "" && s.root.Exists(lib) {
			u.Librdmacm = s.root.Path(lib)
		}
		for _, name := range s.root.List(path.Join(dir, "libibverbs")) {
			// libmlx5-rdmav34.so: the provider's name and the library's private ABI.
			p, _, ok := strings.Cut(strings.TrimPrefix(name, "lib"), "-rdmav")
			if ok && !slices.Contains(u.Providers, p) {
				u.Providers = append(u.Providers, p)
			}
		}
	}
	slices.Sort(u.Providers)
	return u
}
