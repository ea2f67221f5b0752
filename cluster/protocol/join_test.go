package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// refusals collects what a leader hears about refused workers.
type refusals struct {
	mu  sync.Mutex
	all []string
}

func (r *refusals) add(name, _ string, err *protocol.RefusedError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, name+": "+err.Text)
}

// TestJoinRefused checks what a server refuses, and of which workers the leader hears: those with
// an invitation.
func TestJoinRefused(t *testing.T) {
	var heard refusals
	r := newRig(t, protocol.ServerConfig{Software: "v2", Refused: heard.add})
	secret := r.invite(protocol.Ticket{Workers: 2}).Secret
	for _, q := range []struct {
		name, node, secret string
		changes            join
		code               int
		want               string
	}{
		{"no secret", "a", "", nil, http.StatusUnauthorized, "the worker has no invitation"},
		{"wrong secret", "a", secret + "0", nil, http.StatusUnauthorized, "the invitation is unknown"},
		{"part of the secret", "a", secret[1:], nil, http.StatusUnauthorized, "the invitation is unknown"},
		{"proof", "a", "", join{"proof": "x"}, http.StatusUnauthorized, "the worker has no invitation"},
		{"no version", "a", secret, join{"version": 0}, http.StatusConflict, "use the same rdmactl on all nodes"},
		{"version", "\t", secret, join{"version": 99}, http.StatusConflict, "version 2 and the worker version 99"},
		{"version of a stranger", "a", "x", join{"version": 99}, http.StatusConflict, "the worker version 99"},
		{
			"rdmactl", "a", secret,
			join{"software": "v1"},
			http.StatusConflict,
			"the leader is rdmactl v2 and the worker rdmactl v1, and their results can't be compared",
		},
		{"rdmactl of a stranger", "a", "x", join{"software": "v1"}, http.StatusUnauthorized, "is unknown"},
		{"no rdmactl", "a", secret, join{"software": ""}, http.StatusBadRequest, "the version of rdmactl"},
		{"no name", "", secret, nil, http.StatusBadRequest, "the name of the node"},
		{"long name", strings.Repeat("x", 257), secret, nil, http.StatusBadRequest, "the name of the node"},
		{"name that is no text", "a\x1b[2J", secret, nil, http.StatusBadRequest, "the name of the node"},
		{"few tasks", "a", secret, join{"tasks": -1}, http.StatusBadRequest, "-1 tasks"},
		{"many tasks", "a", secret, join{"tasks": 1 << 20}, http.StatusBadRequest, "1048576 tasks"},
		{"types", "a", secret, join{"tasks": "many"}, http.StatusBadRequest, "message: json: cannot unmarshal"},
		{
			"long", "a", secret,
			join{"x": strings.Repeat("x", 64<<10)},
			http.StatusRequestEntityTooLarge,
			"message of more than 65536 bytes",
		},
	} {
		code, text := r.peer(identity(t)).join(q.node, q.secret, join{"software": "v2"}.with(q.changes))
		if code != q.code || !strings.Contains(text, q.want) {
			t.Errorf("%s: %d %s, want %d with %q", q.name, code, text, q.code, q.want)
		}
	}
	want := []string{
		"a: the leader speaks version 2 and the worker version 0",
		"?: the leader speaks version 2 and the worker version 99",
		"a: the leader is rdmactl v2 and the worker rdmactl v1", "a: the version of rdmactl",
		"?: the name of the node", "?: the name of the node", "?: the name of the node", "a: -1 tasks",
		"a: 1048576 tasks",
	}
	for i := range want {
		if i >= len(heard.all) || !strings.HasPrefix(heard.all[i], want[i]) {
			t.Errorf("the leader heard %q, want %q", heard.all, want)
			break
		}
	}
	if len(heard.all) > len(want) {
		t.Errorf("the leader heard too much: %q", heard.all[len(want):])
	}
	c := r.client(protocol.Invitation{Addr: "memory:1", Hash: r.server.Hash(), Secret: "wrong"}, "a")
	c.Software = "v2"
	err := c.Work(t.Context(), nil)
	if refused, ok := errors.AsType[*protocol.RefusedError](err); !ok || refused.Status != http.StatusUnauthorized {
		t.Errorf("a worker with a wrong secret: %v", err)
	}
}

// with returns the request with changes.
func (q join) with(changes join) join {
	maps.Copy(q, changes)
	return q
}

