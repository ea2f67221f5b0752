package host

import (
	"fmt"
	"path"
)

// NUMA nodes of emulated servers: two sockets of 56 cores with two threads each.
const (
	numaNodes  = 2
	cpuList0   = "0-55,112-167"
	cpuList1   = "56-111,168-223"
	cpusOnline = "0-223"
)

const (
	classEthernet   = 0x020000
	classInfiniBand = 0x020700
	classGPU        = 0x030200
	classBridge     = 0x060400
)

// Bus numbers: rails use 0x10 to 0xdf, other cards 0xe0 and above.
const (
	firstBus = 0x10
	nicBus   = 0xe0
)

// gpu is a GPU of the node.
type gpu struct{ address string }

// function is a PCI function to add.
type function struct {
	dir   string // path in the tree
	card  Card
	class int
	numa  int
	bound bool // bound to its driver
	vf    bool
}

func (f *function) address() string { return path.Base(f.dir) }

// addPCI adds host bridges, switches, GPUs and the functions of all ports.
func (b *builder) addPCI() {
	slots := max(b.Rails, b.GPUs)
	groups := (slots + b.PerSwitch - 1) / b.PerSwitch
	for g := range groups {
		first := g * b.PerSwitch
		b.addGroup(groupBus(g, groups), g*numaNodes/groups, first, min(first+b.PerSwitch, slots))
	}
	n := b.Rails + b.Rails*b.VFs
	for i, nic := range b.NICs {
		bus := nicBus + 4*i
		root := fmt.Sprintf("sys/devices/pci0000:%02x/0000:%02x:01.0", bus, bus)
		b.addFunction(&function{dir: root, card: rootPort(), class: classBridge, numa: nic.NUMA, bound: true})
		for f := range max(1, nic.Functions) {
			b.ports[n].function = b.portFunction(&b.ports[n],
				fmt.Sprintf("%s/0000:%02x:00.%d", root, bus+1, f), nic.NUMA)
			n++
		}
	}
}

// groupBus returns the bus number of the host bridge of a group of rails; the groups are
// distributed over the buses for rails.
func groupBus(group, groups int) int { return firstBus + group*((nicBus-firstBus)/groups) }

// addGroup adds one host bridge with a root port, one or two switches below it, and below
// them the rails and GPUs from first to last-1.
func (b *builder) addGroup(bus, numa, first, last int) {
	next := bus
	newBus := func() int { next++; return next }
	bridge := func(dir string, card Card) string {
		b.addFunction(&function{dir: dir, card: card, class: classBridge, numa: numa, bound: true})
		return dir
	}
	under := func(dir string, bus, device int) string { return fmt.Sprintf("%s/0000:%02x:%02x.0", dir, bus, device) }
	root := bridge(under(fmt.Sprintf("sys/devices/pci0000:%02x", bus), bus, 1), rootPort())
	outer := bridge(under(root, newBus(), 0), pcieSwitch())
	outerBus, device := newBus(), 0
	downstream := func(upstream string, bus int, device *int) string {
		dir := bridge(under(upstream, bus, *device), pcieSwitch())
		*device++
		return dir
	}
	inner, innerBus, innerDevice := outer, outerBus, &device
	if b.Switches == 2 {
		inner = bridge(under(downstream(outer, outerBus, &device), newBus(), 0), pcieSwitch())
		innerBus, innerDevice = newBus(), new(int)
	}
	for rail := first; rail < min(last, b.Rails); rail++ {
		dir := under(downstream(inner, innerBus, innerDevice), newBus(), 0)
		pf := &b.ports[rail]
		pf.function = b.portFunction(pf, dir, numa)
		b.addVFs(rail, numa)
	}
	for g := first; g < min(last, b.GPUs); g++ {
		dir := under(downstream(outer, outerBus, &device), newBus(), 0)
		b.addFunction(&function{dir: dir, card: h100(), class: classGPU, numa: numa, bound: true})
		b.gpus = append(b.gpus, gpu{address: path.Base(dir)})
	}
}

