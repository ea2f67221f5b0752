package self

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
)

// configImportReport is the output of "config import" in JSON and YAML.
type configImportReport struct {
	// File is the configuration file that was written, empty without --write.
	File string `json:"file"`
	// Settings are the imported settings, with their positions in FILE.
	Settings []config.Entry `json:"settings"`
	// Notes report all values that no setting can hold.
	Notes []string `json:"notes"`
}

func newConfigImportCommand(app *cli.App) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Convert a JSON file of devices to settings of rdmactl",
		Long: `Convert a JSON file that lists devices to settings of rdmactl, and print them as a configuration
file. FILE - is standard input.

The file has this form:

    {
      "devices": [{"name": "mlx5_0", "transport": "RoCE", "mtu": 4096, "enabled": true}],
      "cluster": {"name": "prod", "leader": "gpu-00"}
    }

The name of the first enabled device becomes the setting device; its mtu becomes the setting mtu if
it is a path MTU, and its transport becomes qp-type if it is RC, UC or UD. For each value that has
no setting, a note on standard error shows its place in the file and what to use instead.

With --write the settings are written to the configuration file of rdmactl, which must not exist yet.

Exit codes:

    0   the file was converted; there may be notes
    2   the file is not JSON, has an unknown key or a value of the wrong type;
        or --write, and the configuration file exists
    3   FILE doesn't exist`,
		Example: `  rdmactl config import config.json
  rdmactl config import config.json --write`,
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		RunE: func(_ *cobra.Command, args []string) error {
			return importConfig(app, args[0], write)
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "write the configuration file instead of printing it")
	return cmd
}

func importConfig(app *cli.App, name string, write bool) error {
	var in io.Reader
	if name == "-" {
		stdin, err := app.TakeStdin("FILE")
		if err != nil {
			return err
		}
		in = stdin
	}
	imported, err := config.ImportFile(name, in)
	if _, mistake := errors.AsType[*config.Error](err); mistake {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if err != nil {
		return err
	}
	text, err := imported.YAML()
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	report := configImportReport{
		Settings: append([]config.Entry{}, imported.Entries...), Notes: append([]string{}, imported.Notes...),
	}
	if write {
		if report.File, err = writeConfig(app, text); err != nil {
			return err
		}
		app.Out.Note("wrote %s", report.File)
	}
	for _, note := range imported.Notes {
		app.Out.Note("note: %s", note)
	}
	switch {
	case app.Out.Structured():
		return app.Out.Print(report)
	case write:
		return nil
	}
	return app.Out.Raw(text)
}

// writeConfig creates the configuration file and returns its name.
func writeConfig(app *cli.App, text []byte) (string, error) {
	file := app.Config.File
	if file == "" {
		return "", cli.WithHints(cli.Exitf(cli.ExitNotFound, "no place for a configuration file: HOME is not set"),
			"name one with --config or RDMAKIT_CONFIG")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as other programs make it
		return "", fmt.Errorf("write configuration: %w", err)
	}
	err := wholefile.Write(file, wholefile.Options{Mode: 0o644}, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", cli.WithHints(cli.Exitf(cli.ExitUsage, "write configuration %s: %w", file, fs.ErrExist),
			"without --write the settings are printed; copy them into the file")
	case err != nil:
		return "", fmt.Errorf("write configuration: %w", err)
	}
	return file, nil
}
