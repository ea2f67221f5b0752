package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// withSignals returns a context that the first SIGINT or SIGTERM cancels, with a [SignalError] as
// the cause. After that the signals have their default effect again: the second one ends the
// process at once. stop removes the handler.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGTERM)
	if !signal.Ignored(os.Interrupt) { // a background job of a script: Ctrl-C is not meant for it
		signal.Notify(received, os.Interrupt)
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		select {
		case s := <-received:
			signal.Stop(received)
			cancel(&SignalError{Signal: s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-finished
		signal.Stop(received)
	}
}
