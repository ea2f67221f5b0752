package explain_test

import (
	"slices"
	"testing"
)

// A failure of no known form: the error number limits the causes, and an address that others can't
// reach speaks for the wrong interface.
func TestErrorNumbers(t *testing.T) {
	for line, want := range map[string]string{
		"[1719157763.321281] [gpu-a:19381:0] sock.c:323 UCX  ERROR connect(fd=27, dest_addr=127.0.0.1:51286) new: " +
			"Connection refused": "interface-choice",
		"[1719157763.321281] [gpu-a:19381:0] sock.c:323 UCX  ERROR new(fd=27, dest_addr=10.0.0.1:51286) failed: " +
			"Connection refused": "dead-peer",
		"gpu-a:100:140 [0] new.cc:1 NCCL WARN new failed: Too many open files":       "file-limit",
		"gpu-a:100:140 [0] new.cc:1 NCCL WARN new failed: Operation not permitted":   "not-privileged",
		"gpu-a:100:140 [0] new.cc:1 NCCL WARN new 10.0.0.1 failed: No route to host": "firewall",
	} {
		d := explainAll(t, "job.log", header+line+"\n")
		if len(d.Findings) == 0 || len(d.Findings[0].Causes) == 0 || d.Findings[0].Causes[0].Cause != want {
			t.Errorf("%s: findings %+v, want cause %s", line, d.Findings, want)
		}
	}
}

// Of the three steps of a queue pair only the second looks at the peer's address.
func TestQueuePairSteps(t *testing.T) {
	for line, want := range map[string]string{
		"conn.c:10: ibv_modify_qp INIT -> RTR: Invalid argument":    "gid-index",
		"conn.c:20: ibv_modify_qp RTR -> RTS: Invalid argument":     "driver-refuses",
		"conn.c:30: ibv_modify_qp to INIT failed: Invalid argument": "driver-refuses",
		"Failed to modify QP to RTS: Invalid argument":              "driver-refuses",
	} {
		d := explainAll(t, "job.log", line+"\n")
		if len(d.Findings) == 0 || d.Findings[0].Causes[0].Cause != want {
			t.Errorf("%s: findings %+v, want cause %s", line, d.Findings, want)
		}
	}
}

// A queue that is too long can look like a lack of memory.
func TestLongQueue(t *testing.T) {
	d := explainAll(t, "job.log", "[ERROR] (setup.c:184: errno: Cannot allocate memory) Failed to create qp\n")
	if len(d.Findings) != 1 {
		t.Fatalf("findings %+v, want one", d.Findings)
	}
	var causes []string
	for _, c := range d.Findings[0].Causes[:3] {
		causes = append(causes, c.Cause)
	}
	if want := []string{"memlock", "resource-limit", "device-limit"}; !slices.Equal(causes, want) {
		t.Errorf("causes %v, want %v", causes, want)
	}
}
