package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// readFiles adds the files of --suppressions and --thresholds to the options.
func (f doctorFlags) readFiles(all []doctor.Check, opts *doctor.Options) error {
	if f.suppressions != "" {
		data, err := os.ReadFile(f.suppressions)
		if err != nil {
			return cli.InputError(fmt.Errorf("--suppressions: %w", err))
		}
		list, err := parseSuppressions(f.suppressions, data)
		if err != nil {
			return &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
		for i := range list {
			list[i].Shared = true // the file may be that of all nodes
		}
		opts.Suppressions = append(opts.Suppressions, list...)
	}
	if f.thresholds != "" {
		data, err := os.ReadFile(f.thresholds)
		if err != nil {
			return cli.InputError(fmt.Errorf("--thresholds: %w", err))
		}
		if opts.Thresholds, err = parseThresholds(f.thresholds, data, doctor.Thresholds(all)); err != nil {
			return &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
	}
	return nil
}

// readReport reads the file of --since: a report, or a bundle, which has the report of its node.
func readReport(file string) (*doctor.Report, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.InputError(fmt.Errorf("--since: %w", err))
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) { // gzip (RFC 1952)
		if data, err = reportOfBundle(file, data); err != nil {
			return nil, cli.Exitf(cli.ExitUsage, "--since: %w", err)
		}
	}
	r, err := doctor.ParseReport(data)
	if err != nil {
		return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "--since %s: %w", file, err),
			"rdmactl doctor -o json writes a report that --since reads")
	}
	return &r, nil
}

// named returns a quoted key for an error after sep, "" for one that is not a name: a user who may
// run the program with more privileges must not read other files through its errors.
func named(sep, key string) string {
	if len(key) > 64 || !keyName.MatchString(key) {
		return ""
	}
	return sep + strconv.Quote(key)
}

var keyName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// reportOfBundle returns what doctor said of the node when it was recorded.
func reportOfBundle(file string, data []byte) ([]byte, error) {
	b, err := bundle.Read(file, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	report, err := fs.ReadFile(b.Tree.FS(), bundle.FindingsDir+"/doctor.json")
	if err != nil {
		return nil, fmt.Errorf("the bundle %s has no report of doctor: %w", file, err)
	}
	return report, nil
}

// fields returns the values of a mapping by key. It reports keys that are not allowed or duplicate.
func fields(file string, m *yaml.Node, allowed ...string) (map[string]*yaml.Node, error) {
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		at := fmt.Sprintf("%s:%d", file, key.Line)
		switch {
		case !slices.Contains(allowed, key.Value):
			err := fmt.Errorf("%s: unknown field%s (known: %s)", at, named(" ", key.Value), strings.Join(allowed, ", "))
			return nil, cli.WithHints(err, cli.DidYouMean(spelling.Nearest(key.Value, allowed, spelling.Loose))...)
		case values[key.Value] != nil:
			return nil, fmt.Errorf("%s: duplicate field %s (first at line %d)", at, key.Value, values[key.Value].Line)
		case value.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("%s: %s is not a single value", at, key.Value)
		}
		values[key.Value] = value
	}
	return values, nil
}

// parseSuppressions reads a list of suppressions. Errors have the line.
func parseSuppressions(file string, data []byte) ([]doctor.Suppression, error) {
	root, err := document(file, data)
	if root == nil || err != nil {
		return nil, err
	}
	if root.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s:%d: not a list of suppressions", file, root.Line)
	}
	var list []doctor.Suppression
	for _, item := range root.Content {
		s, err := parseSuppression(file, item)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func parseSuppression(file string, item *yaml.Node) (doctor.Suppression, error) {
	var s doctor.Suppression
	at := fmt.Sprintf("%s:%d", file, item.Line)
	if item.Kind != yaml.MappingNode {
		return s, fmt.Errorf("%s: not a suppression: it needs the fields check and reason", at)
	}
	values, err := fields(file, item, "check", "object", "until", "reason", "who")
	if err != nil {
		return s, err
	}
	for name, to := range map[string]*string{
		"check": &s.CheckID, "object": &s.Object, "until": &s.Until, "reason": &s.Reason, "who": &s.Who,
	} {
		if v := values[name]; v != nil && v.Tag != "!!null" {
			*to = strings.TrimSpace(v.Value)
		}
	}
	switch {
	case s.CheckID == "":
		return s, fmt.Errorf("%s: suppression without check", at)
	case s.Reason == "":
		return s, fmt.Errorf("%s: suppression of %s without a reason", at, s.CheckID)
	}
	if err := unknownCheck(s.CheckID); err != nil {
		return s, fmt.Errorf("%s:%d: %w", file, values["check"].Line, err)
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("%s:%d: %w", file, values["until"].Line, err)
	}
	return s, nil
}

// parseThresholds reads limits in the form that "doctor thresholds" prints, or as "name: number".
// Errors have the line.
func parseThresholds(file string, data []byte, known []doctor.Threshold) (map[string]float64, error) {
	root, err := document(file, data)
	if root == nil || err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: not a mapping of thresholds", file, root.Line)
	}
	var names []string
	for _, t := range known {
		names = append(names, t.Name)
	}
	values, lines := map[string]float64{}, map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := fmt.Sprintf("%s:%d", file, key.Line)
		j := slices.Index(names, key.Value)
		if j < 0 {
			err := fmt.Errorf("%s: %w%s", at, doctor.ErrUnknownThreshold, named(": ", key.Value))
			err = cli.WithHints(err, cli.DidYouMean(spelling.Nearest(key.Value, names, spelling.Loose))...)
			return nil, cli.WithHints(err, "rdmactl doctor thresholds lists them")
		}
		if _, twice := values[key.Value]; twice {
			return nil, fmt.Errorf("%s: duplicate threshold %s", at, key.Value)
		}
		if values[key.Value], err = parseThreshold(file, value, known[j]); err != nil {
			return nil, err
		}
		lines[key.Value] = key.Line
	}
	err = doctor.ValidateThresholds(known, values)
	if bad, ok := errors.AsType[*doctor.ThresholdError](err); ok {
		return nil, fmt.Errorf("%s:%d: %w", file, lines[bad.Name], bad)
	}
	return values, err
}

func parseThreshold(file string, value *yaml.Node, t doctor.Threshold) (float64, error) {
	if value.Kind == yaml.MappingNode {
		values, err := fields(file, value, "value", "unit", "what", "source")
		if err != nil {
			return 0, err
		}
		if u := values["unit"]; u != nil && u.Value != t.Unit {
			return 0, fmt.Errorf("%s:%d: the unit of %s is %q, not %q", file, u.Line, t.Name, t.Unit, u.Value)
		}
		if values["value"] == nil {
			return 0, fmt.Errorf("%s:%d: %s without a value", file, value.Line, t.Name)
		}
		value = values["value"]
	}
	at := fmt.Sprintf("%s:%d: %s", file, value.Line, t.Name)
	if value.Kind != yaml.ScalarNode || value.Tag != "!!int" && value.Tag != "!!float" {
		return 0, fmt.Errorf("%s: %q is not a number", at, value.Value)
	}
	var v float64
	if err := value.Decode(&v); err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%s: %s is not a number from 0", at, strconv.Quote(value.Value))
	}
	return v, nil
}
