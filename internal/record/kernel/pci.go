package kernel

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// pci reads the configuration space of the functions that are on the way of a job's data, and no
// other: some devices don't survive that.
func pci(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindPCI, Source: "/" + sysfs.BusPCIDevices + "/*/config", Cost: "at most 4 KiB of each function",
		Privilege: "CAP_SYS_ADMIN",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.PCI = facts.Read(now, func() ([]facts.PCIFunction, error) {
				return pciFunctions(ctx, os.DirFS("/"), addresses(s))
			})
		},
	}
}

// addresses returns the cards, the GPUs and the bridges above them.
func addresses(s *inventory.Snapshot) []string {
	var all []string
	add := func(p *inventory.PCI) {
		all = append(all, p.Address)
		for _, bridge := range p.Chain {
			if !strings.HasPrefix(bridge, "pci") { // a host bridge has no function
				all = append(all, bridge)
			}
		}
	}
	for i := range s.Cards {
		add(&s.Cards[i].PCI)
	}
	for i := range s.GPUs {
		add(&s.GPUs[i].PCI)
	}
	for i := range s.Devices {
		if s.Devices[i].PCI != nil {
			add(s.Devices[i].PCI)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pciFunctions reads and decodes the configuration space of functions below the root of a node.
func pciFunctions(ctx context.Context, root fs.FS, addresses []string) ([]facts.PCIFunction, error) {
	if len(addresses) == 0 {
		return nil, facts.Absent("no PCI function is an RDMA card or a GPU")
	}
	out := make([]facts.PCIFunction, 0, len(addresses))
	for _, addr := range addresses {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		config, err := fs.ReadFile(root, path.Join(sysfs.BusPCIDevices, addr, "config"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // such as a device of another bus in the chain, or a container's view
		}
		var f facts.PCIFunction
		if err == nil {
			f, err = facts.DecodePCI(addr, config)
		}
		if errors.Is(err, facts.ErrDenied) {
			return nil, err
		}
		if err != nil {
			f = facts.PCIFunction{Address: addr, Error: err.Error()}
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, facts.Absent("no configuration space of a card or GPU is visible")
	}
	return out, nil
}
