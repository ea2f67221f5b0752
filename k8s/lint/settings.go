package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// SettingsFile is the name of the file with the settings of a repository.
const SettingsFile = ".rdmactl-lint.yaml"

// SeverityOff in [Options.Severity] switches a rule off.
const SeverityOff Severity = "off"

// Settings are the content of a settings file: what a repository wants to be different for all who
// check it. All fields are optional.
type Settings struct {
	// Severity maps the ID of a rule or group to error, warn, note or off.
	Severity map[string]Severity `yaml:"severity"`
	// Exclude are patterns of files and folders to leave out.
	Exclude []string `yaml:"exclude"`
	// Reserved maps uses to address ranges: pods to 10.244.0.0/16.
	Reserved map[string]string `yaml:"reserved"`
	// RDMAResources are patterns of resources that stand for RDMA devices: acme.com/fast-*.
	RDMAResources []string `yaml:"rdmaResources"`
	// MaxMTU is the largest MTU of the network's switches.
	MaxMTU int `yaml:"maxMTU"`

	OperatorNamespace string `yaml:"operatorNamespace"`
	OperatorVersion   string `yaml:"operatorVersion"`
	ResourcePrefix    string `yaml:"resourcePrefix"`
}

// ParseSettings reads a settings file. It returns the first unknown setting with its line, or all
// wrong values.
func ParseSettings(file string, data []byte) (Settings, error) {
	var s Settings
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return Settings{}, settingsError(file, err)
	}
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %w", file, fmt.Errorf(format, args...)))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Severity)) {
		if err := CheckID(id); err != nil {
			fail("severity: %w", err)
		}
		if v := s.Severity[id]; !slices.Contains([]Severity{SeverityOff, SeverityError, SeverityWarn, SeverityNote},
			v) {
			fail("severity: %s: %q is not error, warn, note or off", id, v)
		}
	}
	for _, use := range slices.Sorted(maps.Keys(s.Reserved)) {
		if _, err := netip.ParsePrefix(s.Reserved[use]); err != nil {
			fail("reserved: %s: %q is not a range such as 10.244.0.0/16", use, s.Reserved[use])
		}
	}
	for _, pattern := range slices.Concat(s.Exclude, s.RDMAResources) {
		if _, err := filepath.Match(pattern, ""); err != nil {
			fail("pattern %q: %w", pattern, err)
		}
	}
	if s.MaxMTU < 0 {
		fail("maxMTU: %d is negative", s.MaxMTU)
	}
	return s, errors.Join(errs...)
}

var unknownSetting = regexp.MustCompile(`line (\d+): field (\S+) not found in type lint\.Settings`)

// settingsError rewrites errors of the YAML decoder in terms of the file.
func settingsError(file string, err error) error {
	m := unknownSetting.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	known := []string{
		"severity", "exclude", "reserved", "rdmaResources", "maxMTU", "operatorNamespace", "operatorVersion",
		"resourcePrefix",
	}
	if near := spelling.Nearest(m[2], known, spelling.Loose); near != "" {
		return fmt.Errorf("%s:%s: unknown setting %q: did you mean %s?", file, m[1], m[2], near)
	}
	return fmt.Errorf("%s:%s: unknown setting %q (known: %s)", file, m[1], m[2], strings.Join(known, ", "))
}

// Apply fills in the options that are not set, and sets those that have no flag: severities,
// resources for RDMA and the MTU.
func (s Settings) Apply(o *Options) {
	for _, v := range []struct {
		option  *string
		setting string
	}{
		{&o.OperatorNamespace, s.OperatorNamespace},
		{&o.OperatorVersion, s.OperatorVersion},
		{&o.ResourcePrefix, s.ResourcePrefix},
	} {
		if *v.option == "" {
			*v.option = v.setting
		}
	}
	for _, use := range slices.Sorted(maps.Keys(s.Reserved)) {
		if prefix, err := netip.ParsePrefix(s.Reserved[use]); err == nil {
			o.Reserved = append(o.Reserved, Reserved{Use: use, Prefix: prefix})
		}
	}
	o.Severity, o.RDMAResources, o.MaxMTU = s.Severity, s.RDMAResources, s.MaxMTU
}

// CheckID returns an error if an ID is neither that of a rule nor that of a group.
func CheckID(id string) error {
	ids := IDs()
	if slices.Contains(ids, id) {
		return nil
	}
	if near := spelling.Nearest(id, ids, spelling.Loose); near != "" {
		return fmt.Errorf("unknown rule %q: did you mean %s?", id, near)
	}
	return fmt.Errorf("unknown rule %q", id)
}
