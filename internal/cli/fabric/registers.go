package fabric

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// registerReader reads registers of the ports of a topology.
type registerReader struct {
	t        *fabric.Topology
	client   *phy.Client
	progress *output.Progress
	probed   map[ib.GUID]error
	answers  int // nodes that answer the class
	silent   int // nodes that don't
	// learnPaths is called before the first request; nil: it was.
	learnPaths func(ctx context.Context)
}

// maxSilent is how many nodes are probed if none answers the class: then the others are not asked,
// because each costs several seconds.
const maxSilent = 16

func newRegisterReader(
	app *cli.App, t *fabric.Topology, f *fabricFlags, transport fabric.Transport,
) *registerReader {
	timeout, retries := f.tries()
	caller := &fabric.Client{Transport: transport, Timeout: timeout, Retries: retries, ReadPKeys: true}
	client := &phy.Client{Caller: caller, Keys: f.keys.VS}
	return &registerReader{
		learnPaths: func(ctx context.Context) { learnPaths(ctx, app, transport) },
		t:          t, client: client, probed: map[ib.GUID]error{},
		progress: app.Out.Progress("reading registers: ports", 0),
	}
}

// port returns a port if its registers can be read. The error is printed as the reason why the port
// is not judged.
func (r *registerReader) port(ctx context.Context, id fabric.PortID) (phy.Port, error) {
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
	if r.learnPaths != nil {
		r.learnPaths(ctx)
		r.learnPaths = nil
	}
	err, known := r.probed[id.Node]
	if !known {
		if r.answers == 0 && r.silent >= maxSilent {
			return port, fmt.Errorf("not asked: none of the first %d nodes answers class 0x0a", maxSilent)
		}
		err = r.client.Probe(ctx, port)
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
