package protocol_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

// TestProofTurns checks that strangers can't make the leader verify or make more than eight proofs
// at a time, that requests wait for their turn only for a while, and that a proof whose worker has
// gone isn't verified to the end.
func TestProofTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		work := func(ctx context.Context) error {
			defer running.Add(-1)
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(10 * time.Second):
				return nil
			}
		}
		r := newRig(t, protocol.ServerConfig{
			Verify: func(ctx context.Context, _ string, _ [32]byte) (string, error) { return "", work(ctx) },
			Prove:  func(ctx context.Context, _ [32]byte) (string, error) { return "proof", work(ctx) },
		})
		request := func(ctx context.Context, i int) int {
			p := r.peer(identity(t))
			if i%2 == 0 {
				q, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://leader/v1/proof", nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := p.http.Do(q)
				if err != nil {
					return 0
				}
				_ = answer.Body.Close()
				return answer.StatusCode
			}
			p.ctx = func() context.Context { return ctx }
			code, _ := p.join("a", "", join{"proof": "x", "name": string(rune('a' + i))})
			return code
		}
		codes := map[int]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		began := time.Now()
		for i := range 12 {
			wg.Go(func() {
				code := request(t.Context(), i)
				mu.Lock()
				defer mu.Unlock()
				codes[code]++
				if took := time.Since(began); code == http.StatusTooManyRequests && took > 5*time.Second {
					t.Errorf("refused after %v", took)
				}
			})
		}
		wg.Wait()
		if codes[http.StatusOK] != 8 || codes[http.StatusTooManyRequests] != 4 || most.Load() != 8 {
			t.Errorf("codes %v, %d at a time; want 8 times 200, 4 times 429, 8 at a time", codes, most.Load())
		}
		for i := range 2 { // a proof of the leader, and one of a worker
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if code := request(ctx, i); code != 0 {
				t.Errorf("a request that was given up: %d", code)
			}
			cancel()
			synctest.Wait()
			if n := running.Load(); n != 0 {
				t.Errorf("%d proofs are still being made for a worker that has gone", n)
			}
		}
	})
}

// TestBusyLeader checks that a worker tries again if the leader is too busy, or has no proof at the
// moment, and says what it waits for when it gives up.
func TestBusyLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := time.Now().Add(10 * time.Second)
		var asked atomic.Int64
		r := newRig(t, protocol.ServerConfig{
			Prove: func(ctx context.Context, _ [32]byte) (string, error) {
				switch asked.Add(1) {
				case 1:
					return "", errors.New("munged is not running")
				case 2:
					return "proof", nil
				}
				<-ctx.Done()
				return "", context.Cause(ctx)
			},
			Verify: func(ctx context.Context, proof string, _ [32]byte) (string, error) {
				if proof == "block" {
					return "", clock.Sleep(ctx, clock.System, time.Until(free))
				}
				return "", nil
			},
		})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { r.peer(identity(t)).join(string(rune('b'+i)), "", join{"proof": "block"}) })
		}
		synctest.Wait()
		c := r.client(protocol.Invitation{Addr: "memory:1"}, "a")
		c.Patience = 30 * time.Second
		c.Trust = func(context.Context, string, [32]byte) error { return nil }
		c.Prove = func(context.Context, [32]byte, [32]byte) (string, error) { return "worker", nil }
		var got waits
		c.Waiting = got.add
		ended := make(chan error, 1)
		go func() { ended <- c.Work(t.Context(), answer) }()
		wg.Wait()
		session, err := next(t, r, "a")
		if err != nil {
			t.Fatal(err)
		}
		if now := time.Now(); now.Before(free) || now.After(free.Add(5*time.Second)) {
			t.Errorf("joined at %v, and the leader was free at %v", now, free)
		}
		r.end(session, ended)
		if len(got) == 0 || !strings.Contains(got[0], "too many workers need a proof") {
			t.Errorf("waits: %q", got)
		}
		late := r.client(protocol.Invitation{Addr: "memory:1"}, "z")
		late.Patience, late.Trust = 20*time.Second, c.Trust
		if err := late.Work(t.Context(), nil); err == nil || !strings.HasSuffix(err.Error(), ": no answer within 15s") {
			t.Errorf("a leader that doesn't answer: %v", err)
		}
	})
}

// next returns the session of a worker.
func next(t *testing.T, r *rig, name string) (*protocol.Session, error) {
	t.Helper()
	for {
		s, err := r.server.Next(t.Context())
		if err != nil || s.Name() == name {
			return s, err
		}
	}
}

// TestProofsHeard checks that strangers can't fill the leader's log with refused proofs.
func TestProofsHeard(t *testing.T) {
	var heard refusals
	r := newRig(t, protocol.ServerConfig{
		Refused: heard.add,
		Verify:  func(context.Context, string, [32]byte) (string, error) { return "", errors.New("replayed") },
	})
	for range 40 {
		if code, _ := r.peer(identity(t)).join("a", "", join{"proof": "x"}); code != http.StatusUnauthorized {
			t.Fatalf("a refused proof: %d", code)
		}
	}
	if n := len(heard.all); n != 32 {
		t.Errorf("the leader heard of %d refused proofs, want 32", n)
	}
}