// TestRequests checks requests that aren't of a worker, and those that a worker doesn't send.
func TestRequests(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{})
	worker, stranger := r.peer(identity(t)), r.peer(identity(t))
	if code, text := worker.join("a", r.invite(protocol.Ticket{}).Secret, nil); code != http.StatusOK ||
		text != `{"name":"a"}` {
		t.Fatalf("join: %d %s", code, text)
	}
	const notJoined = "the certificate is not that of a worker that has joined"
	for _, q := range []struct {
		name         string
		peer         *peer
		method, path string
		body         string
		code         int
		want         string
	}{
		{"stranger", stranger, http.MethodPost, "/v1/next", "{}", http.StatusUnauthorized, notJoined},
		{
			"stranger with a reply", stranger, http.MethodPost, "/v1/next", `{"seq":1,"reply":{}}`,
			http.StatusUnauthorized, notJoined,
		},
		{"stranger leaves", stranger, http.MethodPost, "/v1/leave", `{}`, http.StatusUnauthorized, notJoined},
		{"path", worker, http.MethodPost, "/v1/other", "{}", http.StatusNotFound, `POST /v1/other`},
		{"method", worker, http.MethodGet, "/v1/next", "", http.StatusNotFound, `GET /v1/next`},
		{"no proof", worker, http.MethodGet, "/v1/proof", "", http.StatusNotFound, `GET /v1/proof`},
		{"not JSON", worker, http.MethodPost, "/v1/next", "hello", http.StatusBadRequest, "invalid character"},
		{"two", worker, http.MethodPost, "/v1/next", "{}{}", http.StatusBadRequest, "invalid character"},
		{"empty", worker, http.MethodPost, "/v1/next", "", http.StatusBadRequest, "unexpected end"},
		{
			"too large", worker, http.MethodPost, "/v1/next",
			`{"x":"` + strings.Repeat("x", protocol.MaxMessage) + `"}`,
			http.StatusRequestEntityTooLarge, "message of more than 16777216 bytes",
		},
		{"leave", worker, http.MethodPost, "/v1/leave", `{"why":"a\nb"}`, http.StatusOK, "{}"},
		{"has left", worker, http.MethodPost, "/v1/next", "{}", http.StatusUnauthorized, notJoined},
	} {
		code, text := q.peer.do(q.method, q.path, bytes.NewReader([]byte(q.body)))
		if code != q.code || !strings.Contains(text, q.want) {
			t.Errorf("%s: %d %s, want %d with %q", q.name, code, text, q.code, q.want)
		}
	}
}

// TestTickets checks who is admitted by a ticket: as many workers as it is for, in its time.
func TestTickets(t *testing.T) {
	now := time.Date(2026, 11, 26, 14, 43, 0, 0, time.UTC)
	r := newRig(t, protocol.ServerConfig{Now: func() time.Time { return now }})
	usual, one := r.invite(protocol.Ticket{Workers: 3}), r.invite(protocol.Ticket{Host: "gpu-9"})
	later := r.invite(protocol.Ticket{Expires: now.Add(time.Hour), Secret: strings.Repeat("x", protocol.MinSecret)})
	for _, q := range []struct {
		at     time.Duration
		secret string
		node   string
		want   string
	}{
		{0, usual.Secret, "a", `{"name":"a"}`},
		{0, one.Secret, "b", `{"name":"gpu-9"}`},
		{0, one.Secret, "c", `{"error":"the invitation has been used by the one worker that it was for"}`},
		{10*time.Minute - 1, usual.Secret, "d", `{"name":"d"}`},
		{10 * time.Minute, usual.Secret, "e", `{"error":"the invitation has expired at 2026-11-26T14:53:00Z"}`},
		{0, usual.Secret, "e", `{"name":"e"}`},
		{0, usual.Secret, "f", `{"error":"the invitation has been used by all 3 workers that it was for"}`},
		{59 * time.Minute, strings.Repeat("x", protocol.MinSecret), "f", `{"name":"f"}`},
		{time.Hour, later.Secret, "g", `{"error":"the invitation has expired at 2026-11-26T15:43:00Z"}`},
	} {
		now = time.Date(2026, 11, 26, 14, 43, 0, 0, time.UTC).Add(q.at)
		if _, got := r.peer(identity(t)).join(q.node, q.secret, nil); got != q.want {
			t.Errorf("%s after %v: %s, want %s", q.node, q.at, got, q.want)
		}
	}
	var got []string
	for range 5 {
		s, err := r.server.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s/%s/%s/%d", s.Name(), s.Node(), s.Host(), s.Tasks()))
	}
	want := []string{"a/a//1", "gpu-9/b/gpu-9/1", "d/d//1", "e/e//1", "f/f//1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions differ (-want +got):\n%s", diff)
	}
}

