package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

func localLive() LiveSource { return kernelLive{} }

// kernelLive queries the running kernel.
type kernelLive struct {
	client rdmanl.Client
}

// Live implements LiveSource.
func (k kernelLive) Live(ctx context.Context) (*Live, error) {
	l := &Live{}
	errs := []error{k.links(ctx, l)}
	// A query to nldev would load the module ib_core: skip it if there are no RDMA devices.
	if _, err := os.Stat("/" + sysfs.ClassInfiniBand); err == nil {
		errs = append(errs, k.devices(ctx, l), k.system(ctx, l))
	}
	openChars(l)
	return l, errors.Join(errs...)
}

func (k kernelLive) devices(ctx context.Context, l *Live) error {
	devices, err := k.client.Devices(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // old kernels support nldev only in the initial network namespace
	}
	errs := []error{err}
	for _, d := range devices {
		out := LiveDevice{Index: d.Index, Name: d.Name, Protocol: d.Protocol}
		if d.Type != nil && *d.Type == rdmanl.RDMA_DEVICE_TYPE_SMI {
			out.SMIOf = d.Parent
		}
		ports, err := k.client.Ports(ctx, d)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed since: if its files exist again later, the scan reports errAdded
		}
		errs = append(errs, err)
		for _, p := range ports {
			out.Ports = append(out.Ports, LivePort{Number: int(p.Number), Netdev: p.NetdevName})
		}
		l.Devices = append(l.Devices, out)
	}
	return errors.Join(errs...)
}

// system queries the network namespace mode, which kernels before 5.2 don't have.
func (k kernelLive) system(ctx context.Context, l *Live) error {
	sys, err := k.client.System(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		l.Problems = append(l.Problems, Problem{Path: PathRDMASystem, Error: err.Error()})
		return err
	case sys.SharedNetns == nil:
	case *sys.SharedNetns:
		l.NetnsMode = NetnsModeShared
	default:
		l.NetnsMode = NetnsModeExclusive
	}
	return nil
}

func (k kernelLive) links(ctx context.Context, l *Live) error {
	links, linkErr := k.client.Links(ctx)
	addrs, addrErr := k.client.Addresses(ctx)
	names := map[int]string{}
	for _, link := range links {
		names[link.Index] = link.Name
	}
	prefixes := map[int][]netip.Prefix{}
	for _, a := range addrs {
		prefixes[a.LinkIndex] = append(prefixes[a.LinkIndex], a.Prefix)
	}
	for _, link := range links {
		out := LiveLink{Index: link.Index, Name: link.Name, Kind: link.Kind, Addresses: prefixes[link.Index]}
		if link.LowerIndex != nil && link.LowerNetnsID == nil && *link.LowerIndex != link.Index && link.Kind != "veth" {
			out.Lower = names[*link.LowerIndex]
		}
		for _, vf := range link.VFs {
			out.VFs = append(out.VFs, liveVF(vf))
		}
		l.Links = append(l.Links, out)
	}
	return errors.Join(linkErr, addrErr)
}

func liveVF(vf rdmanl.VF) LiveVF {
	out := LiveVF{Index: int(vf.Index), VFSettings: VFSettings{
		MAC: vf.MAC.String(), LinkState: vf.LinkState,
		Trust: vf.Trust, SpoofChk: vf.SpoofCheck, NodeGUID: vf.NodeGUID, PortGUID: vf.PortGUID,
	}}
	if vf.VLAN != nil {
		out.VLAN = new(int(*vf.VLAN))
	}
	return out
}

// openChars opens and closes each character device, since the file mode is not
// sufficient to know the permissions in a container, where the device cgroup decides.
func openChars(l *Live) {
	dir := "/" + sysfs.DevInfiniBand
	for _, pattern := range []string{"uverbs*", "rdma_cm"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern)) // only a bad pattern fails
		for _, f := range files {
			l.Chars = append(l.Chars, openChar(f))
		}
	}
}

func openChar(file string) LiveChar {
	c := LiveChar{Name: filepath.Base(file)}
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		err = unix.Close(fd)
	}
	if err != nil {
		c.Error = fmt.Sprintf("open: %v", err)
	}
	return c
}
