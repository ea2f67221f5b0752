package node

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// NewEnvApp returns an App with env and exec alone.
func NewEnvApp() *cli.App {
	app := clitest.NewApp(Commands())
	app.Commands = []cli.Entry{
		{Group: cli.GroupNode, Build: newEnvCommand},
		{Group: cli.GroupNode, Build: newExecCommand},
	}
	return app
}

// TestEnvUser checks that the environment of the process counts on this machine and nowhere else.
func TestEnvUser(t *testing.T) {
	tree, err := testtrees.Load("02_rocev2_8hca")
	if err != nil {
		t.Fatal(err)
	}
	app := clitest.NewApp(Commands())
	app.Environ = []string{"NCCL_IB_HCA=other", "NCCL_IB_HCA=mlx5_1", "NCCL_IB_GID_INDEX=1", "UCX_NET_DEVICES="}
	app.Out = output.New(
		output.Options{Out: app.Stdout, Err: app.Stderr, Format: output.FormatTable, LookupEnv: app.LookupEnv})
	for _, local := range []bool{true, false} {
		n := &sources.Node{Sources: inventory.Sources{Root: tree.FS()}, Local: local}
		plan, err := deriveEnv(t.Context(), app, n, launch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1"
		if local {
			want = "mlx5_1"
		}
		if got := plan.Environment()["NCCL_IB_HCA"]; got != want {
			t.Errorf("NCCL_IB_HCA with local=%t = %q, want %q", local, got, want)
		}
		if got := plan.Environment()["UCX_NET_DEVICES"]; !strings.HasPrefix(got, "mlx5_0:1,") {
			t.Errorf("UCX_NET_DEVICES = %q, want the derived list in place of an empty value", got)
		}
		if got := len(plan.Conflicts); (got == 2) != local {
			t.Errorf("%d conflicts with local=%t: %+v", got, local, plan.Conflicts)
		}
	}
}

// hostileName is a device's name that would create a file if a shell evaluated it. It has no blank,
// which no list could hold.
const hostileName = "mlx5_$(touch${IFS}owned)"

// TestEnvHostileTree lets shells read the variables of a node whose names attack them.
func TestEnvHostileTree(t *testing.T) {
	names := []string{
		hostileName, "`touch${IFS}owned`", "';touch${IFS}owned;'", `"q"`, "a\nexport X=1", `back\slash`, "mlx5_0",
		"sp ace", "-n", "~", "ü", "\x1b[31mred", "#", "mlx5_'\"",
	}
	tree := nodetree.New()
	for i, name := range names {
		port := "sys/class/infiniband/" + name + "/ports/1"
		netdev := "if$(id)" + string(rune('a'+i))
		for file, content := range map[string]string{
			"../../node_type": "1: CA\n", "state": "4: ACTIVE\n", "phys_state": "5: LinkUp\n",
			"link_layer": "Ethernet\n", "rate": "400 Gb/sec (4X NDR)\n",
			"gids/0": "0000:0000:0000:0000:0000:ffff:0a00:0001\n", "gid_attrs/types/0": "RoCE v2\n",
			"gid_attrs/ndevs/0": netdev + "\n",
		} {
			if err := tree.Set(filepath.ToSlash(filepath.Join(port, file)), content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tree.Set("sys/class/net/x'$(touch owned)/operstate", "up\n"); err != nil {
		t.Fatal(err)
	}
	if err := tree.Set("sys/class/net/x'$(touch owned)/type", "1\n"); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := tree.WriteDir(root); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"env"}, {"env", "--compat", "kserve"}, {"env", "--for", "all"}} {
		var stdout, stderr bytes.Buffer
		app := NewEnvApp()
		app.Stdout, app.Stderr, app.Environ = &stdout, &stderr, []string{"KSERVE_INFER_ROCE=true", "HOME=" + root}
		if code := app.Run(t.Context(), append(args, "--root", root)); code != cli.ExitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
		}
		if strings.Contains(stderr.String(), "\x1b") {
			t.Errorf("%v: an escape sequence reaches standard error: %q", args, stderr.String())
		}
		for _, shell := range []string{"dash", "bash"} {
			runHostile(t, shell, stdout.Bytes())
		}
	}
}

// runHostile evaluates text in a shell, which must run no command and say nothing.
func runHostile(t *testing.T, shell string, text []byte) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), shell, "-c", `eval "$(cat text)"; printf '%s' "$NCCL_IB_HCA"; test -z "$X"`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "mlx5_0") || !strings.Contains(string(out), hostileName) {
		t.Errorf("%s: %v: %s\n%s", shell, err, out, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%s ran a command of %s: %v, %v", shell, text, left, err)
	}
}
