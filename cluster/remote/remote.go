// Package remote starts a program on other hosts by ssh, copying it there first: the workers of a
// verification, on machines that have an ssh server and nothing of rdmakit.
//
//	cfg := remote.Config{Args: []string{"cluster", "worker", "--join", "-"}}
//	for host, r := range remote.Start(ctx, hosts, cfg) {
//		if r.Err != nil {
//			failed[host] = r.Err // a *remote.Error with its kind and the next step
//			continue
//		}
//		go lead(r.Session) // a net.Conn: the standard input and output of the worker
//	}
//
// Everything goes through the user's own ssh program, so no port is open at either end, and keys,
// agents and jump hosts work as they do for the user. No secret is on a command line: secrets
// go over the program's stream.
//
// On a host the executable is ~/.cache/rdmakit/rdmactl-SHA256, below $XDG_CACHE_HOME if that is
// set. It is copied only if it isn't there or differs; files that no run has used for 30 days are
// removed after a copy. Nothing else is left. Hosts with one home directory may be started at the
// same time: each copies to a name of its own.
//
// A program must end when its standard input does. Then it ends with its [Session], when the
// connection breaks, and when the process that started it is killed.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"mvdan.cc/sh/v3/shell"

	"github.com/rdmakit/rdmakit/internal/edge/ssh"
)

// Defaults of [Config].
const (
	DefaultParallel = 64               // hosts that are starting at a time
	DefaultConnect  = 10 * time.Second // for connecting to a host
	DefaultLimit    = 30 * time.Second // for a step of the start
)

// Config configures the start of a program on hosts.
type Config struct {
	// SSH is the ssh program and its first arguments; nil is ssh. See [Words].
	SSH []string
	// Args are the arguments of the program on the host, without line ends. Others there can see
	// them.
	Args []string
	// Executable is the file to copy to hosts on which it runs; "" is that of this process. Builds
	// for other hosts are looked for beside it.
	Executable string
	// RemotePath is a program that the hosts have already, to be started instead of a copy: an
	// absolute path, or a name to be found in PATH there. The second word of what its command
	// "version" prints must be Version, unless that is "".
	RemotePath string
	Version    string
	// Parallel is how many hosts may be starting at a time; 0 or less is [DefaultParallel].
	Parallel int
	// Connect is the limit for connecting to a host, unless the user's configuration of ssh has
	// one; 0 is [DefaultConnect].
	Connect time.Duration
	// Limit is how long a host may take for one step of the start, and for accepting each part of
	// the executable; 0 is [DefaultLimit].
	Limit time.Duration
	// Progress is called for each step of each host, from several goroutines but not at the same
	// time. It must not block.
	Progress func(Event)
}

// Step is a step of the start on a host.
type Step string

// The steps, in their order.
const (
	StepConnect Step = "connect" // ssh connects, and the host answers
	StepCopy    Step = "copy"    // the executable is checked, and copied if it must be
	StepStart   Step = "start"   // the program is tried and started
	StepRunning Step = "running" // the program runs
)

// Event is progress on a host.
type Event struct {
	Host string
	Step Step
	// Sent and Total are bytes of the executable as they are sent; 0 if it was there.
	Sent, Total int64
	// Err is set on the last event of a host that has failed in this step, and on that of an
	// attempt which will be repeated; Again distinguishes them.
	Err   error
	Again bool
}

// Result is a host on which the program runs, or the reason why it doesn't.
type Result struct {
	Session *Session
	Err     error // an *[Error]
}

// Words splits a command line such as "ssh -F 'my config'" into words as a shell does, with its
// quotes, variables and ~.
func Words(line string) ([]string, error) {
	words, err := shell.Fields(line, nil)
	if err == nil && len(words) == 0 {
		err = errors.New("no program")
	}
	if err != nil {
		return nil, fmt.Errorf("ssh program %q: %w", line, err)
	}
	return words, nil
}

