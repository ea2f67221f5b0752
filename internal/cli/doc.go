// Package cli holds the commands of rdmactl, one file a command, and what they share: the table of
// commands (commands.go), the run of a command and its global flags (globals.go), exit codes and
// error messages (exit.go).
//
// A command is a function that takes the App and returns a cobra command; a line in the table makes
// it known.
//
//	func newPortsCommand(app *App) *cobra.Command {
//		var source SourceFlags
//		cmd := &cobra.Command{
//			Use:     "ports [DEVICE]", // says what arguments it takes: they are checked against it
//			Short:   "List the ports of this node",
//			Example: "  rdmactl ports\n  rdmactl ports mlx5_0 -o json",
//			RunE: func(cmd *cobra.Command, args []string) error {
//				ports, err := read(cmd.Context(), app.Config.Root)
//				if err != nil {
//					return err // errors carry their exit code, see ExitCode
//				}
//				if len(ports) == 0 {
//					return withHints(exitf(ExitNotFound, "no RDMA port"), "rdmactl doctor says why")
//				}
//				return app.Out.Print(ports, portsTable(ports))
//			},
//		}
//		source.AddTo(cmd)
//		return cmd
//	}
//
// A test demands of every command: a summary, an example that parses, help for every flag, and a
// script of its name in testdata/script. docs/cli and docs/man are generated from the commands.
//
// Commands print through App.Out, log through App.Log, and read the environment through App; they
// keep no state outside of their own variables, so that tests run many at a time in one process.
package cli

//go:generate go run ./gendocs ../../docs
