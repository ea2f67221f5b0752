package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// maxPlaces is how many places of a value are kept.
const maxPlaces = 3

// New collects the facts of the events in a store.
func New(store *evidence.Store) *Facts {
	c := collector{
		facts:  &Facts{Store: store},
		nodes:  map[string]*Node{},
		ofFile: map[string][]*Node{},
		listed: map[*Node]bool{},
	}
	c.collectNodes()
	c.facts.Libraries = librariesOf(store)
	c.collectFailures()
	c.facts.Silent = c.silent()
	c.facts.Differences = differencesOf(c.facts)
	c.facts.GDR = gpuDirect(store)
	c.facts.Hidden = hiddenIn(c.facts)
	for e := range store.Of("nccl.") {
		if n, ok := e.Fields.Int("nranks"); ok && n > c.facts.Ranks && e.Fields["parent"] == "" {
			c.facts.Ranks = n
		}
	}
	return c.facts
}

// collector builds Facts.
type collector struct {
	facts  *Facts
	nodes  map[string]*Node
	ofFile map[string][]*Node
	jobs   int
	listed map[*Node]bool // nodes for which NCCL listed devices
}

// node returns the node of a process: that of its host name, or else the only one of its file, or
// else one that stands for the file.
func (c *collector) node(p evidence.Process) *Node {
	name := p.Host
	if name == "" {
		if list := c.ofFile[p.File]; len(list) == 1 {
			return list[0]
		}
		name = p.File
	}
	n := c.nodes[name]
	if n == nil {
		n = &Node{Name: name}
		c.nodes[name] = n
		c.facts.Nodes = append(c.facts.Nodes, n)
	}
	if p.Host != "" && !slices.Contains(n.Files, p.File) {
		n.Files = append(n.Files, p.File)
		c.ofFile[p.File] = append(c.ofFile[p.File], n)
	}
	if p.Rank != evidence.NoRank {
		n.Ranks = insert(n.Ranks, p.Rank)
	}
	return n
}

// insert adds a number to an ascending list without duplicates.
func insert(list []int, v int) []int {
	i, found := slices.BinarySearch(list, v)
	if found {
		return list
	}
	return slices.Insert(list, i, v)
}

// addValue adds a value, or a place to one that is there.
func addValue(list []Value, text string, p evidence.Place) []Value {
	for i := range list {
		if list[i].Text == text {
			if len(list[i].Places) < maxPlaces {
				list[i].Places = append(list[i].Places, p)
			}
			return list
		}
	}
	return append(list, Value{Text: text, Places: []evidence.Place{p}})
}

// collectNodes reads the events that describe nodes. Those with a host come first, so that lines
// without one find their node.
func (c *collector) collectNodes() {
	for _, hosted := range [...]bool{true, false} {
		for e := range c.facts.Store.Of("nccl.") {
			if (e.Process.Host != "") == hosted {
				c.nodeFact(e)
			}
		}
	}
	for e := range c.facts.Store.Of(evidence.NCCLQP) {
		c.queuePair(e)
	}
	for e := range c.facts.Store.Of(evidence.NCCLGDR) {
		if e.Fields["device"] != "" {
			d := c.node(e.Process).device(e.Fields["device"], 0, e.Place)
			d.GDR = map[string]string{"yes": "enabled", "no": "disabled"}[e.Fields["enabled"]]
		}
	}
	for e := range c.facts.Store.Of(evidence.UCXEnvironment) {
		n := c.node(e.Process)
		for part := range strings.FieldsSeq(e.Fields["variables"]) {
			if name, value, ok := strings.Cut(part, "="); ok {
				n.set(name, value, e.Place)
			}
		}
	}
	c.otherNodes()
	c.inferNetworks()
	c.findJobs()
	c.recordings()
}

// findJobs numbers the jobs: nodes belong to one if they share the identifier of a communicator.
func (c *collector) findJobs() {
	byComm := map[string]int{}
	for e := range c.facts.Store.Of(evidence.NCCLInitStart) {
		id := e.Fields["commid"]
		if id == "" {
			continue
		}
		n := c.node(e.Process)
		switch known := byComm[id]; {
		case known == 0 && n.Job == 0:
			c.jobs++
			n.Job = c.jobs
			byComm[id] = n.Job
		case known == 0:
			byComm[id] = n.Job
		case n.Job == 0:
			n.Job = known
		case n.Job != known:
			c.joinJobs(n.Job, known, byComm)
		}
	}
	c.findWholeJobs(byComm)
}

