package node

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// signalGate hears SIGTERM and SIGINT until the process becomes another program, so that none is lost on the way: what
// comes before ends the run, what comes after has the effect that it has without a handler.
type signalGate struct {
	heard  chan os.Signal
	ending []os.Signal
	closed bool
}

func newSignalGate() *signalGate {
	// SIGCHLD is of no interest here: it keeps the channel known to os/signal, whose Stop then waits until all that
	// came has been delivered. Its handler is the runtime's in any case.
	g := &signalGate{heard: make(chan os.Signal, 16), ending: []os.Signal{syscall.SIGTERM}}
	if !signal.Ignored(os.Interrupt) { // as withSignals: who ignores it must go on ignoring it
		g.ending = append(g.ending, os.Interrupt)
	}
	signal.Notify(g.heard, append([]os.Signal{keepAliveSignal}, g.ending...)...)
	return g
}

// close takes all handlers away, those of withSignals too, and returns the signal that came before, as an error.
func (g *signalGate) close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	signal.Reset(g.ending...)
	signal.Stop(g.heard)
	for {
		select {
		case s := <-g.heard:
			if s != keepAliveSignal {
				return &cli.SignalError{Signal: s}
			}
		default:
			return nil
		}
	}
}
