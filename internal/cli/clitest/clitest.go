// Package clitest runs commands in tests, without streams, environment or terminal:
//
//	app := clitest.NewApp(node.Commands())
//	var stdout bytes.Buffer
//	app.Stdout = &stdout
//	code := app.Run(t.Context(), []string{"env", "--from", "node.tree"})
//
// An App serves one run, as in the program.
package clitest

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// NewApp returns an App with the commands of a table, without streams and environment.
func NewApp(table []cli.Entry) *cli.App {
	return &cli.App{
		Commands: table,
		Stdin:    strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		IsTerminal: func(any) bool { return false },
	}
}

// Command returns a command that does what run does.
func Command(name string, run func(cmd *cobra.Command) error) *cobra.Command {
	return &cobra.Command{Use: name, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) }}
}
