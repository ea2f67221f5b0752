package explain_test

import (
	"bufio"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
)

// explainAll explains several inputs, given as name, text, name, text.
func explainAll(t *testing.T, files ...string) explain.Document {
	t.Helper()
	var inputs iter.Seq2[input.Input, error] = func(yield func(input.Input, error) bool) {
		for i := 0; i < len(files); i += 2 {
			in := input.Input{Name: files[i], Reader: bufio.NewReaderSize(strings.NewReader(files[i+1]), 64<<10)}
			if !yield(in, nil) {
				return
			}
		}
	}
	r, err := explain.Explain(t.Context(), inputs, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Document()
}

// header is that of a job of NCCL 2.28 on RoCE.
const header = `gpu-a:100:140 [0] NCCL INFO NCCL version 2.28.3+cuda13.0
gpu-a:100:140 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
gpu-a:100:140 [0] NCCL INFO Using network IB
`

// timeout is a request of a device to a peer without an answer.
func timeout(device string, peer int) string {
	return fmt.Sprintf("gpu-a:100:140 [0] net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.%d<4> with "+
		"status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.%d hca %s\n",
		peer, peer, device)
}

// A completion that NCCL recovers from (net_ib/p2p_resiliency.cc) is no failure.
func TestRecoveredCompletion(t *testing.T) {
	d := explainAll(t, "job.log", header+"gpu-a:100:140 [0] NCCL INFO NET/IB: Got completion with error (devIndex=1, "+
		"wc->status=(IBV_WC_RETRY_EXC_ERR)12, wc->qp_num=1123)\n")
	if d.Verdict != explain.VerdictHealthy {
		t.Errorf("verdict = %s, want healthy", d.Verdict)
	}
}

// What doctor has found, also as a warning, decides between causes of a log.
func TestOtherEvidenceCounts(t *testing.T) {
	log := header + timeout("mlx5_0", 2)
	if _, c := ptr(explainAll(t, "job.log", log)); c.Cause == "mtu-too-small" {
		t.Fatal("mtu-too-small is first without other evidence")
	}
	d := explainAll(t, "job.log", log, "doctor.json", `{"schema": "rdmakit.doctor/v1", "node": "gpu-a", "findings": [
		{"check": "path-mtu", "outcome": "warn", "object": "mlx5_0", "summary": "packets above 1500 bytes are lost"}]}`)
	_, c := d.First()
	if c.Cause != "mtu-too-small" || !strings.Contains(c.For[len(c.For)-1].Text, "rdmactl doctor says so too") {
		t.Errorf("first cause = %s, for %v; want mtu-too-small by doctor", c.Cause, c.For)
	}
}

func ptr(d explain.Document) (*explain.FindingDocument, *explain.CauseDocument) { return d.First() }

func TestHarmlessComesLast(t *testing.T) {
	d := explainAll(t, "job.log", header+"gpu-a:100:140 [0] NCCL INFO dlvsym failed on mlx5dv_reg_dmabuf_mr\n"+
		timeout("mlx5_0", 2))
	if n := len(d.Findings); n < 2 || d.Findings[0].Harmless || !d.Findings[n-1].Harmless {
		t.Errorf("findings = %+v, want harmless ones last", d.Findings)
	}
}

func TestEmptyCapture(t *testing.T) {
	d := explainAll(t, "x.pcap", "\xd4\xc3\xb2\xa1\x02\x00\x04\x00"+strings.Repeat("\x00", 8)+
		"\xff\xff\x00\x00\x01\x00\x00\x00")
	if d.Verdict != explain.VerdictNothing || !d.Inputs[0].Capture {
		t.Errorf("verdict = %s, inputs %+v; want nothing, of a capture", d.Verdict, d.Inputs)
	}
}

// One device that fails with several peers is the suspect (sgl-project/sglang#29127).
func TestOneDeviceManyPeers(t *testing.T) {
	log := header
	for peer := range 4 {
		log += timeout("mlx5_1", 2+peer)
	}
	if _, c := ptr(explainAll(t, "job.log", log)); c.Cause != "bad-nic" {
		t.Errorf("first cause = %s, want bad-nic", c.Cause)
	}
}

func TestSocketsAsDemanded(t *testing.T) {
	log := strings.ReplaceAll(header, "Using network IB", "Using network Socket") +
		"gpu-a:100:140 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
	if d := explainAll(t, "job.log", log); d.Verdict != explain.VerdictHealthy {
		t.Errorf("verdict = %s, want healthy: sockets were demanded", d.Verdict)
	}
	without := strings.ReplaceAll(log, "NCCL_IB_DISABLE set by environment to 1.", "")
	if d := explainAll(t, "job.log", without); d.Verdict != explain.VerdictFault {
		t.Errorf("verdict = %s, want a fault: nobody demanded sockets", d.Verdict)
	}
}

func TestBinary(t *testing.T) {
	if d := explainAll(t, "x", strings.Repeat("abcd\x00", 999)); !d.Inputs[0].Binary {
		t.Error("data with a fifth of zero bytes isn't binary")
	}
	if d := explainAll(t, "x", header+"\x00\x00"); d.Inputs[0].Binary {
		t.Error("a log with two zero bytes is binary")
	}
}
