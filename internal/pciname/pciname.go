// Package pciname names PCI functions by their ids.
//
//	db := pciname.New("")
//	vendor, product := db.Name(0x15b3, 0x1021) // "NVIDIA", "MT2910 Family [ConnectX-7]"
//
// Product names come from the system's pci.ids, or from the copy that
// github.com/NVIDIA/go-nvlib embeds; vendors of RDMA and network cards have
// short names of our own, for pci.ids spells out companies that have since
// merged. The database is read at the first name asked for, which takes about
// 15 ms; DB is safe for concurrent use.
package pciname

import (
	"fmt"
	"os"
	"sync"

	"github.com/NVIDIA/go-nvlib/pkg/pciids"
)

// vendors are the makers that a node with RDMA is likely to show.
var vendors = map[uint16]string{
	0x1002: "AMD", 0x1022: "AMD", 0x1077: "Marvell", 0x10de: "NVIDIA", 0x10ec: "Realtek", 0x11ab: "Marvell", 0x1414: "Microsoft",
	0x1425: "Chelsio", 0x14e4: "Broadcom", 0x15b3: "NVIDIA", 0x17cb: "Qualcomm", 0x1924: "AMD", 0x19e5: "Huawei", 0x1ae0: "Google",
	0x1af4: "virtio", 0x1bed: "Cornelis", 0x1d0f: "Amazon", 0x1d6a: "Aquantia", 0x1da3: "Habana", 0x1dd8: "AMD Pensando",
	0x1ded: "Alibaba", 0x434e: "Cornelis", 0x8086: "Intel",
}

// DB is a database of names. Make it with New.
type DB struct {
	names func() pciids.Interface
}

// New returns a database that reads file, or where file is "" the system's
// pci.ids, or the embedded copy where there is none. Nothing is read yet.
func New(file string) *DB {
	return &DB{names: sync.OnceValue(func() pciids.Interface { return load(file) })}
}

// load parses the database; nil when it is damaged, for the library's parser
// panics on lines that are cut short.
func load(file string) (names pciids.Interface) {
	defer func() {
		if recover() != nil {
			names = nil
		}
	}()
	if file != "" {
		return pciids.NewDB(pciids.WithFilePath(file))
	}
	return pciids.NewDB()
}

// Check returns an error when file can't be read, for New can't tell.
func Check(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open PCI id database: %w", err)
	}
	return f.Close()
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
