package protocol

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// FuzzRequests checks that no request makes a server panic or hang, and that each is answered with
// JSON; and that nobody is let in without a ticket or proof.
func FuzzRequests(f *testing.F) {
	f.Add(http.MethodPost, pathJoin, `{"version":2,"name":"a","software":"v1","secret":"0123456789abcdef"}`, true)
	f.Add(http.MethodPost, pathJoin, `{"version":2,"name":"a","tasks":4,"software":"v1","proof":"x"}`, false)
	f.Add(http.MethodPost, pathNext, `{"seq":1,"reply":{"name":"a","edges":[{"id":1,"steps":[1]}]}}`, true)
	f.Add(http.MethodPost, pathLeave, `{"why":"interrupt"}`, true)
	f.Add(http.MethodGet, pathProof, "", false)
	cert, _, err := NewIdentity(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		f.Fatal(err)
	}
	const secret = "0123456789abcdef"
	f.Fuzz(func(t *testing.T, method, path, body string, known bool) {
		s, err := NewServer(ServerConfig{
			Certificate: cert, Software: "v1",
			Verify: func(context.Context, string, [32]byte) (string, error) { return "", http.ErrNotSupported },
			Prove:  func(context.Context, [32]byte) (string, error) { return "proof", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Issue(Ticket{Secret: secret}); err != nil {
			t.Fatal(err)
		}
		state := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{parsed}}
		send := func(ctx context.Context, method, path, body string) *httptest.ResponseRecorder {
			q := (&http.Request{
				Method: method, URL: &url.URL{Path: path}, Body: http.NoBody, TLS: state, ProtoMajor: 2,
				RemoteAddr: "192.0.2.1:1",
			}).WithContext(ctx)
			if body != "" {
				q.Body = readCloser{strings.NewReader(body)}
			}
			w := httptest.NewRecorder()
			s.handle(w, q)
			return w
		}
		if known {
			send(t.Context(), http.MethodPost, pathJoin,
				`{"version":2,"name":"x","software":"v1","secret":"`+secret+`"}`)
			if len(s.sessions) != 1 {
				t.Fatal("a worker with a ticket didn't join")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a request for work doesn't wait
		w := send(ctx, method, path, body)
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: answer %q", method, path, w.Body)
		}
		if !known && len(s.sessions) > 0 && !strings.Contains(body, secret) && !strings.Contains(body, `\`) {
			t.Errorf("%s %s %s: lets somebody in", method, path, body)
		}
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
