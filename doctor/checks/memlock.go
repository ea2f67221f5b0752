package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// Below memlockLeast a job does not start; below unlimited it may run out later.
const memlockLeast = 1 << 30

func memlock() doctor.Check {
	return doctor.Check{
		ID:       "memlock",
		Title:    "limit of locked memory too small",
		Severity: doctor.OutcomeFail,
		Needs:    doctor.NeedDevices | doctor.NeedLimits,
		Reads:    []string{"/proc/self/limits", "/proc/self/status"},
		Explanation: prose.Join(`
			RDMA pins every buffer that it registers, and pinned memory counts against
			RLIMIT_MEMLOCK. Beyond the limit ibv_reg_mr and ibv_create_qp fail with "Cannot allocate
			memory", and NCCL and UCX give up or fall back to TCP. CAP_IPC_LOCK lifts the limit, but
			only where it is effective: added to a pod whose process is not root it does nothing.`),
		Remedy: "Make the limit unlimited where the job is started: its systemd unit, limits.d for logins, the " +
			"container runtime for containers. A program that runs already keeps what it has.",
		Sources: []string{
			"catalogue 86, 87",
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
				"CAP_IPC_LOCK is effective here and lifts the limit of %s; a job that drops it, or runs as "+
					"another user, has the limit", m.Soft), ev...)}
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: doctor.ObjectNode, Evidence: ev, Remedy: memlockRemedy(s, m),
		Summary: fmt.Sprintf("a process may lock %s only", m.Soft),
	}
	if m.Soft.Bytes >= memlockLeast {
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf(
			"a process may lock %s, not unlimited: enough to start, but a KV cache or registered tensors can pass it",
			m.Soft)
	}
	return []doctor.Finding{f}
}

func memlockRemedy(s *inventory.Snapshot, m *inventory.Memlock) []string {
	var lines []string
	if m.Hard.Unlimited {
		lines = append(lines, "# this shell may raise it by itself; jobs started from it inherit that",
			"ulimit -l unlimited")
	}
	if c := s.Host.Container; c != nil {
		return append(lines, containerMemlock(c)...)
	}
	return append(lines,
		"# logins (pam_limits), from the next login on",
		`printf '%s - memlock unlimited\n' '*' root > /etc/security/limits.d/90-rdma.conf   `+
			`# * does not stand for root`,
		"# services: for one unit (a scheduler such as slurmd hands its limit to the jobs)",
		`systemctl edit YOUR_UNIT   # [Service] LimitMEMLOCK=infinity`,
		"systemctl restart YOUR_UNIT",
	)
}

func containerMemlock(c *inventory.Container) []string {
	if !c.Kubernetes {
		return []string{
			"# start the container with",
			"docker run --ulimit memlock=-1:-1 --cap-add=IPC_LOCK YOUR_IMAGE",
		}
	}
	return []string{
		"# a pod that runs as root: in its container's securityContext",
		`#   capabilities: {add: ["IPC_LOCK"]}`,
		"# a pod that does not run as root gets nothing from IPC_LOCK: raise the limit of the runtime, on each node",
		"mkdir -p /etc/systemd/system/containerd.service.d",
		`printf '[Service]\nLimitMEMLOCK=infinity\n' > /etc/systemd/system/containerd.service.d/memlock.conf`,
		"systemctl daemon-reload && systemctl restart containerd",
		"# then start the pod anew",
	}
}

// limits returns the limit in force and the one that a process may raise it to.
func limits(m *inventory.Memlock) string {
	if m.Soft == m.Hard {
		return m.Soft.String()
	}
	return m.Soft.String() + ", which a process may raise to " + m.Hard.String()
}

func setOrClear(b bool) string {
	if b {
		return "set"
	}
	return "clear"
}
