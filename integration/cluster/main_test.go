//go:build cluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

func TestMain(m *testing.M) {
	is, err := lab.Init()
	code := 0
	switch dir := os.Getenv(victimVariable); {
	case is:
	case dir != "":
		err = victim(dir)
	default:
		code = m.Run()
		err = shared.close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// The lab of all tests: four nodes with two rails, all of them so slow that the network is the
// limit and not the processors, and a rate at which one of them is slow.
const (
	labNodes, labRails = 4, 2
	usualRate          = 200 // Mbit/s
	slowRate           = 100
)

// rig is the lab and the program under test, made when the first test needs them.
type rig struct {
	once sync.Once
	dir  string
	lab  *lab.Lab
	err  error
}

var shared rig

// cluster returns the shared lab.
func cluster(t *testing.T) *lab.Lab {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.open(context.Background()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.lab
}

// program is the path of rdmactl, on all nodes.
func program() string { return filepath.Join(shared.dir, "rdmactl") }

func (r *rig) open(ctx context.Context) (err error) {
	if r.dir, err = os.MkdirTemp("", "lab"); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program(), "../../cmd/rdmactl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build rdmactl: %w: %s", err, out)
	}
	r.lab, err = lab.New(ctx, lab.Options{Size: labNodes, Rails: labRails, Rate: usualRate, Dir: r.dir})
	return err
}

func (r *rig) close() error {
	var err error
	if r.lab != nil {
		err = r.lab.Close()
	}
	if r.dir != "" {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}