// Start starts the program on all hosts and yields the result of each when it is known, in that
// order; the same host twice is started twice. The sessions live until they are closed or ctx ends.
// A loop that is left early, also by a panic, ends the starts that are under way; sessions that
// were yielded remain the caller's.
func Start(ctx context.Context, hosts []string, cfg Config) iter.Seq2[string, Result] {
	return func(yield func(string, Result) bool) {
		type started struct {
			host string
			Result
		}
		s := newStarter(cfg)
		starting, cancel := context.WithCancelCause(ctx)
		results := make(chan started, len(hosts)) // nobody may take them
		slots := make(chan struct{}, s.cfg.Parallel)
		var wg sync.WaitGroup
		for _, host := range hosts {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				session, err := s.start(ctx, starting, host)
				results <- started{host, Result{session, err}}
			})
		}
		defer func() {
			cancel(errLeft)
			wg.Wait()
			close(results)
			for r := range results { // the caller has left the loop
				if r.Session != nil {
					_ = r.Session.Close() // always nil
				}
			}
		}()
		for range hosts {
			if r := <-results; !yield(r.host, r.Result) {
				return
			}
		}
	}
}

// errLeft is the cause for starts that the caller has abandoned.
var errLeft = errors.New("no longer wanted")

// starter starts the program on hosts.
type starter struct {
	cfg    Config
	client ssh.Client
	builds *builds

	mu sync.Mutex // one call of cfg.Progress at a time
}

func newStarter(cfg Config) *starter {
	cfg.Connect = cmp.Or(cfg.Connect, DefaultConnect)
	cfg.Limit = cmp.Or(cfg.Limit, DefaultLimit)
	if cfg.Parallel <= 0 {
		cfg.Parallel = DefaultParallel
	}
	return &starter{cfg: cfg, client: ssh.Client{Command: cfg.SSH}, builds: &builds{executable: cfg.Executable}}
}

func (s *starter) progress(e Event) {
	if s.cfg.Progress != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cfg.Progress(e)
	}
}

// attempts is how often a connection is tried that the server closes before the login. Servers do
// so at random with more than ten at a time that aren't logged in, which 64 hosts behind one jump
// host are (MaxStartups in sshd_config(5)).
const attempts = 4

// firstPause is the mean pause before the second attempt; each following one is twice as long. The
// pauses are random, so that hosts which were dropped together don't come back together.
const firstPause = 500 * time.Millisecond

// start starts the program on a host. The session lives as long as ctx, the start as long as
// starting, which is derived from it.
func (s *starter) start(ctx, starting context.Context, host string) (*Session, error) {
	for n := 1; ; n++ {
		session, failure := s.attempt(ctx, starting, host)
		if failure == nil {
			s.progress(Event{Host: host, Step: StepRunning})
			return session, nil
		}
		again := failure.Kind == KindClosed && failure.Step == StepConnect && n < attempts
		s.progress(Event{Host: host, Step: failure.Step, Err: failure, Again: again})
		if !again || !pause(starting, firstPause<<(n-1)/2+rand.N(firstPause<<(n-1))) {
			return nil, failure
		}
	}
}

// attempt connects to a host once and starts the program there.
func (s *starter) attempt(ctx, starting context.Context, host string) (*Session, *Error) {
	d := &dialog{starter: s, host: host, step: StepConnect, mark: newMark()}
	if starting.Err() != nil {
		return nil, d.failure(starting, context.Cause(starting))
	}
	s.progress(Event{Host: host, Step: StepConnect})
	// An error in the settings is reported again when ssh connects.
	settings, _ := s.client.Settings(starting, host)
	stream, err := s.client.Start(ctx, host, settings.Options(s.cfg.Connect), command(d.mark))
	if err != nil {
		return nil, d.failure(starting, err)
	}
	if err := d.run(starting, stream); err != nil {
		_ = stream.Close() // always nil; then its standard error is complete
		return nil, d.failure(starting, err)
	}
	return &Session{host: host, version: d.version, stream: stream, r: d.r}, nil
}

// pause waits for d and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
