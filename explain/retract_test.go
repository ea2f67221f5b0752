package explain_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// complete is a communicator that works.
const complete = header + "gpu-a:100:140 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 " +
	"busId 18000 commId 0x7 - Init START\n" +
	"gpu-a:100:140 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 18000 commId 0x7 - " +
	"Init COMPLETE\n"

// Lines that later ones take back are no faults, and those that nothing takes back are.
func TestTakenBack(t *testing.T) {
	const (
		down  = "[  100.000000] mlx5_core 0000:a0:00.0 enp160s0np0: Link down\n"
		up    = "[  103.200000] mlx5_core 0000:a0:00.0 enp160s0np0: Link up\n"
		late  = "[  163.200000] mlx5_core 0000:a0:00.0 enp160s0np0: Link up\n"
		other = "[  103.200000] mlx5_core 0000:a1:00.0 enp161s0np0: Link up\n"

		corrected = "[   25.112330] mlx5_core 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, " +
			"(Receiver ID)\n"

		waits = "(EngineCore_DP0 pid=233) INFO 11-20 10:03:00 [shm_broadcast.py:466] No available shared memory " +
			"broadcast block found in 60 seconds.\n"
		startup = "(EngineCore_DP0 pid=233) INFO 11-20 10:04:22 [core.py:210] init engine (profile, create kv cache, " +
			"warmup model) took 130.04 seconds\n"
		idle = "(APIServer pid=1) INFO 11-20 10:14:22 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 " +
			"tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 3 reqs\n"
		busy = "(APIServer pid=1) INFO 11-20 10:14:22 [loggers.py:127] Engine 000: Avg prompt throughput: 9.0 " +
			"tokens/s, Avg generation throughput: 31.0 tokens/s, Running: 3 reqs\n"

		script  = "Traceback (most recent call last):\n"
		closed2 = "gpu-a:100:160 [0] NCCL INFO misc/socket.cc:64 -> 2\n"
		closed3 = "gpu-a:100:160 [0] NCCL INFO misc/socket.cc:64 -> 3\n"
		abort   = "gpu-a:100:100 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 18000 - Abort COMPLETE\n"
		fault6  = "gpu-a:100:160 [0] NCCL INFO transport/net_ib.cc:1034 -> 6\n"
	)
	for name, c := range map[string]struct {
		log  string
		want explain.Verdict
	}{
		"flap":             {down + up, explain.VerdictHealthy},
		"long flap":        {down + late, explain.VerdictFault},
		"other link":       {down + other, explain.VerdictFault},
		"two flaps":        {down + up + down + up, explain.VerdictFault},
		"flap and failure": {down + up + fallen, explain.VerdictFault},
		"flap and trouble": {down + up + script, explain.VerdictFault},
		"one corrected":    {corrected, explain.VerdictHealthy},
		"many corrected":   {corrected + corrected + corrected, explain.VerdictFault},
		"wait":             {waits, explain.VerdictFault},
		"wait is over":     {waits + waits + startup, explain.VerdictHealthy},
		"wait at the end":  {startup + waits, explain.VerdictFault},
		"idle":             {waits + idle, explain.VerdictFault},
		"busy":             {waits + busy, explain.VerdictHealthy},
		"abort":            {complete + closed3 + abort, explain.VerdictHealthy},
		"abort, no start":  {header + closed3 + abort, explain.VerdictFault},
		"abort, code 2":    {complete + closed2 + abort, explain.VerdictFault},
		"no abort":         {complete + closed3, explain.VerdictFault},
		"abort of a fault": {complete + fault6 + abort, explain.VerdictFault},
	} {
		if d := explainAll(t, "job.log", c.log); d.Verdict != c.want {
			t.Errorf("%s: verdict = %s, want %s: %+v", name, d.Verdict, c.want, d.Findings)
		}
	}
	if f, _ := ptr(explainAll(t, "job.log", header+down+up+closed3)); f.Rule != "RDX-170" {
		t.Errorf("a link that was down before a connection was closed: %s, want RDX-170", f.Rule)
	}
}

const fallen = "[  300.000000] mlx5_core 0000:a0:00.0: poll_health:800:(pid 0): Fatal error 3 detected\n"
