package explain_test

import (
	"testing"
)

// Lines of the kernel whose meaning is in a number, and the first cause.
func TestKernelNumbers(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus.", "gpu-hardware"},
		{"NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=python3, intr 00000000. MMU Fault", "gpu-kernel-fault"},
		{"NVRM: Xid (PCI:0000:3b:00): 45, pid=77, name=python3, Ch 00000010", "dead-peer"},
		{"NVRM: Xid (PCI:0000:3b:00): 94, pid=77, name=python3, Contained: SM (0x1).", "gpu-hardware"},
		{"mlx5_core 0000:41:00.0: mlx5_cmd_out_err:800:(pid 7): CREATE_MKEY(0x200) op_mod(0x0) failed, status " +
			"limits " +
			"exceeded(0x8), syndrome (0x18af6), err(-12)", "resource-limit"},
		{"mlx5_core 0000:04:00.0: mlx5_cmd_check:795:(pid 7): CREATE_MKEY(0x200) op_mod(0x0) failed, status bad " +
			"parameter(0x3), syndrome (0x35e6ec)", "version-mismatch"},
		{"mlx5_core 0000:04:00.0: wait_func:1063:(pid 7): ENABLE_HCA(0x104) timeout. Will cause a leak of a " +
			"command " +
			"resource", "card-firmware"},
		{"DMAR: [DMA Read NO_PASID] Request device [41:00.0] fault addr 0x7f000000 [fault reason 0x06] PTE Read " +
			"access " +
			"is not set", "acs"},
	} {
		d := explainAll(t, "dmesg", c.line+"\n")
		if len(d.Findings) == 0 || len(d.Findings[0].Causes) == 0 || d.Findings[0].Causes[0].Cause != c.want {
			t.Errorf("%s\nfirst cause is not %s: %+v", c.line, c.want, d.Findings)
		}
	}
}

// What the kernel printed at another time than the job failed is no headline.
func TestKernelOtherTime(t *testing.T) {
	job := "[2026-01-02 10:00:00.000000] nvme_rdma.c:1064:x: *ERROR*: RDMA address resolution error\n"
	flap := func(time string) string {
		return "2026-01-02T" + time + " n1 kernel: mlx5_core 0000:5e:00.0 eth2: Link down\n"
	}
	const (
		pages  = "2026-01-02T04:41:00 n1 kernel: Memory failure: 0x1f3a2: recovery action for LRU page: Recovered\n"
		bad    = "2026-01-02T04:41:00 n1 kernel: mlx5_core 0000:03:00.0: handling bad device here\n"
		module = "2026-01-02T04:41:00 n1 kernel: nvme_rdma: disagrees about version of symbol rdma_create_id\n"
	)
	for _, c := range []struct {
		name, kernel, want string
	}{
		{"five hours before", flap("04:41:00"), "spdk-connect"},
		{"ten minutes before", flap("09:50:00"), "link-down"},
		{"perhaps another zone", flap("08:59:30"), "link-down"},
		{"a page that failed at night", pages, "spdk-connect"},
		{"a card recovered at night", bad, "spdk-connect"},
		{"a module that can't be loaded since the start", module, "module-format"},
	} {
		d := explainAll(t, "a-dmesg", c.kernel, "job", job)
		if len(d.Findings) == 0 || d.Findings[0].Name != c.want {
			t.Errorf("%s: first finding is not %s: %+v", c.name, c.want, d.Findings)
		}
	}
}

// A queue pair's line of the kernel is reported alone only: the program's own says more.
func TestKernelQueuePair(t *testing.T) {
	const line = "infiniband irdma0: abnormal ae_id = 0x10b bool qp=1 qp_id = 5, ae_src=4\n"
	const job = "nvme_rdma.c:1064:x: *ERROR*: RDMA address resolution error\n"
	for _, c := range []struct{ job, want string }{{"", "queue-pair-event"}, {job, "spdk-connect"}} {
		d := explainAll(t, "a-dmesg", line, "job", c.job)
		if len(d.Findings) != 1 || d.Findings[0].Name != c.want {
			t.Errorf("%q: %s is not the only finding: %+v", c.job, c.want, d.Findings)
		}
	}
}

// Calls of libibverbs, and the first cause by error number.
func TestVerbsCalls(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"ibv_open_device failed: errno 24", "file-limit"},
		{"ibv_open_device failed: errno 13", "not-privileged"},
		{"ibv_fork_init failed: errno 22", "fork-support"},
		{"ibv_create_flow failed: errno 95", "driver-refuses"},
	} {
		d := explainAll(t, "job", c.line+"\n")
		if len(d.Findings) == 0 || len(d.Findings[0].Causes) == 0 || d.Findings[0].Causes[0].Cause != c.want {
			t.Errorf("%s\nfirst cause is not %s: %+v", c.line, c.want, d.Findings)
		}
	}
}
