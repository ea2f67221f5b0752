//go:build kernel

package kernel

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// rdmactl is the path of rdmactl in the guest.
const (
	rdmactl        = "/root/rdmactl"
	rdmactlPackage = "github.com/rdmakit/rdmakit/cmd/rdmactl"
)

// withRdmactl returns the shared guest with rdmactl in it.
func withRdmactl(t *testing.T) *guest.Guest {
	t.Helper()
	return withProgram(t, rdmactlPackage, rdmactl)
}

// withProgram returns the shared guest with a program in it, built from a package.
func withProgram(t *testing.T, pkg, target string) *guest.Guest {
	t.Helper()
	g := guest.Shared(t)
	file := buildProgram(t, pkg)
	tools.once(t, "copy "+target, func() {
		if err := g.CopyIn(t.Context(), file, target); err != nil {
			t.Fatal(err)
		}
	})
	return g
}

// buildProgram builds a program from a package and returns its file, which no test may change.
func buildProgram(t *testing.T, pkg string) (file string) {
	t.Helper()
	file = filepath.Join(tools.folder(t), path.Base(pkg))
	tools.once(t, "build "+pkg, func() {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", file, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", pkg, err, out)
		}
	})
	return file
}

// toolbox records the programs that have been built and copied into the shared guest, because
// linking and copying a program takes seconds.
type toolbox struct {
	mu   sync.Mutex
	dir  string
	done map[string]bool
}

var tools toolbox

// folder returns the folder of built programs.
func (b *toolbox) folder(t *testing.T) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "rdmakit-kernel-") //nolint:usetesting // outlives the test
		if err != nil {
			t.Fatal(err)
		}
		b.dir = dir
	}
	return b.dir
}

// once runs a function unless it has succeeded before; after a failure the next test tries again.
func (b *toolbox) once(t *testing.T, what string, do func()) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done[what] {
		return
	}
	do() // a failure leaves here
	if b.done == nil {
		b.done = map[string]bool{}
	}
	b.done[what] = true
}

// remove deletes the built programs.
func (b *toolbox) remove() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}
