package logline_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/logline"
)

const message = "node1:12:40 [0] NCCL INFO NET/IB : No device found."

// The prefixes are those that the programs print: mpirun(1) --tag-output, srun(1) --label,
// torchrun's log prefixes, Ray's worker logs, kubectl logs --prefix and --timestamps, the CRI log
// format, docker compose logs, journalctl -o short, dmesg and dmesg -T.
func TestPrefixes(t *testing.T) {
	const (
		stamped = "[2026-11-27 06:34:31] " + message
		ucx     = "[1719157763.321281] [node2:19381:0] text"
	)
	day := time.Date(2026, 11, 27, 6, 34, 31, 0, time.UTC)
	for _, c := range []struct {
		name, in, text string
		host           string
		pid, rank      int
		at             time.Time
	}{
		{name: "none", in: message, rank: -1},
		{name: "mpirun", in: "[1,3]<stdout>:" + message, rank: 3},
		{name: "mpirun, quoted", in: "        [1,3]<stdout>:" + message, rank: 3},
		{name: "mpirun, time", in: "Fri Nov 27 06:34:31 2026[1,3]<stdout>:" + message, rank: 3, at: day},
		{name: "mpirun, time without tag", in: "Fri Nov 27 06:34:31 2026<stderr>:" + message, rank: -1, at: day},
		{name: "no tag", in: "  [1,3] is the range", text: "  [1,3] is the range", rank: -1},
		{name: "mpirun stderr", in: "[1,17]<stderr>: " + message, rank: 17},
		{name: "srun", in: "12: " + message, rank: 12},
		{name: "srun, filled", in: "  2: " + message, rank: 2},
		{name: "torchrun", in: "[rank3]:" + message, rank: 3},
		{name: "torchrun tee", in: "[default3]:" + message, rank: -1},
		{
			name: "ray", in: "(RayWorkerWrapper pid=593, ip=10.5.6.103) " + message,
			host: "10.5.6.103", pid: 593, rank: -1,
		},
		{
			name: "ray in colour", in: "\x1b[36m(RayWorkerWrapper pid=593, ip=10.5.6.103)\x1b[0m " + message,
			host: "10.5.6.103", pid: 593, rank: -1,
		},
		{name: "escape byte lost", in: "[36m(RayWorker pid=7)[0m " + message, pid: 7, rank: -1},
		{name: "deepspeed", in: "gpu-02: " + message, host: "gpu-02", rank: -1},
		{
			name: "pdsh before torchrun", in: "gpu-02: [rank44]: torch.AcceleratorError: CUDA error",
			text: "torch.AcceleratorError: CUDA error", host: "gpu-02", rank: 44,
		},
		{name: "word before a list", in: "hosts: [ranked]: a", text: "hosts: [ranked]: a", rank: -1},
		{name: "kubectl", in: "[pod/train-worker-0/main] " + message, host: "train-worker-0", rank: -1},
		{
			name: "kubectl with times", in: "[pod/train-worker-0/main] 2026-11-27T06:34:31.000000000Z " + message,
			host: "train-worker-0", rank: -1, at: day,
		},
		{name: "cri", in: "2026-11-27T06:34:31Z stdout F " + message, rank: -1, at: day},
		{name: "zone", in: "2026-11-27T08:34:31+02:00 stderr F " + message, rank: -1, at: day},
		{
			name: "zone apart", in: "2026-11-27 14:34:31.000 +08:00 " + stamped, text: stamped, rank: -1, at: day,
		},
		{
			name: "opensm", in: "Nov 27 06:34:31 123456 [7F00A740] 0x01 -> f: ERR 1B19: text",
			text: "[7F00A740] 0x01 -> f: ERR 1B19: text", rank: -1,
			at: time.Date(0, 11, 27, 6, 34, 31, 0, time.UTC),
		},
		{name: "azure", in: "2026-11-27T06:34:31.000Z: [1,12]<stdout>:" + message, rank: 12, at: day},
		{
			name: "time in brackets", in: "[2026-11-27 06:34:31] mlx5_core: text", text: "mlx5_core: text",
			rank: -1, at: day,
		},
		{
			name: "time in brackets with a part of a second", in: "[2026-11-27T06:34:31.5Z] text", text: "text",
			rank: -1, at: day.Add(500 * time.Millisecond),
		},
		{name: "bracketed line of NCCL", in: stamped, text: stamped, rank: -1},
		{name: "no time in brackets", in: "[2026-11-27 06:34:61] text", text: "[2026-11-27 06:34:61] text", rank: -1},
		{
			name: "docker", rank: 3, at: day.Add(500 * time.Millisecond),
			in: `{"log":"[1,3]\u003cstdout\u003e:` + message + `\n","stream":"stdout","time":"2026-11-27T06:34:31.5Z"}`,
		},
		{name: "docker with spaces", in: `{"log": "text", "stream": "stdout"}`, text: "text", rank: -1},
		{name: "JSON without a line", in: `{"log":null}`, text: `{"log":null}`, rank: -1},
		{name: "other JSON", in: `{"log": 5}`, text: `{"log": 5}`, rank: -1},
		{name: "docker cut off", in: `{"log":"text`, text: `{"log":"text`, rank: -1},
		{name: "compose", in: "worker-1  | " + message, host: "worker-1", rank: -1},
		{
			name: "nccl-tests", in: "gpu-a: Test CUDA failure common.cu:941 'out of memory'",
			text: "Test CUDA failure common.cu:941 'out of memory'", host: "gpu-a", rank: -1,
		},
		{name: "word and colon", in: "note: Test of CUDA", text: "note: Test of CUDA", rank: -1},
		{
			name: "chain", in: "2026-11-27T06:34:31Z stdout F [1,5]<stdout>:(Worker pid=9) " + message,
			pid: 9, rank: 5, at: day,
		},
		{
			name: "journal", in: "Nov 27 06:34:31 gpu-07 kernel: mlx5_core 0000:5e:00.0: text",
			text: "mlx5_core 0000:5e:00.0: text", host: "gpu-07", rank: -1,
			at: time.Date(0, 11, 27, 6, 34, 31, 0, time.UTC),
		},
		{
			name: "dmesg", in: "[   12.500000] mlx5_core: text", text: "mlx5_core: text",
			rank: -1, at: time.Date(0, 1, 1, 0, 0, 12, 5e8, time.UTC),
		},
		{
			name: "dmesg -T", in: "[Fri Nov 27 06:34:31 2026] mlx5_core: text", text: "mlx5_core: text",
			rank: -1, at: day,
		},
		{name: "windows end", in: message + "\r", rank: -1},
		{name: "progress bar", in: "10%\r20%\r" + message, rank: -1},
		// Not prefixes: they belong to the form of the program.
		{name: "time of NCCL", in: stamped, text: stamped, rank: -1},
		{name: "time of UCX", in: ucx, text: ucx, rank: -1},
		{name: "word", in: "Error: text", text: "Error: text", rank: -1},
		{name: "array", in: "[0] is first", text: "[0] is first", rank: -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := logline.NewReader(strings.NewReader(c.in+"\n"), "job.log")
			if !r.Next() {
				t.Fatalf("Next() = false, %v", r.Err())
			}
			l := r.Line()
			if c.text == "" {
				c.text = message
			}
			want := evidence.Process{File: "job.log", Host: c.host, PID: c.pid, Rank: c.rank}
			if l.Text != c.text || l.Process != want || !l.Time.Equal(c.at) {
				t.Errorf("line = %q %+v %v, want %q %+v %v", l.Text, l.Process, l.Time, c.text, want, c.at)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	r := logline.NewReader(strings.NewReader("a\n\nb"), "f")
	var got []string
	for r.Next() {
		got = append(got, r.Line().Place.String()+" "+r.Line().Text)
	}
	if s := strings.Join(got, ","); s != "f:1 a,f:2 ,f:3 b" || r.Err() != nil || r.Bytes() != 4 {
		t.Errorf("lines = %s, %v, %d bytes", s, r.Err(), r.Bytes())
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 3*logline.MaxLine)
	r := logline.NewReader(strings.NewReader("a\n"+long+"\nb\n"), "f")
	var lengths []int
	for r.Next() {
		lengths = append(lengths, len(r.Line().Text))
	}
	if len(lengths) != 3 || lengths[1] != logline.MaxLine || lengths[2] != 1 || r.Cut() != 1 {
		t.Errorf("lengths = %v, cut = %d", lengths, r.Cut())
	}
}

func TestReadError(t *testing.T) {
	cause := errors.New("disk")
	r := logline.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(cause)), "f")
	n := 0
	for r.Next() {
		n++
	}
	if n != 2 || !errors.Is(r.Err(), cause) {
		t.Errorf("%d lines, %v", n, r.Err())
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		message, "[1,3]<stdout>:x", "\x1b[36m(R pid=1)\x1b[0m y", "2026-11-27T06:34:31Z stdout F z", "[0m",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := logline.NewReader(strings.NewReader(s), "f")
		for r.Next() {
			if l := r.Line(); len(l.Text) > logline.MaxLine || strings.Contains(l.Text, "\n") {
				t.Fatalf("line of %d bytes", len(l.Text))
			}
		}
		if r.Bytes() != int64(len(s)) {
			t.Fatalf("%d bytes of %d", r.Bytes(), len(s))
		}
	})
}
