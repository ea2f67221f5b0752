package self

import (
	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
)

func newVersionCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of rdmactl and its build. The dynamic build opens libibverbs at run time if it is
installed, and therefore needs the loader of the C library. The static build needs no loader and
never opens libibverbs. Neither build sends or receives data through RDMA hardware yet.`,
		Example:     "  rdmactl version\n  rdmactl version -o wide\n  rdmactl version -o json",
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		RunE:        func(*cobra.Command, []string) error { return cli.PrintVersion(app) },
	}
}
