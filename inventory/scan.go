package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Sources are the sources of a scan. Root is required; the others may be nil, and then
// the data that only they provide is absent from the [Snapshot].
type Sources struct {
	// Root is the node's file tree with "sys", "proc", "dev" at its top:
	// os.Root.FS(), os.DirFS("/") or a tree in memory. It should implement
	// fs.ReadLinkFS, since the PCI topology is determined from symbolic links.
	Root  fs.FS
	Live  LiveSource
	Names PCINames
	Now   func() time.Time
	Roles []RoleSetting // the roles that the site gives to ports
}

// PCINames provides names of PCI functions, for example from pci.ids.
type PCINames interface {
	// Name returns the names of vendor and product, "" if unknown.
	Name(vendor, device uint16) (vendorName, productName string)
}

// Scan reads a node. It always returns everything that could be read. The error joins
// the errors of the rest, each with its path; [Snapshot.Problems] has the same errors. A
// missing file is not an error. If ctx ends, Scan returns early with its error.
func Scan(ctx context.Context, src Sources) (Snapshot, error) {
	if src.Root == nil {
		return Snapshot{}, errors.New("scan node: missing root")
	}
	s := &scanner{
		Sources: src,
		root:    sysfs.NewReader(src.Root, ctx.Err),
		snap:    Snapshot{Schema: Schema, Devices: []Device{}, Netdevs: []Netdev{}, GPUs: []GPU{}, Cards: []Card{}},
		pci:     map[string]*pciFunction{},
	}
	if src.Now != nil {
		s.snap.Taken = src.Now().UTC()
	}
	liveErr := s.readLive(ctx)
	s.scanHost()
	s.scanPCI()
	s.scanNetdevs()
	s.scanDevices()
	s.correlate()
	AssignRoles(&s.snap, src.Roles)
	s.readLinkDowned()
	errs := []error{liveErr}
	for _, e := range s.root.Errors() {
		s.snap.Problems = append(s.snap.Problems, Problem{Path: e.Path, Error: e.Err.Error()})
		errs = append(errs, e)
	}
	if err := ctx.Err(); err != nil {
		errs = append(errs, fmt.Errorf("scan node: %w", err))
	}
	return s.snap, errors.Join(errs...)
}

// scanner holds the state of one scan.
type scanner struct {
	Sources
	root *sysfs.Reader
	snap Snapshot
	live Live
	pci  map[string]*pciFunction // by address, read at most once
}

// pciFunction is a PCI function with its SR-IOV data.
type pciFunction struct {
	PCI
	sriov  *SRIOV
	physfn string // address of the PF, "" unless a VF
}

func (s *scanner) readLive(ctx context.Context) error {
	if s.Live == nil {
		return nil
	}
	live, err := s.Live.Live(ctx)
	if live != nil {
		s.live = *live
		s.snap.Problems = append(s.snap.Problems, live.Problems...)
	}
	if err != nil {
		return fmt.Errorf("query the running kernel: %w", err)
	}
	return nil
}