// portFunction adds the function of a port.
func (b *builder) portFunction(p *port, dir string, numa int) *function {
	f := &function{dir: dir, card: p.card, class: classEthernet, numa: numa, bound: true, vf: p.pf != nil}
	if p.layer == InfiniBand {
		f.class = classInfiniBand
	}
	b.addFunction(f)
	return f
}

// addVFs adds the virtual functions of a rail, whose addresses follow that of its function.
func (b *builder) addVFs(rail, numa int) {
	pf := b.ports[rail].function
	if b.Card.Driver == "mlx5_core" {
		b.put(pf.dir, map[string]string{
			"sriov_totalvfs": itoa(b.TotalVFs), "sriov_numvfs": itoa(b.VFs), "sriov_drivers_autoprobe": "1",
			"sriov_offset": "1", "sriov_stride": "1", "sriov_vf_device": "101e", "sriov_vf_total_msix": "0",
		})
	}
	base := pf.dir[:len(pf.dir)-len("00.0")]
	for v := range b.VFs {
		p := &b.ports[b.Rails+rail*b.VFs+v]
		p.function = b.portFunction(p, fmt.Sprintf("%s%02x.%d", base, (v+1)/8, (v+1)%8), numa)
		b.link(p.function.dir+"/physfn", pf.dir)
		b.link(fmt.Sprintf("%s/virtfn%d", pf.dir, v), p.function.dir)
	}
}

// addFunction adds the attributes that every function has (drivers/pci/pci-sysfs.c, probe.c).
func (b *builder) addFunction(f *function) {
	c := f.card
	values := map[string]string{
		"class": fmt.Sprintf("0x%06x", f.class), "vendor": hex4(c.Vendor), "device": hex4(c.Device),
		"subsystem_vendor": hex4(c.SubsystemVendor), "subsystem_device": hex4(c.SubsystemDevice), "revision": "0x00",
		"numa_node": itoa(f.numa), "local_cpulist": localCPUs(f.numa), "enable": "1", "modalias": modalias(c, f.class),
		"max_link_speed": c.GTPerSecond + " GT/s PCIe", "max_link_width": itoa(c.Lanes),
		"current_link_speed": c.GTPerSecond + " GT/s PCIe", "current_link_width": itoa(c.Lanes),
	}
	if f.vf { // a virtual function doesn't report a link
		values["max_link_speed"], values["max_link_width"] = "Unknown", "0"
		values["current_link_speed"], values["current_link_width"] = "Unknown", "0"
	}
	b.put(f.dir, values)
	uevent := []string{
		fmt.Sprintf("PCI_CLASS=%X", f.class), fmt.Sprintf("PCI_ID=%04X:%04X", c.Vendor, c.Device),
		fmt.Sprintf("PCI_SUBSYS_ID=%04X:%04X", c.SubsystemVendor, c.SubsystemDevice),
		"PCI_SLOT_NAME=" + f.address(), "MODALIAS=" + modalias(c, f.class),
	}
	if f.bound {
		b.link(f.dir+"/driver", "sys/bus/pci/drivers/"+c.Driver)
		b.link("sys/bus/pci/drivers/"+c.Driver+"/"+f.address(), f.dir)
		uevent = append([]string{"DRIVER=" + c.Driver}, uevent...)
	}
	b.text(f.dir+"/uevent", lines(uevent...))
	b.link(f.dir+"/subsystem", "sys/bus/pci")
	b.link("sys/bus/pci/devices/"+f.address(), f.dir)
}

func modalias(c Card, class int) string {
	return fmt.Sprintf("pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		c.Vendor, c.Device, c.SubsystemVendor, c.SubsystemDevice, class>>16, class>>8&0xff, class&0xff)
}

func localCPUs(numa int) string {
	if numa == 0 {
		return cpuList0
	}
	return cpuList1
}
