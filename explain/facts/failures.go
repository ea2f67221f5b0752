package facts

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// failureKinds are the events that can be the origin of what went wrong.
var failureKinds = []evidence.Kind{
	evidence.Symptom, evidence.OtherFailure,
	evidence.NCCLCompletion,
	evidence.NCCLVerb,
	evidence.NCCLAsync,
	evidence.NCCLConnect,
	evidence.NCCLSocketType,
	evidence.NCCLTruncated,
	evidence.NCCLFamily,
	evidence.NCCLMismatch,
	evidence.NCCLNoNetwork,
	evidence.NCCLFault,
	evidence.NCCLMerge, evidence.NCCLWarn, evidence.UCXError, evidence.MooncakeError,
	evidence.NCCLUnequal,
	evidence.NCCLMagic,
	evidence.UCXCompletion,
	evidence.UCXTimeout,
	evidence.UCXAddress,
	evidence.UCXVerb,
	evidence.UCXNoDevice,
	evidence.UCXUnreachable,
	evidence.UCXDevX,
	evidence.MooncakeVerb,
	evidence.MooncakeFailed,
	evidence.GlooConnect,
	evidence.DeepEPTimeout,
	evidence.NVSHMEMError,
	evidence.NVSHMEMInit,
	evidence.NVSHMEMPeermem,
	evidence.NIXLError,
	evidence.LibfabricError,
	evidence.VLLMBroadcast,
	evidence.TorchWatchdog,
	evidence.ProgramHang,
	evidence.TorchStuck,
	evidence.TorchMismatch,
	evidence.TorchStore,
	evidence.ProgramKilled,
	evidence.PerftestCompletion,
	evidence.PerftestModify,
	evidence.PerftestMemory,
	evidence.PerftestDevice,
	evidence.PerftestConnect,
	evidence.CMAEvent,
	evidence.MLX5CQE,
	evidence.VerbsCompletion,
	evidence.VerbsAsync,
	evidence.VerbsError,
	evidence.KernelHealth,
	evidence.KernelHardware,
	evidence.KernelSymbol,
	evidence.KernelModule,
	evidence.KernelQP,
	evidence.KernelCQE,
	evidence.KernelOOM,
	evidence.KernelGPU,
	evidence.KernelIOMMU,
	evidence.KernelReset,
	evidence.KernelLink,
	evidence.KernelCommand,
	evidence.OpenSMError,
	evidence.K8sVF,
	evidence.K8sNamespace,
	evidence.K8sOperator,
	evidence.EFAError,
	evidence.PythonException,
}

// echoKinds are events that only follow from others.
var echoKinds = []evidence.Kind{
	evidence.NCCLPeerClosed, evidence.NCCLProxy, evidence.NCCLReturn, evidence.NCCLEnd, evidence.NCCLResult,
	evidence.TorchNCCLError, evidence.TorchException, evidence.RayError, evidence.MPIError, evidence.PythonTraceback,
	evidence.ProgramExit,
}

// statusFlushed is IBV_WC_WR_FLUSH_ERR: the queue pair had failed before.
const statusFlushed = "5"

// isEcho reports whether an event of a failure kind only follows from another one.
func isEcho(e *evidence.Event) bool {
	if e.Standing != evidence.ByKind {
		return e.Standing == evidence.Echo
	}
	switch e.Kind {
	case evidence.NCCLCompletion, evidence.UCXCompletion, evidence.MooncakeFailed, evidence.PerftestCompletion,
		evidence.VerbsCompletion, evidence.MLX5CQE, evidence.KernelCQE:
		return e.Fields["status"] == statusFlushed
	}
	return false
}

// waits are failures of programs that waited for others: they are the origin only if there is
// nothing else.
func waits(k evidence.Kind) bool {
	switch k {
	case evidence.TorchWatchdog,
		evidence.ProgramHang,
		evidence.VLLMBroadcast,
		evidence.NIXLError,
		evidence.TorchStore,
		evidence.NCCLMagic:
		return true
	}
	return false
}

