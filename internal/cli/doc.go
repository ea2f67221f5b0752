// Package cli is what the commands of rdmactl share: the run of a command and its global flags
// ([App]), exit codes and error messages ([Exitf], [WithHints]), flags that several have
// ([SourceFlags], [SetFormats]), and the form of what they print.
//
// The commands are in the packages below, one package for each group; package commands lists them,
// and main passes the list to [NewApp]. A command is a function that takes the App and returns a
// cobra command:
//
//	func newPortsCommand(app *cli.App) *cobra.Command {
//		var source cli.SourceFlags
//		cmd := &cobra.Command{
//			Use:     "ports [DEVICE]", // the arguments are checked against it
//			Short:   "List the ports of this node",
//			Example: "  rdmactl ports\n  rdmactl ports mlx5_0 -o json",
//			RunE: func(cmd *cobra.Command, args []string) error {
//				snap, partial, err := app.Scan(cmd.Context(), source)
//				if err != nil {
//					return err // errors carry their exit code, see ExitCode
//				}
//				ports := portsOf(snap, args)
//				if len(ports) == 0 {
//					return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no RDMA port"), "rdmactl doctor says why")
//				}
//				return errors.Join(app.Out.Print(ports, portsTable(ports)), partial)
//			},
//		}
//		source.AddTo(cmd)
//		return cmd
//	}
//
// The function parses flags, calls a package that is independent of the command line, and prints
// the result. A test in package commands requires every command to have a summary, an example that
// parses, help for every flag, and a script of the same name. docs/cli and docs/man are generated
// from the commands.
//
// Commands print through App.Out, log through App.Log, and read the environment through App; they
// keep no state outside of their own variables, so that tests run many at a time in one process.
package cli

//go:generate go run ./gendocs ../../docs
