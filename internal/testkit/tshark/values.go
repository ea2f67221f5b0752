package tshark

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Values returns the values of fields of tshark, as it prints them, for each frame of a capture
// file; "" where a frame doesn't have the field, and the first of several.
func Values(ctx context.Context, file string, names ...string) ([]map[string]string, error) {
	args := []string{"-n", "-r", file, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.CommandContext(ctx, "tshark", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dissect %s: tshark: %w: %s", file, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var frames []map[string]string
	for line := range strings.Lines(string(out)) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(values) != len(names) {
			return nil, fmt.Errorf("tshark: %d values, want %d", len(values), len(names))
		}
		frame := map[string]string{}
		for i, name := range names {
			frame[name] = values[i]
		}
		frames = append(frames, frame)
	}
	return frames, nil
}