// TestIssue checks tickets that are none.
func TestIssue(t *testing.T) {
	s, err := protocol.NewServer(protocol.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		ticket protocol.Ticket
		want   string
	}{
		{protocol.Ticket{Secret: "x"}, "issue ticket: a secret of 1 bytes: not 16 to 256"},
		{protocol.Ticket{Secret: strings.Repeat("x", 257)}, "issue ticket: a secret of 257 bytes: not 16 to 256"},
		{protocol.Ticket{Workers: -1}, "issue ticket: for -1 workers: not 1 to 65536"},
		{protocol.Ticket{Workers: 1 << 20}, "issue ticket: for 1048576 workers: not 1 to 65536"},
		{protocol.Ticket{Host: "a\nb"}, `issue ticket: for host "a\nb": not a name`},
	} {
		if _, err := s.Issue(k.ticket); err == nil || err.Error() != k.want {
			t.Errorf("Issue(%+v): %v, want %s", k.ticket, err, k.want)
		}
	}
	k, err := s.Issue(protocol.Ticket{})
	if err != nil || len(k.Secret) < protocol.MinSecret || k.Workers != 1 || time.Until(k.Expires) > 10*time.Minute {
		t.Errorf("Issue = %+v, %v", k, err)
	}
	if _, err := s.Issue(k); err == nil {
		t.Error("a second ticket has the secret of the first one")
	}
}

// TestSameWorker checks that a worker that doesn't know that it has joined joins once, and that
// another one with the same request doesn't get in.
func TestSameWorker(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{})
	secret := r.invite(protocol.Ticket{}).Secret
	cert := identity(t)
	for range 3 { // each over a connection of its own
		if code, text := r.peer(cert).join("a", secret, nil); code != http.StatusOK {
			t.Errorf("the same worker: %d %s", code, text)
		}
	}
	if code, text := r.peer(identity(t)).join("a", secret, nil); code != http.StatusForbidden ||
		!strings.Contains(text, "has been used by the one worker") {
		t.Errorf("another worker with the same request: %d %s", code, text)
	}
	if _, err := r.server.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSessionBelongsToCertificate checks that nobody gets the commands of a worker or answers them
// in its place, whatever he knows of it.
func TestSessionBelongsToCertificate(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{})
	i := r.invite(protocol.Ticket{Workers: 2})
	asked, release := make(chan struct{}), make(chan struct{})
	c := r.client(i, "a")
	ended := make(chan error, 1)
	go func() {
		ended <- c.Work(t.Context(), func(_ context.Context, c protocol.Command) protocol.Reply {
			if c.Kind == protocol.KindRun {
				close(asked)
				<-release
			}
			return protocol.Reply{Name: "the worker"}
		})
	}()
	session, err := r.server.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() {
		reply, _ := session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun})
		done <- reply.Name
	}()
	<-asked
	thief := r.peer(identity(t))
	forged := `{"seq":1,"reply":{"name":"the thief"}}`
	if code, _ := thief.next(forged); code != http.StatusUnauthorized {
		t.Errorf("a thief answers in place of a worker: %d", code)
	}
	if code, text := thief.join("a", i.Secret, nil); code != http.StatusConflict ||
		!strings.Contains(text, "a worker of a has already joined, from 10.0.0.1:1") {
		t.Errorf("a thief joins by the same name: %d %s", code, text)
	}
	if code, text := thief.join("b", i.Secret, nil); code != http.StatusOK { // it is another worker
		t.Errorf("a second worker: %d %s", code, text)
	}
	go thief.next(forged)
	if _, err := r.server.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(release)
	if got := <-done; got != "the worker" {
		t.Errorf("the answer is that of %s", got)
	}
	r.end(session, ended)
}

