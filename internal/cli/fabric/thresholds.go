package fabric

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/pairs"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// maxThresholdFile is the largest size of a file of thresholds in bytes.
const maxThresholdFile = 1 << 20

// readThresholds reads a file of thresholds; counters that it doesn't name keep their defaults.
func readThresholds(name string) (fabric.Thresholds, error) {
	file, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return nil, cli.InputError(fmt.Errorf("read thresholds: %w", err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxThresholdFile+1))
	switch {
	case err != nil:
		return nil, cli.InputError(fmt.Errorf("read thresholds: %w", err))
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
	list, err := pairs.Parse(data)
	if err != nil {
		return nil, err
	}
	t := fabric.DefaultThresholds()
	seen := map[string]int{}
	for _, p := range list {
		if first, again := seen[p.Name]; again {
			return nil, fmt.Errorf("line %d: duplicate counter %s (first at line %d)", p.Line, p.Name, first)
		}
		seen[p.Name] = p.Line
		if err := setThreshold(t, p); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.Line, err)
		}
	}
	return t, nil
}

// setThreshold sets a threshold; the error for an unknown counter suggests a similar name.
func setThreshold(t fabric.Thresholds, p pairs.Pair) error {
	err := t.Set(p.Name, p.Value)
	if _, unknown := errors.AsType[*fabric.UnknownCounterError](err); unknown {
		err = cli.WithHints(err, cli.DidYouMean(spelling.Nearest(p.Name, fabric.CounterNames(), spelling.Loose))...)
	}
	return err
}
