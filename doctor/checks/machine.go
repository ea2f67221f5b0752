package checks

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// machineFiles are the files that machineOf reads, for Check.Reads.
func machineFiles() []string {
	return []string{
		"/" + sysfs.ProcCPUInfo, "/" + sysfs.DMI + "/sys_vendor", "/" + sysfs.DMI + "/product_name",
		"/" + sysfs.HypervisorType,
	}
}

// machine says on what the kernel runs.
type machine struct {
	known   bool // whether it is virtual
	virtual bool
	arm     bool
	proof   doctor.Evidence // of virtual
}

// machineOf reads whether the node is a virtual machine. On x86 the processor says so; elsewhere
// the name of the product does.
func machineOf(in *doctor.Input) machine {
	files := in.Facts.Files
	var m machine
	cpus, _ := files.Text(sysfs.ProcCPUInfo) // "" says nothing
	for line := range strings.Lines(cpus) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "flags":
			m.known = true
			if m.virtual = slices.Contains(strings.Fields(value), "hypervisor"); m.virtual {
				m.proof = doctor.Evidence{Path: "/" + sysfs.ProcCPUInfo + ":flags", Value: "hypervisor"}
			}
			return m
		case "CPU implementer":
			m.arm = true
		}
	}
	for _, file := range []string{sysfs.DMI + "/sys_vendor", sysfs.DMI + "/product_name", sysfs.HypervisorType} {
		text, err := files.Text(file)
		if err != nil {
			continue
		}
		if virtualProduct(text) || strings.HasPrefix(text, amazon) && !metal(in) {
			m.known, m.virtual, m.proof = true, true, doctor.Evidence{Path: "/" + file, Value: text}
			return m
		}
		m.known = m.known || strings.HasSuffix(file, "product_name")
	}
	return m
}

// amazon is the vendor of virtual machines and of bare metal, which the product tells apart.
const amazon = "Amazon EC2"

// metal reports whether the product is bare metal of Amazon: "c7g.metal", "m7g.metal-48xl".
func metal(in *doctor.Input) bool {
	product, err := in.Facts.Files.Text(sysfs.DMI + "/product_name")
	_, after, found := strings.Cut(product, ".metal")
	return err == nil && found && (after == "" || after[0] == '-')
}

// cloud returns the cloud that the node belongs to, by the vendor of its DMI; "" if it names none.
func cloud(in *doctor.Input) string {
	vendor, err := in.Facts.Files.Text(sysfs.DMI + "/sys_vendor")
	product, err2 := in.Facts.Files.Text(sysfs.DMI + "/product_name")
	switch {
	case err != nil:
	case vendor == "Microsoft Corporation" && err2 == nil && product == "Virtual Machine":
		return "Azure or Hyper-V"
	case slices.Contains([]string{amazon, "Google", "Alibaba Cloud", "Tencent Cloud", "DigitalOcean"}, vendor):
		return vendor
	}
	return ""
}

// virtualProduct reports whether DMI names a product of a hypervisor: the names that
// systemd-detect-virt knows (dmi_vendor_table in src/basic/virt.c), and those of clouds.
func virtualProduct(name string) bool {
	starts := []string{
		"KVM", "OpenStack", "KubeVirt", "QEMU", "VMware", "VMW", "innotek GmbH", "VirtualBox", "Xen", "Bochs",
		"Parallels", "BHYVE", "Hyper-V", "Apple Virtualization", "Google Compute Engine", "Alibaba Cloud ECS",
		"HVM domU", "Nutanix AHV", "xen", // of /sys/hypervisor/type
	}
	return strings.Contains(name, "Virtual Machine") || // Microsoft's, and others'
		slices.ContainsFunc(starts, func(word string) bool { return strings.HasPrefix(name, word) })
}

// computePorts returns the compute ports on cards, those whose function is not a virtual one of a
// card that is visible too.
func computePorts(s *inventory.Snapshot) []portRef {
	var out []portRef
	for p := range ownPorts(s) {
		if p.port.Role == inventory.RoleCompute && p.dev.PCI != nil {
			out = append(out, p)
		}
	}
	return out
}

// drivenGPUs returns the GPUs that programs compute on: those with NVIDIA's or AMD's driver.
func drivenGPUs(s *inventory.Snapshot) []inventory.GPU {
	return slices.DeleteFunc(slices.Clone(s.GPUs), func(g inventory.GPU) bool {
		return g.PCI.Driver != "nvidia" && g.PCI.Driver != "amdgpu"
	})
}

// noWay returns why a check of the way between GPUs and cards does not apply, or "".
func noWay(s *inventory.Snapshot) string {
	switch {
	case len(computePorts(s)) == 0:
		return noneOf(s, "no compute port is on a PCI card")
	case len(s.GPUs) == 0:
		return "the node has no GPU"
	case len(drivenGPUs(s)) == 0:
		return "no GPU has the driver nvidia or amdgpu"
	}
	return ""
}

// pciFunction returns what the configuration space of a function says, nil if it is not known.
func pciFunction(in *doctor.Input, addr string) *facts.PCIFunction {
	if !in.Facts.PCI.Known() {
		return nil
	}
	all := in.Facts.PCI.Value
	i := slices.IndexFunc(all, func(f facts.PCIFunction) bool { return f.Address == addr && f.Error == "" })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// hasFunction reports whether the configuration space of a function was looked at, even if in vain.
func hasFunction(in *doctor.Input, addr string) bool {
	return in.Facts.PCI.Known() && slices.ContainsFunc(in.Facts.PCI.Value,
		func(f facts.PCIFunction) bool { return f.Address == addr })
}

// configEvidence returns a field of the configuration space, in the words of lspci.
func configEvidence(addr, field, value string) doctor.Evidence {
	return doctor.Evidence{Path: "pci:" + addr + ":" + field, Value: value}
}

// function returns the folder of a PCI function.
func function(addr string) string { return path.Join(sysfs.BusPCIDevices, addr) }

// fileEvidence returns the evidence of a file of the node.
func fileEvidence(name, value string) doctor.Evidence {
	return doctor.Evidence{Path: "/" + name, Value: value}
}

var releaseNumbers = regexp.MustCompile(`^(\d+)\.(\d+)`)

// kernelAtLeast reports whether a kernel release is that version or later; false if it is unknown.
func kernelAtLeast(release string, major, minor int) bool {
	m := releaseNumbers.FindStringSubmatch(release)
	if m == nil {
		return false
	}
	x, _ := strconv.Atoi(m[1])
	y, _ := strconv.Atoi(m[2])
	return x > major || x == major && y >= minor
}