// findWholeJobs marks the nodes of jobs with a communicator all of whose ranks began.
func (c *collector) findWholeJobs(byComm map[string]int) {
	ranks := map[string]map[string]bool{}
	whole := map[int]bool{}
	for e := range c.facts.Store.Of(evidence.NCCLInitStart) {
		id := e.Fields["commid"]
		if id == "" || e.Fields["parent"] != "" {
			continue
		}
		if ranks[id] == nil {
			ranks[id] = map[string]bool{}
		}
		ranks[id][e.Fields["rank"]] = true
		if strconv.Itoa(len(ranks[id])) == e.Fields["nranks"] {
			whole[byComm[id]] = true
		}
	}
	for _, n := range c.facts.Nodes {
		n.wholeJob = whole[n.Job]
	}
}

// joinJobs gives two jobs that turn out to be one the same number.
func (c *collector) joinJobs(from, to int, byComm map[string]int) {
	for _, n := range c.facts.Nodes {
		if n.Job == from {
			n.Job = to
		}
	}
	for id, job := range byComm {
		if job == from {
			byComm[id] = to
		}
	}
}

// inferNetworks sets the network of nodes whose log has no line about the decision, as before NCCL
// 2.5: sockets are listed only if NCCL has come to them, and devices only if it found some.
func (c *collector) inferNetworks() {
	for _, n := range c.facts.Nodes {
		switch {
		case len(n.Networks) > 0:
		case len(n.Sockets) > 0 && c.usesIB(n): // both are listed, before the decision
			n.Networks = []Value{{Text: "IB", Places: n.Sockets[0].Places}}
		case len(n.Sockets) > 0:
			n.Networks = []Value{{Text: "Socket", Places: n.Sockets[0].Places}}
		case len(n.NoDevice) == 0 && c.listed[n]:
			n.Networks = []Value{{Text: "IB", Places: n.Devices[0].Places}}
		}
	}
}

// usesIB reports whether a channel of a node goes over NCCL's own transport for InfiniBand and
// RoCE.
func (c *collector) usesIB(n *Node) bool {
	for e := range c.facts.Store.Of(evidence.NCCLChannel) {
		if e.Fields["network"] == "IB" && c.node(e.Process) == n {
			return true
		}
	}
	return false
}

// nodeFact takes what an event says of its node.
func (c *collector) nodeFact(e *evidence.Event) {
	f := e.Fields
	switch e.Kind {
	case evidence.NCCLNetwork:
		n := c.node(e.Process)
		n.Networks = addValue(n.Networks, f["network"], e.Place)
	case evidence.NCCLPlugin:
		c.pluginFact(e)
	case evidence.NCCLEnv:
		n := c.node(e.Process)
		n.set(f["name"], f["value"], e.Place)
	case evidence.NCCLBootstrap:
		if f["interface"] != "" {
			n := c.node(e.Process)
			n.Bootstrap = addValue(n.Bootstrap, joinAddress(f["interface"], f["address"]), e.Place)
		}
	case evidence.NCCLSockets:
		n := c.node(e.Process)
		for s := range strings.FieldsSeq(f["devices"]) {
			n.Sockets = addValue(n.Sockets, s, e.Place)
		}
	case evidence.NCCLDevices:
		n := c.node(e.Process)
		c.listed[n] = f["devices"] != "" || c.listed[n]
		for s := range strings.FieldsSeq(f["devices"]) {
			name, link, _ := strings.Cut(s, "/")
			device, port, _ := strings.Cut(name, ":")
			number, _ := strconv.Atoi(port)
			n.device(device, number, e.Place).Link = linkOf(link)
		}
	case evidence.NCCLNoDevice:
		n := c.node(e.Process)
		n.NoDevice = append(n.NoDevice, e.Place)
	case evidence.NCCLInitStart, evidence.NCCLInitComplete:
		n := c.node(e.Process)
		rank, _ := f.Int("rank")
		switch {
		case f["parent"] != "": // a part of a communicator has its own numbers of ranks
		case e.Kind == evidence.NCCLInitStart:
			n.Started, n.Ranks = insert(n.Started, rank), insert(n.Ranks, rank)
		default:
			n.Completed, n.Ranks = insert(n.Completed, rank), insert(n.Ranks, rank)
		}
	}
}

// pluginFact notes whether a node has an external network plugin: libnccl-net.so, and not one of
// the plugins that are part of NCCL.
func (c *collector) pluginFact(e *evidence.Event) {
	n := c.node(e.Process)
	switch name := e.Fields["name"]; {
	case strings.Contains(e.Text, "libnccl-net") && e.Fields["state"] == "missing":
		n.Plugins = addValue(n.Plugins, "none", e.Place)
	case e.Fields["state"] == "loaded" && (strings.Contains(name, "libnccl-net") || strings.HasPrefix(name, "IBext")):
		n.Plugins = addValue(n.Plugins, "an external plugin", e.Place)
	}
}

