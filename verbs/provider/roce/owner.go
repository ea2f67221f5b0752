package roce

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// node is what of a machine tells who has a port or a network device: its files.
// sysfs.Root is one.
type node interface {
	fs.FS
	ReadLink(name string) (string, error)
}

// cardOf finds the RoCE card behind a network device: the name of its RDMA device, or
// "" where there is none. Such a card takes packets for UDP port 4791 in hardware, so
// that a socket hears nothing. The kernel's rxe is none: it has a socket of its own.
// Sources: infiniband/*/{parent,node_type}, ports/*/{link_layer,gid_attrs/ndevs/*}.
func cardOf(n node, netdev string) string {
	devices, err := fs.ReadDir(n, sysfs.ClassInfiniBand)
	if err != nil {
		return "" // no RDMA here, or not for us to see
	}
	for _, d := range devices {
		dir := path.Join(sysfs.ClassInfiniBand, d.Name())
		if _, err := fs.Stat(n, path.Join(dir, "parent")); err == nil {
			continue // rxe has this file
		}
		if !strings.HasPrefix(text(n, path.Join(dir, "node_type")), "1:") {
			continue // iWARP leaves the port alone
		}
		ports, err := fs.ReadDir(n, path.Join(dir, "ports"))
		if err != nil {
			continue
		}
		for _, p := range ports {
			if backs(n, path.Join(dir, "ports", p.Name()), netdev) {
				return d.Name()
			}
		}
	}
	return ""
}

// backs tells whether one of a port's GIDs is of the network device.
func backs(n node, port, netdev string) bool {
	if text(n, path.Join(port, "link_layer")) != "Ethernet" {
		return false
	}
	dir := path.Join(port, "gid_attrs", "ndevs")
	entries, err := fs.ReadDir(n, dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if text(n, path.Join(dir, e.Name())) == netdev {
			return true
		}
	}
	return false
}

// text reads a file of one line; "" where it can't be read.
func text(n node, name string) string {
	b, err := fs.ReadFile(n, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// socket is a line of /proc/net/udp or udp6.
type socket struct {
	addr  netip.Addr
	port  uint16
	inode string
}

// parseSockets reads /proc/net/udp or udp6 (kernel: net/ipv4/udp.c, udp4_format_sock).
// Addresses are words of four bytes in the byte order of the machine, which is little
// endian wherever this runs. Lines that it doesn't understand are left out.
func parseSockets(table []byte) (list []socket) {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		const inode = 9
		if len(fields) <= inode {
			continue
		}
		host, port, ok := strings.Cut(fields[1], ":")
		number, err := strconv.ParseUint(port, 16, 16)
		raw, hexErr := hex.DecodeString(host)
		if !ok || err != nil || hexErr != nil || len(raw) != 4 && len(raw) != 16 {
			continue
		}
		for i := 0; i < len(raw); i += 4 {
			raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
		}
		addr, _ := netip.AddrFromSlice(raw)
		list = append(list, socket{addr.Unmap(), uint16(number), fields[inode]})
	}
	return list
}

// ownerOf says in words who has port 4791 of an address: "the kernel's rdma_rxe",
// "rdmactl (process 17)", or less where less can be seen.
func ownerOf(n node, addr netip.Addr) string {
	for _, name := range []string{sysfs.ProcNetUDP, sysfs.ProcNetUDP6} {
		table, err := fs.ReadFile(n, name)
		if err != nil {
			continue
		}
		for _, s := range parseSockets(table) {
			if s.port != rocev2.Port || s.addr != addr && !s.addr.IsUnspecified() {
				continue
			}
			owner := processOf(n, s.inode)
			// A socket of the kernel has an inode as any other, but no process.
			if owner == "" && s.addr.IsUnspecified() && rxeLoaded(n) {
				return "the kernel's rdma_rxe"
			}
			return cmp.Or(owner, "a process of another user or container")
		}
	}
	return "another engine, or the kernel's rdma_rxe"
}

// rxeLoaded tells whether the kernel has rdma_rxe, whose sockets have port 4791 of all
// addresses.
func rxeLoaded(n node) bool {
	_, err := fs.Stat(n, path.Join(sysfs.ModuleDir, "rdma_rxe"))
	return err == nil
}

// processOf finds the process that holds a socket; "" where none is seen to.
func processOf(n node, inode string) string {
	want := "socket:[" + inode + "]"
	processes, err := fs.ReadDir(n, sysfs.Proc)
	if err != nil {
		return ""
	}
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		dir := path.Join(sysfs.Proc, p.Name())
		files, err := fs.ReadDir(n, path.Join(dir, "fd"))
		if err != nil {
			continue // gone, or another user's
		}
		for _, f := range files {
			if link, err := n.ReadLink(path.Join(dir, "fd", f.Name())); err == nil && link == want {
				return fmt.Sprintf("%s (process %s)", text(n, path.Join(dir, "comm")), p.Name())
			}
		}
	}
	return ""
}
