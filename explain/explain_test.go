package explain_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
)

// sample is a job on RoCE whose GID is link-local (NVIDIA/nccl#426): completions time out, and
// requests that were outstanding are flushed.
const sample = `NCCL version 2.18.5+cuda12.2
gpu-a:100:140 [0] NCCL INFO NET/IB : Using [0]mlx5_bond_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
gpu-a:100:140 [0] NCCL INFO Using network IB
gpu-b:100:140 [0] NCCL INFO Using network IB
gpu-a:100:140 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4> with error 5, opcode 0, ` +
	`len 0, vendor err 249 (Send) localGid fe80::5ea7:21ff:fe41:8a1a remoteGid fe80::5ea7:21ff:fe41:8a1b
gpu-a:100:140 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4> with error 12, opcode 0, ` +
	`len 0, vendor err 129 (Send) localGid fe80::5ea7:21ff:fe41:8a1a remoteGid fe80::5ea7:21ff:fe41:8a1b
gpu-a:100:140 [0] NCCL INFO transport/net_ib.cc:1 -> 6
`

func read(t *testing.T, text string) (explain.Document, error) {
	t.Helper()
	inputs := input.All([]string{input.Stdin}, strings.NewReader(text))
	report, err := explain.Explain(t.Context(), inputs, explain.Options{})
	if err != nil {
		return explain.Document{}, err
	}
	return report.Document(), nil
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       explain.Verdict
	}{
		{"fault", sample, explain.VerdictFault},
		{"healthy", "NCCL version 2.21.5+cuda12.4\nn:1:2 [0] NCCL INFO Using network IB\n", explain.VerdictHealthy},
		{"unknown", "n:1:2 [0] x.cc:1 NCCL WARN Something new\n", explain.VerdictUnknown},
		{"echo", "n:1:2 [0] NCCL INFO x.cc:1 -> 6\n", explain.VerdictFault},
		{"facts", "open files                          (-n) 1024\n", explain.VerdictFacts},
		{"trouble", "libfabric:1:2::efa:mr:f():1<warn> Unable to do something new\n", explain.VerdictUnknown},
		{"something else", "a text\n", explain.VerdictNothing},
		{"empty", "", explain.VerdictNothing},
		{"binary", strings.Repeat("\x00\x01\x02", 999), explain.VerdictNothing},
	} {
		d, err := read(t, c.text)
		if err != nil || d.Verdict != c.want {
			t.Errorf("%s: verdict = %s, %v, want %s", c.name, d.Verdict, err, c.want)
		}
	}
}

// A flushed request is an echo, though it is the first line.
func TestOrigin(t *testing.T) {
	d, err := read(t, sample)
	if err != nil {
		t.Fatal(err)
	}
	f, c := d.First()
	if f.Rule != "RDX-101" || f.Lines[0].Line != 6 || c.Cause != "gid-index" {
		t.Errorf("first = %s at %s, cause %s; want RDX-101 at line 6, gid-index", f.Rule, f.Lines[0].Place, c.Cause)
	}
}

func TestRedact(t *testing.T) {
	d, err := read(t, sample)
	if err != nil {
		t.Fatal(err)
	}
	d.Redact(func(s string) string {
		return strings.NewReplacer("10.0.0.2", "192.0.2.1", "fe80::5ea7:21ff:fe41:8a1b", "fe80::1").Replace(s)
	})
	page := string(d.Markdown())
	for _, secret := range []string{"gpu-a", "gpu-b", "10.0.0.2", "8a1b"} {
		if strings.Contains(page, secret) {
			t.Errorf("%s is left in\n%s", secret, page)
		}
	}
	for _, kept := range []string{"node-1", "node-2", "192.0.2.1", "fe80::1", "RDX-101", "2.18.5"} {
		if !strings.Contains(page, kept) {
			t.Errorf("%s is missing in\n%s", kept, page)
		}
	}
}

