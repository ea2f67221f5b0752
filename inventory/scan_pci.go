package inventory

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

var pciAddress = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// scanPCI reads the functions that are GPUs or may be RDMA cards.
func (s *scanner) scanPCI() {
	// Sorted as text: natural order would put 2b before 19.
	functions := slices.Sorted(slices.Values(s.root.List(sysfs.BusPCIDevices)))
	s.snap.Host.PCIVisible = len(functions) > 0
	for _, addr := range functions {
		class, vendor := s.pciClass(addr)
		switch {
		case isGPU(class, vendor):
			if f := s.function(addr); f != nil {
				s.snap.GPUs = append(s.snap.GPUs, GPU{Index: len(s.snap.GPUs), PCI: f.PCI})
			}
		case class>>16 == classNetwork:
			f := s.function(addr)
			if f == nil {
				continue
			}
			if module, ok := cardModule(f.PCI); ok {
				s.snap.Cards = append(s.snap.Cards, Card{PCI: f.PCI, SRIOV: f.sriov, Module: module})
			}
		}
	}
}

// pciClass reads the two files that determine whether to read the function completely: a
// node has hundreds of other functions.
func (s *scanner) pciClass(addr string) (class PCIClass, vendor PCIID) {
	dir := path.Join(sysfs.BusPCIDevices, addr)
	if v := s.root.Uint(path.Join(dir, "class"), 32); v != nil {
		class = PCIClass(*v)
	}
	if v := s.root.Uint(path.Join(dir, "vendor"), 16); v != nil {
		vendor = PCIID(*v)
	}
	return class, vendor
}

// function returns a PCI function, which is read at first use, or nil if it doesn't exist.
func (s *scanner) function(addr string) *pciFunction {
	if f, ok := s.pci[addr]; ok {
		return f
	}
	f := s.readFunction(addr)
	s.pci[addr] = f
	return f
}

func (s *scanner) readFunction(addr string) *pciFunction {
	name := path.Join(sysfs.BusPCIDevices, addr)
	r, ok := s.root.Dir(name)
	if !ok {
		return nil
	}
	defer r.Close()
	f := &pciFunction{PCI: PCI{
		Address: addr, Path: s.root.Path(name),
		VendorID: PCIID(deref(r.Uint("vendor", 16))), DeviceID: PCIID(deref(r.Uint("device", 16))),
		SubsystemVendor: PCIID(deref(r.Uint("subsystem_vendor", 16))),
		SubsystemDevice: PCIID(deref(r.Uint("subsystem_device", 16))),
		Class:           PCIClass(deref(r.Uint("class", 32))),
		Driver:          r.LinkBase("driver"),
		LocalCPUs:       r.String("local_cpulist"),
		Link:            pciLink(r, "current_link_speed", "current_link_width"),
		LinkMax:         pciLink(r, "max_link_speed", "max_link_width"),
	}}
	if n := r.Int("numa_node"); n != nil && *n >= 0 { // -1: not reported by the platform
		f.NUMANode = n
	}
	if s.Names != nil {
		f.Vendor, f.Product = s.Names.Name(uint16(f.VendorID), uint16(f.DeviceID))
	}
	if p := r.LinkBase("physfn"); pciAddress.MatchString(p) {
		f.physfn = p
	}
	f.sriov = s.readSRIOV(r, addr)
	if resolved, err := sysfs.Resolve(s.root.FS(), name); err == nil {
		f.Chain = pciChain(resolved)
	}
	return f
}

// pciChain returns the host bridge and the bridges above a function, from its resolved path.
func pciChain(resolved string) []string {
	parts := strings.Split(resolved, "/")
	start := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, "pci") })
	if start < 0 || start == len(parts)-1 {
		return nil
	}
	return parts[start : len(parts)-1]
}

// pciLink reads a speed such as "32.0 GT/s PCIe" and a width; nil if either is unknown.
func pciLink(r *sysfs.Reader, speed, width string) *PCILink {
	text, ok := r.Text(speed)
	if !ok || strings.HasPrefix(text, "Unknown") {
		return nil
	}
	number, _, _ := strings.Cut(text, " ")
	gts, err := strconv.ParseFloat(number, 64)
	if err != nil {
		r.Fail(speed, fmt.Errorf("%q is not a PCI link speed", text))
		return nil
	}
	lanes := r.Uint(width, 8)
	if lanes == nil || *lanes == 0 || *lanes == 255 { // 0 and 255: no link, as on VFs
		return nil
	}
	return &PCILink{GTPerSecond: gts, Width: int(*lanes)}
}

func (s *scanner) readSRIOV(r *sysfs.Reader, addr string) *SRIOV {
	total := r.Uint("sriov_totalvfs", 16)
	if total == nil {
		return nil
	}
	out := &SRIOV{TotalVFs: int(*total), NumVFs: int(deref(r.Uint("sriov_numvfs", 16)))}
	for i := range out.NumVFs {
		vf := VF{Index: i}
		link := "virtfn" + strconv.Itoa(i)
		// Use the path from the root, since the link leads out of the function's folder.
		if a := r.LinkBase(link); pciAddress.MatchString(a) &&
			s.root.Exists(path.Join(sysfs.BusPCIDevices, addr, link)) {
			vf.Address = a
		}
		out.VFs = append(out.VFs, vf)
	}
	return out
}

// deref returns *v, or the zero value if v is nil.
func deref[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
