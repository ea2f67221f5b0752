package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// silent returns nodes that others name and that report nothing, and ranks that did not finish to
// initialize.
func (c *collector) silent() []Silence {
	var list []Silence
	for _, n := range c.facts.Nodes {
		for _, rank := range n.Started {
			if !slices.Contains(n.Completed, rank) && c.someCompleted() {
				list = append(list, Silence{
					Node: n, Rank: rank, Why: "began to initialize and did not finish, while others did",
				})
			}
		}
		if by := c.namedBy(n); len(by) > 0 && !c.failed(n) && !n.RecordedOnly {
			places := make([]evidence.Place, 0, len(by))
			for _, f := range by {
				places = append(places, f.Event.Place)
			}
			list = append(list, Silence{
				Node: n, Rank: evidence.NoRank, Places: places[:min(len(places), maxPlaces)],
				Why: fmt.Sprintf("%d failures of others name it, and it reports none", len(by)),
			})
		}
	}
	return list
}

func (c *collector) someCompleted() bool {
	return slices.ContainsFunc(c.facts.Nodes, func(n *Node) bool { return len(n.Completed) > 0 })
}

func (c *collector) namedBy(n *Node) []*Failure {
	var list []*Failure
	for _, f := range c.facts.Failures {
		if f.Peer == n {
			list = append(list, f)
		}
	}
	return list
}

func (c *collector) failed(n *Node) bool {
	return slices.ContainsFunc(c.facts.Failures, func(f *Failure) bool { return f.Node == n })
}

