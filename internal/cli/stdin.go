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
	return app.Stdin, nil
}
