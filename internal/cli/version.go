package cli

import (
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/version"
)

// PrintVersion prints the output of the command version and of the flag --version.
func PrintVersion(app *App) error {
	info := version.Info()
	text := info.String()
	if info.Lacks != "" {
		text += "\n" + info.Lacks
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
