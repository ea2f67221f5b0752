package self

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

func newConfigCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and check the configuration",
		Long: `Show and check the configuration.

The value of a setting comes from the first of these sources that has one: a flag, the variable
RDMAKIT_..., the variable RDMA_... where the list below shows one, the configuration file, the
default, or detection on the machine. --config or RDMAKIT_CONFIG set the name of the configuration
file, by default ~/.config/rdmakit/config.yaml. The file has one "key: value" pair per line:

    # ~/.config/rdmakit/config.yaml
    output: wide
    timeout: 30s

Settings:

` + settingsText() + `

timeout limits the whole run. qp-timeout, and with it RDMA_TIMEOUT, is the local ACK timeout of a
queue pair: 14 means that a packet is sent again after 4.096 us * 2^14 = 67 ms. An RDMA_ variable
whose value is not valid for the setting is ignored, with a note, because other programs use these
variables too.`,
		Example: "  rdmactl config show --origin\n  rdmactl config validate ./config.yaml",
	}
	cmd.AddCommand(
		newConfigShowCommand(app), newConfigPathCommand(app), newConfigValidateCommand(app),
		newConfigImportCommand(app))
	return cmd
}

// settingsText lists the settings for the help. The lines are indented so that Markdown does not
// join them.
func settingsText() string {
	var b strings.Builder
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "    %-11s %s\n", s.Key, s.Help)
		fmt.Fprintf(&b, "    %-11s %s\n", "", s.Values())
		value := "default " + s.Default
		switch s.Default {
		case "":
			value = "if not set: " + s.Unset
		case "0s":
			value = "no limit by default"
		}
		fmt.Fprintf(&b, "    %-11s %s; %s\n", "", strings.Join(s.Variables(), ", "), value)
		if s.UsedBy != "" {
			fmt.Fprintf(&b, "    %-11s for %s\n", "", s.UsedBy)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// configSchema is the version of the JSON form of config show.
const configSchema = "rdmakit.config/v1"

// configReport is what "config show" prints as json and yaml.
type configReport struct {
	// Schema is configSchema: its version number increases when a field is removed or changes its
	// meaning.
	Schema string `json:"schema"`
	// File is the name of the configuration file, empty if there is no home directory.
	File string `json:"file"`
	// FileExists reports whether File exists.
	FileExists bool `json:"fileExists"`
	// Settings lists all settings with their effective values; an empty value is detected
	// when needed.
	Settings []config.Entry `json:"settings"`
	// Notes are contradictions and likely typing errors.
	Notes []string `json:"notes"`
}

func newConfigShowCommand(app *cli.App) *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the effective settings and where they come from",
		Long: `Show the effective settings. With --origin or -o wide, also show the flag, variable or
line of the configuration file that each value comes from. Variables that contradict
each other are reported on standard error.`,
		Example: "  rdmactl config show\n  rdmactl config show --origin\n  rdmactl config show -o json",
		RunE: func(*cobra.Command, []string) error {
			cfg := app.Config
			for _, note := range cfg.Notes {
				app.Out.Note("note: %s", note)
			}
			report := configReport{
				Schema: configSchema, File: cfg.File, FileExists: cfg.Exists, Settings: cfg.Entries,
				Notes: append([]string{}, cfg.Notes...),
			}
			return app.Out.Print(report, settingsTable(cfg.Entries, origin))
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "show where each value comes from")
	return cmd
}

func settingsTable(entries []config.Entry, origin bool) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "setting"},
		{Name: "value", Wrap: true},
		{Name: "origin", Wide: !origin, Priority: 1},
		{Name: "source", Wide: !origin, Wrap: true},
	}}
	for _, e := range entries {
		value := output.Plain(e.Value)
		if s, _ := config.Find(e.Key); e.Origin == config.OriginDetection {
			value = output.Dim("(" + s.Unset + ")")
		}
		t.Rows = append(t.Rows,
			[]output.Cell{output.Plain(e.Key), value, output.Plain(string(e.Origin)), output.Plain(e.Source)})
	}
	return t
}

// configPathReport is what "config path" prints as json and yaml.
type configPathReport struct {
	File   string `json:"file"`
	Exists bool   `json:"exists"`
}

func newConfigPathCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:         "path",
		Short:       "Print the name of the configuration file",
		Long:        "Print the name of the configuration file, even if the file doesn't exist.",
		Example:     "  rdmactl config path\n  vi \"$(rdmactl config path)\"",
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		RunE: func(*cobra.Command, []string) error {
			cfg := app.Config
			if cfg.File == "" {
				return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no default configuration file: HOME is not set"),
					"name one with --config or RDMAKIT_CONFIG")
			}
			return app.Out.Print(configPathReport{File: cfg.File, Exists: cfg.Exists}, output.Paragraph(cfg.File))
		},
	}
}

// configCheckReport is what "config validate" prints as json and yaml.
type configCheckReport struct {
	File   string   `json:"file"`
	Valid  bool     `json:"valid"`
	Errors []string `json:"errors"`
}

func newConfigValidateCommand(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a configuration file",
		Long: `Check a configuration file, by default the one that rdmactl uses.

Exit codes:

    0   the file is valid
    1   the file has an error
    3   the file doesn't exist`,
		Example:     "  rdmactl config validate\n  rdmactl config validate ./config.yaml",
		Annotations: map[string]string{cli.AnnotationLenient: "true"},
		RunE: func(_ *cobra.Command, args []string) error {
			file := app.Config.File
			if len(args) > 0 {
				file = args[0]
			}
			if len(args) == 0 && !app.Config.Exists {
				return cli.Exitf(cli.ExitNotFound, "no configuration file: %s doesn't exist", file)
			}
			return validateConfig(app, file)
		},
	}
}

func validateConfig(app *cli.App, file string) error {
	report := configCheckReport{File: file, Valid: true, Errors: []string{}}
	err := config.Validate(file)
	var mistake *config.Error
	switch {
	case err == nil:
		return app.Out.Print(report, output.Line(output.Plain(file+": "), output.Good("ok")))
	case !errors.As(err, &mistake): // could not be read
		return err
	}
	report.Valid = false
	report.Errors = strings.Split(err.Error(), "\n")
	if app.Out.Structured() {
		if err := app.Out.Print(report); err != nil {
			return err
		}
	}
	return &cli.ExitError{Code: cli.ExitFault, Err: err}
}
