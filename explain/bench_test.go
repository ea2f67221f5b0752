package explain_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/internal/testkit/logcases"
)

// mixedLog is a log of 64 ranks: lines of training, of NCCL, of UCX, the kernel and tracebacks,
// with launchers' prefixes, as jobs write them.
func mixedLog() []byte {
	var b bytes.Buffer
	for i := range 4000 {
		rank := i % 64
		host := fmt.Sprintf("gpu-%02d", rank/8)
		fmt.Fprintf(&b, "[1,%d]<stdout>:%s:%d:900 [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] [send] via "+
			"NET/IB/%d/GDRDMA\n", rank, host, 100+rank, rank%8, i%16, rank, rank%8, (rank+8)%64, rank%8, rank%8)
		fmt.Fprintf(&b, "[rank%d]: step %d loss %d.%03d lr 1e-4 grad norm 0.%d, 812 samples a second\n", rank, i,
			i%7, i%1000, i%10)
		fmt.Fprintf(&b, "2026-11-27T06:34:%02d.%06dZ stdout F INFO [trainer.py:%d] epoch %d of 3, "+
			"iteration %d of 100000, time to the end 3:21:07\n", i%60, i, 100+i%50, i%3, i)
		fmt.Fprintf(&b, "  File \"/usr/lib/python3/site-packages/torch/nn/module.py\", line %d, in forward\n", i)
		fmt.Fprintf(&b, "%s: %s:%d:900 [%d] NCCL INFO Trees [0] %d/-1/-1->%d->-1 [1] -1/-1/-1->%d->%d\n",
			host, host, 100+rank, rank%8, (rank+1)%64, rank, rank, (rank+63)%64)
		fmt.Fprintf(&b, `{"level":"info","ts":%d,"msg":"request served","status":200,"path":"/v1/x"}`+"\n", i)
		if i%50 == 0 {
			fmt.Fprintf(&b, "\n%s:%d:901 [%d] net_ib.cc:1615 NCCL WARN NET/IB : Got completion from peer "+
				"10.0.0.%d<%d> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.0.%d "+
				"remoteGids::ffff:10.1.0.9\n",
				host, 100+rank, rank%8, rank, 4000+i, rank)
			fmt.Fprintf(&b, "[%5d.%06d] mlx5_core 0000:5e:00.0 eth2: Link down\n", i, i)
			fmt.Fprintf(&b, "[1719157763.321281] [%s:19381:0] ib_md.c:300 UCX  ERROR ibv_reg_mr(address=0x7f, "+
				"length=%d) failed: Cannot allocate memory\n", host, i)
		}
	}
	return b.Bytes()
}

// repeated reads a text again and again, n bytes in all.
type repeated struct {
	text []byte
	at   int
	left int64
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(b, r.text[r.at:])
	if int64(n) > r.left {
		n = int(r.left)
	}
	r.at, r.left = (r.at+n)%len(r.text), r.left-int64(n)
	return n, nil
}

// failureLog is the logs of all cases: nearly each line is one of a known program.
func failureLog(b *testing.B) []byte {
	b.Helper()
	cases, err := logcases.Load()
	if err != nil {
		b.Fatal(err)
	}
	var text bytes.Buffer
	for i := range cases {
		for _, f := range cases[i].Files {
			text.Write(f.Data)
		}
	}
	return text.Bytes()
}

// BenchmarkExplain reads logs of 64 MiB.
func BenchmarkExplain(b *testing.B) {
	b.Run("mixed", func(b *testing.B) { benchmark(b, mixedLog()) })
	b.Run("failures", func(b *testing.B) { benchmark(b, failureLog(b)) })
}

func benchmark(b *testing.B, text []byte) {
	b.Helper()
	const size = 64 << 20
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		in := bufio.NewReader(&repeated{text: text, left: size})
		report, err := explain.Explain(b.Context(), input.All([]string{input.Stdin}, in), explain.Options{})
		if err != nil || report.Inputs[0].Bytes != size {
			b.Fatalf("read %d bytes, %v", report.Inputs[0].Bytes, err)
		}
	}
}
