package remote_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/remote"
)

// elfMachine is the offset of e_machine in the header of an ELF file, of two bytes.
const elfMachine = 18

// place copies a program into a folder, for another machine unless that is 0.
func place(t *testing.T, program, file string, machine byte) string {
	t.Helper()
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if machine != 0 {
		b[elfMachine], b[elfMachine+1] = machine, 0
	}
	return write(t, file, string(b))
}

const staticName = "rdmactl-static"

// Numbers of machines in ELF headers (linux/elf-em.h).
const (
	emAArch64 = 183
	em386     = 3
)

// TestBuilds chooses between the executables of this machine.
func TestBuilds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	// A host without the loader of a dynamic executable: it prints other ones.
	musl := newServer(t, `ForceCommand exec sh -c "$(printf %s "$SSH_ORIGINAL_COMMAND" | `+
		`sed "s,/lib/ld-\* /lib64/ld-\*,/lib/ld-musl*,; s,^exec sh -c .,,; s,.$,,")"`)
	arm := newServer(t, withPath(tools(t, false, nil, map[string]string{
		"uname": `case $1 in -s) echo Linux;; *) echo aarch64; esac`,
	})))
	looked := "the host is linux/arm64, and there is no build for it; looked in DIR for own (for amd64), rdmactl " +
		"(not an executable of Linux), rdmactl-linux-arm64 (for 386), rdmactl-static, rdmactl-static-linux-arm64"
	for _, tt := range []struct {
		name   string
		s      *server
		files  map[string]string // static, dynamic, or one of them with "arm64" or "386"; or another content
		kind   remote.Kind       // "" for success
		text   string
		copied string // the file that was copied
	}{
		{"own", s, map[string]string{"own": "dynamic", "rdmactl-static": "static"}, "", "", "own"},
		{"own, no loader", musl, map[string]string{"own": "dynamic", "rdmactl-static": "static"}, "", "", staticName},
		{
			"no static", musl,
			map[string]string{"own": "dynamic", "rdmactl-static": "static arm64"},
			remote.KindNoLoader,
			"the host has no /lib64/ld-linux-x86-64.so.2, and there is no static build for linux/amd64; looked in " +
				"DIR for rdmactl, rdmactl-linux-amd64, rdmactl-static (for arm64), rdmactl-static-linux-amd64", "",
		},
		{
			"named", s,
			map[string]string{"own": "static arm64", "rdmactl-linux-amd64": "dynamic"},
			"", "",
			"rdmactl-linux-amd64",
		},
		{"plain name", s, map[string]string{"own": "not a program", "rdmactl": "static"}, "", "", "rdmactl"},
		{
			"none", arm,
			map[string]string{"own": "static", "rdmactl": "nonsense", "rdmactl-linux-arm64": "static 386"},
			remote.KindNoBuild, looked, "",
		},
		{"wrong claim", arm, map[string]string{"rdmactl-linux-arm64": "static arm64"}, remote.KindCannotRun, "", ""},
		{"nothing", s, nil, remote.KindNoBuild, "looked in DIR for own, rdmactl", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, what := range tt.files {
				kind, machine, _ := strings.Cut(what, " ")
				program := map[string]string{"static": built.static, "dynamic": built.dynamic}[kind]
				number := map[string]byte{"arm64": emAArch64, "386": em386}[machine]
				if program == "" {
					write(t, filepath.Join(dir, name), what)
					continue
				}
				place(t, program, filepath.Join(dir, name), number)
			}
			cfg := tt.s.config("cat")
			cfg.Executable = filepath.Join(dir, "own")
			if tt.kind != "" {
				tt.s.fails(t, cfg, tt.kind, strings.ReplaceAll(tt.text, "DIR", dir))
				return
			}
			_ = os.RemoveAll(filepath.Join(tt.s.home, ".cache"))
			exchange(t, tt.s.started(cfg))
			names := tt.s.cached()
			if len(names) != 1 {
				t.Fatalf("cache has %q", names)
			}
			got, err := os.ReadFile(filepath.Join(tt.s.home, ".cache", "rdmakit", names[0]))
			want, wantErr := os.ReadFile(filepath.Join(dir, tt.copied))
			if string(got) != string(want) || err != nil || wantErr != nil {
				t.Errorf("copied %d bytes, want %s with %d (%v, %v)", len(got), tt.copied, len(want), err, wantErr)
			}
		})
	}
}

// TestNextBuild tries the static build where the dynamic one fails, as with an older C library.
func TestNextBuild(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	dir := t.TempDir()
	own := place(t, built.dynamic, filepath.Join(dir, "own"), 0)
	b, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	// The library that the program needs has a name that no host has.
	write(t, own, strings.ReplaceAll(string(b), "libc.so.6\x00", "libx.so.6\x00"))
	cfg := s.config("cat")
	cfg.Executable = own
	s.fails(t, cfg, remote.KindNoLoader, "libx.so.6: cannot open shared object file")
	place(t, built.static, filepath.Join(dir, "rdmactl-static"), 0)
	exchange(t, s.started(cfg))
}

// TestRemotePath starts programs that the host has.
func TestRemotePath(t *testing.T) {
	t.Parallel()
	s := newServer(t, `ForceCommand PATH=DIR/bin:$PATH exec sh -c "$SSH_ORIGINAL_COMMAND"`)
	if err := os.MkdirAll(s.file("bin dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, built.static, s.file("bin/rdmactl-there"), 0)
	place(t, built.static, s.file("bin dir/it's"), 0)
	place(t, built.static, s.file("no-exec"), 0)
	if err := os.Chmod(s.file("no-exec"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, version string
		kind          remote.Kind // "" for success
		text          string
	}{
		{"rdmactl-there", "v9.8.7", "", ""},
		{s.file("bin dir/it's"), "", "", ""},
		{
			"rdmactl-there", "v9.8", remote.KindOtherVersion,
			`rdmactl-there is "rdmactl v9.8.7 (test, linux) second /*", and this is v9.8`,
		},
		{"/bin/true", "v1", remote.KindOtherVersion, `/bin/true is ""`},
		{s.file("absent"), "", remote.KindNoRemotePath, "not found"},
		{s.file("no-exec"), "", remote.KindNoExec, "ermission denied"},
		{"/bin/false", "", remote.KindCannotRun, "exit status 1"},
		{"a\nb", "", remote.KindNoRemotePath, "the path has a line end"},
	} {
		cfg := s.config("cat")
		cfg.Executable, cfg.RemotePath, cfg.Version = "/nonexistent", tt.path, tt.version
		if tt.kind != "" {
			s.fails(t, cfg, tt.kind, tt.text)
			continue
		}
		exchange(t, s.started(cfg))
	}
	if names := s.cached(); len(names) > 0 {
		t.Errorf("cache has %q", names)
	}
	cfg := s.config("cat", "a\nb")
	s.fails(t, cfg, remote.KindCannotRun, "line end")
}
