package cli

import (
	"github.com/spf13/cobra"
)

func newVersionCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of rdmactl and which of its two builds it is: dynamic, which will open
libibverbs at run time once the data path is there, or static, which never will. Today
they differ in the build tag only: both are static, and neither drives hardware.`,
		Example:     "  rdmactl version\n  rdmactl version -o wide\n  rdmactl version -o json",
		Annotations: map[string]string{annotationLenient: "true"},
		RunE:        func(*cobra.Command, []string) error { return printVersion(app) },
	}
}
