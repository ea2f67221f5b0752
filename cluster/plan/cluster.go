package plan

import (
	"errors"
	"fmt"
	"math"
)

// Cluster is what is to be verified.
type Cluster struct {
	Nodes []Node `json:"nodes"`
}

// Node is a machine with its cards.
type Node struct {
	Name  string `json:"name"` // unique in the cluster
	Rails []Card `json:"rails"`
	// Leaf names the switch that the node's rails are connected to, "" if it is not known. With
	// rails on different switches it names the group of switches, such as a pod.
	Leaf string `json:"leaf,omitempty"`
}

// Card is a port that carries a rail.
type Card struct {
	Rail   int     `json:"rail"`   // number of the rail, equal on all nodes
	Device string  `json:"device"` // mlx5_0:1
	Gbps   float64 `json:"gbps"`   // rate in Gb/s, 0 if unknown
}

// End is a card of a cluster.
type End struct {
	Node int32 `json:"n"` // index in Cluster.Nodes
	Rail int16 `json:"r"` // number of the rail
}

// maxNodes bounds a plan, so that hostile input can't exhaust memory.
const maxNodes = 1 << 16

// Errors of [New].
var (
	ErrTooFew  = errors.New("a verification needs at least two nodes") // fewer than two nodes
	ErrTooMany = fmt.Errorf("more than %d nodes", maxNodes)            // more than a plan can have
	ErrOptions = errors.New("invalid options")                         // an unknown stage, a negative value
)

// check returns what makes a cluster unfit for a plan.
func (c Cluster) check() error {
	switch {
	case len(c.Nodes) < 2:
		return ErrTooFew
	case len(c.Nodes) > maxNodes:
		return ErrTooMany
	}
	names := make(map[string]bool, len(c.Nodes))
	for i, n := range c.Nodes {
		if n.Name == "" {
			return fmt.Errorf("node %d has no name", i)
		}
		if names[n.Name] {
			return fmt.Errorf("two nodes are named %s", n.Name)
		}
		if err := n.Check(); err != nil {
			return err
		}
		names[n.Name] = true
	}
	return nil
}

// Check returns why a node can't be part of a plan, with its name; nil if it can.
func (n Node) Check() error {
	switch {
	case n.Name == "":
		return errors.New("a node has no name")
	case len(n.Rails) == 0:
		return fmt.Errorf("node %s has no rail", n.Name)
	}
	rails := map[int]bool{}
	for _, r := range n.Rails {
		switch {
		case r.Rail < 0 || r.Rail >= maxRails:
			return fmt.Errorf("node %s: rail %d is not in 0 to %d", n.Name, r.Rail, maxRails-1)
		case rails[r.Rail]:
			return fmt.Errorf("node %s has two cards of rail %d", n.Name, r.Rail)
		case !(r.Gbps >= 0) || math.IsInf(r.Gbps, 0): // NaN too
			return fmt.Errorf("node %s: rail %d has a rate of %v Gb/s", n.Name, r.Rail, r.Gbps)
		}
		rails[r.Rail] = true
	}
	return nil
}

// maxRails bounds the number of a rail.
const maxRails = 64

// rails returns the numbers of all rails that at least two nodes have, sorted.
func (c Cluster) rails() []int {
	var count [maxRails]int
	for _, n := range c.Nodes {
		for _, r := range n.Rails {
			count[r.Rail]++
		}
	}
	var out []int
	for rail, n := range count {
		if n > 1 {
			out = append(out, rail)
		}
	}
	return out
}
