package cli

import (
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/tty"
)

// Keys returns a channel with the keys that are pressed while a command shows frames on a terminal.
// The caller defers done, which closes the channel. The channel is nil if there can't be any keys:
// input or output is not a terminal, the program runs in the background, or the system is not
// supported.
//
// The settings of the terminal are restored by done, or when Run abandons the command.
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