func joinAddress(name, address string) string {
	if address == "" {
		return name
	}
	return name + ":" + address
}

func linkOf(word string) Link {
	switch word {
	case "IB", "InfiniBand":
		return LinkInfiniBand
	case "RoCE", "Ethernet":
		return LinkRoCE
	case "iWARP":
		return LinkIWARP
	}
	return LinkUnknown
}

// set adds a value of a variable.
func (n *Node) set(name, value string, p evidence.Place) {
	for i := range n.Environment {
		if s := &n.Environment[i]; s.Name == name {
			s.Values = addValue(s.Values, value, p)
			return
		}
	}
	n.Environment = append(n.Environment, Setting{Name: name, Values: addValue(nil, value, p)})
}

// Variable returns the values of a variable on the node; none if no line has it.
func (n *Node) Variable(name string) []Value {
	for _, s := range n.Environment {
		if s.Name == name {
			return s.Values
		}
	}
	return nil
}

// device returns the device with that name, adding it if there is none. Port 0 is any.
func (n *Node) device(name string, port int, p evidence.Place) *Device {
	for _, d := range n.Devices {
		if d.Name == name && (port == 0 || d.Port == port || d.Port == 0) {
			if port != 0 {
				d.Port = port
			}
			if len(d.Places) < maxPlaces {
				d.Places = append(d.Places, p)
			}
			return d
		}
	}
	d := &Device{Name: name, Port: port, Driver: driverOf(name), Places: []evidence.Place{p}}
	n.Devices = append(n.Devices, d)
	return d
}

// driverOf returns the driver of a device by the beginning of its name, "" if it was renamed.
func driverOf(device string) string {
	for _, driver := range [...]string{
		"mlx5", "mlx4", "bnxt_re", "irdma", "efa", "erdma", "ionic", "hns", "qedr", "rxe", "siw", "rocep", "ibp",
	} {
		if strings.HasPrefix(device, driver) {
			switch driver {
			case "rocep", "ibp": // persistent names hide the driver
				return ""
			}
			return driver
		}
	}
	return ""
}

// queuePair adds the GID and the MTU of a connection to its device.
func (c *collector) queuePair(e *evidence.Event) {
	n := c.node(e.Process)
	d := n.byIndex(e)
	if d == nil {
		if len(n.Devices) == 0 {
			n.unlistedQueuePair(e)
		}
		return
	}
	if mtu, ok := e.Fields.Int("mtu"); ok {
		d.MTU = mtu
	}
	if link := linkOf(e.Fields["link"]); d.Link == LinkUnknown {
		d.Link = link
	}
	d.addGID(e.Fields["gidIndex"], e.Fields["gid"], e.Place)
}

// unlistedQueuePair is queuePair for a node whose list of devices isn't in the log.
func (n *Node) unlistedQueuePair(e *evidence.Event) {
	n.GIDs = withGID(n.GIDs, e.Fields["gidIndex"], e.Fields["gid"], e.Place)
	mtu := e.Fields["mtu"]
	switch {
	case mtu == "":
	case n.otherMTUs == nil:
		n.otherMTUs = []Value{{Text: mtu, Places: []evidence.Place{e.Place}}}
	case !slices.Contains(strings.Fields(n.otherMTUs[0].Text), mtu):
		list := append(strings.Fields(n.otherMTUs[0].Text), mtu)
		slices.Sort(list)
		n.otherMTUs[0].Text = strings.Join(list, " ")
	}
}

// byIndex returns the device that a line names by its index in the list of devices.
func (n *Node) byIndex(e *evidence.Event) *Device {
	index, ok := e.Fields.Int("dev")
	if !ok || index < 0 || index >= len(n.Devices) {
		return nil // a virtual device, or the list isn't in the log
	}
	return n.Devices[index]
}

// gpuDirect returns whether network transfers use GPU Direct RDMA: channels decide, then what NCCL
// says when all are connected, then the capability of the devices.
func gpuDirect(store *evidence.Store) string {
	seen := map[string]bool{}
	for e := range store.Of(evidence.NCCLChannel) {
		if g := e.Fields["gdr"]; g != "" {
			seen[g] = true
		}
	}
	if len(seen) == 0 {
		for e := range store.Of(evidence.NCCLConnected) {
			switch e.Fields["gdr"] {
			case "1":
				seen["yes"] = true
			case "0":
				seen["no"] = true
			}
		}
	}
	switch {
	case seen["yes"]:
		return "on"
	case seen["no"]:
		return "off"
	}
	for e := range store.Of(evidence.NCCLGDR) {
		if e.Fields["enabled"] == "no" {
			return "off"
		}
	}
	return ""
}
