package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// Origin is the layer that a value comes from.
type Origin string

// The layers, the highest precedence first. OriginDetection means that the value is detected on the
// machine.
const (
	OriginFlag        Origin = "flag"
	OriginEnvironment Origin = "environment"
	OriginAlias       Origin = "alias"
	OriginFile        Origin = "file"
	OriginDefault     Origin = "default"
	OriginDetection   Origin = "detection"
)

// Options are the sources of settings. The zero value yields the defaults.
type Options struct {
	// Flag returns the value of the flag that belongs to a key, and whether the user gave it.
	Flag func(key string) (value string, given bool)
	// FlagName returns the name of that flag; if nil, the name is the key.
	FlagName func(key string) string
	// Formats are the allowed values of --output, if the command has other formats than the setting
	// output.
	Formats []string
	// LookupEnv reads the environment. Environ lists it as KEY=VALUE, to find mistyped
	// RDMAKIT_ names.
	LookupEnv func(name string) (string, bool)
	Environ   []string
	// File is the value of --config, empty if not given.
	File string
}

// Entry is a setting with its effective value.
type Entry struct {
	Key string `json:"key"`
	// Value is empty if it is detected when needed.
	Value  string `json:"value"`
	Origin Origin `json:"origin"`
	// Source is the flag, the variable, or file:line; empty for defaults and detection.
	Source string `json:"source,omitempty"`
}

// Config is the result of Load.
type Config struct {
	Values
	// File is the name of the configuration file, empty if there is no home directory; Exists
	// reports whether the file exists.
	File   string
	Exists bool
	// Ignored is the reason why the default file was not read although it may exist; nil otherwise.
	Ignored error
	// Entries lists all settings in the order of Settings.
	Entries []Entry
	// Notes are remarks that are not errors: two variables that contradict each other, an RDMAKIT_
	// variable that is not a setting.
	Notes []string

	ignored map[string]string // notes on aliases that would count if their values were right, by key
}

// Origin returns the layer that the setting came from, empty for an unknown key.
func (c *Config) Origin(key string) Origin {
	for _, e := range c.Entries {
		if e.Key == key {
			return e.Origin
		}
	}
	return ""
}

// IgnoredAlias returns the note on the RDMA_ variable of a setting if the variable is ignored for
// its value and nothing stronger is set, otherwise "".
func (c *Config) IgnoredAlias(key string) string { return c.ignored[key] }

// Load merges the layers. It always returns a Config with all valid settings; the error joins an
// *Error for each invalid value and unknown key. Every line of the file is checked, but flags and
// variables only if they are in effect, so that a flag can override an invalid variable.
func Load(o Options) (*Config, error) {
	if o.Flag == nil {
		o.Flag = func(string) (string, bool) { return "", false }
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	c := &Config{ignored: make(map[string]string)}
	file, namedBy := Path(o.File, o.LookupEnv)
	c.File = file
	var fromFile map[string]fileValue
	var errs []error
	if file != "" {
		values, err := readFile(file)
		c.Exists = !missing(err)
		switch {
		case !c.Exists && namedBy != "":
			errs = append(errs, fmt.Errorf("%s: %w", namedBy, err))
		case namedBy == "" && errors.Is(err, fs.ErrPermission):
			// HOME belongs to another user, as under setpriv or some sudo rules: ignore the default
			// file.
			c.Exists, c.Ignored = false, err
		case c.Exists:
			errs = append(errs, err)
		}
		fromFile = values
	}
	for _, s := range Settings() {
		entry, err := o.resolve(&c.Values, s, file, fromFile)
		c.Entries = append(c.Entries, entry)
		errs = append(errs, err)
		c.Notes = append(c.Notes, o.contradiction(s)...)
		if note := o.badAlias(s); note != "" {
			c.Notes = append(c.Notes, note)
			if entry.Origin != OriginFlag && entry.Origin != OriginEnvironment {
				c.ignored[s.Key] = note
			}
		}
	}
	c.Notes = append(c.Notes, o.mistyped()...)
	return c, errors.Join(errs...)
}

// resolve stores the effective value of s in v. It stores the layers in ascending order of
// precedence, so that the next lower layer applies if a value is invalid.
func (o Options) resolve(v *Values, s Setting, file string, fromFile map[string]fileValue) (Entry, error) {
	entry := Entry{Key: s.Key, Origin: OriginDetection}
	var errs []error
	apply := func(origin Origin, source, raw string) {
		shown, err := s.set(v, raw)
		if err != nil {
			errs = append(errs, wrongValue(err, source, s.Key, raw))
			return
		}
		entry = Entry{Key: s.Key, Value: shown, Origin: origin, Source: source}
	}
	if s.Default != "" {
		apply(OriginDefault, "", s.Default)
	}
	if fv, ok := fromFile[s.Key]; ok {
		apply(OriginFile, position(file, fv.line), fv.text)
	}
	if raw, given := o.Flag(s.Key); given {
		if s.Key == "output" && o.Formats != nil {
			s.set = word(o.Formats, func(v *Values, w string) { v.Output = w })
		}
		name := s.Key
		if o.FlagName != nil {
			name = o.FlagName(s.Key)
		}
		apply(OriginFlag, "--"+name, raw)
		return entry, errors.Join(errs...)
	}
	for i, variable := range s.Variables() {
		if raw, _ := o.LookupEnv(variable); raw != "" && (variable != s.Alias || s.check(raw) == nil) {
			apply([]Origin{OriginEnvironment, OriginAlias}[i], variable, raw)
			break
		}
	}
	return entry, errors.Join(errs...)
}

// contradiction returns a note if the alias and the setting's RDMAKIT_ variable have different
// values.
func (o Options) contradiction(s Setting) []string {
	if s.Alias == "" {
		return nil
	}
	own, _ := o.LookupEnv(s.Env())
	alias, _ := o.LookupEnv(s.Alias)
	if own == "" || alias == "" || strings.EqualFold(own, alias) {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s overrides %s=%s", s.Env(), own, s.Alias, alias)}
}

// badAlias returns a note about an alias whose value is invalid for the setting. This is not an
// error, because other programs use the variable too and may allow other values.
func (o Options) badAlias(s Setting) string {
	raw, _ := o.LookupEnv(s.Alias)
	if s.Alias == "" || raw == "" || s.check(raw) == nil {
		return ""
	}
	note := fmt.Sprintf("%s=%s is ignored: it is not %s", s.Alias, raw, s.Values())
	if s.AliasNote != "" {
		note += " (" + s.AliasNote + ")"
	}
	return note
}

// check returns an error if raw is not a valid value of the setting.
func (s Setting) check(raw string) error {
	_, err := s.set(&Values{}, raw)
	return err
}

// mistyped returns notes about RDMAKIT_ variables that are similar to the variable of a setting.
// Other unknown variables may belong to a test or a deployment.
func (o Options) mistyped() []string {
	known := []string{"RDMAKIT_CONFIG"}
	for _, s := range Settings() {
		known = append(known, s.Env())
	}
	var notes []string
	for _, pair := range o.Environ {
		variable, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(variable, "RDMAKIT_") || slices.Contains(known, variable) {
			continue
		}
		if near := spelling.Nearest(variable, known, spelling.Loose); near != "" {
			notes = append(notes, fmt.Sprintf("%s is not a setting; did you mean %s?", variable, near))
		}
	}
	slices.Sort(notes)
	return notes
}
