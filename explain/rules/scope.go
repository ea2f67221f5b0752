package rules

import (
	"fmt"

	"github.com/rdmakit/rdmakit/explain/facts"
)

// scope is what several failures of one kind have in common.
type scope struct {
	pairs   int
	devices map[string]int // by "node device"
	peers   map[string]int
	nodes   map[string]int
}

func scopeOf(list []*facts.Failure) scope {
	s := scope{devices: map[string]int{}, peers: map[string]int{}, nodes: map[string]int{}}
	for _, x := range list {
		if x.Node == nil {
			continue
		}
		s.pairs++
		s.nodes[x.Node.Name]++
		if x.Device != "" {
			s.devices[x.Node.Name+" "+x.Device]++
		}
		if x.PeerAddress != "" {
			s.peers[x.PeerAddress]++
		}
	}
	return s
}

// oneDevice returns the local device that all failures have while their peers differ.
func (s scope) oneDevice(list []*facts.Failure) (string, bool) {
	if len(s.devices) != 1 || len(s.peers) < 3 {
		return "", false
	}
	return where(list[0]), true
}

// oneEnd returns the device of one node that is an end of all failures, while the other ends are on
// several nodes: ports of one rail have the same name on all nodes.
func oneEnd(list []*facts.Failure) (string, bool) {
	if len(list) < 3 || list[0].Device == "" {
		return "", false
	}
	for _, n := range [...]*facts.Node{list[0].Node, list[0].Peer} {
		others, all := map[*facts.Node]bool{}, n != nil
		for _, x := range list {
			switch {
			case x.Device != list[0].Device || x.Node == nil || x.Peer == nil:
				all = false
			case x.Node == n:
				others[x.Peer] = true
			case x.Peer == n:
				others[x.Node] = true
			default:
				all = false
			}
		}
		if all && len(others) > 1 {
			return list[0].Device + " of " + n.Name, true
		}
	}
	return "", false
}

// onePeer returns the peer that failures of several nodes have in common.
func (s scope) onePeer(list []*facts.Failure) (string, bool) {
	if len(s.peers) != 1 || len(s.nodes) < 2 {
		return "", false
	}
	return toward(list[0]), true
}

// everywhere reports whether several nodes fail with several devices, toward several peers.
func (s scope) everywhere() bool { return len(s.nodes) > 1 && len(s.peers) > 1 }

// text returns "on 3 nodes".
func (s scope) text() string {
	if len(s.nodes) > 1 {
		return fmt.Sprintf("on %d nodes", len(s.nodes))
	}
	return "on one node"
}
