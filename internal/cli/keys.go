package cli

import (
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/tty"
)

// Keys returns the keys that are pressed while a command shows frames on a terminal. The channel is
// closed by done, which the caller defers; it is nil where nobody can press a key: input or output
// is no terminal, the program runs in the background, or the system has no such thing.
//
// The terminal's settings are restored by done, and when Run leaves a command behind.
func (app *App) Keys() (keys <-chan byte, done func()) {
	file, ok := app.Stdin.(*os.File)
	if !ok || !app.IsTerminal(app.Stdin) || !app.IsTerminal(app.Stdout) {
		return nil, func() {}
	}
	k, err := tty.Open(file)
	if err != nil {
		app.Log.Debug("no keys", "cause", err)
		return nil, func() {}
	}
	done = func() { _ = k.Close() }
	app.atEnd(done)
	return k.C(), done
}
