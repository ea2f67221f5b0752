package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// TestCheckJournal refuses a journal that can't be made or doesn't fit, before anything is started.
func TestCheckJournal(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	app := &cli.App{Now: func() time.Time { return time.Unix(0, 0) }}
	for _, tt := range []struct {
		name  string
		flags verifyFlags
		free  uint64
		err   error
		want  string // in the error; "" for none
	}{
		{name: "enough", flags: verifyFlags{journal: filepath.Join(dir, "new")}, free: 1 << 20},
		{name: "full", flags: verifyFlags{journal: filepath.Join(dir, "new")}, free: 4096, want: "has only 4 KiB left"},
		{name: "full, to be resumed", flags: verifyFlags{resume: there}, free: 0, want: "it may grow to"},
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
	// A node is assumed to have eight rails before it has been asked.
	big := verifyFlags{workers: 64, rails: 1, journal: filepath.Join(dir, "new")}
	err := big.checkJournal(app, func(string) (uint64, error) { return 8 << 20, nil })
	if err == nil {
		t.Error("64 nodes with 8 rails fit into 8 MiB")
	}
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
