package rendezvous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/munge"
	"github.com/rdmakit/rdmakit/internal/edge/pmi"
)

// NoWayError is the error if a launcher and a site offer none of the ways.
type NoWayError struct {
	Launcher                string
	Token, PMI, MUNGE, File error // why each can't be used
}

// Error lists the ways, each with the reason why it can't be used.
func (e *NoWayError) Error() string {
	var s []string
	for _, w := range []struct {
		name string
		err  error
	}{{TokenVariable, e.Token}, {"PMI", e.PMI}, {"MUNGE", e.MUNGE}, {"a file in a shared home", e.File}} {
		s = append(s, fmt.Sprintf("%s: %v", w.name, w.err))
	}
	return fmt.Sprintf("no way for the tasks of %s to find their leader and trust each other: %s",
		cmp.Or(e.Launcher, "this launcher"), strings.Join(s, "; "))
}

// Unwrap returns the four causes.
func (e *NoWayError) Unwrap() []error { return []error{e.Token, e.PMI, e.MUNGE, e.File} }

// Hints returns remedies.
func (e *NoWayError) Hints() []string {
	var hints []string
	if e.Launcher == Slurm {
		hints = append(hints, "srun --mpi=pmi2 gives the tasks a key-value space")
	}
	return append(hints, (*WeakTokenError)(nil).Hints()...)
}

// Choose returns the way for a task, the first of these that works: RDMAKIT_TOKEN, if it is set;
// PMI; MUNGE, under Slurm; a file in the home. Whether the home is shared shows later. All tasks of
// a job should come to the same choice: otherwise they wait for each other until their time is up.
// The error is a *[NoWayError] if there is no way. A weak token, and a process manager
// that answers incorrectly, are errors at once.
func Choose(ctx context.Context, t Task, getenv func(string) string) (Way, error) {
	none := &NoWayError{Launcher: t.Launcher, Token: errors.New("not set")}
	if secret := getenv(TokenVariable); secret != "" {
		way, err := NewToken(t, secret)
		if err != nil {
			return nil, err
		}
		return way, nil
	}
	if way, err := NewPMI(ctx, getenv); err == nil {
		return way, nil
	} else if none.PMI = err; !errors.Is(err, pmi.ErrNone) {
		return nil, err // the other tasks of the job wait for this one
	}
	if t.Launcher != Slurm {
		none.MUNGE = errors.New("used only under Slurm, which needs it itself")
	} else if way, err := NewMunge(ctx, t, munge.Daemon{}); err == nil {
		return way, nil
	} else {
		none.MUNGE = err
	}
	way, err := NewFile(t, getenv)
	if err != nil {
		none.File = err
		return nil, none
	}
	return way, nil
}
