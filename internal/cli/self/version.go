package self

import (
	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
)

func newVersionCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of rdmactl and which of its two builds it is: dynamic, which will open
libibverbs at run time once the data path is there, or static, which never will. Today
they differ in the build tag only: both are static, and neither drives hardware.`,
		Example:     "  rdmactl version\n  rdmactl version -o wide\n  rdmactl version -o json",
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		RunE:        func(*cobra.Command, []string) error { return cli.PrintVersion(app) },
	}
}
