package rendezvous

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rdmakit/rdmakit/cluster/launcher"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/internal/edge/munge"
)

// Task describes this process as a task of a job.
type Task struct {
	// Launcher is its name, for errors; see [Slurm].
	Launcher string
	// Job identifies the job, and its step if there are such. It is the same for all tasks, and no
	// secret. "" if the launcher gives none.
	Job string
	// Leader is the address at which the leader listens, HOST:PORT, if the launcher provides its
	// host; "" otherwise.
	Leader string
}

// Slurm is the Launcher of a [Task] that Slurm has started.
const Slurm = launcher.Slurm

// Way is a way for workers to find the leader, and for both to trust each other.
type Way interface {
	// Publish makes the invitation known. The leader calls it when it listens.
	Publish(ctx context.Context, i protocol.Invitation) error
	// Find waits for the invitation. If try isn't nil, it is called with what was found, and must
	// return an error if there is no leader; Find then looks for a newer invitation, if this way
	// can have one. The invitation of a way with a Trust has only an address.
	Find(ctx context.Context, try Try) (protocol.Invitation, error)
	// Pass is called by tasks that are neither the leader nor a worker: others may wait for them.
	Pass(ctx context.Context) error
	// Trust proves the two ends to each other; nil if the invitation is enough.
	Trust() Trust
	// Close ends what Publish has begun. It may be called several times.
	Close() error
	// String names the way.
	String() string
}

// Try checks whether an invitation leads to a leader.
type Try func(context.Context, protocol.Invitation) error

// Hash is the SHA-256 hash of a certificate.
type Hash = [sha256.Size]byte

// Pair are the certificates of the two ends of a connection.
type Pair struct{ Leader, Worker Hash }

// Role is the end that makes a proof. A proof of one isn't one of the other.
type Role string

// The roles.
const (
	RoleLeader Role = "leader"
	RoleWorker Role = "worker"
)

// Trust proves the two ends of a connection to each other.
type Trust interface {
	// Prove returns the proof of an end of a connection.
	Prove(ctx context.Context, from Role, p Pair) (string, error)
	// Verify returns an error unless that end has made the proof for this connection.
	Verify(ctx context.Context, from Role, proof string, p Pair) error
}

// statement is what a proof is about: a purpose, a version, and what must not differ.
func statement(job string, from Role, p Pair) []byte {
	return fmt.Appendf(nil, "rdmakit cluster verify, proof 1\nfrom %s\njob %q\nleader %x\nworker %x\n",
		string(from), job, p.Leader, p.Worker)
}

// AtLeader returns the functions of a [protocol.ServerConfig] for a leader with a certificate. A
// refused worker receives the reason if that helps its user and reveals nothing to a stranger: only
// its kind, without the details that the leader has.
func AtLeader(t Trust, leader Hash) (
	verify func(ctx context.Context, proof string, worker Hash) (name string, err error),
	prove func(ctx context.Context, worker Hash) (string, error),
) {
	verify = func(ctx context.Context, proof string, worker Hash) (string, error) {
		return "", passedOn(t.Verify(ctx, RoleWorker, proof, Pair{leader, worker}))
	}
	prove = func(ctx context.Context, worker Hash) (string, error) {
		return t.Prove(ctx, RoleLeader, Pair{leader, worker})
	}
	return verify, prove
}

// passedOn returns the error of a proof, with the part of it that the worker may know.
func passedOn(err error) error {
	for _, known := range []error{ErrOtherUser, ErrOtherProof, munge.ErrExpired, munge.ErrRewound} {
		if errors.Is(err, known) {
			return &proofError{err, &protocol.RefusedError{Status: http.StatusUnauthorized, Text: known.Error()}}
		}
	}
	return err
}

// proofError is the error of a proof with the part of it that the worker may know.
type proofError struct {
	err   error
	known *protocol.RefusedError
}

// Error returns the whole error, for the leader.
func (e *proofError) Error() string { return e.err.Error() }

// Unwrap returns the error and its known part.
func (e *proofError) Unwrap() []error { return []error{e.err, e.known} }

// AtWorker returns the functions of a [protocol.Client] for a worker with a certificate.
func AtWorker(t Trust, worker Hash) (
	trust func(ctx context.Context, proof string, leader Hash) error,
	prove func(ctx context.Context, worker, leader Hash) (string, error),
) {
	trust = func(ctx context.Context, proof string, leader Hash) error {
		return t.Verify(ctx, RoleLeader, proof, Pair{leader, worker})
	}
	prove = func(ctx context.Context, worker, leader Hash) (string, error) {
		return t.Prove(ctx, RoleWorker, Pair{leader, worker})
	}
	return trust, prove
}

// proven is the common part of the ways with a Trust: the address is known, and no task waits for
// others.
type proven struct{ leader string }

// Publish does nothing.
func (p proven) Publish(context.Context, protocol.Invitation) error { return nil }

// Find returns the address at which the leader is to listen; with try, once it does.
func (p proven) Find(ctx context.Context, try Try) (protocol.Invitation, error) {
	i := protocol.Invitation{Addr: p.leader}
	if try == nil {
		return i, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, leaderPatience, fmt.Errorf("no answer within %v", leaderPatience))
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := try(ctx, i)
		if err == nil {
			return i, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return protocol.Invitation{}, fmt.Errorf("wait for the leader at %s: %w (%w)", p.leader, context.Cause(ctx),
				err)
		}
	}
}

// leaderPatience is how long a leader may take to listen: a launcher starts the tasks of a job in
// any order, and the leader looks at its own node first.
const leaderPatience = time.Minute

// Pass does nothing.
func (p proven) Pass(context.Context) error { return nil }

// Close does nothing.
func (p proven) Close() error { return nil }
