package explain_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
)

// Logs without a line of an error aren't healthy for that reason alone.
func TestSilenceIsNotHealth(t *testing.T) {
	const start = "n1:10:40 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 18000 " +
		"commId 0x1 - Init START\n"
	second := strings.NewReplacer("n1:", "n2:", "rank 0", "rank 1").Replace(start)
	ends := func(s string) string { return strings.ReplaceAll(s, "START", "COMPLETE") }
	const bridge = "n1:10:10 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
	for name, c := range map[string]struct{ log, what, cause string }{
		"none finished": {start + second, "2 ranks began to initialize NCCL and didn't finish", "dead-peer"},
		"one rank":      {start, "rank 0 began to initialize NCCL and didn't finish", "dead-peer"},
		"one twice":     {start + start, "rank 0 began to initialize NCCL and didn't finish", "dead-peer"},
		"others did": {
			start + second + ends(start), "rank 1 began to initialize NCCL and didn't finish, while others did",
			"dead-peer",
		},
		"a second one":   {complete + strings.ReplaceAll(start, "0x1", "0x2"), "rank 0 began", "dead-peer"},
		"bridge":         {bridge + start + second, "2 ranks began", "interface-choice"},
		"all finished":   {start + second + ends(start) + ends(second), "", ""},
		"first finished": {complete, "", ""},
	} {
		d := explainAll(t, "job.log", c.log)
		switch {
		case c.what == "" && d.Verdict != explain.VerdictHealthy:
			t.Errorf("%s: verdict = %s, want healthy: %+v", name, d.Verdict, d.Findings)
		case c.what == "":
		case d.Verdict != explain.VerdictFault:
			t.Errorf("%s: verdict = %s, want fault", name, d.Verdict)
		default:
			if f, cause := d.First(); !strings.HasPrefix(f.What, c.what) || cause.Cause != c.cause {
				t.Errorf("%s: %q, %s, want %q, %s", name, f.What, cause.Cause, c.what, c.cause)
			}
		}
	}
}

// Several nodes that use TCP because a setting says so get a note.
func TestSocketsChosen(t *testing.T) {
	const (
		version = "n1:10:90 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
		disable = "n1:10:90 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
		net     = "n1:10:90 [0] NCCL INFO NCCL_NET set by environment to Socket\n"
		network = "n1:10:90 [0] NCCL INFO Using network Socket\n"
		nodes   = "n1:10:40 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n"
	)
	one := strings.ReplaceAll(nodes, "nNodes 2", "nNodes 1")
	for name, c := range map[string]struct {
		log, want string
	}{
		"disabled": {version + disable + network + nodes, "as NCCL_IB_DISABLE=1 demands"},
		"chosen":   {version + net + network + nodes, "as NCCL_NET=Socket demands"},
		"one node": {version + disable + network + one, ""},
		"unused":   {version + disable + nodes, ""},
	} {
		d, got := explainAll(t, "job.log", c.log), ""
		for _, f := range d.Findings {
			if f.Harmless {
				got = f.What
			}
		}
		if d.Verdict != explain.VerdictHealthy || (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: verdict %s, note %q, want %q", name, d.Verdict, got, c.want)
		}
	}
}

// The output of compilers names functions of libibverbs, and is no log.
func TestCompilerOutput(t *testing.T) {
	for _, log := range []string{
		"./qp.go:45:12: undefined: ibv_modify_qp\ncollect2: error: ld returned 1 exit status\n",
		"qp.c:(.text+0x1f): undefined reference to `ibv_open_device'\n",
		"qp.c:12:5: error: 'ibv_reg_mr_iova2' undeclared (first use in this function)\n",
		"qp.c:12:5: warning: implicit declaration of function 'ibv_query_gid_ex'\n",
	} {
		if d := explainAll(t, "build.log", log); d.Verdict != explain.VerdictNothing {
			t.Errorf("%s: verdict = %s, want nothing", log, d.Verdict)
		}
	}
}
