package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest/internal/frame"
	"github.com/rdmakit/rdmakit/integration/guest/internal/guestd"
)

// fakeGuest is a guest without QEMU: a guestd in this process listens on the paths of QEMU's
// sockets.
func fakeGuest(t *testing.T) *Guest {
	t.Helper()
	dir := t.TempDir()
	server := &guestd.Server{TempDir: t.TempDir()}
	for n := range channels {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, channelName(n)))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_ = server.Serve(conn, conn)
				_ = conn.Close()
			}
		}()
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			<-done
		})
	}
	return &Guest{state: state{Dir: dir, Netns: netnsPrefix + "fake"}}
}

func TestGuestRun(t *testing.T) {
	g := fakeGuest(t)
	got, err := g.Run(t.Context(), "echo out; echo err >&2; exit 3")
	want := Result{Stdout: []byte("out\n"), Stderr: []byte("err\n"), ExitCode: 3}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Run error %v; result differs (-want +got):\n%s", err, diff)
	}
	if out, err := g.Output(t.Context(), "echo fine"); out != "fine\n" || err != nil {
		t.Errorf("Output = %q, %v, want fine", out, err)
	}
	if _, err := g.Output(t.Context(), "echo broken >&2; false"); err == nil ||
		!strings.Contains(err.Error(), "exit status 1: broken") {
		t.Errorf("Output of a failing script = %v, want its status and standard error", err)
	}
}

func TestGuestRunDeadline(t *testing.T) {
	g := fakeGuest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	res, err := g.Run(ctx, "echo before; sleep 100")
	if !errors.Is(err, context.DeadlineExceeded) || string(res.Stdout) != "before\n" || res.ExitCode != 128+9 {
		t.Errorf("Run past its deadline = %q, %d, %v, want what it printed and DeadlineExceeded",
			res.Stdout, res.ExitCode, err)
	}
	if took := time.Since(start); took > killGrace/2 {
		t.Errorf("Run past its deadline took %v, want it to end at once", took)
	}
	if _, err := g.Run(ctx, "true"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run after the deadline = %v, want DeadlineExceeded", err)
	}
	tooLong := strings.Repeat("#", 200_000)
	if _, err := g.Run(t.Context(), tooLong); err == nil || len(err.Error()) > 1000 {
		t.Errorf("Run of a script of 200 kB = %.100v…, want a short error", err)
	}
}

