package bench

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestScatter sets the variable of the environment that memory of a GPU needs, before a device is
// open, and only for such memory.
func TestScatter(t *testing.T) {
	for flag, want := range map[string]string{"--use-cuda=0": "0", "--use-rocm=1": "0", "--qps=1": "1"} {
		t.Setenv(bench.ScatterVariable, "1")
		app := clitest.NewApp(Commands())
		code := app.Run(t.Context(), []string{"bench", "write-bw", "-d", "nosuch0", flag})
		if code != cli.ExitNotFound {
			t.Errorf("bench %s: exit code %d, want %d", flag, code, cli.ExitNotFound)
		}
		if got := os.Getenv(bench.ScatterVariable); got != want {
			t.Errorf("bench %s: %s=%q, want %q", flag, bench.ScatterVariable, got, want)
		}
	}
}

// TestTaken opens a device that another run uses: it can't be used, which is exit code 3.
func TestTaken(t *testing.T) {
	const name = "roce@127.0.77.60"
	d, err := verbs.Open(t.Context(), name, builtin.All()...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, _, err = cli.OpenVerbs(t.Context(), name, cli.Toward{})
	if err = unusable(err); cli.ExitCode(err) != cli.ExitNotFound || !strings.Contains(err.Error(), "is taken by") {
		t.Errorf("OpenVerbs of a device in use = %v, exit code %d, want 3", err, cli.ExitCode(err))
	}
	denied := fmt.Errorf("open: %w", fs.ErrPermission)
	if code := cli.ExitCode(unusable(denied)); code != cli.ExitPermission {
		t.Errorf("exit code of %v: %d, want 4", denied, code)
	}
}

// TestIWARPHead names an iWARP peer by its MAC address, and no MTU.
func TestIWARPHead(t *testing.T) {
	gid := ib.GID{0x52, 0x54, 0, 0x12, 0x34, 0x56}
	r := &bench.Result{Setup: bench.Setup{
		Test: "write_bw", Role: "client", Device: "siw0", Transport: bench.TransportIWARP, MTU: 1024, QueuePairs: 1,
		RDMACM: "-R", Remote: []bench.Endpoint{{GID: gid}},
	}}
	text, err := output.New(output.Options{}).Render(nil, benchBlocks(r)...)
	const want = "write_bw, client on siw0, peer 52:54:00:12:34:56, iWARP, 1 queue pair, rdma_cm (-R)\n"
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%v: %q, want it to begin with %q", err, text, want)
	}
}

// TestSteer takes the settings from the variables up to the configuration of a test; that of a test
// up to its queue pairs is tried in package bench.
func TestSteer(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want bench.Config
	}{
		{nil, bench.Config{Timeout: 14}},
		{map[string]string{"RDMA_TIMEOUT": "18", "RDMA_MTU": "512"}, bench.Config{Timeout: 18, MTU: ib.MTU512}},
		{map[string]string{"RDMA_TIMEOUT": "0"}, bench.Config{Timeout: verbs.TimeoutInfinite}},
		{map[string]string{"RDMA_QP_TYPE": "UC"}, bench.Config{Timeout: 14, QPType: verbs.QPTypeUC}},
		{
			map[string]string{"RDMAKIT_QP_TYPE": "ud", "RDMAKIT_PORT": "2", "RDMAKIT_QP_TIMEOUT": "31"},
			bench.Config{Timeout: 31, QPType: verbs.QPTypeUD, Port: 2},
		},
	}
	for _, tt := range tests {
		cfg, err := config.Load(config.Options{
			LookupEnv: func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok },
		})
		if err != nil {
			t.Fatal(err)
		}
		var got bench.Config
		steer(&got, cfg.Values)
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(_, _ bench.Observer) bool { return true })); diff != "" {
			t.Errorf("steer with %v, -want +got:\n%s", tt.env, diff)
		}
	}
}
