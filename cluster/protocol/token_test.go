package protocol_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// TestInvitation joins with an invitation, and is refused with the hash of another certificate.
func TestInvitation(t *testing.T) {
	cert, hash, err := protocol.NewIdentity(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := protocol.NewServer(protocol.ServerConfig{Token: token})
	h := httptest.NewUnstartedServer(s)
	h.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	h.EnableHTTP2 = true
	h.StartTLS()
	defer h.Close()
	defer s.Close()
	text := protocol.Invitation{Addr: h.Listener.Addr().String(), Hash: hash, Secret: token}.String()
	join := func(text string) error {
		i, err := protocol.ParseInvitation(text)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: i.TLS(), ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		c := protocol.Client{
			URL: "https://" + i.Addr, Token: i.Secret, HTTP: &http.Client{Transport: transport},
			Patience: time.Millisecond,
		}
		return c.Work(t.Context(), nil)
	}
	ended := make(chan error, 1)
	go func() { ended <- join(text) }()
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	hash[0] ^= 1
	other := protocol.Invitation{Addr: h.Listener.Addr().String(), Hash: hash, Secret: token}.String()
	if err := join(other); err == nil || !strings.Contains(err.Error(), "not that of the leader") {
		t.Errorf("another certificate: %v", err)
	}
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the worker ended without an error although the leader vanished")
	}
}

// TestParseInvitation checks texts that are none.
func TestParseInvitation(t *testing.T) {
	good := protocol.Invitation{Addr: "[2001:db8::1]:7700", Secret: "x.y"}
	got, err := protocol.ParseInvitation(good.String())
	if err != nil || got != good {
		t.Errorf("ParseInvitation(%s) = %+v, %v", good, got, err)
	}
	for _, s := range []string{
		"", "host:1", "host:1#", "host:1#abc", "host:1#abc.def", "host#" + strings.Split(good.String(), "#")[1],
		strings.TrimSuffix(good.String(), "x.y"),
	} {
		if _, err := protocol.ParseInvitation(s); !errors.Is(err, protocol.ErrInvitation) {
			t.Errorf("ParseInvitation(%q) = %v, want %v", s, err, protocol.ErrInvitation)
		}
	}
}
