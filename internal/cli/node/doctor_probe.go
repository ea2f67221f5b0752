package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// probePeers parses the addresses of --probe.
func probePeers(texts []string) ([]netip.Addr, error) {
	var peers []netip.Addr
	for _, text := range texts {
		a, err := probePeer(text)
		if err != nil {
			return nil, fmt.Errorf("--probe %q: %w", text, err)
		}
		if slices.Contains(peers, a) {
			return nil, fmt.Errorf("--probe %q: the address is given twice", text)
		}
		peers = append(peers, a)
	}
	return peers, nil
}

// probePeer parses an address. The errors say what else the text is.
func probePeer(text string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		return netip.Addr{}, fmt.Errorf("give the address without a port: %s", host)
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return netip.Addr{}, fmt.Errorf("give the address without a prefix length: %s", p.Addr())
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, errors.New("not an IPv4 address; host names are not resolved")
	}
	switch a = a.Unmap(); {
	case !a.Is4():
		return netip.Addr{}, errors.New("an IPv6 address; the probe needs IPv4")
	case a.IsLoopback():
		return netip.Addr{}, errors.New("an address of this node, not of another one")
	case a.IsUnspecified(), a.IsMulticast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return netip.Addr{}, errors.New("not the address of a node")
	}
	return a, nil
}
