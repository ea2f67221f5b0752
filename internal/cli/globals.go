package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// grace is how long a command may take to return once its time is up. A read from a hung driver
// never returns.
const grace = 2 * time.Second

// App is the environment of a command. NewApp fills it from the process; tests fill it themselves.
// An App is good for one Run.
type App struct {
	// Commands is the table of commands.
	Commands []Entry

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Environ is the environment as KEY=VALUE.
	Environ []string
	// IsTerminal reports whether Stdin, Stdout or Stderr is a terminal.
	IsTerminal func(stream any) bool
	// Size returns the columns and rows of the terminal of Stdout or Stderr, 0 if unknown.
	Size func() (columns, rows int)
	Now  func() time.Time
	// Grace is how long a command may take to return once its time is up; 0 means two seconds.
	Grace time.Duration

	// The rest is set before a command's RunE is called.

	// Config holds the effective settings, flags included.
	Config *config.Config
	// Out prints the output of the command.
	Out *output.Printer
	// Log goes to standard error: warnings always, the rest with --verbose.
	Log *slog.Logger

	ProgramName string // name of the program, where a link to it chose an applet
	// Recording, unless nil, is the node that all commands read instead of the one that the flags
	// choose. Snapshot runs commands on it.
	Recording *bundle.Bundle

	root       *cobra.Command // the tree of commands
	state      *runState
	stdinTaken string   // the flag or argument that reads standard input
	order      []string // names of the commands in the order of the table: cobra sorts them
	flags      globalFlags
	stdout     *stickyWriter
	abandon    chan error // receives the error of a command that outlives its time
	ends       *endings
}

// runState is what a signal needs to know about a run.
type runState struct {
	command atomic.Pointer[cobra.Command] // set by Prepare
	reading atomic.Bool                   // the command waits for standard input
}

// globalFlags holds the flags that every command has and that are not settings.
type globalFlags struct {
	config         string
	quiet, verbose bool
}

// NewApp returns the App of this process with the commands of a table.
func NewApp(table []Entry) *App {
	return &App{
		Commands: table,
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Environ:  os.Environ(),
		IsTerminal: func(stream any) bool {
			f, ok := stream.(*os.File)
			return ok && term.IsTerminal(int(f.Fd()))
		},
		Size: func() (int, int) {
			for _, stream := range []*os.File{os.Stdout, os.Stderr} {
				if columns, rows, err := term.GetSize(int(stream.Fd())); err == nil {
					return columns, rows
				}
			}
			return 0, 0
		},
		Now: time.Now,
	}
}

// LookupEnv is os.LookupEnv on Environ; of several equal names the last one wins, as in a shell.
func (app *App) LookupEnv(name string) (string, bool) {
	for _, pair := range slices.Backward(app.Environ) {
		if key, value, ok := strings.Cut(pair, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// Getenv is os.Getenv on Environ.
func (app *App) Getenv(name string) string {
	value, _ := app.LookupEnv(name)
	return value
}

// addGlobalFlags adds the flags that every command has.
func (app *App) addGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	AddSetting(root, flags, "output", "o")
	AddSetting(root, flags, "color", "")
	AddSetting(root, flags, "timeout", "")
	flags.StringVar(&app.flags.config, "config", "", "configuration `FILE` (see rdmactl config)")
	flags.BoolVarP(&app.flags.quiet, "quiet", "q", false, "print data and errors only")
	flags.BoolVarP(&app.flags.verbose, "verbose", "v", false,
		"print details on standard error: what is done, and all warnings")
	root.MarkFlagsMutuallyExclusive("quiet", "verbose")
}

// Prepare runs after the flags of cmd are parsed and before its RunE. It sets up configuration,
// output, log and time limit.
func (app *App) Prepare(cmd *cobra.Command, _ []string) error {
	if err := checkFlagGroups(cmd); err != nil {
		return UsageError(cmd, err)
	}
	formats := commandFormats(cmd)
	cfg, err := config.Load(config.Options{
		Flag:      func(key string) (string, bool) { return settingFlag(cmd, key) },
		FlagName:  func(key string) string { return flagOfSetting(cmd, key).Name }, // Flag has found it
		Formats:   formats,
		LookupEnv: app.LookupEnv,
		Environ:   app.Environ,
		File:      app.flags.config,
	})
	if cmd.Annotations[AnnotationLenient] != "" {
		err = onlyFlagErrors(err)
	}
	if err != nil {
		return &ExitError{Code: ConfigExitCode(err), Err: err}
	}
	app.Config = cfg
	app.state.command.Store(cmd)
	app.root.Commands() // sorts them: later calls, by several goroutines, only read
	if !slices.Contains(formats, cfg.Output) {
		cfg.Output = formats[0] // a preference for all commands must not break one that doesn't have the format
	}
	app.Out = output.New(app.outputOptions())
	app.Log = slog.New(
		slog.NewTextHandler(app.Out.Stderr(), &slog.HandlerOptions{Level: app.logLevel(), ReplaceAttr: dropTime}))
	app.limitTime(cmd)
	app.noteIgnored(cmd)
	if cfg.Ignored != nil && cmd.GroupID != GroupApplet { // programs parse what applets write to standard error
		app.Out.Note("warning: configuration ignored: %v", cfg.Ignored)
	}
	app.Log.Debug("run", "command", cmd.CommandPath(), "config", cfg.File, "found", cfg.Exists)
	return nil
}

// noteIgnored reports RDMA_ variables that would affect cmd if their values were valid.
func (app *App) noteIgnored(cmd *cobra.Command) {
	if cmd.GroupID == GroupApplet {
		return
	}
	for _, key := range SettingsOf(cmd) {
		if note := app.Config.IgnoredAlias(key); note != "" {
			app.Out.Note("note: %s", note)
		}
	}
}

func (app *App) outputOptions() output.Options {
	o := output.Options{
		Out:         app.stdout,
		Err:         app.Stderr,
		Quiet:       app.flags.quiet,
		OutTerminal: app.IsTerminal(app.Stdout),
		ErrTerminal: app.IsTerminal(app.Stderr),
		LookupEnv:   app.LookupEnv,
		Size:        app.Size,
		Now:         app.Now,
		KeepWords:   app.keepCommands,
	}
	if cfg := app.Config; cfg != nil {
		o.Format, o.Color = output.Format(cfg.Output), output.ColorMode(cfg.Color)
		// NO_COLOR overrides the configuration file and variables; only a flag, which is meant for
		// this run, overrides NO_COLOR.
		if o.Color == output.ColorAlways && cfg.Origin("color") != config.OriginFlag && app.Getenv("NO_COLOR") != "" {
			o.Color = output.ColorNever
		}
	}
	return o
}

// Verbose reports whether the user asked for all details.
func (app *App) Verbose() bool { return app.flags.verbose }

func (app *App) logLevel() slog.Level {
	switch {
	case app.flags.verbose:
		return slog.LevelDebug
	case app.flags.quiet:
		return slog.LevelError
	}
	return slog.LevelWarn
}

// dropTime leaves the time out of log lines: a run is short, and lines without times are easier to
// compare.
func dropTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// limitTime ends the context of cmd after --timeout. A command that doesn't return within the grace
// period is abandoned.
func (app *App) limitTime(cmd *cobra.Command) {
	limit := app.Config.Timeout
	if limit == 0 {
		return
	}
	cause := &TimeoutError{Limit: limit}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), limit, cause)
	timer := time.AfterFunc(limit+app.Grace, func() { app.leave(cause) })
	app.atEnd(cancel)
	app.atEnd(func() { timer.Stop() })
	cmd.SetContext(ctx)
}
