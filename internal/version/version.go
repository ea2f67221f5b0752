// Package version identifies this rdmakit: its version, the commit and date it was
// built from, the toolchain and platform, and which of the two builds it is.
//
//	b := version.Info()
//	fmt.Fprintln(w, b)                          // rdmactl v0.3.1 (dynamic, linux/amd64)
//	if b.Build == version.BuildStatic { ... }   // no libibverbs in this build
//
// The build stamps version, commit and date with -ldflags "-X …" (see the Makefile). Where it
// did not, as with `go run` or `go install`, [Info] falls back to what the Go toolchain recorded
// in the binary, and to "devel" where that says nothing either.
//
// All functions are pure reads and safe for concurrent use.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Stamped by the linker: -ldflags "-X github.com/rdmakit/rdmakit/internal/version.version=v0.3.1".
// The linker can only set package-level string variables, so these three are the project's
// one exception from "no mutable globals"; no Go code assigns them.
var (
	version string // "v0.3.1" or "v0.3.1-4-g1a2b3c4-dirty", as git describe prints it
	commit  string // full commit hash
	date    string // commit date, RFC 3339
)

// The two builds that [BuildInfo.Build] tells apart.
const (
	// BuildDynamic can open C libraries (libibverbs) at run time and needs a loader for that.
	BuildDynamic = "dynamic"
	// BuildStatic has the build tag nodl: it needs no loader, so it runs in an empty chroot,
	// and it has no hardware data path.
	BuildStatic = "static (nodl)"
)

// devel is the version of a binary that neither the linker nor the toolchain labelled.
const devel = "devel"

// BuildInfo describes one binary. A string is empty where nothing is known, except Version,
// which is then "devel".
type BuildInfo struct {
	// Version as `git describe` or the Go module says it; "devel" if unknown.
	Version string `json:"version"`
	// Commit is the full hash, with "-dirty" appended if the toolchain saw local changes.
	Commit string `json:"commit,omitempty"`
	// Date is when that commit was made, RFC 3339.
	Date string `json:"date,omitempty"`
	// Go is the toolchain, e.g. "go1.26.8" (runtime.Version).
	Go string `json:"go"`
	// Platform is GOOS/GOARCH, e.g. "linux/amd64".
	Platform string `json:"platform"`
	// Build is BuildDynamic or BuildStatic.
	Build string `json:"build"`
	// Lacks names what this build leaves out; "" for BuildDynamic.
	Lacks string `json:"lacks,omitempty"`
}

// Info returns the description of the running binary.
func Info() BuildInfo {
	recorded, _ := debug.ReadBuildInfo() // nil if absent: resolve copes
	return resolve(BuildInfo{
		Version:  version,
		Commit:   commit,
		Date:     date,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Build:    build,
		Lacks:    lacks,
	}, recorded)
}

// String is the one line that people paste into reports.
func (b BuildInfo) String() string {
	return fmt.Sprintf("rdmactl %s (%s, %s)", b.Version, b.Build, b.Platform)
}

// resolve fills what the linker left empty from what the toolchain recorded. The commit and the
// date come from one source together: a stamped commit with a recorded date could contradict.
func resolve(stamped BuildInfo, recorded *debug.BuildInfo) BuildInfo {
	b := stamped
	if recorded == nil {
		recorded = &debug.BuildInfo{}
	}
	if b.Version == "" {
		b.Version = strings.Trim(recorded.Main.Version, "()") // "(devel)" as Go writes it
	}
	if b.Version == "" {
		b.Version = devel
	}
	if b.Commit == "" {
		b.Commit, b.Date = vcs(recorded.Settings)
	}
	return b
}

// vcs reads the commit and its date out of the settings that `go build -buildvcs` records.
func vcs(settings []debug.BuildSetting) (revision, when string) {
	dirty := false
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.time":
			when = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && revision != "" {
		revision += "-dirty"
	}
	return revision, when
}
