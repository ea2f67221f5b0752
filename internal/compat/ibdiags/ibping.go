package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func ibping() Program {
	return Program{
		Name: "ibping", Summary: "Ping a port that runs ibping -S, with management datagrams",
		Usage: "[options] <dest lid|guid>",
		Long: `Without -c it runs until it is interrupted, and then prints statistics. Either end may be the C
program.

Differences from the C program: each ping is one packet (C sends a lost one three times and counts
it as one); times are exact to the microsecond (C's are too small by a factor of ten below one
second); there is no pause after the last ping; the server's name is the host name without the NIS
domain, and the server exits with 0 when it is interrupted. As in C, the exit code is 0 even if all
pings are lost.`,
		Example: "-c 5 3",
		Options: append([]Option{
			valueOption("count", 'c', "<num>", "stop after count packets"),
			flagOption("flood", 'f', "flood destination"),
			valueOption("oui", 'o', "<val>", "use specified OUI number"),
			flagOption("Server", 'S', "start in server mode"),
		}, commonOptions("DKy")...),
		run: runIbping,
	}
}

// pingRun is a run of ibping: its options and its results.
type pingRun struct {
	*run
	count         uint32
	flood, server bool
	oui           mad.OUI

	to                      address
	host                    string // the server's name in the first answer
	sent, replied, lost     uint64
	shortest, longest, long time.Duration // long is the sum
}

func runIbping(ctx context.Context, r *run) int {
	p := &pingRun{run: r, count: 1<<32 - 1, oui: mad.OUIPing()}
	if code, done := r.options(p.option); done {
		return code
	}
	if len(r.operands) == 0 && !p.server {
		return r.usage()
	}
	if !r.open(ctx) {
		return exitMinusOne
	}
	if p.server {
		return p.serve(ctx)
	}
	var err error
	if p.to, err = r.resolveAddress(ctx, r.operands[0]); err != nil {
		return r.fail(err, "can't resolve destination port %s", r.operands[0])
	}
	return p.ping(ctx)
}

func (p *pingRun) option(letter byte, arg string) bool {
	v, _ := clib.Strtoul(arg, 0)
	switch letter {
	case 'c':
		p.count = uint32(v) //nolint:gosec // C cuts it too
	case 'f':
		p.flood = true
	case 'o':
		p.oui = mad.OUI{byte(v >> 16), byte(v >> 8), byte(v)}
	case 'S':
		p.server = true
	}
	return true
}

// serve answers pings until the context ends.
func (p *pingRun) serve(ctx context.Context) int {
	name := "?hostname?"
	if p.Hostname != nil {
		name = p.Hostname()
	}
	transport, ok := p.transport.(fabric.Server)
	err := errors.ErrUnsupported
	if ok {
		err = fabric.ServePing(ctx, transport, p.oui, name, nil)
	}
	if ctx.Err() != nil {
		return 0
	}
	return p.fail(err, "can't serve class %d on this port", mad.ClassPing)
}

// ping sends pings, one per second or without pause, until the count is reached or the context
// ends, and prints the statistics.
func (p *pingRun) ping(ctx context.Context) int {
	start := time.Now()
	var err error
	for n := uint32(0); n < p.count && ctx.Err() == nil; n++ {
		if n > 0 && !p.flood && clock.Sleep(ctx, clock.System, time.Second) != nil {
			break
		}
		p.sent++
		failed := p.once(ctx)
		if failed != nil && ctx.Err() == nil {
			p.lost++ // as C counts packets that can't be sent
			if err == nil {
				p.errorf("%s: %s\n", p.Name, failed.Error())
			}
			if err = failed; p.flood {
				break // without a pause this would be a busy loop
			}
		}
	}
	p.report(time.Since(start))
	return 0
}

// once sends one ping and counts the result. The error is the transport's or the context's.
func (p *pingRun) once(ctx context.Context) error {
	to := fabric.Address{LID: p.to.LID, QPN: 1, QKey: fabric.QKeyGSI}
	host, time, err := p.client.Ping(ctx, to, p.oui)
	if err != nil {
		_, refused := errors.AsType[*fabric.StatusError](err)
		if !refused && !errors.Is(err, fabric.ErrNoAnswer) || ctx.Err() != nil {
			return err
		}
		p.lost++
		return nil
	}
	if p.replied == 0 {
		p.host, p.shortest = host, time
	}
	p.replied++
	p.shortest, p.longest, p.long = min(p.shortest, time), max(p.longest, time), p.long+time
	if !p.flood {
		p.printf("Pong from %s (%s): time %s ms\n", host, p.to, milliseconds(time))
	}
	return nil
}

func (p *pingRun) report(elapsed time.Duration) {
	loss, average := uint64(0), time.Duration(0)
	if p.lost > 0 {
		loss = p.lost * 100 / p.sent
	}
	if p.replied > 0 {
		average = p.long / time.Duration(p.replied) //nolint:gosec // a count
	}
	p.printf("\n--- %s (%s) ibping statistics ---\n", p.host, p.to)
	p.printf("%d packets transmitted, %d received, %d%% packet loss, time %d ms\n",
		p.sent, p.replied, loss, elapsed.Milliseconds())
	p.printf("rtt min/avg/max = %s/%s/%s ms\n",
		milliseconds(p.shortest), milliseconds(average), milliseconds(p.longest))
}

// milliseconds shows a time as "0.042".
func milliseconds(d time.Duration) string {
	us := d.Microseconds()
	return fmt.Sprintf("%d.%03d", us/1000, us%1000)
}
