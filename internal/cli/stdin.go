package cli

import (
	"io"
)

// TakeStdin returns standard input for a flag or an argument, such as --from, whose value is "-". A
// second one is refused: what one has read is gone for the other.
func (app *App) TakeStdin(what string) (io.Reader, error) {
	if app.stdinTaken != "" {
		return nil, Exitf(ExitUsage, "%s -: %s already reads standard input", what, app.stdinTaken)
	}
	app.stdinTaken = what
	return app.Input(), nil
}

// Input returns standard input. A signal ends the run at once while a command waits for it, because
// a read from a terminal can't be interrupted.
func (app *App) Input() io.Reader { return input{app} }

type input struct{ app *App }

// Read implements io.Reader.
func (in input) Read(data []byte) (int, error) {
	in.app.state.reading.Store(true)
	defer in.app.state.reading.Store(false)
	return in.app.Stdin.Read(data)
}