// collectFailures orders what failed: the likely origin first.
func (c *collector) collectFailures() {
	var echoes []*evidence.Event
	c.retract()
	for _, kind := range failureKinds {
		for e := range c.facts.Store.Of(kind) {
			switch {
			case harmless(e), c.notOfJob(e):
			case isEcho(e):
				echoes = append(echoes, e)
			default:
				c.addFailure(e)
			}
		}
	}
	for _, kind := range echoKinds {
		for e := range c.facts.Store.Of(kind) {
			if !harmless(e) {
				echoes = append(echoes, e)
			}
		}
	}
	echoes = c.forgive(echoes)
	list := c.facts.Failures
	timed := comparableTimes(list)
	files, old := map[string]int{}, map[*Failure]int{}
	for _, x := range list { // before sorting: it reads the list
		old[x] = c.old(x.Event)
		if _, ok := files[x.Event.Place.File]; !ok {
			files[x.Event.Place.File] = len(files)
		}
	}
	slices.SortStableFunc(list, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(old[a], old[b]), compareFailures(a, b, timed, files))
	})
	if len(list) > 0 {
		list[0].Echoes = echoes
	} else if len(echoes) > 0 {
		first := echoes[0]
		c.facts.Failures = []*Failure{{Event: first, Node: c.node(first.Process), SinceInit: -1, Echoes: echoes[1:]}}
	}
}

// harmless reports whether an event of a failure kind says that nothing failed: an asynchronous
// event such as "port active", a link that came up.
func harmless(e *evidence.Event) bool {
	if e.Standing == evidence.Harmless {
		return true
	}
	switch e.Kind {
	case evidence.NCCLEnd:
		return e.Fields["what"] == "destroy"
	case evidence.KernelLink:
		return e.Fields["state"] == "up"
	case evidence.KernelCommand: // what tools such as ethtool and mlxlink ask for, and a card doesn't have
		return e.Fields["command"] == "ACCESS_REG"
	case evidence.NCCLAsync, evidence.VerbsAsync:
		switch e.Fields["event"] {
		case "port active", "client reregistration", "sm change", "communication established":
			return true
		}
	case evidence.NCCLCompletion: // of a connection that NCCL repairs (2.29.7)
		return e.Severity == evidence.Info && strings.Contains(e.Text, "devIndex=")
	case evidence.NCCLUnequal:
		return e.Severity == evidence.Info
	}
	return false
}

// notOfJob reports whether an exception is of a program of which nothing says that it is a rank of
// a job: the line has no rank, and no launcher says that a process of its own has ended.
func (c *collector) notOfJob(e *evidence.Event) bool {
	return e.Kind == evidence.PythonException && e.Process.Rank == evidence.NoRank &&
		!c.facts.Store.Has(evidence.ProgramExit)
}

// addFailure adds a failure, or counts it with one of the same kind, node, device and peer.
func (c *collector) addFailure(e *evidence.Event) {
	f := &Failure{Event: e, Node: c.node(e.Process), Device: e.Fields["device"], SinceInit: c.sinceInit(e)}
	for _, field := range [...]string{"remoteGID", "address", "peer", "remote"} {
		if v := e.Fields[field]; v != "" && f.PeerAddress == "" {
			f.PeerAddress = v
		}
		if f.Peer == nil && e.Fields[field] != "" {
			f.Peer = c.peer(e.Fields[field], f.Node)
		}
	}
	if f.Device == "" {
		f.Device = f.Node.deviceByGID(e.Fields["localGID"])
	}
	if f.Device == "" && e.Kind == evidence.NCCLCompletion && c.listed[f.Node] && len(f.Node.Devices) == 1 {
		f.Device = f.Node.Devices[0].Name // NCCL uses no other
	}
	f.Node.RecordedOnly = f.Node.RecordedOnly && e.Recorded
	for _, other := range c.facts.Failures {
		if other.like(f) {
			other.Same = append(other.Same, f)
			return
		}
	}
	c.facts.Failures = append(c.facts.Failures, f)
}

// like reports whether two failures say the same of the same objects.
func (f *Failure) like(g *Failure) bool {
	return f.Event.Kind == g.Event.Kind && f.Node == g.Node && f.Device == g.Device && f.Peer == g.Peer &&
		f.PeerAddress == g.PeerAddress && f.Event.Fields["status"] == g.Event.Fields["status"] &&
		f.Event.Fields["call"] == g.Event.Fields["call"] && f.Event.Fields["errno"] == g.Event.Fields["errno"] &&
		f.Event.Fields["event"] == g.Event.Fields["event"] && f.Event.Fields["what"] == g.Event.Fields["what"] &&
		f.Event.Fields["line"] == g.Event.Fields["line"] && f.Event.Fields["symptom"] == g.Event.Fields["symptom"]
}

