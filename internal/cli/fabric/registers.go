package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// registerReader reads registers of the ports of a topology.
type registerReader struct {
	t         *fabric.Topology
	transport fabric.Transport
	timeout   time.Duration
	retries   int
	keys      fabric.Keys
	progress  *output.Progress
	probed    map[ib.GUID]error
	probing   int // nodes that are being probed
	answers   int // nodes that answer the class
	silent    int // nodes that don't
	// learnPaths is called before the first request; nil: it was.
	learnPaths func(ctx context.Context)
}

// maxSilent is how many nodes are probed if none answers the class: then the others are not asked,
// because the window doesn't grow without answers.
const maxSilent = 16

func newRegisterReader(
	app *cli.App, t *fabric.Topology, f *fabricFlags, transport fabric.Transport,
) *registerReader {
	timeout, retries := f.tries()
	return &registerReader{
		learnPaths: func(ctx context.Context) { learnPaths(ctx, app, transport, f.keys) },
		t:          t, transport: transport, timeout: timeout, retries: retries, keys: f.keys,
		probed: map[ib.GUID]error{}, progress: app.Out.Progress("reading registers: ports", 0),
	}
}

// registerPort is a port whose registers are to be read.
type registerPort struct {
	index  int // in the list of each
	id     fabric.PortID
	at     phy.Port
	client *phy.Client
	// err is the reason why the registers can't be read; it is printed as the reason why the port
	// is not judged.
	err error
}

// each calls read for all ports, each once: nodes side by side, the ports of a node one after the
// other. The calls don't run concurrently, except that another one may begin while one waits for an
// answer.
func (r *registerReader) each(ctx context.Context, ports []fabric.PortID, read func(p registerPort)) {
	nodes := byNode(ports)
	readNode := func(node []registerPort, caller phy.Caller) {
		client := &phy.Client{Caller: caller, Keys: r.keys.VS}
		for _, p := range node {
			p.client = client
			p.at, p.err = r.port(ctx, client, p.id)
			read(p)
		}
	}
	if r.learnPaths != nil && len(ports) > 0 && ctx.Err() == nil {
		r.learnPaths(ctx)
		r.learnPaths = nil
	}
	tasks := fabric.Tasks{Timeout: r.timeout, Retries: r.retries, ReadPKeys: true, Keys: r.keys}
	tasks.Next = func() func(*fabric.Caller) {
		// As long as none answers, no more than maxSilent may turn out to be silent.
		if len(nodes) == 0 || r.answers == 0 && r.probing > 0 && r.silent+r.probing >= maxSilent {
			return nil
		}
		node := nodes[0]
		nodes = nodes[1:]
		return func(c *fabric.Caller) { readNode(node, c) }
	}
	err := tasks.Run(ctx, fabric.NewEngine(r.transport, 0))
	for _, node := range nodes { // not begun, because the context or the transport has failed
		readNode(node, brokenCaller{err})
	}
}

// byNode returns the ports of each node, in the order of the list.
func byNode(ports []fabric.PortID) (nodes [][]registerPort) {
	place := map[ib.GUID]int{}
	for i, id := range ports {
		at, known := place[id.Node]
		if !known {
			at = len(nodes)
			place[id.Node] = at
			nodes = append(nodes, nil)
		}
		nodes[at] = append(nodes[at], registerPort{index: i, id: id})
	}
	return nodes
}

// brokenCaller is the caller after the failure of a transport.
type brokenCaller struct{ err error }

// Call implements [phy.Caller].
func (b brokenCaller) Call(context.Context, *fabric.Datagram) error { return b.err }

// port returns a port if its registers can be read.
func (r *registerReader) port(ctx context.Context, client *phy.Client, id fabric.PortID) (phy.Port, error) {
	r.progress.Add(1)
	n := r.t.Node(id.Node)
	if n == nil {
		return phy.Port{}, errors.New("unknown node")
	}
	port := phy.Port{Node: id.Node, GUID: n.Ports[id.Port].GUID, LID: n.LID(id.Port), Number: id.Port}
	switch {
	case ctx.Err() != nil:
		return port, errors.New("not asked: interrupted")
	case port.LID == 0:
		return port, errors.New("not asked: the port has no LID")
	}
	err, known := r.probed[id.Node]
	if !known {
		if r.answers == 0 && r.silent >= maxSilent {
			return port, fmt.Errorf("not asked: none of the first %d nodes answers class 0x0a", maxSilent)
		}
		r.probing++
		err = client.Probe(ctx, port)
		r.probing--
		r.probed[id.Node] = err
		switch {
		case err == nil:
			r.answers++
		case errors.Is(err, phy.ErrNoClass):
			r.silent++
		}
	}
	return port, err
}

// live refuses the flags that make a command read a saved topology: registers aren't saved.
func live(cmd *cobra.Command, what string) error {
	if cmd.Flags().Changed("from") {
		return cli.UsageError(cmd, fmt.Errorf("--from can't be used: a saved topology has no %s", what))
	}
	return nil
}
