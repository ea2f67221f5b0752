package fabric

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// simulated runs fabric simulate with arguments until the test ends.
func simulated(t *testing.T, args ...string) *ibsimtest.Simulator {
	t.Helper()
	name := ibsimtest.SocketName()
	ready := make(chan struct{})
	app := cli.NewApp(Commands())
	var errOut bytes.Buffer
	app.Stdin, app.Stderr = strings.NewReader(""), &errOut
	app.Stdout = &trigger{word: "export", pull: func() {
		select {
		case <-ready:
		default:
			close(ready)
		}
	}}
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- app.Run(ctx, append([]string{"fabric", "simulate", "--name", name}, args...)) }()
	select {
	case <-ready:
	case code := <-ended:
		t.Fatalf("fabric simulate: exit code %d\n%s", code, errOut.String())
	case <-time.After(10 * time.Second):
		t.Fatal("fabric simulate doesn't start")
	}
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return ibsimtest.At(t, ibsim.Config{SocketName: name})
}

// TestServedSA queries all kinds of records of the manager that fabric simulate simulates: a fat
// tree of 4 leaves with 30 hosts each and 2 spines, of 64 ports, whose LIDs are assigned in the
// order spines, leaf, its hosts.
func TestServedSA(t *testing.T) {
	sim := simulated(t, "--generate", "fat-tree:leaves=4,spines=2,hosts=30,speed=ndr", "--manager", "host7")
	type count struct {
		rows int
		has  string
	}
	want := map[string]count{
		"nodes":      {126, "MF0;leaf3:MQM9700/U1 96 switch 0"},
		"nodes 1":    {1, "MF0;spine0:MQM9700/U1 1 switch 0"},
		"ports":      {120 + 6*65, "4 1 ACTIVE 4X NDR 2048 11"},
		"ports 4":    {1, "4 1 ACTIVE 4X NDR 2048 11"},
		"links":      {2 * 128, "3 1 4 1"},
		"links 4":    {1, "4 1 3 1"},
		"paths 4":    {126, "4 5 0 2048 400 0xffff"},
		"paths 4 90": {1, "4 90 0 2048 400 0xffff"},
		"multicast":  {1, "0xc000 ff12:401b:ffff:0000:0000:0000:ffff:ffff 0xffff 2048 10"},
		"services":   {0, "the subnet manager has no record of services"},
		"managers":   {1, "11 master 1"},
		"forwarding": {6 * 126, "3 4 1"},
		"lanes":      {120 + 6*65*65, "4 0 0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 7"},
		"lanes 4":    {1, "4 0 0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 7"},
	}
	for _, kind := range saKindNames() {
		if kind == "paths" {
			continue
		}
		if _, ok := want[kind]; !ok {
			t.Errorf("kind %s isn't queried", kind)
		}
	}
	for args, c := range want {
		out, errOut, code := fabricRun(t, t.Context(), sim, "host2", append([]string{"sa"}, strings.Fields(args)...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
		}
		rows := slices.DeleteFunc(slices.Clone(lines[1:]), func(l string) bool { return l == "" })
		if code != 0 || len(rows) != c.rows || !slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, c.has)
		}) {
			t.Errorf("fabric sa %s: exit code %d, %d rows, want %d with %q\n%s%s", args, code, len(rows), c.rows, c.has,
				cmp.Diff("", strings.Join(lines[:min(4, len(lines))], "\n")), errOut)
		}
	}
	_, errOut, code := fabricRun(t, t.Context(), sim, "host2", "sa", "nodes", "200")
	if code != cli.ExitNotFound || !strings.Contains(errOut, "no record of nodes for LID 200") {
		t.Errorf("an unknown LID: exit code %d, %s", code, errOut)
	}
}
