package cli

import (
	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/version"
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

func printVersion(app *App) error {
	info := version.Info()
	text := info.String()
	if info.Lacks != "" {
		text += "\nwithout: " + info.Lacks
	}
	blocks := []output.Block{output.Paragraph(text)}
	if app.Out.Wide() {
		blocks = append(blocks, output.List{Items: []output.Item{
			{Key: "commit", Value: output.Plain(info.Commit)},
			{Key: "date", Value: output.Plain(info.Date)},
			{Key: "go", Value: output.Plain(info.Go)},
		}})
	}
	return app.Out.Print(info, blocks...)
}
