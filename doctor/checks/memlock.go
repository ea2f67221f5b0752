package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// With a limit below memlockLeast a job does not start; with a higher limit it may fail later.
const memlockLeast = 1 << 30

func memlock() doctor.Check {
	return doctor.Check{
		ID:       "memlock",
		Title:    "locked memory limit too small",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupHost, Numbers: []int{86},
		Needs: doctor.NeedDevices | doctor.NeedLimits,
		Reads: []string{"/proc/self/limits", "/proc/self/status"},
		Explanation: prose.Join(`
			RDMA pins every buffer that a program registers, and pinned memory counts against
			RLIMIT_MEMLOCK. Above the limit ibv_reg_mr and ibv_create_qp fail with "Cannot allocate
			memory", and NCCL and UCX abort or fall back to TCP. CAP_IPC_LOCK lifts the limit, but
			only if it is in the effective set of the process: adding it to a pod whose process is
			not root has no effect.`),
		Remedy: "Set the limit to unlimited where the job is started: in its systemd unit, in limits.d for logins, " +
			"in the container runtime for containers. Programs that are already running keep their limit.",
		Sources: []string{
			"drivers/infiniband/core/umem.c (ib_umem_get)",
			"getrlimit(2), capabilities(7)",
		},
		Run: runMemlock,
	}
}

func runMemlock(_ context.Context, in *doctor.Input) []doctor.Finding {
	s, m := in.Snapshot, in.Snapshot.Host.Memlock
	ev := []doctor.Evidence{{
		Path: "/proc/self/limits:Max locked memory", Value: limits(m),
	}}
	if m.IPCLock != nil {
		ev = append(ev, doctor.Evidence{
			Path: "/proc/self/status:CapEff", Value: "bit 14 (CAP_IPC_LOCK) is " + setOrClear(*m.IPCLock),
		})
	}
	switch {
	case m.Soft.Unlimited:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "locked memory is unlimited", ev...)}
	case m.IPCLock != nil && *m.IPCLock:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode,
			fmt.Sprintf(
				"CAP_IPC_LOCK is effective and lifts the limit of %s; for a job that drops it or runs as "+
					"another user the limit applies", m.Soft), ev...)}
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: doctor.ObjectNode, Evidence: ev, Remedy: memlockRemedy(s, m),
		Summary: fmt.Sprintf("a process can lock only %s of memory", m.Soft),
	}
	if m.Soft.Bytes >= memlockLeast {
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf(
			"a process can lock %s of memory: enough to start, but a KV cache or registered tensors can exceed it",
			m.Soft)
	}
	return []doctor.Finding{f}
}

func memlockRemedy(s *inventory.Snapshot, m *inventory.Memlock) []string {
	var lines []string
	if m.Hard.Unlimited {
		lines = append(lines, "# raise the limit of this shell and of the jobs that it starts",
			"ulimit -l unlimited")
	}
	if c := s.Host.Container; c != nil {
		return append(lines, containerMemlock(c)...)
	}
	return append(lines,
		"# for logins (pam_limits), from the next login on",
		`printf '%s - memlock unlimited\n' '*' root > /etc/security/limits.d/90-rdma.conf   `+
			`# * does not include root`,
		"# for a service: its unit (jobs inherit the limit of a scheduler's daemon such as slurmd)",
		`systemctl edit YOUR_UNIT   # [Service] LimitMEMLOCK=infinity`,
		"systemctl restart YOUR_UNIT",
	)
}

func containerMemlock(c *inventory.Container) []string {
	if !c.Kubernetes {
		return []string{
			"# start the container with these options",
			"docker run --ulimit memlock=-1:-1 --cap-add=IPC_LOCK YOUR_IMAGE",
		}
	}
	return []string{
		"# for a pod that runs as root: in its container's securityContext",
		`#   capabilities: {add: ["IPC_LOCK"]}`,
		"# for a pod that does not run as root IPC_LOCK has no effect: raise the limit of the runtime on each node,",
		"# on the host and not in this pod: systemctl edit containerd, [Service] LimitMEMLOCK=infinity;",
		"# restart containerd when no pod starts, then the pod",
	}
}

// limits returns the limit in force and the one that a process may raise it to.
func limits(m *inventory.Memlock) string {
	if m.Soft == m.Hard {
		return m.Soft.String()
	}
	return m.Soft.String() + ", which a process can raise to " + m.Hard.String()
}

func setOrClear(b bool) string {
	if b {
		return "set"
	}
	return "clear"
}