// More calls than channels take turns.
func TestGuestRunParallel(t *testing.T) {
	g := fakeGuest(t)
	const calls = 3 * channels
	errs := make(chan error, calls)
	for range calls {
		go func() {
			out, err := g.Output(t.Context(), "sleep 0.05; echo done")
			if err == nil && out != "done\n" {
				err = errors.New("output " + out)
			}
			errs <- err
		}()
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// A session ends if its request is lost or its guest stops responding.
func TestSessionKeepAlive(t *testing.T) {
	g := fakeGuest(t)
	s, err := g.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.keepAlive(20*time.Millisecond, maxSilence)
	_, err = s.receive(func(frame.Frame) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "lost the request") {
		t.Errorf("session without a request = %v, want that it was lost", err)
	}
	s.close()

	if s, err = g.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.keepAlive(20*time.Millisecond, 10*time.Second)
	if res, err := s.run(t.Context(), "sleep 0.3; echo done"); string(res.Stdout) != "done\n" || err != nil {
		t.Errorf("run with signs of life = %q, %v, want done", res.Stdout, err)
	}
	s.close()

	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }() // ends with near
	if s, err = newSession(near, func() {}); err != nil {
		t.Fatal(err)
	}
	s.keepAlive(20*time.Millisecond, 100*time.Millisecond)
	if _, err := s.run(t.Context(), "true"); err == nil || !strings.Contains(err.Error(), "the guest doesn't respond") {
		t.Errorf("run in a silent guest = %v, want that it doesn't respond", err)
	}
	s.close()
}

func TestGuestWaitsForChannel(t *testing.T) {
	g := fakeGuest(t)
	var held []*session
	for range channels {
		s, err := g.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := g.Run(ctx, "true"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run without a free channel = %v, want DeadlineExceeded", err)
	}
	for _, s := range held {
		s.close()
	}
	if _, err := g.Run(t.Context(), "true"); err != nil {
		t.Errorf("Run with free channels = %v, want nil", err)
	}
}

func TestGuestCopy(t *testing.T) {
	g := fakeGuest(t)
	dir := t.TempDir()
	from, in, back := filepath.Join(dir, "from"), filepath.Join(dir, "deep", "er", "in"), filepath.Join(dir, "back")
	content := bytes.Repeat([]byte("\x00\n\xff "), 100_000)
	if err := os.WriteFile(from, content, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := g.CopyIn(t.Context(), from, in); err != nil {
		t.Fatalf("CopyIn = %v", err)
	}
	if err := g.CopyOut(t.Context(), in, back); err != nil {
		t.Fatalf("CopyOut = %v", err)
	}
	got, err := os.ReadFile(back)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("copied in and out: %d bytes, %v, want the %d bytes of before", len(got), err, len(content))
	}
	if info, err := os.Stat(back); err != nil || info.Mode() != 0o750 {
		t.Errorf("mode after copying = %v, %v, want 0750", info.Mode(), err)
	}
	bad := map[string]error{
		"in, no such file":  g.CopyIn(t.Context(), from+".none", in),
		"in, folder":        g.CopyIn(t.Context(), dir, in),
		"in, relative":      g.CopyIn(t.Context(), from, "relative"),
		"out, no such file": g.CopyOut(t.Context(), in+".none", back),
		"out, folder":       g.CopyOut(t.Context(), dir, back),
	}
	for name, err := range bad {
		if err == nil {
			t.Errorf("copy %s = nil, want an error", name)
		}
	}
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the copy after failed ones: %d bytes, %v, want it as before", len(got), err)
	}
	if entries, err := filepath.Glob(filepath.Join(dir, ".copy-*")); len(entries) != 0 || err != nil {
		t.Errorf("left over: %v, %v, want nothing", entries, err)
	}
}

func TestGuestEnded(t *testing.T) {
	g := fakeGuest(t)
	if err := g.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("second Close = %v, want nil", err)
	}
	if _, err := g.Run(t.Context(), "true"); !errors.Is(err, ErrEnded) {
		t.Errorf("Run after Close = %v, want ErrEnded", err)
	}
	gone := &Guest{state: state{Dir: filepath.Join(t.TempDir(), "gone")}}
	if _, err := gone.Run(t.Context(), "true"); !errors.Is(err, ErrEnded) {
		t.Errorf("Run without the folder = %v, want ErrEnded", err)
	}
	empty := &Guest{state: state{Dir: t.TempDir()}}
	if _, err := empty.Run(t.Context(), "true"); !errors.Is(err, ErrEnded) {
		t.Errorf("Run without sockets = %v, want ErrEnded", err)
	}
}

func TestHostCommand(t *testing.T) {
	g := &Guest{state: state{Netns: "rdmakit-guest-x"}}
	want := []string{"ip", "netns", "exec", "rdmakit-guest-x", "ping", "-c1", GuestAddress}
	if diff := cmp.Diff(want, g.HostCommand(t.Context(), "ping", "-c1", GuestAddress).Args); diff != "" {
		t.Errorf("HostCommand differs (-want +got):\n%s", diff)
	}
}

func TestSharedNamesTheRemedy(t *testing.T) {
	var s sharedGuest
	g, err := s.get(filepath.Join(t.TempDir(), "gone"))
	if g != nil || !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "rdmaguest up") {
		t.Errorf("shared guest that is gone = %v, %v, want ErrEnded with the remedy", g, err)
	}
	if err := s.close(); err != nil {
		t.Errorf("close without a guest = %v, want nil", err)
	}
}
