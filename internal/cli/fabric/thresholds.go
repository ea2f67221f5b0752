package fabric

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// maxThresholdFile bounds a file of thresholds in bytes.
const maxThresholdFile = 1 << 20

// neverListed in a file takes a counter out of the judgement.
const neverListed = "never"

// readThresholds reads a file of thresholds; counters that it doesn't name keep their defaults.
func readThresholds(name string) (fabric.Thresholds, error) {
	file, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return nil, cli.BundleError(fmt.Errorf("read thresholds: %w", err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxThresholdFile+1))
	switch {
	case err != nil:
		return nil, cli.BundleError(fmt.Errorf("read thresholds: %w", err))
	case len(data) > maxThresholdFile:
		return nil, cli.Exitf(cli.ExitUsage, "read thresholds %s: longer than %d bytes", name, maxThresholdFile)
	}
	t, err := parseThresholds(data)
	if err != nil {
		return nil, cli.Exitf(cli.ExitUsage, "read thresholds %s: %w", name, err)
	}
	return t, nil
}

// parseThresholds reads lines of Name=VALUE, as infiniband-diags has them, or a mapping of YAML.
func parseThresholds(data []byte) (fabric.Thresholds, error) {
	pairs, err := assignments(data)
	if pairs == nil && err == nil {
		pairs, err = yamlPairs(data)
	}
	if err != nil {
		return nil, err
	}
	t := fabric.DefaultThresholds()
	seen := map[string]int{}
	for _, p := range pairs {
		if first, again := seen[p.name]; again {
			return nil, fmt.Errorf("line %d: %s is in line %d already", p.line, p.name, first)
		}
		seen[p.name] = p.line
		if err := setThreshold(t, p); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return t, nil
}

// thresholdPair is a line of the file.
type thresholdPair struct {
	name, value string
	line        int
}

func setThreshold(t fabric.Thresholds, p thresholdPair) error {
	names := fabric.CounterNames()
	if !slices.Contains(names, p.name) {
		return cli.WithHints(fmt.Errorf("no counter is named %q", p.name), cli.DidYouMean(spelling.Nearest(p.name, names, spelling.Loose))...)
	}
	if strings.EqualFold(p.value, neverListed) {
		delete(t, p.name)
		return nil
	}
	v, err := strconv.ParseUint(p.value, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q is neither a number nor %q", p.name, p.value, neverListed)
	}
	t[p.name] = v
	return nil
}

// assignments reads Name=VALUE; nil and no error when no line has that form.
func assignments(data []byte) ([]thresholdPair, error) {
	pairs := []thresholdPair{}
	other := 0 // the first line of another form
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			if other == 0 {
				other = i + 1
			}
			continue
		}
		pairs = append(pairs, thresholdPair{strings.TrimSpace(name), strings.TrimSpace(value), i + 1})
	}
	switch {
	case other > 0 && len(pairs) > 0:
		return nil, fmt.Errorf("line %d: not of the form Name=VALUE as the others are", other)
	case other > 0:
		return nil, nil
	}
	return pairs, nil
}

func yamlPairs(data []byte) ([]thresholdPair, error) {
	var document yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&document); err != nil {
		return nil, fmt.Errorf("neither lines of Name=VALUE nor YAML: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("neither lines of Name=VALUE nor a YAML mapping of names to values")
	}
	var pairs []thresholdPair
	list := document.Content[0].Content
	for i := 0; i+1 < len(list); i += 2 {
		name, value := list[i], list[i+1]
		if name.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: not a name with a value", name.Line)
		}
		pairs = append(pairs, thresholdPair{name.Value, value.Value, name.Line})
	}
	return pairs, nil
}