// peer returns the node with an address, a GID or a name, if one is known, other than the node that
// names it.
func (c *collector) peer(address string, from *Node) *Node {
	ip, err := netip.ParseAddr(address)
	for _, n := range c.facts.Nodes {
		switch {
		case n == from:
		case n.Name == address, err == nil && n.hasAddress(ip.Unmap()):
			return n
		}
	}
	return nil
}

func (n *Node) hasAddress(ip netip.Addr) bool {
	for _, list := range [...][]Value{n.Sockets, n.Bootstrap} {
		for _, v := range list {
			_, address, _ := strings.Cut(v.Text, ":")
			if a, err := netip.ParseAddr(address); err == nil && a.WithZone("") == ip.WithZone("") {
				return true
			}
		}
	}
	for _, g := range n.GIDs {
		if g.GID.Addr().Unmap() == ip {
			return true
		}
	}
	for _, d := range n.Devices {
		for _, g := range d.GIDs {
			if g.GID.Addr().Unmap() == ip {
				return true
			}
		}
	}
	return n.Recorded.withAddress(ip) != nil
}

func (n *Node) deviceByGID(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	for _, d := range n.Devices {
		for _, g := range d.GIDs {
			if g.GID.Addr().Unmap() == ip.Unmap() {
				return d.Name
			}
		}
	}
	if port := n.Recorded.withAddress(ip.Unmap()); port != nil {
		return port.Device
	}
	return ""
}

// sinceInit returns the time from the node's last initialization to the event, negative if either
// has none.
func (c *collector) sinceInit(e *evidence.Event) time.Duration {
	since := time.Duration(-1)
	if e.Time.IsZero() {
		return since
	}
	for i := range c.facts.Store.Of(evidence.NCCLInitComplete) {
		d := e.Time.Sub(i.Time)
		if !i.Time.IsZero() && i.Process.Host == e.Process.Host && d >= 0 && d < 365*24*time.Hour {
			since = d
		}
	}
	return since
}

// comparableTimes reports whether all failures of logs have times with a date.
func comparableTimes(list []*Failure) bool {
	return !slices.ContainsFunc(list, func(f *Failure) bool { return f.Event.Time.Year() <= 1 && !f.Event.Recorded })
}

// compareFailures orders the likely origin first: by depth, then by time if all have one, then by
// the order of the files, and by line within a file.
func compareFailures(a, b *Failure, timed bool, files map[string]int) int {
	if c := cmp.Compare(depth(a.Event), depth(b.Event)); c != 0 {
		return c
	}
	if timed {
		if c := a.Event.Time.Compare(b.Event.Time); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(files[a.Event.Place.File], files[b.Event.Place.File]),
		cmp.Compare(a.Event.Place.Line, b.Event.Place.Line))
}

// Weak reports that a failure is of a program that waited for others, or of a line that says only
// that something failed.
func (f *Failure) Weak() bool { return depth(f.Event) >= 2 }

// depth is 0 for what cuts off a node by itself, 2 for programs that waited for others, 3 for
// warnings of no known form, and 1 for all other failures.
func depth(e *evidence.Event) int {
	switch e.Standing {
	case evidence.Origin:
		return 0
	case evidence.Failed:
		return 1
	case evidence.Waiting:
		return 2
	case evidence.Vague:
		return 3
	case evidence.ByKind, evidence.Echo, evidence.Harmless:
	}
	switch e.Kind {
	case evidence.KernelHealth, evidence.KernelHardware, evidence.KernelOOM, evidence.KernelGPU, evidence.KernelIOMMU,
		evidence.KernelSymbol:
		return 0
	case evidence.NCCLFault:
		if e.Fields["what"] == "recovery" { // what ended the connection for good
			return 0
		}
	}
	if waits(e.Kind) {
		return 2
	}
	switch e.Kind {
	case evidence.NCCLWarn, evidence.UCXError, evidence.MooncakeError: // of no known form
		return 3
	}
	return 1
}
