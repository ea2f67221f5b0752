package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

var errRemoved = errors.New("the device was removed during the scan")

var errAdded = errors.New("the device was added during the scan, after the netlink query")

func (s *scanner) scanDevices() {
	chars := s.charDevices()
	for _, name := range s.root.List(sysfs.ClassInfiniBand) {
		dir := path.Join(sysfs.ClassInfiniBand, name)
		r, ok := s.root.Dir(dir)
		if !ok {
			s.missingDevice(dir)
			continue
		}
		before := len(s.root.Errors())
		d := s.readDevice(r, name, dir)
		r.Close()
		if !s.root.Exists(dir) {
			// Errors of its files during the removal have no meaning.
			s.root.Forget(before)
			s.root.Fail(dir, errRemoved)
			continue
		}
		d.Chars = chars[name]
		if d.Index == nil && len(s.live.Devices) > 0 {
			s.root.Fail(dir, errAdded) // its data from nldev is missing
		}
		s.snap.Devices = append(s.snap.Devices, d)
	}
}

// missingDevice records why an entry of the class has no folder.
func (s *scanner) missingDevice(dir string) {
	if _, err := fs.Lstat(s.Root, dir); errors.Is(err, fs.ErrNotExist) {
		s.root.Fail(dir, errRemoved)
		return
	}
	if !s.root.Exists(dir) {
		s.root.Fail(dir, errors.New("dangling link"))
	}
}

func (s *scanner) readDevice(r *sysfs.Reader, name, dir string) Device {
	d := Device{
		Name: name, Path: s.root.Path(dir), NodeType: nodeType(r),
		Description: r.String("node_desc"), Firmware: r.String("fw_ver"), HWRevision: r.String("hw_rev"),
		HCAType: r.String("hca_type"), BoardID: r.String("board_id"), Parent: r.String("parent"),
		NodeGUID: guid(r, "node_guid"), SystemGUID: guid(r, "sys_image_guid"), Ports: []Port{},
	}
	for _, l := range s.live.Devices {
		if l.Name == name {
			d.Index = new(l.Index)
		}
	}
	s.locate(&d, dir)
	ports, ok := r.Dir("ports")
	if !ok {
		r.Fail("ports", errors.New("no ports"))
		return d
	}
	defer ports.Close()
	for _, p := range ports.List(".") {
		number, err := strconv.Atoi(p)
		if err != nil {
			continue
		}
		pr, ok := ports.Dir(p)
		if !ok {
			continue
		}
		d.Ports = append(d.Ports, s.readPort(pr, &d, number))
		pr.Close()
	}
	return d
}

// locate finds the PCI function of a device, or determines that it is a software device.
func (s *scanner) locate(d *Device, dir string) {
	where, err := sysfs.Resolve(s.root.FS(), dir)
	if err != nil {
		return
	}
	f := s.function(lastPCIAddress(strings.Split(where, "/")))
	if d.Software = softwareKind(d, where, f); d.Software != "" {
		d.Driver = d.Software
		return
	}
	if f == nil {
		return
	}
	pci := f.PCI
	d.PCI, d.Driver, d.SRIOV = &pci, pci.Driver, f.sriov
	switch {
	case f.physfn != "":
		d.VF = &VFInfo{ParentAddress: f.physfn}
	case subFunction.MatchString(where):
		d.VF, d.SRIOV = &VFInfo{ParentAddress: f.Address, SubFunction: true}, nil
	}
}

// subFunction matches the path of the auxiliary device of a sub-function
// (drivers/net/ethernet/mellanox/mlx5/core/sf/dev/dev.c).
var subFunction = regexp.MustCompile(`/mlx5_core\.sf\.\d+/`)

// softwareKind returns the kind of a software device, or "" for hardware. Only rxe has the
// attribute "parent" (drivers/infiniband/sw/rxe/rxe_verbs.c). siw is an RNIC that is a
// virtual device or, before kernel 5.11, a child of the PCI function of its network
// device, whose driver is then not one of an RNIC.
func softwareKind(d *Device, where string, f *pciFunction) string {
	virtual := strings.Contains(where, "/devices/virtual/")
	switch {
	case d.Parent != "":
		return "rxe"
	case d.NodeType == NodeTypeRNIC && (virtual || f != nil && rdmaModule[f.Driver] == "" && f.Driver != "i40e"):
		return "siw"
	case virtual && d.NodeType == NodeTypeCA:
		return "rxe"
	case virtual:
		return "virtual"
	}
	return ""
}

// nodeType returns the type of a device. Recordings for monitoring leave the file out.
func nodeType(r *sysfs.Reader) NodeType {
	if !r.Exists("node_type") {
		return NodeTypeUnknown
	}
	return NodeType(numbered(r, "node_type"))
}

// numbered returns the number in a file such as "4: ACTIVE", or 0 if it can't be read.
func numbered(r *sysfs.Reader, name string) uint8 {
	number, _ := numberAndWord(r, name)
	return number
}

// numberAndWord returns both halves of such a file, 0 and "" if it can't be read.
func numberAndWord(r *sysfs.Reader, name string) (uint8, string) {
	s, ok := r.Required(name)
	if !ok {
		return 0, ""
	}
	number, word, _ := strings.Cut(s, ":")
	v, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
	if err != nil {
		r.Fail(name, fmt.Errorf("%q does not start with a number", s))
		return 0, ""
	}
	return uint8(v), strings.TrimSpace(word)
}

func guid(r *sysfs.Reader, name string) *ib.GUID {
	s, ok := r.Text(name)
	if !ok {
		return nil
	}
	g, err := ib.ParseGUID(s)
	if err != nil {
		r.Fail(name, err)
		return nil
	}
	return &g
}

// charDevices returns the character devices by RDMA device
// (class/infiniband_verbs/uverbsN/ibdev, class/infiniband_mad/umadN/{ibdev,port}).
func (s *scanner) charDevices() map[string][]CharDevice {
	out := map[string][]CharDevice{}
	for _, class := range []string{sysfs.ClassInfiniBandVerbs, sysfs.ClassInfiniBandMAD} {
		for _, name := range s.root.List(class) {
			r, ok := s.root.Dir(path.Join(class, name))
			if !ok {
				continue // abi_version is a file
			}
			dev, ok := r.Text("ibdev")
			if ok {
				c := s.charDevice(name)
				c.Port = int(deref(r.Uint("port", 8)))
				if v := r.Uint("abi_version", 16); v != nil {
					c.ABI = new(int(*v))
				}
				out[dev] = append(out[dev], c)
			}
			r.Close()
		}
	}
	return out
}

func (s *scanner) charDevice(name string) CharDevice {
	file := path.Join(sysfs.DevInfiniBand, name)
	c := CharDevice{Name: name, Path: s.root.Path(file), Node: s.root.Exists(file)}
	i := slices.IndexFunc(s.live.Chars, func(l LiveChar) bool { return l.Name == name })
	if i >= 0 {
		c.OpenError = s.live.Chars[i].Error
		c.Opened = new(c.OpenError == "")
	}
	return c
}