// TestSameName checks that a node has one worker until its connection is gone: by the name of its
// ticket, or by what it says if the ticket has none. Hosts of tickets may have equal host names.
func TestSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard refusals
		r := newRig(t, protocol.ServerConfig{Refused: heard.add})
		secret := r.invite(protocol.Ticket{Workers: 16}).Secret
		named := r.invite(protocol.Ticket{Workers: 16, Host: "gpu-1"}).Secret
		first := r.peer(identity(t))
		for _, q := range []struct{ node, secret, want string }{
			{"n1", named, ""},
			{"n1", secret, ""},
			{"n1", secret, "a worker of n1 has already joined, from 10.0.0.2:1"},
			{"n2", named, "a worker of gpu-1 has already joined, from 10.0.0.2:1"},
			{"gpu-1", secret, "a worker of gpu-1 has already joined, from 10.0.0.2:1"},
			{"n2", secret, ""},
		} {
			p := first
			if q.secret != named || q.want != "" {
				p = r.peer(identity(t))
			}
			code, text := p.join(q.node, q.secret, nil)
			if (code == http.StatusOK) != (q.want == "") || !strings.Contains(text, q.want) {
				t.Errorf("%s: %d %s, want %q", q.node, code, text, q.want)
			}
		}
		if len(heard.all) != 3 || heard.all[0] != "n1: a worker of n1 has already joined, from 10.0.0.2:1" {
			t.Errorf("the leader heard %q", heard.all)
		}
		session, err := r.server.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if code, text := r.peer(identity(t)).join("gpu-1", secret, nil); code != http.StatusConflict {
			t.Errorf("a second worker while the first is connected: %d %s", code, text)
		}
		first.http.CloseIdleConnections()
		synctest.Wait()
		time.Sleep(4 * time.Second)
		if code, text := r.peer(identity(t)).join("gpu-1", secret, nil); code != http.StatusConflict {
			t.Errorf("a second worker while the first may come back: %d %s", code, text)
		}
		time.Sleep(2 * time.Second)
		if code, text := r.peer(identity(t)).join("gpu-1", secret, nil); code != http.StatusOK {
			t.Errorf("a worker in place of one that is gone: %d %s", code, text)
		}
		_, err = session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun})
		if err == nil || err.Error() != "another worker of this node has joined" {
			t.Errorf("the worker that is gone: %v", err)
		}
		if code, _ := first.next("{}"); code != http.StatusUnauthorized {
			t.Errorf("the worker that is gone comes back: %d", code)
		}
	})
}

// TestBegin checks that nobody joins later, and that who has joined may still ask.
func TestBegin(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{Workers: 2})
	secret := r.invite(protocol.Ticket{Workers: 5}).Secret
	first := r.peer(identity(t))
	for n, p := range []*peer{first, r.peer(identity(t)), r.peer(identity(t))} {
		code, text := p.join(fmt.Sprint(n), secret, nil)
		if (code == http.StatusOK) != (n < 2) || n == 2 && !strings.Contains(text, "all 2 workers have joined") {
			t.Errorf("worker %d: %d %s", n, code, text)
		}
	}
	r.server.Begin()
	if code, text := r.peer(identity(t)).join("4", secret, nil); code != http.StatusConflict ||
		!strings.Contains(text, "the verification has begun without this worker") {
		t.Errorf("a late worker: %d %s", code, text)
	}
	if code, text := first.join("0", secret, nil); code != http.StatusOK {
		t.Errorf("a worker that has joined: %d %s", code, text)
	}
}

// detailed is an error with more than the worker may know.
type detailed struct {
	text string
	error
}

func (d detailed) Error() string { return d.text }
func (d detailed) Unwrap() error { return d.error }

