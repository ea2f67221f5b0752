// Package pciname names PCI functions by their ids.
//
//	db := pciname.New("")
//	vendor, product := db.Name(0x15b3, 0x1021) // "NVIDIA", "MT2910 Family [ConnectX-7]"
//
// Product names come from the system's pci.ids, or from the copy that github.com/NVIDIA/go-nvlib
// embeds; vendors of RDMA and network cards have short names of our own, for pci.ids spells out
// companies that have since merged. A damaged file is not read at all: names are then missing.
// The database is read at the first name asked for, which takes about 15 ms; DB is safe for
// concurrent use.
package pciname

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/NVIDIA/go-nvlib/pkg/pciids"
)

// vendors are the makers that a node with RDMA is likely to show.
var vendors = map[uint16]string{
	0x1002: "AMD", 0x1022: "AMD", 0x1077: "Marvell", 0x10de: "NVIDIA", 0x10ec: "Realtek", 0x11ab: "Marvell",
	0x1414: "Microsoft", 0x1425: "Chelsio", 0x14e4: "Broadcom", 0x15b3: "NVIDIA", 0x17cb: "Qualcomm", 0x1924: "AMD",
	0x19e5: "Huawei", 0x1ae0: "Google", 0x1af4: "virtio", 0x1bed: "Cornelis", 0x1d0f: "Amazon", 0x1d6a: "Aquantia",
	0x1da3: "Habana", 0x1dd8: "AMD Pensando", 0x1ded: "Alibaba", 0x434e: "Cornelis", 0x8086: "Intel",
}

// DB is a database of names. Make it with [New].
type DB struct {
	names func() pciids.Interface
}

// New returns a database that reads file, or where file is "" the system's
// pci.ids, or the embedded copy where there is none. Nothing is read yet.
func New(file string) *DB {
	return &DB{names: sync.OnceValue(func() pciids.Interface { return load(file, systemFiles()) })}
}

// systemFiles returns where systems have their pci.ids, in the order in which
// the library looks for it.
func systemFiles() []string {
	return []string{
		"/usr/share/misc/pci.ids", "/usr/local/share/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids",
	}
}

// load parses the database in file, or where that is "" or can't be read, the
// first good one of the system's. It is nil where there are only damaged ones:
// the library prints what it doesn't understand to standard output, which is for
// data.
func load(file string, system []string) (names pciids.Interface) {
	defer func() { // a line that Check lets through and the library can't bear
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
		var unread *fs.PathError // the library too goes on to the next then
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
	return pciids.NewDB() // can't read a file either, and takes its own copy
}

// Name returns the names of a vendor and of its product, "" for what is unknown.
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
