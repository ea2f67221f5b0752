package guest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// sharedVariable is the environment variable with the folder of a running guest.
const sharedVariable = "RDMAKIT_GUEST"

// sharedGuest is booted by the first caller of Shared. It is the only global state here: a boot
// takes too long for each test, and only TestMain knows when the last test has run.
type sharedGuest struct {
	mu    sync.Mutex
	tried bool
	g     *Guest
	err   error
}

var shared sharedGuest

// Shared returns the guest of this test process: the one that the environment variable
// RDMAKIT_GUEST names, or one that the first call boots and that [Main] closes. If no guest can
// run, the test fails and reports what is missing and what to do; it never skips.
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

// Exclusive waits until no other test holds the guest exclusively, in this process or another, and
// holds it until the test ends. Tests that change links, modules or addresses call it; see Steady
// for tests that would be disturbed by that.
func (g *Guest) Exclusive(tb testing.TB) {
	tb.Helper()
	g.hold(tb, g.lockExclusive)
}

// Steady waits until no test holds the guest exclusively, and prevents that until the test ends.
// Any number of tests may hold it at the same time.
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
