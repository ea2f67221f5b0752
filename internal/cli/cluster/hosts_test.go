package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// TestHosts reads lists from the flag, a file and standard input, and keeps them for the journal.
func TestHosts(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"nodes.txt": "gpu1 # the first\r\n\nroot@gpu2,gpu3\n", "bad": "gpu1\ngpu[2\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		list, stdin string
		want        []string
		kept, fails string
	}{
		{list: "gpu[08-10]", want: []string{"gpu08", "gpu09", "gpu10"}, kept: "gpu[08-10]"},
		{list: "nodes.txt", want: []string{"gpu1", "root@gpu2", "gpu3"}, kept: "gpu1,root@gpu2,gpu3"},
		{list: "./nodes.txt", want: []string{"gpu1", "root@gpu2", "gpu3"}, kept: "gpu1,root@gpu2,gpu3"},
		{list: "-", stdin: "a\nb\n", want: []string{"a", "b"}, kept: "a,b"},
		{list: "bad", fails: "line 2"},
		{list: "./none", fails: "no such file"},
		{list: "gpu[1-2", fails: "not closed"},
		{list: "gpu1,gpu[1-2]", fails: "twice"},
		{list: "-", fails: "no host"},
	} {
		f := hostFlags{list: tt.list}
		err := f.read(strings.NewReader(tt.stdin))
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) || cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("%s: %v, want %q", tt.list, err, tt.fails)
			}
			continue
		}
		if err != nil || !slices.Equal(f.names, tt.want) || f.list != tt.kept {
			t.Errorf("%s: %q, kept %q, %v; want %q, %q", tt.list, f.names, f.list, err, tt.want, tt.kept)
		}
	}
	if got := hostName("root@gpu2"); got != "gpu2" {
		t.Errorf("hostName = %q", got)
	}
}

// TestReadInvitation reads invitations from standard input: what follows one of the address stdio
// is the connection to the leader.
func TestReadInvitation(t *testing.T) {
	server, err := protocol.NewServer(protocol.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	over := func(addr string) string {
		i, err := server.Invite(addr, protocol.Ticket{})
		if err != nil {
			t.Fatal(err)
		}
		return i.String()
	}
	leader, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leader.Close() })
	app := &cli.App{Stdin: strings.NewReader(over(stdioAddr) + "\nfrom the leader"), Stdout: out}
	i, conn, err := readInvitation(app)
	if err != nil || conn == nil || i.Secret == "" {
		t.Fatalf("readInvitation = %+v, %v, %v", i, conn, err)
	}
	if _, err := conn.Write([]byte("to the leader")); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(conn); string(b) != "from the leader" || err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("read %q, %v from the leader", b, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(leader); string(b) != "to the leader" || err != nil {
		t.Errorf("the leader got %q, %v", b, err)
	}
	app.Stdin = strings.NewReader(over("192.0.2.1:7700"))
	if i, conn, err := readInvitation(app); err != nil || conn != nil || i.Addr != "192.0.2.1:7700" {
		t.Errorf("invitation to a port: %+v, %v, %v", i, conn, err)
	}
	for _, text := range []string{"", "\n", "hello\n", strings.Repeat("x", 2*maxInvitation)} {
		app.Stdin = strings.NewReader(text)
		if _, _, err := readInvitation(app); err == nil {
			t.Errorf("no error for %d bytes that are no invitation", len(text))
		}
	}
}

// TestStartedHere lets workers of this process join without a port.
func TestStartedHere(t *testing.T) {
	app := &cli.App{}
	h, err := newHost(app, protocol.ServerConfig{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := h.start(t.Context(), localNode(n, 1), 0); err != nil {
			t.Fatal(err)
		}
	}
	links, err := h.join(t.Context(), number(2), joinLimit)
	if err != nil || len(links) != 2 {
		t.Fatalf("%d of 2 joined: %v", len(links), err)
	}
	for _, l := range links {
		if r, err := l.Do(t.Context(), protocol.Command{Kind: protocol.KindEnd}); err != nil || r.Error != "" {
			t.Errorf("end: %+v, %v", r, err)
		}
	}
	if err := h.close(); err != nil {
		t.Error(err)
	}
}

// TestSSHProgram refuses a line that is no command, and reports a program that isn't there.
func TestSSHProgram(t *testing.T) {
	for _, tt := range []struct {
		ssh  string
		code int
	}{{"ssh 'unclosed", cli.ExitUsage}, {filepath.Join(t.TempDir(), "none"), cli.ExitPartial}} {
		app := &cli.App{Out: output.New(output.Options{}), Log: slog.New(slog.DiscardHandler)}
		h, err := newHost(app, protocol.ServerConfig{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = h.remoteHosts(context.Background(), &hostFlags{names: []string{"a", "b"}, ssh: tt.ssh}, joinLimit)
		if cli.ExitCode(err) != tt.code {
			t.Errorf("--ssh %q: %v, want exit code %d", tt.ssh, err, tt.code)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}
}
