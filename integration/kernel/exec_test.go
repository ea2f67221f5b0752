//go:build kernel

package kernel

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// statusOf runs a script and returns its exit status and what it printed.
func statusOf(t *testing.T, g *guest.Guest, script string) (int, string) {
	t.Helper()
	res, err := g.Run(t.Context(), script)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return res.ExitCode, string(res.Stdout) + string(res.Stderr)
}

// TestExecEnvironment compares the environment of a program that exec starts with the original
// environment and with the output of env.
func TestExecEnvironment(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	read := func(script string) map[string]string {
		out := map[string]string{}
		for pair := range strings.SplitSeq(strings.TrimSuffix(output(t, g, script), "\x00"), "\x00") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || out[name] != "" {
				t.Errorf("%s: %q, want each name once", script, pair)
			}
			out[name] = value
		}
		delete(out, "_") // bash sets it to the program that it starts
		return out
	}
	const user = "export UCX_TLS='rc tcp' NCCL_IB_HCA=rxe NCCL_IB_GID_INDEX=7 EMPTY= UCX_NET_DEVICES=; "
	for _, flags := range []string{"", " --override", " --for all --include rxe0"} {
		var want map[string]string
		decode(t, output(t, g, user+rdmactl+" env -q --format json"+flags), &want)
		if want["NCCL_IB_HCA"] == "" || want["UCX_NET_DEVICES"] == "" {
			t.Fatalf("env%s sets %v, want a list of HCAs", flags, want)
		}
		before := read(user + "cat /proc/self/environ")
		if flags == " --override" {
			delete(before, "NCCL_IB_GID_INDEX") // rxe0 has no GID there
		}
		maps.Copy(before, want)
		got := read(user + rdmactl + " exec -q" + flags + " -- cat /proc/self/environ")
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("environment behind exec%s (-env +exec):\n%s", flags, diff)
		}
	}
}

// TestExecAsFirstProcess runs exec as a container does: with PID 1 of a namespace, and signals sent
// from outside.
func TestExecAsFirstProcess(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	const container = "unshare --pid --fork --mount-proc "
	if got := output(
		t, g, container+rdmactl+" exec -q -- sh -c 'echo $$; tr \"\\\\0\" \" \" </proc/1/cmdline; ls -d /proc/[0-9]*'",
	); !strings.HasPrefix(got, "1\nsh -c ") || strings.Contains(got, "rdmactl") {
		t.Errorf("the program in the container sees %q, want itself as PID 1 and no rdmactl", got)
	}
	tests := []struct {
		name, script string
		want         int
		output       string
	}{
		{"exit status", container + rdmactl + " exec -q -- sh -c 'exit 42'", 42, ""},
		{"a handler as PID 1", container + rdmactl +
			` exec -q -- bash -c 'trap "echo heard; exit 3" TERM; echo up >/tmp/exec.up; while :; do sleep 0.1; done' &
			until [ -s /tmp/exec.up ]; do sleep 0.1; done; rm /tmp/exec.up; pkill -TERM -P $!; wait $!`, 3, "heard\n"},
		{"the program's own end", rdmactl + ` exec -q -- sh -c 'echo >/tmp/exec.up; exec sleep 60' & until [ -e ` +
			`/tmp/exec.up ]; do sleep 0.1; done; rm /tmp/exec.up; kill -TERM $!; wait $!`, 143, ""},
		{"killed", "exec 2>/dev/null; " + rdmactl + ` exec -q -- sh -c 'kill -KILL $$'`, 137, ""},
		{"streams", "echo in | " + rdmactl + ` exec -q -- sh -c 'cat; echo err >&2' 2>&1`, 0, "in\nerr\n"},
		{"session and process group", `a=$(sh -c 'ps -o pgid=,sid= -p $$'); b=$(` + rdmactl +
			` exec -q -- sh -c 'ps -o pgid=,sid= -p $$'); [ "$a" = "$b" ] && echo same`, 0, "same\n"},
		{
			"not found", rdmactl + " exec -q -- no-such-program", 127,
			"rdmactl: exec: start no-such-program: not found in PATH\n",
		},
		{
			"not executable", rdmactl + " exec -q -- /etc/passwd", 126,
			"rdmactl: exec: start /etc/passwd: permission denied\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, out := statusOf(t, g, tt.script); got != tt.want || out != tt.output {
				t.Errorf("%s = %d, %q, want %d, %q", tt.script, got, out, tt.want, tt.output)
			}
		})
	}
}

// TestExecWithoutRDMA runs exec in a separate network namespace, without RDMA devices.
func TestExecWithoutRDMA(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	const nothing = "unshare --mount sh -c 'mount -t tmpfs none /sys/class/infiniband; exec \"$@\"' sh "
	got, out := statusOf(t, g, nothing+rdmactl+" exec -q -- echo started")
	if got != 3 || strings.Contains(out, "\nstarted") || !strings.Contains(out, "not started: no RDMA") {
		t.Errorf("exec without devices = %d, %q, want 3 and the reason", got, out)
	}
	got, out = statusOf(t, g, nothing+rdmactl+" exec -q --tcp-fallback -- sh -c 'echo $NCCL_IB_DISABLE'")
	if got != 0 || out != "1\n" {
		t.Errorf("exec --tcp-fallback without devices = %d, %q, want 0 and NCCL_IB_DISABLE=1", got, out)
	}
}

// TestExecRunsVerbsPrograms transfers data with programs that exec has started.
func TestExecRunsVerbsPrograms(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	for name, script := range map[string]string{
		"ib_write_bw": `%s exec -q -- ib_write_bw -d rxe0 -n 20 -s 4096 -u 20 >/tmp/exec.server 2>&1 & server=$!
			` + await(perftestListens) + `
			%s exec -q -- ib_write_bw -d rxe0 -n 20 -s 4096 -u 20 192.0.2.1; client=$?
			wait $server || { cat /tmp/exec.server; exit 1; }; exit $client`,
		"rping": `%s exec -q -- rping -s -a 192.0.2.1 -C 3 >/tmp/exec.server 2>&1 & server=$!
			` + await("%s exec -q -- rping -c -a 192.0.2.1 -C 3 -v") + `; wait $server`,
	} {
		want := "4096 "
		if name == "rping" {
			want = "ping data: rdma-ping-2"
		}
		got, out := statusOf(t, g, strings.ReplaceAll(script, "%s", rdmactl))
		for try := 1; strings.Contains(out, clockDoubt) && try < clockTries; try++ {
			got, out = statusOf(t, g, strings.ReplaceAll(script, "%s", rdmactl))
		}
		if got != 0 || !strings.Contains(out, want) {
			t.Errorf("%s = %d, %q, want 0 and %q", name, got, out, want)
		}
	}
}

// TestExecDryRun compares the dry run with env and the shell.
func TestExecDryRun(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	var report struct {
		File string            `json:"file"`
		Set  map[string]string `json:"set"`
	}
	if err := json.Unmarshal([]byte(output(t, g, rdmactl+" exec -q --dry-run -o json -- ib_write_bw")),
		&report); err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	decode(t, output(t, g, rdmactl+" env -q --format json"), &want)
	if diff := cmp.Diff(want, report.Set); diff != "" || report.File != "/usr/bin/ib_write_bw" {
		t.Errorf("dry run starts %s (-env +set):\n%s", report.File, diff)
	}
	script := output(t, g, rdmactl+" exec -q --dry-run -- sh -c 'echo $NCCL_IB_HCA'")
	if got, want := output(t, g, script), want["NCCL_IB_HCA"]+"\n"; got != want {
		t.Errorf("the script of the dry run prints %q, want %q", got, want)
	}
}
