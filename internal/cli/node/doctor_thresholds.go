package node

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

func newThresholdsCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "thresholds",
		Short: "Print the limits of the checks in the form that doctor --thresholds reads",
		Long: `Print the limits that the checks compare with: the default, its unit, what is compared, and where the
default comes from. "to be calibrated" marks those that nobody has measured.

Save the output, change values, and pass the file to rdmactl doctor --thresholds. Limits that are not
in the file keep their defaults. "NAME: NUMBER" is enough for one; if a unit is given, it must be that
of the limit.`,
		Example: `  rdmactl doctor thresholds > limits.yaml
  rdmactl doctor --thresholds limits.yaml
  rdmactl doctor thresholds -o table`,
		RunE: func(*cobra.Command, []string) error {
			all := doctor.Thresholds(checks.All())
			out := app.Out
			if app.Config.Origin("output") == config.OriginDefault { // the default differs from that of the setting
				out = output.New(output.Options{Format: output.FormatYAML})
			}
			data, err := out.Render(thresholdDocument(all), thresholdTable(all))
			if err != nil {
				return err
			}
			return app.Out.Raw(data)
		},
	}
	cli.SetFormats(cmd, output.FormatYAML, output.FormatJSON, output.FormatTable, output.FormatWide)
	return cmd
}

// thresholdEntry is a threshold in a file.
type thresholdEntry struct {
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	What   string  `json:"what"`
	Source string  `json:"source"`
}

func thresholdDocument(all []doctor.Threshold) map[string]thresholdEntry {
	doc := map[string]thresholdEntry{}
	for _, t := range all {
		doc[t.Name] = thresholdEntry{Value: t.Value, Unit: t.Unit, What: t.What, Source: t.Source}
	}
	return doc
}

func thresholdTable(all []doctor.Threshold) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "threshold"},
		{Name: "default", Align: output.AlignRight},
		{Name: "unit"},
		{Name: "what", Wrap: true},
		{Name: "source", Wide: true},
	}}
	for _, th := range all {
		t.Rows = append(t.Rows, cli.Cells(
			th.Name, strconv.FormatFloat(th.Value, 'f', -1, 64), th.Unit, th.What, th.Source))
	}
	return t
}