// TestProofs joins without a secret and without the hash of the leader's certificate: both ends
// prove what they are.
func TestProofs(t *testing.T) {
	var want [32]byte
	var leader *protocol.Server
	var once atomic.Bool
	var heard refusals
	cfg := protocol.ServerConfig{
		Refused: heard.add,
		Verify: func(_ context.Context, proof string, client [32]byte) (string, error) {
			switch proof {
			case fmt.Sprintf("worker %x of %x", client, leader.Hash()):
				return "gpu-7", nil
			case "other user":
				refused := &protocol.RefusedError{Text: "uid 1001 is not that of the leader"}
				return "", detailed{"user 1001 on node 7: " + refused.Text, refused}
			case "bad name":
				return "\x1b", nil
			case "once":
				if !once.Swap(true) {
					return "", nil
				}
			}
			return "", errors.New("credential replayed, key 0x123")
		},
		Prove: func(_ context.Context, client [32]byte) (string, error) {
			if client == want {
				return fmt.Sprintf("leader %x for %x", leader.Hash(), client), nil
			}
			return "", errors.New("munged is not running")
		},
	}
	r := newRig(t, cfg)
	leader = r.server
	c := r.client(protocol.Invitation{Addr: "memory:1"}, "a")
	c.Certificate, want, _ = protocol.NewIdentity(time.Now())
	c.Trust = func(_ context.Context, proof string, leader [32]byte) error {
		if proof != fmt.Sprintf("leader %x for %x", leader, want) {
			return fmt.Errorf("proof %q", proof)
		}
		return nil
	}
	c.Prove = func(_ context.Context, client, leader [32]byte) (string, error) {
		return fmt.Sprintf("worker %x of %x", client, leader), nil
	}
	session, ended := r.joined(c)
	if session.Name() != "gpu-7" || session.Node() != "a" || session.Host() != "gpu-7" {
		t.Errorf("session %s of %s, %s", session.Name(), session.Node(), session.Host())
	}
	r.end(session, ended)
	again := r.peer(identity(t))
	for range 2 { // the answer got lost: the proof needn't be good a second time
		if code, text := again.join("c", "", join{"proof": "once"}); code != http.StatusOK || text != `{"name":"c"}` {
			t.Errorf("the same worker: %d %s", code, text)
		}
	}
	for proof, text := range map[string]string{
		"other user": "uid 1001 is not that of the leader", "bad name": "the proof of the worker is not valid",
		"replay": "the proof of the worker is not valid",
	} {
		if code, got := r.peer(identity(t)).join("b", "", join{"proof": proof}); code != http.StatusUnauthorized ||
			got != `{"error":"`+text+`"}` {
			t.Errorf("proof %q: %d %s", proof, code, got)
		}
	}
	slices.Sort(heard.all)
	reported := []string{
		"b: credential replayed, key 0x123", "b: the proof has a name that isn't printable",
		"b: user 1001 on node 7: uid 1001 is not that of the leader",
	}
	if !slices.Equal(heard.all, reported) {
		t.Errorf("the leader heard %q, want %q", heard.all, reported)
	}
	if code, text := r.peer(identity(t)).do(http.MethodGet, "/v1/proof", nil); code != http.StatusInternalServerError ||
		text != `{"error":"the leader has no proof"}` {
		t.Errorf("proof of the leader: %d %s", code, text)
	}
}

// TestUntrusted checks that a worker sends nothing to a leader that isn't proved to be one, nor to
// another one than that whose proof it has seen.
func TestUntrusted(t *testing.T) {
	refuse := errors.New("not bound to this leader")
	cfg := protocol.ServerConfig{
		Prove: func(context.Context, [32]byte) (string, error) { return "passed on", nil },
		Verify: func(context.Context, string, [32]byte) (string, error) {
			t.Error("an untrusted leader was told a proof")
			return "", nil
		},
	}
	r, other := newRig(t, cfg), newRig(t, cfg)
	c := r.client(protocol.Invitation{Addr: "memory:1"}, "a")
	c.Prove = func(context.Context, [32]byte, [32]byte) (string, error) { return "secret", nil }
	if err := c.Work(t.Context(), nil); err == nil ||
		err.Error() != "join the leader: the hash of its certificate is not known" {
		t.Errorf("a worker that trusts nobody: %v", err)
	}
	c.Trust = func(context.Context, string, [32]byte) error { return refuse }
	if err := c.Work(t.Context(), nil); !errors.Is(err, refuse) {
		t.Errorf("a worker that isn't convinced: %v", err)
	}
	dial := c.Dial
	swapped := false
	c.Trust = func(context.Context, string, [32]byte) error { swapped = true; return nil }
	c.Dial = func(ctx context.Context) (net.Conn, error) {
		if swapped {
			return other.dial(ctx, "10.0.0.1:1")
		}
		return dial(ctx)
	}
	err := c.Work(t.Context(), nil)
	if wrong, ok := errors.AsType[*protocol.WrongLeaderError](err); !ok || wrong.Hash != other.server.Hash() {
		t.Errorf("another leader than that with the proof: %v", err)
	}
	c.Dial, c.Trust = dial, nil
	c.Invitation.Hash = r.server.Hash()
	c.Prove = func(context.Context, [32]byte, [32]byte) (string, error) { return "", refuse }
	if err := c.Work(t.Context(), nil); !errors.Is(err, refuse) || !strings.Contains(err.Error(), "make a proof") {
		t.Errorf("a worker that can't make a proof: %v", err)
	}
}
