package umad

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Port is a port with a user MAD device.
type Port struct {
	Name   string // umad0
	Device string // RDMA device: mlx5_0
	Number int
	Path   string // of the character device
	// Active reports whether the port is in state 4 (class/infiniband/DEV/ports/N/state).
	Active bool
	// LinkLayer is "InfiniBand" or "Ethernet"; over Ethernet there is no subnet management.
	LinkLayer string
	// Function is the PCI function of the device: 0000:0b:00.0 (class/infiniband/DEV/device); empty
	// for a device without one.
	Function string
	// SMDisabled is IsSMDisabled (bit 10) of the port's capability mask (cap_mask): the port has no
	// queue pair 0.
	SMDisabled bool
	// HasSMI is has_smi: whether the port has queue pair 0. nil on kernels without the file.
	HasSMI *bool
	// Parent is the device whose planes this one manages (nldev, kernel 6.11; see [SetParents]);
	// empty if the device is no such SMI device, or the kernel doesn't report it.
	Parent string
	// GUID is the port's GUID, the second half of its first GID (gids/0), as libibumad takes it;
	// zero if the port has none.
	GUID ib.GUID
}

// isSMDisabled is IsSMDisabled in the capability mask of a port (specification section 14.2.5.6).
const isSMDisabled = 1 << 10

// String returns "mlx5_0 port 1 (/dev/infiniband/umad0)".
func (p Port) String() string { return fmt.Sprintf("%s port %d (%s)", p.Device, p.Number, p.Path) }

// Ports lists the user MAD devices in class/infiniband_mad below a root (for this machine:
// [sysfs.OpenRoot]("/")), sorted by device name and port number.
func Ports(ctx context.Context, root fs.FS) ([]Port, error) {
	r := sysfs.NewReader(root, ctx.Err)
	defer r.Close()
	var ports []Port
	for _, name := range r.List(sysfs.ClassInfiniBandMAD) {
		if !strings.HasPrefix(name, "umad") {
			continue // issmN, abi_version
		}
		dir, ok := r.Dir(path.Join(sysfs.ClassInfiniBandMAD, name))
		if !ok {
			continue
		}
		device, _ := dir.Text("ibdev")
		number := dir.Uint("port", 8)
		dir.Close()
		if device == "" || number == nil {
			continue // the device has been removed
		}
		p := Port{Name: name, Device: device, Number: int(*number), Path: r.Path(path.Join(sysfs.DevInfiniBand, name))}
		at := path.Join(sysfs.ClassInfiniBand, device, "ports", fmt.Sprint(p.Number))
		state, _ := r.Text(path.Join(at, "state"))
		p.Active = strings.HasPrefix(state, "4:")
		p.LinkLayer, _ = r.Text(path.Join(at, "link_layer"))
		p.Function = r.LinkBase(path.Join(sysfs.ClassInfiniBand, device, "device"))
		if mask := r.Uint(path.Join(at, "cap_mask"), 32); mask != nil {
			p.SMDisabled = *mask&isSMDisabled != 0
		}
		if has := r.Uint(path.Join(at, "has_smi"), 8); has != nil {
			p.HasSMI = new(*has != 0)
		}
		text, _ := r.Text(path.Join(at, "gids/0"))
		if gid, err := ib.ParseGID(text); err == nil {
			p.GUID = gid.PortGUID()
		}
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b Port) int {
		if c := sysfs.NaturalCompare(a.Device, b.Device); c != 0 {
			return c
		}
		return a.Number - b.Number
	})
	var errs []error
	for _, err := range r.Errors() {
		errs = append(errs, err)
	}
	return ports, errors.Join(errs...)
}

// ErrNoPort is the error if no port has the requested device and number.
var ErrNoPort = errors.New("no such port with a user MAD device")

// noDeviceError is the error if there are no user MAD devices at all.
type noDeviceError struct{ looked string }

// Error implements error.
func (e *noDeviceError) Error() string {
	return "choose " + e.looked + ": the kernel has no user MAD devices"
}

// Is makes it match [ErrNoPort].
func (e *noDeviceError) Is(target error) bool { return target == ErrNoPort }

// Hints returns what user MAD devices need.
func (e *noDeviceError) Hints() []string {
	return []string{"they need an InfiniBand device and the kernel module ib_umad (modprobe ib_umad)"}
}

// Choose returns the port to use: one of the device unless device is "", with the number unless it
// is 0. Among several, it is the first active InfiniBand port whose card has subnet management,
// otherwise the first active InfiniBand port, otherwise the first InfiniBand port, otherwise the
// first port. The error matches [ErrNoPort] and contains the request and the existing ports. If
// there are none at all, it has a hint.
func Choose(ports []Port, device string, number int) (Port, error) {
	fits := slices.Clone(ports)
	fits = slices.DeleteFunc(fits, func(p Port) bool {
		return device != "" && p.Device != device || number != 0 && p.Number != number
	})
	for _, wanted := range []func(Port) bool{
		func(p Port) bool { return p.isInfiniBand() && p.Active && PairOf(ports, p).SMI.WhyNoQP0() == "" },
		func(p Port) bool { return p.isInfiniBand() && p.Active },
		func(p Port) bool { return p.isInfiniBand() },
		func(Port) bool { return true },
	} {
		if i := slices.IndexFunc(fits, wanted); i >= 0 {
			return fits[i], nil
		}
	}
	looked := "any port"
	switch {
	case device != "" && number != 0:
		looked = fmt.Sprintf("port %d of %s", number, device)
	case device != "":
		looked = "a port of " + device
	case number != 0:
		looked = fmt.Sprintf("port %d of any device", number)
	}
	if len(ports) == 0 {
		return Port{}, &noDeviceError{looked}
	}
	var have []string
	for _, p := range ports {
		have = append(have, fmt.Sprintf("%s port %d", p.Device, p.Number))
	}
	return Port{}, fmt.Errorf("choose %s: %w: available: %s", looked, ErrNoPort, strings.Join(have, ", "))
}
