package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Annotations of commands and flags.
const (
	AnnotationLenient = "rdmakit-lenient" // command: works with an invalid configuration
	annotationFormats = "rdmakit-formats" // command: its formats, comma-separated
	annotationSetting = "rdmakit-setting" // flag: sets the setting of the same name
)

// SourceFlags choose the node that a command reads: the machine it runs on by default, another root
// directory, or a recorded bundle.
type SourceFlags struct {
	// Root is the value of --root. Prefer App.Config.Root, which also knows RDMAKIT_ROOT and
	// the file.
	Root string
	// From is the value of --from: a bundle made by rdmactl snapshot, or - for one on standard
	// input. It can't be combined with --root and overrides the other sources of that setting.
	From string
}

// AddTo adds --root and --from to cmd.
func (s *SourceFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.Root, "root", "", "read the node whose / is at `DIR`")
	flags.StringVar(&s.From, "from", "", "read the node recorded in `BUNDLE`, - for standard input")
	markSetting(flags, "root", "root")
	cmd.MarkFlagsMutuallyExclusive("root", "from")
	_ = cmd.MarkFlagDirname("root")
}

// AddSettings adds to cmd the flags of the settings with these keys. The effective values, whatever
// their source, are in App.Config. Help and allowed values come from the table in config.
func AddSettings(cmd *cobra.Command, keys ...string) {
	for _, key := range keys {
		AddSetting(cmd, cmd.Flags(), key, "")
	}
}

// SetFormats sets the formats that -o of cmd accepts; the first is the default. A command prints
// formats other than the usual four itself, through App.Out.Raw.
func SetFormats(cmd *cobra.Command, formats ...output.Format) {
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[annotationFormats] = output.JoinFormats(formats, ",")
	value := &SettingValue{text: string(formats[0]), kind: "format"}
	cmd.Flags().VarP(value, "output", "o", "format of the data on standard output: "+output.JoinFormats(formats, ", "))
	markSetting(cmd.Flags(), "output", "output")
	CompleteWords(cmd, "output", strings.Split(output.JoinFormats(formats, ","), ","))
}

func commandFormats(cmd *cobra.Command) []string {
	if own := cmd.Annotations[annotationFormats]; own != "" {
		return strings.Split(own, ",")
	}
	return strings.Split(output.JoinFormats(output.Formats(), ","), ",")
}

// SettingValue is the value of a flag for a setting. Package config checks it, so that all sources
// are checked alike.
type SettingValue struct {
	text, kind string
}

// String implements [pflag.Value].
func (v *SettingValue) String() string { return v.text }

// Set implements [pflag.Value].
func (v *SettingValue) Set(s string) error { v.text = s; return nil }

// Type is what the help shows behind the flag.
func (v *SettingValue) Type() string { return strings.ToUpper(v.kind) }

// AddSetting adds to flags the flag of one setting, with a shorthand unless that is empty.
func AddSetting(cmd *cobra.Command, flags *pflag.FlagSet, key, shorthand string) {
	AddSettingAs(cmd, flags, key, key, shorthand)
}

// AddSettingAs is [AddSetting] for a flag that isn't called as the setting is: bench has a port of
// TCP beside that of the device.
func AddSettingAs(cmd *cobra.Command, flags *pflag.FlagSet, key, name, shorthand string) {
	s, known := config.Find(key)
	usage := s.Help + ": " + s.Values()
	if !known {
		usage = "" // a flag without usage fails the test of all commands
	}
	value := &SettingValue{text: s.Default, kind: s.Type}
	if key == "timeout" {
		value.text = "" // "0s" reads as if nothing were allowed to take time
	}
	flags.VarP(value, name, shorthand, usage)
	markSetting(flags, name, key)
	if len(s.Allowed) > 0 {
		CompleteWords(cmd, name, s.Allowed)
	}
}

func markSetting(flags *pflag.FlagSet, name, key string) {
	_ = flags.SetAnnotation(name, annotationSetting, []string{key}) // fails for an unknown flag only
}

// CompleteWords proposes words as the values of a flag of cmd.
func CompleteWords(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// settingFlag returns the value of the flag of cmd that gives the setting, if the user gave it.
func settingFlag(cmd *cobra.Command, key string) (string, bool) {
	f := flagOfSetting(cmd, key)
	if f == nil || !f.Changed {
		return "", false
	}
	return f.Value.String(), true
}

// flagOfSetting returns the flag of cmd that sets the setting, nil if there is none.
func flagOfSetting(cmd *cobra.Command, key string) *pflag.Flag {
	var found *pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[annotationSetting], key) {
			found = f
		}
	})
	return found
}

// SettingsOf returns the keys of the settings that cmd has flags for, in the order of the flags.
func SettingsOf(cmd *cobra.Command) []string {
	var keys []string
	cmd.InheritedFlags() // adds them to its own
	cmd.Flags().VisitAll(func(f *pflag.Flag) { keys = append(keys, f.Annotations[annotationSetting]...) })
	return keys
}

// checkFlagGroups does the check that cobra does only later, so that a conflict of flags is
// reported as a usage error.
func checkFlagGroups(cmd *cobra.Command) error {
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	if err := checkEmptyFlags(cmd.Flags()); err != nil {
		return err
	}
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	// cobra: "if any flags in the group [a b] are set none of the others can be; [a b] were set"
	_, given, found := strings.Cut(err.Error(), "none of the others can be; [")
	given, _, closed := strings.Cut(given, "]")
	if !found || !closed {
		return err
	}
	return errors.New("--" + strings.Join(strings.Fields(given), " and --") + " can't be combined")
}

// checkEmptyFlags rejects flags with an empty value, so that a script with an unset variable
// doesn't read this machine, run all checks or use the first device instead.
func checkEmptyFlags(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		_, setting := f.Value.(*SettingValue)
		empty := (setting || f.Value.Type() == "string") && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = !slices.ContainsFunc(list.GetSlice(), func(s string) bool { return s != "" })
		}
		if empty && err == nil {
			err = errors.New("--" + f.Name + ": empty")
		}
	})
	return err
}

// onlyFlagErrors keeps only those configuration errors that come from flags of this run.
func onlyFlagErrors(err error) error {
	var kept []error
	walkErrors(err, func(err error) {
		//nolint:errorlint // walkErrors unwraps
		if e, ok := err.(*config.Error); ok && strings.HasPrefix(e.Source, "--") {
			kept = append(kept, err)
		}
	})
	return errors.Join(kept...)
}

// SecondsValue is a flag for a time: a duration such as 10s, or a number of seconds as perftest
// takes it.
type SecondsValue time.Duration

// String implements [pflag.Value].
func (v *SecondsValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type is what the help shows behind the flag.
func (*SecondsValue) Type() string { return "TIME" }

// Set implements [pflag.Value].
func (v *SecondsValue) Set(text string) error {
	d, err := config.ParseDuration(text, "10s")
	if err != nil {
		return err
	}
	if d < 0 {
		return errors.New("negative duration")
	}
	*v = SecondsValue(d)
	return nil
}
