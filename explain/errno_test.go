package explain_test

import (
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
