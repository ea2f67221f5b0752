// Package pciname returns the names of PCI functions by their ids.
//
//	db := pciname.New("")
//	vendor, product := db.Name(0x15b3, 0x1021) // "NVIDIA", "MT2910 Family [ConnectX-7]"
//
// Product names come from the system's pci.ids, or from the copy that github.com/NVIDIA/go-nvlib
// embeds; vendors of RDMA and network cards have short names in this package, because pci.ids has
// the full names of companies that have since merged. A damaged file is not used: names are missing
// then. The first lookup reads the database, which takes about 15 ms; DB is safe for concurrent
// use.
package pciname

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/NVIDIA/go-nvlib/pkg/pciids"
)

// vendors are common vendors on nodes with RDMA.
var vendors = map[uint16]string{
	0x1002: "AMD", 0x1022: "AMD", 0x1077: "Marvell", 0x10de: "NVIDIA", 0x10ec: "Realtek", 0x11ab: "Marvell",
	0x1414: "Microsoft", 0x1425: "Chelsio", 0x14e4: "Broadcom", 0x15b3: "NVIDIA", 0x17cb: "Qualcomm", 0x1924: "AMD",
	0x19e5: "Huawei", 0x1ae0: "Google", 0x1af4: "virtio", 0x1bed: "Cornelis", 0x1d0f: "Amazon", 0x1d6a: "Aquantia",
	0x1da3: "Habana", 0x1dd8: "AMD Pensando", 0x1ded: "Alibaba", 0x434e: "Cornelis", 0x8086: "Intel",
}

// DB is a database of names. Create it with [New].
type DB struct {
	names func() pciids.Interface
}

// New returns a database that reads file, or if file is "" the system's pci.ids, or the embedded
// copy if there is none. New does not read it yet.
func New(file string) *DB {
	return &DB{names: sync.OnceValue(func() pciids.Interface { return load(file, systemFiles()) })}
}

// systemFiles returns the paths of pci.ids on common systems, in the order of the library.
func systemFiles() []string {
	return []string{
		"/usr/share/misc/pci.ids", "/usr/local/share/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids",
	}
}

// load parses the database in file, or if file is "" or can't be read, the first valid one of the
// system. It returns nil if all are damaged, because the library prints lines that it can't parse
// to standard output, which is for data.
func load(file string, system []string) (names pciids.Interface) {
	defer func() { // a line that Check accepts but on which the library panics
		if recover() != nil {
			names = nil
		}
	}()
	damaged := false
	for _, f := range append([]string{file}, system...) {
		if f == "" {
			continue
		}
		err := Check(f)
		var unread *fs.PathError // the library continues with the next file too
		switch {
		case err == nil:
			return pciids.NewDB(pciids.WithFilePath(f))
		case errors.As(err, &unread):
		case f == file:
			return nil
		default:
			damaged = true
		}
	}
	if damaged {
		return nil
	}
	return pciids.NewDB() // it can't read a file either and uses its embedded copy
}

// Name returns the names of a vendor and of its product, "" if unknown.
func (d *DB) Name(vendor, device uint16) (vendorName, productName string) {
	vendorName = vendors[vendor]
	names := d.names()
	if names == nil {
		return vendorName, ""
	}
	product, err := names.GetDeviceName(vendor, device)
	if err != nil {
		return vendorName, ""
	}
	return vendorName, product
}
