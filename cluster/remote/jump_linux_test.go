package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/remote"
)

// jumping is the configuration of a client that reaches node1 through the server's second address.
func jumping(jump string) string {
	return "Host node1\nProxyJump jump\nHost jump\n" + jump + "\nHostName 127.0.0.2\n"
}

// TestJump starts through a jump host, and through ones that fail in several ways.
func TestJump(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	closed := freePort(t)
	silent := listen(t, func() func(conn net.Conn) {
		held := make(chan net.Conn, 10)
		return func(conn net.Conn) { held <- conn }
	}())
	write(t, s.file("empty"), "")
	for i, tt := range []struct {
		own  string
		kind remote.Kind // "" for success
		text string
	}{
		{jumping(""), "", ""},
		{jumping(fmt.Sprintf("Port %d", closed)), remote.KindJump, "connect to host 127.0.0.2 port"},
		{jumping("HostName does-not-exist.invalid"), remote.KindJump, "Could not resolve hostname"},
		{jumping("UserKnownHostsFile DIR/empty"), remote.KindJump, "Host key verification failed."},
		{jumping("IdentityFile KEYS/stranger"), remote.KindJump, "Permission denied (publickey)"},
		{
			fmt.Sprintf("Host node1\nPort %d\n", closed) + jumping(""), remote.KindJump,
			"open failed: connect failed: Connection refused",
		},
		{
			"Host node1\nUserKnownHostsFile DIR/empty\n" + jumping(""), remote.KindHostKeyUnknown,
			"Host key verification failed.",
		},
		{
			"Host node1\nIdentityFile KEYS/stranger\n" + jumping("IdentityFile KEYS/user"), remote.KindDenied,
			"@127.0.0.1: Permission denied (publickey)",
		},
		{jumping(fmt.Sprintf("HostName 127.0.0.1\nPort %d", silent)), remote.KindTimeout, "no answer within 1s"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			cfg := s.config("cat")
			cfg.SSH = s.clientFile(fmt.Sprintf("ssh_config_%02d", i), tt.own)
			if tt.kind == "" {
				session, err := start(t.Context(), "node1", cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = session.Close() }()
				exchange(t, session)
				return
			}
			if tt.kind == remote.KindTimeout {
				cfg.Limit, cfg.Connect = time.Second, time.Hour
			}
			s.fails(t, cfg, tt.kind, tt.text)
		})
	}
}

// TestShared starts with connections that are shared: by one that exists, and through a jump host
// whose ssh stays in the background and holds standard error.
func TestShared(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const sharing = "ControlMaster auto\nControlPath DIR/%n\nControlPersist 60\n"
	cfg := s.config("cat")
	for i, own := range []string{
		"Host node1\n" + sharing,
		jumping(sharing),
	} {
		host := []string{"node1", "jump"}[i]
		cfg.SSH = s.clientFile(fmt.Sprintf("ssh_config_%02d", i), own)
		socket := s.file(host)
		if i == 0 { // sharing by others is not begun, but used
			exchange(t, s.started(cfg))
			if _, err := os.Stat(socket); err == nil {
				t.Errorf("the start left %s", socket)
			}
			run(t, cfg.SSH[0], append(cfg.SSH[1:], "-f", "-N", host)...)
		}
		began := time.Now()
		session, err := start(t.Context(), "node1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, session)
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > limit/2 {
			t.Errorf("%s: took %v", host, took)
		}
		// The shared connection has survived.
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), cfg.SSH[0],
			append(cfg.SSH[1:], "-O", "exit", host)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "Exit request sent") {
			t.Errorf("%s: end the shared connection: %v: %s", host, err, &out)
		}
		eventually(t, "the shared connection ends", func() bool { return len(processes(t, cfg.SSH[2])) == 0 })
	}
}