func TestSARIF(t *testing.T) {
	d, err := read(t, sample)
	if err != nil {
		t.Fatal(err)
	}
	data, err := d.SARIF("v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"ruleId": "RDX-101"`, `"startLine": 6`, `"uri": "standard input"`, "not visible: ",
		"; to do: ",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
}

// Markdown says what to do, and has no punctuation around facts that aren't known.
func TestMarkdown(t *testing.T) {
	d, err := read(t, sample)
	if err != nil {
		t.Fatal(err)
	}
	_, c := d.First()
	d.Facts.Nodes = append(d.Facts.Nodes,
		explain.NodeDocument{Name: "gpu-d"}, explain.NodeDocument{Name: d.Inputs[0].Name})
	page := string(d.Markdown())
	for _, want := range []string{
		"\n**to decide:** " + c.Decide[:10], "\n**to do:** " + c.Remedy[:10], "| decides | to do |",
		"\n- gpu-b: IB\n", "\n- gpu-d\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for _, odd := range []string{": ;", "; \n", "\n- " + d.Inputs[0].Name} {
		if strings.Contains(page, odd) {
			t.Errorf("%q in\n%s", odd, page)
		}
	}
}

// The headline has the node that the prefix of a line names, not the file.
func TestHeadlineNamesNode(t *testing.T) {
	for line, want := range map[string]string{
		"node07: [rank44]: torch.AcceleratorError: CUDA error: unspecified launch failure": "node07: ",
		"[1732694473.123456] [dn1:2231 :0]      ib_mlx5_log.c:177 UCX  ERROR Transport retry count exceeded " +
			"on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)": "mlx5_0 of dn1 ",
		"[dn1:2231:0:2231]      ib_mlx5_log.c:177  Transport retry count exceeded " +
			"on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)": "mlx5_0 of dn1 ",
		"[gpu1:2231] pml_ucx.c:424  Error: ucp_ep_create(proc=1) failed: Destination is unreachable": "gpu1: ",
	} {
		d, err := read(t, line+"\n")
		if err != nil || d.Verdict != explain.VerdictFault {
			t.Errorf("%s: verdict %s, %v", line, d.Verdict, err)
			continue
		}
		if f, _ := d.First(); !strings.HasPrefix(f.What, want) {
			t.Errorf("%s: headline %q, want it to begin with %q", line, f.What, want)
		}
	}
}

// endless is a log without end.
type endless struct{ cancel func() }

func (e endless) Read(b []byte) (int, error) {
	e.cancel()
	for i := range b {
		b[i] = "line\n"[i%5]
	}
	return len(b), nil
}

func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	inputs := input.All([]string{input.Stdin}, io.Reader(endless{cancel}))
	if _, err := explain.Explain(ctx, inputs, explain.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Explain = %v, want canceled", err)
	}
}

// What was read before the context ended is explained, and the report says that it isn't all.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		text string
		want explain.Verdict
	}{{sample, explain.VerdictFault}, {"NCCL version 2.21.5+cuda12.4\n", explain.VerdictHealthy}} {
		r, w := io.Pipe()
		ended := errors.New("ended by a test")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			_, _ = io.WriteString(w, c.text)
			_, _ = w.Write(nil) // returns with the next read: the text was taken
			cancel(ended)
		}()
		report, err := explain.Explain(ctx, input.Until(ctx, []string{input.Stdin}, r), explain.Options{})
		if !errors.Is(err, ended) {
			t.Fatalf("Explain = %v, want %v", err, ended)
		}
		_ = w.Close()
		d := report.Document()
		if d.Verdict != c.want || !d.Partial() || !strings.Contains(d.Inputs[0].Error, ended.Error()) {
			t.Errorf("verdict = %s, want %s; inputs %+v", d.Verdict, c.want, d.Inputs)
		}
		if page := string(d.Markdown()); c.want == explain.VerdictHealthy &&
			!strings.HasPrefix(page, "### Nothing wrong seen in what could be read\n") {
			t.Errorf("a log that was cut is healthy:\n%s", page)
		}
	}
}
