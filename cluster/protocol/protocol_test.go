package protocol_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

const token = "0123456789abcdef"

// start returns a server and a client of it, over HTTP/2 with TLS.
func start(t *testing.T, cfg protocol.ServerConfig) (*protocol.Server, *protocol.Client) {
	cfg.Token = token
	s := protocol.NewServer(cfg)
	h := httptest.NewUnstartedServer(s)
	h.EnableHTTP2 = true
	h.StartTLS()
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return s, &protocol.Client{URL: h.URL, Token: token, HTTP: h.Client(), Patience: time.Second}
}

// TestWork passes commands to two workers and takes their replies.
func TestWork(t *testing.T) {
	s, c := start(t, protocol.ServerConfig{})
	ended := make(chan error, 2)
	for _, name := range []string{"a", "b"} {
		go func() {
			ended <- c.Work(t.Context(), func(_ context.Context, command protocol.Command) protocol.Reply {
				return protocol.Reply{Name: name + " " + string(command.Kind)}
			})
		}()
	}
	var got []string
	for range 2 {
		session, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []protocol.Kind{protocol.KindSurvey, protocol.KindRun, protocol.KindEnd} {
			r, err := session.Do(t.Context(), protocol.Command{Kind: k})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Name[2:])
		}
	}
	if diff := cmp.Diff([]string{"survey", "run", "end", "survey", "run", "end"}, got); diff != "" {
		t.Errorf("replies differ (-want +got):\n%s", diff)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// post sends a request as a worker does, and returns the status and the text of the answer.
func post(t *testing.T, c *protocol.Client, token, path, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	r, err := c.HTTP.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// TestRefused checks what a server refuses, and that the worker says why and doesn't try again.
func TestRefused(t *testing.T) {
	_, c := start(t, protocol.ServerConfig{})
	for _, q := range []struct {
		name, token, path, body string
		code                    int
		want                    string
	}{
		{"no token", "", "/v1/next", "{}", http.StatusUnauthorized, "wrong token"},
		{"wrong token", token + "0", "/v1/next", "{}", http.StatusUnauthorized, "wrong token"},
		{"path", token, "/v1/other", "{}", http.StatusNotFound, "unknown"},
		{"not JSON", token, "/v1/next", "hello", http.StatusBadRequest, "invalid character"},
		{"version", token, "/v1/next", `{"version":99,"session":"x"}`, http.StatusConflict, "use the same rdmactl"},
		{"no session", token, "/v1/next", `{"version":1}`, http.StatusServiceUnavailable, "session names"},
		{
			"long session", token, "/v1/next", `{"version":1,"session":"` + strings.Repeat("x", 257) + `"}`,
			http.StatusServiceUnavailable, "session names",
		},
		{
			"too large", token, "/v1/next", `{"version":1,"session":"` + strings.Repeat("x",
				protocol.MaxMessage) + `"}`,
			http.StatusRequestEntityTooLarge, "more than",
		},
	} {
		if code, text := post(t, c, q.token, q.path, q.body); code != q.code || !strings.Contains(text, q.want) {
			t.Errorf("%s: %d %s, want %d with %q", q.name, code, text, q.code, q.want)
		}
	}
	wrong := *c
	wrong.Token = "wrong"
	err := wrong.Work(t.Context(), nil)
	if refused, ok := errors.AsType[*protocol.RefusedError](err); !ok || refused.Status != http.StatusUnauthorized {
		t.Errorf("a worker with a wrong token: %v", err)
	}
}

// TestLease checks that a worker that vanishes between two commands is noticed, and one that
// vanishes while it works, by the limit of the command.
func TestLease(t *testing.T) {
	s, c := start(t, protocol.ServerConfig{Lease: 50 * time.Millisecond})
	ctx, vanish := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Work(ctx, func(context.Context, protocol.Command) protocol.Reply {
			vanish()
			return protocol.Reply{}
		})
	}()
	session, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("no answer to run"))
	defer cancel()
	_, err = session.Do(limited, protocol.Command{Kind: protocol.KindRun})
	if err == nil || err.Error() != "no answer to run" {
		t.Errorf("a worker that vanished while it worked: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the worker ended with %v", err)
	}
	if _, err := session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun}); err == nil ||
		!strings.Contains(err.Error(), "silent for 50ms") {
		t.Errorf("a worker that is gone: %v", err)
	}
}

// TestLeaderGone checks that a worker ends when the leader has.
func TestLeaderGone(t *testing.T) {
	s, c := start(t, protocol.ServerConfig{})
	ended := make(chan error, 1)
	go func() { ended <- c.Work(t.Context(), nil) }()
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the verification has ended") {
		t.Errorf("the worker ended with %v", err)
	}
}

// TestLostAnswer checks that a worker that asks again gets the same command again, and that a reply
// to another command is not taken for its.
func TestLostAnswer(t *testing.T) {
	s, c := start(t, protocol.ServerConfig{})
	ask := func(body string) string {
		_, text := post(t, c, token, "/v1/next", body)
		return strings.TrimSpace(text)
	}
	replies := make(chan string, 1)
	go func() {
		session, err := s.Next(t.Context())
		if err != nil {
			return
		}
		r, _ := session.Do(t.Context(), protocol.Command{Kind: protocol.KindSurvey})
		replies <- r.Name
		s.Close() // ends the request that brought it
	}()
	const want = `{"seq":1,"command":{"kind":"survey","limit":0}}`
	for _, body := range []string{
		`{"version":1,"session":"w"}`, // the answer is lost
		`{"version":1,"session":"w"}`,
		`{"version":1,"session":"w","seq":7,"reply":{"name":"stale"}}`,
	} {
		if got := ask(body); got != want {
			t.Errorf("answer to %s = %s, want %s", body, got, want)
		}
	}
	ask(`{"version":1,"session":"w","seq":1,"reply":{"name":"right"}}`)
	if got := <-replies; got != "right" {
		t.Errorf("the reply is that of %q", got)
	}
}
