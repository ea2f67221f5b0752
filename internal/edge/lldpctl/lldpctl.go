// Package lldpctl asks the LLDP daemon of this machine, lldpd, for the neighbours of its network
// devices: it runs the daemon's client lldpctl, since the protocol between the two is private.
//
//	text, err := lldpctl.Run(ctx, "")
//
// Only members of the daemon's group may ask it; others get an error with what lldpctl says.
package lldpctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Limit is how long lldpctl may take. A daemon that is well answers at once.
const Limit = 3 * time.Second

// maxOutput is the largest output in bytes: about 2 KB a neighbour.
const maxOutput = 16 << 20

// errTooLong is the error for more output than any daemon has neighbours for.
var errTooLong = fmt.Errorf("more than %d bytes of output", maxOutput)

// Run returns what "lldpctl -f json" prints, within [Limit]. file is the program, "" that in the
// path. Without lldpctl, the error matches [exec.ErrNotFound].
func Run(ctx context.Context, file string) ([]byte, error) {
	if file == "" {
		var err error
		if file, err = find(); err != nil {
			return nil, fmt.Errorf("ask lldpd for neighbours: %w", err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("no answer within %v", Limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "-f", "json") //nolint:gosec // the caller's program
	stdout, stderr := limited{left: maxOutput}, limited{left: maxOutput}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // for children that keep the pipes open
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case stdout.left < 0:
		err = errTooLong
	case err != nil && stderr.b.Len() > 0:
		line, _, _ := bytes.Cut(bytes.TrimSpace(stderr.b.Bytes()), []byte("\n"))
		err = fmt.Errorf("%w: %s", err, line)
	}
	if err != nil {
		return nil, fmt.Errorf("ask lldpd for neighbours: %w", err)
	}
	return stdout.b.Bytes(), nil
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

// limited keeps what is written until there is too much, and then takes no more.
type limited struct {
	b    bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errTooLong
	}
	return l.b.Write(b)
}
