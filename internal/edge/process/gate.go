package process

import (
	"os"
	"os/signal"
	"syscall"
)

// Gate receives SIGTERM and SIGINT until the process starts another program, so that no signal is
// lost: Close returns a signal that arrived before; a later one has its default effect.
type Gate struct {
	heard  chan os.Signal
	ending []os.Signal
	closed bool
}

// NewGate opens a gate. Handlers of the caller stay active until the gate is closed.
func NewGate() *Gate {
	// SIGCHLD itself isn't needed: it keeps the channel registered with os/signal, whose Stop then
	// waits until all pending signals have been delivered. The runtime handles SIGCHLD anyway.
	g := &Gate{heard: make(chan os.Signal, 16), ending: []os.Signal{syscall.SIGTERM}}
	if !signal.Ignored(os.Interrupt) { // an ignored signal must stay ignored
		g.ending = append(g.ending, os.Interrupt)
	}
	signal.Notify(g.heard, append([]os.Signal{keepAliveSignal}, g.ending...)...)
	return g
}

// Close removes all handlers of these signals, including those of other packages, and returns a
// signal that arrived before, or nil. A second call does nothing.
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
