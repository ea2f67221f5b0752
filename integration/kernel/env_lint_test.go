//go:build kernel

package kernel

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// lintProcess starts a process with an environment, lints it by its ID, and ends it. prefix is a
// command that starts the process: unshare, ip netns exec.
func lintProcess(t *testing.T, g *guest.Guest, prefix, environment, options string) (report lint.Report, notes string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := g.Run(ctx, prefix+` env -i PATH="$PATH" `+environment+` sleep 3000 >/dev/null 2>&1 &
		`+await(`[ "$(cat /proc/$!/comm)" = sleep ]`)+`
		`+rdmactl+` env lint --pid $! -o json `+options+`; echo "code $?" >&2; kill $!`)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(res.Stdout), &report)
	return report, string(res.Stderr)
}

func rulesOf(r lint.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Severity)+" "+f.Rule)
	}
	return out
}

// TestEnvLintProcess lints real processes against the guest's rxe and siw.
func TestEnvLintProcess(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	settle(t, g)
	tests := []struct {
		name, env string
		code      string
		want      []string // severity and rule, among the findings
		silent    bool     // no error and no warning
	}{
		{"what env derives", `$(` + rdmactl + ` env -q --format dotenv)`, "code 0", nil, true},
		{"a device that isn't there", "NCCL_IB_HCA=mlx5_0", "code 1", []string{"error hca-unknown"}, false},
		{"iWARP", "NCCL_IB_HCA==siw0", "code 1", []string{"error hca-iwarp"}, false},
		{
			"an index that is empty", "NCCL_IB_HCA==rxe0 NCCL_IB_GID_INDEX=200", "code 1",
			[]string{"error gid-index-unusable"},
			false,
		},
		{
			"a link-local index", "NCCL_IB_HCA==rxe0 NCCL_IB_GID_INDEX=0", "code 1",
			[]string{"error gid-index-unusable"},
			false,
		},
		{"Gloo with a pattern", "GLOO_SOCKET_IFNAME=^lo", "code 1", []string{"error socket-pattern"}, false},
		{"an address that isn't here", "VLLM_HOST_IP=203.0.113.77", "code 1", []string{"error host-address"}, false},
		{"a misspelt name", "NCCL_IB_HCAS=rxe0", "code 0", []string{"warn name-misspelt"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report, notes := lintProcess(t, g, "", tt.env, "")
			if !strings.Contains(notes, tt.code+"\n") {
				t.Errorf("it ended with %q, want %s", notes, tt.code)
			}
			if strings.Contains(notes, "namespace") {
				t.Errorf("notes = %q, want none about namespaces", notes)
			}
			got := rulesOf(report)
			for _, want := range tt.want {
				if !slices.Contains(got, want) {
					t.Errorf("findings = %q, want %q among them", got, want)
				}
			}
			if tt.silent && report.Counts.Error+report.Counts.Warn > 0 {
				t.Errorf("findings = %+v, want none worse than a note", report.Findings)
			}
		})
	}
}

// TestEnvLintNamespaces lints processes in namespaces other than rdmactl's.
func TestEnvLintNamespaces(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	t.Run("network", func(t *testing.T) {
		_, notes := lintProcess(t, g, "unshare --net", "NCCL_IB_HCA==rxe0", "")
		if !strings.Contains(notes, "another network namespace") {
			t.Errorf("notes = %q, want one about the network namespace", notes)
		}
	})
	t.Run("mount and network", func(t *testing.T) {
		output(t, g,
			"ip netns add lint; ip netns exec lint ip link add dum0 type dummy; ip netns exec lint ip link set dum0 up")
		defer output(t, g, "ip netns del lint")
		// ip netns exec mounts a /sys of the network namespace for the process.
		report, notes := lintProcess(t, g, "ip netns exec lint", "NCCL_SOCKET_IFNAME==eth0 GLOO_SOCKET_IFNAME=dum0", "")
		if !strings.Contains(notes, "another mount namespace") {
			t.Errorf("notes = %q, want one about the mount namespace", notes)
		}
		var unknown []string
		for _, f := range report.Findings {
			if f.Rule == "socket-unknown" {
				unknown = append(unknown, f.Variable)
			}
		}
		if !slices.Equal(unknown, []string{"NCCL_SOCKET_IFNAME"}) {
			t.Errorf("socket-unknown tells of %q, want NCCL_SOCKET_IFNAME alone: dum0 is there and eth0 is not",
				unknown)
		}
	})
}

// TestEnvLintPermission reads the environment of another user's process, which the kernel denies.
func TestEnvLintPermission(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := g.Output(ctx, `cp `+rdmactl+` /tmp/rdmactl-lint && chmod 755 /tmp/rdmactl-lint
		su nobody -s /bin/sh -c '/tmp/rdmactl-lint env lint --pid 1' 2>&1; echo "code $?"; rm /tmp/rdmactl-lint`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/proc/1/environ: permission denied",
		"hint: only root can read the environment of another user's process: sudo rdmactl env lint --pid 1", "code 4\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output %q is missing %q", out, want)
		}
	}
}
