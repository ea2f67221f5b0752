package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// TestCheckJournal refuses a journal that can't be made or doesn't fit, before anything is started.
func TestCheckJournal(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	app := &cli.App{
		Now: func() time.Time { return time.Unix(0, 0) }, Out: output.New(output.Options{Err: &notes}),
	}
	for _, tt := range []struct {
		name  string
		flags verifyFlags
		free  uint64
		err   error
		want  string // in the error; "" for none
	}{
		{name: "enough", flags: verifyFlags{journal: filepath.Join(dir, "new")}, free: 1 << 20},
		{name: "full", flags: verifyFlags{journal: filepath.Join(dir, "new")}, free: 4096, want: "has only 4 KiB left"},
		{name: "full, to be resumed", flags: verifyFlags{resume: there}, free: 0, want: "it may grow by"},
		{name: "full, but most is written", flags: verifyFlags{resume: there, oldSize: 1 << 20}, free: 0},
		{name: "full, none", flags: verifyFlags{journal: noJournal}},
		{name: "unknown", flags: verifyFlags{journal: filepath.Join(dir, "new")}, err: errors.ErrUnsupported},
		{name: "exists", flags: verifyFlags{journal: there}, free: 1 << 20, want: "file already exists"},
		{
			name: "no folder", flags: verifyFlags{journal: filepath.Join(dir, "no", "x")}, free: 1 << 20,
			want: "no such file",
		},
	} {
		tt.flags.local, tt.flags.rails = 2, 1
		err := tt.flags.checkJournal(app, func(string) (uint64, error) { return tt.free, tt.err })
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		case err != nil && cli.ExitCode(err) != cli.ExitUsage:
			t.Errorf("%s: exit code %d", tt.name, cli.ExitCode(err))
		}
	}
	// A node is assumed to have eight rails before it has been asked: it is sure that the journal
	// doesn't fit only if it wouldn't with one.
	big := verifyFlags{workers: 64, rails: 1, journal: filepath.Join(dir, "new")}
	for _, tt := range []struct {
		free    uint64
		refused bool
		note    string
	}{{1 << 20, true, ""}, {8 << 20, false, "has only 8 MiB left, with 8 rails"}, {1 << 30, false, ""}} {
		notes.Reset()
		err := big.checkJournal(app, func(string) (uint64, error) { return tt.free, nil })
		if (err != nil) != tt.refused || (notes.Len() > 0) != (tt.note != "") ||
			!strings.Contains(notes.String(), tt.note) {
			t.Errorf("%d bytes left: %v, %q", tt.free, err, notes.String())
		}
	}
}

// TestResumeTwice refuses to continue a verification that is still being written.
func TestResumeTwice(t *testing.T) {
	f := verifyFlags{resume: filepath.Join(t.TempDir(), "journal"), oldSize: 4}
	if err := os.WriteFile(f.resume, []byte("old\ntorn"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := &cli.App{}
	file, err := f.openJournal(app)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("new\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.openJournal(app); err == nil || cli.ExitCode(err) != cli.ExitUsage ||
		!strings.Contains(err.Error(), "another process is writing it") {
		t.Errorf("resumed twice: %v", err)
	}
	if b, err := os.ReadFile(f.resume); err != nil || string(b) != "old\nnew\n" {
		t.Errorf("the journal is %q, %v", b, err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := f.openJournal(app)
	if err != nil {
		t.Fatalf("after the first one has ended: %v", err)
	}
	_ = again.Close()
}

// TestResumeCommand says what a journal doesn't have.
func TestResumeCommand(t *testing.T) {
	for want, hosts := range map[string]hostFlags{
		"":                                 {ssh: defaultSSH},
		" --ssh 'ssh -F x'":                {list: "a,b", ssh: "ssh -F x"},
		" --remote-path '/opt/my rdmactl'": {list: "a,b", ssh: defaultSSH, remotePath: "/opt/my rdmactl"},
	} {
		f := verifyFlags{hosts: hosts}
		if got := f.resumeCommand("j 1"); got != "rdmactl cluster verify --resume 'j 1'"+want {
			t.Errorf("resumeCommand = %q, want %q after the journal", got, want)
		}
	}
}
