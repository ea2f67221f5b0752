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

// node gives access to the files of a machine under /sys and /proc. sysfs.Root implements it.
type node interface {
	fs.FS
	ReadLink(name string) (string, error)
}

// cardOf returns the name of the RDMA device of the RoCE card behind a network device, or "" if
// there is none. Such a card handles packets for UDP port 4791 in hardware, so a socket
// receives nothing. An rxe device is not a card: rxe receives through a UDP socket.
// Sources: infiniband/*/{parent,node_type}, ports/*/{link_layer,gid_attrs/ndevs/*}.
func cardOf(n node, netdev string) string {
	devices, err := fs.ReadDir(n, sysfs.ClassInfiniBand)
	if err != nil {
		return "" // no RDMA device, or no permission to list them
	}
	for _, d := range devices {
		dir := path.Join(sysfs.ClassInfiniBand, d.Name())
		if _, err := fs.Stat(n, path.Join(dir, "parent")); err == nil {
			continue // rxe has this file
		}
		if !strings.HasPrefix(text(n, path.Join(dir, "node_type")), "1:") {
			continue // not a channel adapter: iWARP doesn't use the UDP port
		}
		ports, err := fs.ReadDir(n, path.Join(dir, "ports"))
		if err != nil {
			continue
		}
		for _, p := range ports {
			if portUses(n, path.Join(dir, "ports", p.Name()), netdev) {
				return d.Name()
			}
		}
	}
	return ""
}

// portUses reports whether one of the port's GIDs belongs to the network device.
func portUses(n node, port, netdev string) bool {
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

// text returns the content of a one-line file, or "" if it can't be read.
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
// Addresses are 32-bit words in the byte order of the machine, which is assumed to be little
// endian. Malformed lines are skipped.
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

// portOwner describes the owner of UDP port 4791 on an address: "the kernel's rdma_rxe",
// "rdmactl (process 17)", or something less specific if the owner can't be determined.
func portOwner(n node, addr netip.Addr) string {
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
			// A kernel socket has an inode like any other socket, but no process.
			if owner == "" && s.addr.IsUnspecified() && rxeLoaded(n) {
				return "the kernel's rdma_rxe"
			}
			return cmp.Or(owner, "a process of another user or container")
		}
	}
	return "another engine, or the kernel's rdma_rxe"
}

// rxeLoaded reports whether the kernel module rdma_rxe is loaded, whose sockets are bound to port
// 4791 of all addresses.
func rxeLoaded(n node) bool {
	_, err := fs.Stat(n, path.Join(sysfs.ModuleDir, "rdma_rxe"))
	return err == nil
}

// processOf returns the name and number of the process that holds a socket, or "" if it can't be
// found.
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
			continue // the process has ended or belongs to another user
		}
		for _, f := range files {
			if link, err := n.ReadLink(path.Join(dir, "fd", f.Name())); err == nil && link == want {
				return fmt.Sprintf("%s (process %s)", text(n, path.Join(dir, "comm")), p.Name())
			}
		}
	}
	return ""
}
