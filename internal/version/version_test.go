package version

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main: debug.Module{Path: "github.com/rdmakit/rdmakit", Version: "v0.9.0"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "aaaa"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "false"},
		},
	}
	dirty := &debug.BuildInfo{
		Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.modified", Value: "true"},
			{Key: "vcs.revision", Value: "bbbb"},
		},
	}
	tests := []struct {
		name     string
		stamped  BuildInfo
		recorded *debug.BuildInfo
		want     BuildInfo
	}{
		{
			"stamped wins",
			BuildInfo{Version: "v1", Commit: "cccc", Date: "d"},
			recorded,
			BuildInfo{Version: "v1", Commit: "cccc", Date: "d"},
		},
		{"nothing known", BuildInfo{}, nil, BuildInfo{Version: "devel"}},
		{"empty record", BuildInfo{}, &debug.BuildInfo{}, BuildInfo{Version: "devel"}},
		{
			"recorded",
			BuildInfo{Go: "go1", Platform: "p", Build: BuildStatic},
			recorded,
			BuildInfo{
				Version: "v0.9.0", Commit: "aaaa", Date: "2026-01-02T03:04:05Z",
				Go: "go1", Platform: "p", Build: BuildStatic,
			},
		},
		{"dirty tree, go's own devel", BuildInfo{}, dirty, BuildInfo{Version: "devel", Commit: "bbbb-dirty"}},
		{
			"stamped commit keeps its own absent date",
			BuildInfo{Version: "v1", Commit: "cccc"},
			recorded,
			BuildInfo{Version: "v1", Commit: "cccc"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, resolve(tt.stamped, tt.recorded)); diff != "" {
				t.Errorf("resolve(%+v) differs (-want +got):\n%s", tt.stamped, diff)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	got := Info()
	if want := runtime.GOOS + "/" + runtime.GOARCH; got.Platform != want || got.Go != runtime.Version() {
		t.Errorf("Info() = %+v, want platform %s and %s", got, want, runtime.Version())
	}
	if got.Version == "" || got.Build == "" {
		t.Errorf("Info() = %+v, want a version and a build", got)
	}
	if s := got.String(); !strings.Contains(s, got.Version) || !strings.Contains(s, got.Build) {
		t.Errorf("Info().String() = %q, want version and build in it", s)
	}
}

// TestStamp builds a program with the linker flags and tags that the Makefile uses, because a
// renamed variable makes -X do nothing without a word.
func TestStamp(t *testing.T) {
	const pkg = "github.com/rdmakit/rdmakit/internal/version"
	flags := "-X " + pkg + ".version=v7.8.9 -X " + pkg + ".commit=feedbeef -X " + pkg + ".date=2026-05-06T07:08:09Z"
	for tags, build := range map[string]string{"": BuildDynamic, "nodl": BuildStatic} {
		t.Run("tags="+tags, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "probe")
			cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-ldflags", flags, "-o", out,
				"./testdata/probe")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd, err, b)
			}
			got, err := exec.CommandContext(t.Context(), out).Output()
			if err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			want := "v7.8.9|feedbeef|2026-05-06T07:08:09Z|" + build + "\n"
			if string(got) != want {
				t.Errorf("stamped probe printed %q, want %q", got, want)
			}
		})
	}
}
