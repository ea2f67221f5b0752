package main

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// netSpec is a subnet to measure on. It includes the expected numbers of nodes and links, so that a
// disconnected net or a changed generator is noticed.
type netSpec struct {
	name         string
	net          *ibsimtest.Net
	nodes, links int
	dead         int     // number of dead adapters under that condition: 1 % of the nodes
	ratio        float64 // target of the speed relative to ibnetdiscover; 0: no target
	deadRatio    float64 // the same with dead nodes
}

// selectNets returns the nets to measure on.
func selectNets(quick bool, only string) ([]netSpec, error) {
	large, err := ibsimtest.FatTree3(20, 29, 16, 16, 32)
	if err != nil {
		return nil, err
	}
	specs := []netSpec{
		{name: "1k", net: ibsimtest.FatTree2(32, 32, 32), nodes: 1088, links: 2048, dead: 11, ratio: 3, deadRatio: 5},
		{name: "10k", net: large, nodes: 10212, links: 19200, dead: 102, ratio: 3.5, deadRatio: 10},
	}
	if quick {
		specs = []netSpec{{name: "quick", net: ibsimtest.FatTree2(8, 11, 4), nodes: 100, links: 120, dead: 1}}
	}
	if only != "" {
		specs = slices.DeleteFunc(specs, func(s netSpec) bool { return s.name != only })
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("-net %s: no such net", only)
	}
	for _, s := range specs {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// check compares the generated net with the expected numbers.
func (s netSpec) check() error {
	switches, hosts, cables := s.net.Counts()
	if got := (census{switches + hosts, 2 * cables}); got != s.census(0) {
		return fmt.Errorf("net %s was generated with %v, want %v", s.name, got, s.census(0))
	}
	return nil
}

// census returns what a sweep finds if some adapters are dead, each with one cable.
func (s netSpec) census(dead int) census { return census{s.nodes - dead, 2 * (s.links - dead)} }

// condition is the kind of access to the subnet.
type condition struct {
	name  string
	relay bool // through a relay that adds lateness
	dead  bool // with dead nodes
	views []view
}

// view is a task at which programs compete.
type view struct {
	name     string
	theirs   [][]string // command lines of infiniband-diags; the output of the first is the reference
	ours     []string   // arguments of rdmactl
	targeted bool       // the ratio of its first command line has a target
}

func conditions() []condition {
	sweep := view{
		name:   "ibnetdiscover",
		theirs: [][]string{{"ibnetdiscover"}, {"ibnetdiscover", "-o", "64"}}, ours: []string{"ibnetdiscover"},
		targeted: true,
	}
	links := view{name: "iblinkinfo", theirs: [][]string{{"iblinkinfo"}}, ours: []string{"iblinkinfo"}}
	errs := view{
		name: "ibqueryerrors", theirs: [][]string{{"ibqueryerrors", "--counters"}},
		ours: []string{"ibqueryerrors", "--counters"},
	}
	return []condition{
		{name: "ibsim", views: []view{sweep, links, errs}},
		{name: "100 µs later", relay: true, views: []view{sweep}},
		{name: "100 µs later, 1 % dead", relay: true, dead: true, views: []view{sweep}},
	}
}
