package guest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// sharedVariable names the environment variable that holds the folder of a
// guest that is already up.
const sharedVariable = "RDMAKIT_GUEST"

// sharedGuest is booted by the first caller of Shared. It is the one thing
// here that belongs to the process: a boot costs too much for each test, and
// TestMain is the only place that knows when the last one has run.
type sharedGuest struct {
	mu    sync.Mutex
	tried bool
	g     *Guest
	err   error
}

var shared sharedGuest

// Shared returns the guest of this test process: the one that the environment
// variable RDMAKIT_GUEST names, or one that the first call boots and that
// [Main] closes. When it cannot be had, the test fails and says what is missing
// and what to do; it never skips.
func Shared(tb testing.TB) *Guest {
	tb.Helper()
	g, err := shared.get(os.Getenv(sharedVariable))
	if err != nil {
		tb.Fatalf("no kernel guest: %v", err)
	}
	return g
}

func (s *sharedGuest) get(dir string) (*Guest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tried {
		s.tried = true
		if dir == "" {
			s.g, s.err = Start(context.Background(), Options{Log: os.Stderr})
		} else if s.g, s.err = Attach(dir); s.err != nil {
			s.err = fmt.Errorf("%w; %s names it: unset that, or start one with rdmaguest up", s.err, sharedVariable)
		}
	}
	return s.g, s.err
}

func (s *sharedGuest) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.g == nil {
		return nil
	}
	return s.g.Close()
}

// Main runs the tests and closes the guest that they shared. It returns the
// status to exit with:
//
//	func TestMain(m *testing.M) { os.Exit(guest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// Exclusive waits until no other test holds the guest exclusively, in this
// process or another, and holds it until the test ends. Tests that change links,
// modules or addresses take it; see Steady for tests that would be disturbed by that.
func (g *Guest) Exclusive(tb testing.TB) {
	tb.Helper()
	g.hold(tb, g.lockExclusive)
}

// Steady waits until no test holds the guest exclusively, and keeps it so until the test ends: what
// Exclusive is for the one that changes the guest, for any number that only look at it.
func (g *Guest) Steady(tb testing.TB) {
	tb.Helper()
	g.hold(tb, g.lockSteady)
}

func (g *Guest) hold(tb testing.TB, take func(context.Context) (*os.File, error)) {
	tb.Helper()
	lock, err := take(tb.Context())
	if err != nil {
		tb.Fatalf("hold the guest: %v", err)
	}
	tb.Cleanup(func() { _ = lock.Close() })
}
