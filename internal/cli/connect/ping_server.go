package connect

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/verbs"
)

// serve answers clients until the count is reached, or the user ends it.
func (p *pingFlags) serve(ctx context.Context, app *cli.App, device *verbs.Device, addr netip.AddrPort) error {
	out := served{Schema: servedSchema, Device: device.Name(), Address: addr.String()}
	s, err := rping.Listen(ctx, device, addr, rping.Options{})
	if err != nil {
		out.Failure = rping.Explain(err, rping.StageListen, device.Name(), addr)
		if err := app.Out.Print(out, out.block()); err != nil {
			return err
		}
		return &cli.ExitError{Code: pingExitCode(out.Failure), Err: errors.New(out.Failure.Error())}
	}
	defer s.Close()
	out.Address = s.Addr().String()
	app.Out.Note("%s: waiting for rdmactl ping or rping -c at %v", device.Name(), s.Addr())
	var clients sync.WaitGroup
	var pings atomic.Uint64
	for p.config.Count == 0 || out.Clients < p.config.Count {
		var session *rping.Session
		if session, err = s.Accept(ctx); err != nil {
			if _, ok := errors.AsType[*rping.AcceptError](err); ok && ctx.Err() == nil {
				app.Out.Note("%v", err)
				continue
			}
			break
		}
		out.Clients++
		clients.Go(func() { pings.Add(answer(ctx, app, session)) })
	}
	clients.Wait()
	out.Pings = pings.Load()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && !isEnd(err) && ctx.Err() == nil {
		return err
	}
	if err := app.Out.Print(out, out.block()); err != nil {
		return err
	}
	if isEnd(err) && cli.ExitCode(err) == exitInterrupted {
		return nil
	}
	return err
}

// exitInterrupted is the exit code of a program that Ctrl-C ended.
const exitInterrupted = 130

// answer answers the pings of a client until it disconnects, and returns their number.
func answer(ctx context.Context, app *cli.App, session *rping.Session) (pings uint64) {
	app.Out.Note("%v: connected", session.Remote())
	err := session.Next(ctx)
	for ; err == nil; err = session.Next(ctx) {
		pings++
	}
	count := english.Count(int(pings), "ping") //nolint:gosec // a count of pings
	switch {
	case errors.Is(err, io.EOF):
		app.Out.Note("%v: disconnected after %s", session.Remote(), count)
	case ctx.Err() != nil:
		app.Out.Note("%v: disconnecting after %s", session.Remote(), count)
	default:
		app.Out.Note("%v: ended after %s: %v", session.Remote(), count, err)
	}
	if err := session.Close(); err != nil {
		app.Out.Note("%v: %v", session.Remote(), err)
	}
	return pings
}