// differencesOf returns what should be equal on all nodes and isn't.
func differencesOf(f *Facts) []Difference {
	var list []Difference
	jobs := jobsOf(f.Nodes)
	compare := func(what string, valueOf func(n *Node) []Value) {
		for _, nodes := range jobs {
			if d, differs := differenceOf(nodes, what, valueOf); differs {
				list = append(list, d)
			}
		}
	}
	compare("network", func(n *Node) []Value { return n.Networks })
	compare("network plugin", func(n *Node) []Value { return n.Plugins })
	compare("devices", func(n *Node) []Value { return joined(n, deviceNames) })
	compare("link", func(n *Node) []Value { return joined(n, links) })
	compare("MTU", func(n *Node) []Value { return n.pathMTUs() })
	compare("active MTU", func(n *Node) []Value { return n.Recorded.mtus() })
	compare("GPU Direct RDMA", func(n *Node) []Value { return joined(n, gdrs) })
	var names []string
	for _, n := range f.Nodes {
		for _, s := range n.Environment {
			if !slices.Contains(names, s.Name) && !nodeSpecific(s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	for _, name := range names {
		compare(name, func(n *Node) []Value { return n.Variable(name) })
	}
	return list
}

// jobsOf returns the nodes that can belong to one job, for each: those of which the job isn't known
// are in all, except for those that are there as a whole.
func jobsOf(nodes []*Node) [][]*Node {
	var numbers []int
	var rest []*Node
	for _, n := range nodes {
		if n.Job == 0 {
			rest = append(rest, n)
		} else if !slices.Contains(numbers, n.Job) {
			numbers = append(numbers, n.Job)
		}
	}
	var jobs [][]*Node
	alone := true
	for _, number := range numbers {
		var job []*Node
		whole := false
		for _, n := range nodes {
			if n.Job == number {
				job, whole = append(job, n), n.wholeJob
			}
		}
		if !whole {
			job, alone = append(job, rest...), false
		}
		jobs = append(jobs, job)
	}
	if alone && len(rest) > 0 {
		jobs = append(jobs, rest)
	}
	return jobs
}

// VersionsDiffer reports whether a library has several versions within what can be one job.
func (f *Facts) VersionsDiffer() bool {
	jobs := jobsOf(f.Nodes)
	inJob := func(e *evidence.Event, job []*Node) bool {
		if e.Process.Host == "" { // of any of them
			return len(jobs) == 1
		}
		n := f.NodeOf(e.Process)
		return n == nil || slices.Contains(job, n)
	}
	for _, job := range jobs {
		versions := map[string]string{} // by library
		for library, e := range versionEvents(f.Store) {
			if !inJob(e, job) {
				continue
			}
			if v, ok := versions[library]; ok && v != e.Fields["version"] {
				return true
			}
			versions[library] = e.Fields["version"]
		}
	}
	return false
}

// OtherJob reports whether a node belongs to a job that is in these logs as a whole and has no
// failure, while others have: it says nothing about them.
func (f *Facts) OtherJob(n *Node) bool {
	ofJob := func(x *Failure) bool { return x.Node != nil && x.Node.Job == n.Job }
	return n.wholeJob && len(f.Failures) > 0 && !slices.ContainsFunc(f.Failures, ofJob)
}

// nodeSpecific reports whether a variable may differ between nodes.
func nodeSpecific(name string) bool {
	switch name {
	case "NCCL_HOSTID", "NCCL_COMM_ID", "NCCL_TOPO_FILE", "NCCL_DEBUG_FILE", "UCX_NET_DEVICES", "UCX_LOG_FILE":
		return true
	}
	return false
}

// joined returns one value for all devices of a node.
func joined(n *Node, texts func(d *Device) string) []Value {
	var v Value
	var list []string
	for _, d := range n.Devices {
		if t := texts(d); t != "" && !slices.Contains(list, t) {
			list = append(list, t)
			if len(v.Places) < maxPlaces {
				v.Places = append(v.Places, d.Places...)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	v.Text = strings.Join(list, " ")
	return []Value{v}
}

func deviceNames(d *Device) string { return d.Name }
func links(d *Device) string       { return string(d.Link) }
func gdrs(d *Device) string        { return d.GDR }

// pathMTUs are those of connections, as one value.
func (n *Node) pathMTUs() []Value {
	if v := joined(n, mtus); v != nil {
		return v
	}
	return n.otherMTUs
}

func mtus(d *Device) string {
	if d.MTU == 0 {
		return ""
	}
	return fmt.Sprint(d.MTU)
}

// differenceOf compares the values of the nodes that have one. A node without a value doesn't
// differ: its line may be missing in the log.
func differenceOf(nodes []*Node, what string, valueOf func(n *Node) []Value) (Difference, bool) {
	d := Difference{What: what}
	for _, n := range nodes {
		for _, v := range valueOf(n) {
			i := slices.IndexFunc(d.Values, func(x NodeValue) bool { return x.Text == v.Text })
			if i < 0 {
				d.Values = append(d.Values, NodeValue{Value: v})
				i = len(d.Values) - 1
			}
			if !slices.Contains(d.Values[i].Nodes, n) {
				d.Values[i].Nodes = append(d.Values[i].Nodes, n)
			}
		}
	}
	if len(d.Values) < 2 {
		return d, false
	}
	// Several values on one node, and the same ones on all, are no difference of nodes.
	first := d.Values[0].Nodes
	return d, slices.ContainsFunc(d.Values, func(v NodeValue) bool { return !slices.Equal(v.Nodes, first) })
}

// hiddenIn says what these logs can't show.
func hiddenIn(f *Facts) []string {
	list := recordingsHidden(f)
	s := f.Store
	if !hasNCCLLines(s) {
		return list
	}
	switch {
	case !s.Has(evidence.NCCLNetwork) && !s.Has(evidence.NCCLInitStart) && !s.Has(evidence.NCCLDevices):
		list = append(list, "the lines of NCCL's start aren't in these logs: network, devices and versions can't be "+
			"seen; NCCL_DEBUG=INFO shows them")
	case !s.Has(evidence.NCCLQP) && !s.Has(evidence.NCCLGDR):
		what := "GIDs, MTU, retries and GPU Direct RDMA"
		if f.GDR != "" {
			what = "GIDs, MTU and retries"
		}
		list = append(list, "lines of the subsystem NET are hidden: "+what+" can't be seen, and their absence "+
			"proves nothing; NCCL_DEBUG_SUBSYS=INIT,NET,ENV shows them")
	}
	return list
}
