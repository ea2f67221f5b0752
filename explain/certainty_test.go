package explain_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// limit is what Slurm writes at the end of a job's time, after a version of NCCL that can hang on
// aarch64.
const limit = header + "slurmstepd: error: *** JOB 991 ON n1 CANCELLED AT 2026-11-27T10:00:00 DUE TO TIME LIMIT ***\n"

// Causes are no surer than what the lines say.
func TestCertainty(t *testing.T) {
	const (
		fatal    = "[ 8123.000000] pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: 0000:17:00.0\n"
		detected = "[ 8124.000300] mlx5_core 0000:17:00.0: mlx5_pci_err_detected was called\n"
		enter    = "[ 8124.000400] mlx5_core 0000:17:00.0: mlx5_enter_error_state:110:(pid 100): start\n"
		onlyTCP  = "[1732694473.123456] [c01:77   :0]     ucp_context.c:1146 UCX  WARN  network device 'mlx5_0:1' is " +
			"not available, please use one or more of: 'eth0'(tcp), 'lo'(tcp)\n"
		ibstat = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 10\n" +
			"\t\tBase lid: 65535\n\t\tLink layer: InfiniBand\n"
	)
	arm, active := "Linux n1 6.8.0 #1 SMP aarch64 GNU/Linux\n", strings.ReplaceAll(ibstat, "Down", "Active")
	other := strings.ReplaceAll(ibstat, "mlx5_0", "mlx5_1")
	for name, c := range map[string]struct{ log, what, cause, confidence string }{
		"AER alone":      {fatal, "the card reports a hardware problem", "card-hardware", ""},
		"PCIe error":     {detected + enter, "is being recovered", "card-hardware", "likely"},
		"error state":    {enter, "is being recovered", "card-firmware", "likely"},
		"bus error":      {busError, "could not use shared memory", "shm-too-small", "likely"},
		"UCX, TCP only":  {onlyTCP, "UCX has no device mlx5_0:1", "missing-library", "likely"},
		"UCX, port down": {ibstat + onlyTCP, "UCX has no device mlx5_0:1", "port-down", "likely"},
		"UCX, active":    {active + onlyTCP, "UCX has", "missing-library", "likely"},
		"UCX, one port":  {active + other + onlyTCP, "UCX has", "missing-library", "likely"},
		"exit code -9":   {strings.ReplaceAll(childFailed, "1)", "-9)"), "was ended", "host-memory", "possible"},
		"time limit":     {limit, "the job reached its time limit: ", "time-limit", "possible"},
		"aarch64":        {arm + limit, "the job reached", "defect:nccl-aarch64-hang", "likely"},
	} {
		d := explainAll(t, "job.log", c.log)
		if d.Verdict != explain.VerdictFault {
			t.Errorf("%s: verdict = %s, want fault", name, d.Verdict)
			continue
		}
		f, cause := d.First()
		if !strings.Contains(f.What, c.what) || cause.Cause != c.cause ||
			c.confidence != "" && string(cause.Confidence) != c.confidence {
			t.Errorf("%s: %q, %s %s, want %q, %s %s", name, f.What, cause.Confidence, cause.Cause,
				c.what, c.confidence, c.cause)
		}
	}
	if f, _ := ptr(explainAll(t, "dmesg", detected+enter)); f.Causes[1].Confidence != "possible" {
		t.Errorf("after an error of PCIe %s is %s, want possible", f.Causes[1].Cause, f.Causes[1].Confidence)
	}
}

const busError = "[rank3]: RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. It is possible " +
	"that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n"
