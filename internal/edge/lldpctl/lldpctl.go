// Package lldpctl asks the LLDP daemon of this machine, lldpd, for the neighbours of its network
// devices: it runs the daemon's client lldpctl, since the protocol between the two is private.
//
//	text, err := lldpctl.Run(ctx, "")
//
// Only members of the daemon's group may ask it; others get an error with what lldpctl says.
package lldpctl

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/process"
)

// Limit is how long lldpctl may take. A daemon that is well answers at once.
const Limit = 3 * time.Second

// maxOutput is the largest output in bytes: about 2 KB a neighbour.
const maxOutput = 16 << 20

// Run returns what "lldpctl -f json" prints, within [Limit]. file is the program, "" that in the
// path. Without lldpctl, the error matches [exec.ErrNotFound].
func Run(ctx context.Context, file string) ([]byte, error) {
	if file == "" {
		var err error
		if file, err = find(); err != nil {
			return nil, fmt.Errorf("ask lldpd for neighbours: %w", err)
		}
	}
	run := process.Command{File: file, Args: []string{"-f", "json"}, Limit: Limit, MaxOutput: maxOutput}
	text, err := run.Output(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask lldpd for neighbours: %w", err)
	}
	return text, nil
}

// find returns the file of lldpctl. It is in sbin, which the path of users often doesn't have.
func find() (string, error) {
	file, err := exec.LookPath("lldpctl")
	if err == nil || !errors.Is(err, exec.ErrNotFound) {
		return file, err
	}
	if file, other := exec.LookPath("/usr/sbin/lldpctl"); other == nil {
		return file, nil
	}
	return "", err
}
