// Package ib holds the identifiers of the InfiniBand architecture that every
// other package shares: GID, GUID, LID, P_Key and MTU.
//
// The types are small, comparable and free of allocation, so they serve as map
// keys and struct fields. Text forms are those of the Linux kernel's sysfs
// (drivers/infiniband/core/sysfs.c), which is what operators see everywhere:
//
//	gid, err := ib.ParseGID("0000:0000:0000:0000:0000:ffff:c000:0201")
//	if err != nil { … }
//	addr, ok := gid.IPv4() // 192.0.2.1, true
//
// All functions are pure and safe for concurrent use. Packet headers follow in
// this package with the data plane; it imports the standard library only.
package ib
