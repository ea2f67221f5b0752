package process

import (
	"os"
	"os/signal"
	"syscall"
)

// Gate hears SIGTERM and SIGINT until the process becomes another program, so that none is lost on
// the way: what comes before is told by Close, what comes after has the effect that it has without
// a handler.
type Gate struct {
	heard  chan os.Signal
	ending []os.Signal
	closed bool
}

// NewGate opens a gate. A caller that has handlers of its own keeps them until the gate is closed.
func NewGate() *Gate {
	// SIGCHLD is of no interest here: it keeps the channel known to os/signal, whose Stop then
	// waits until all that came has been delivered. Its handler is the runtime's in any case.
	g := &Gate{heard: make(chan os.Signal, 16), ending: []os.Signal{syscall.SIGTERM}}
	if !signal.Ignored(os.Interrupt) { // who ignores it must go on ignoring it
		g.ending = append(g.ending, os.Interrupt)
	}
	signal.Notify(g.heard, append([]os.Signal{keepAliveSignal}, g.ending...)...)
	return g
}

// Close takes all handlers of these signals away, also those of others, and returns the signal that
// came before, nil for none. A second call does nothing.
func (g *Gate) Close() os.Signal {
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
				return s
			}
		default:
			return nil
		}
	}
}
