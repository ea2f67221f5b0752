package leader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// scripted answers each round with numbers that depend on the task only.
type scripted struct {
	p      *plan.Plan
	rounds int
	loses  map[int]int32 // by number of the round: a node that vanishes
	fails  int           // number of the round at which the runner gives up; 0 for none
	absent int           // a node that doesn't report; 0 for none
	dead   int32         // a node whose measurements with others fail; 0 for none
	left   [][]plan.End  // the dead cards of the collectives
}

func (s *scripted) Survey(context.Context) ([]result.Node, error) {
	nodes := make([]result.Node, len(s.p.Cluster.Nodes))
	for i := range nodes {
		nodes[i] = result.Node{State: result.NodeReady, Cards: make([]result.Card, len(s.p.Cluster.Nodes[i].Rails))}
	}
	if s.absent > 0 {
		nodes[s.absent] = result.Node{State: result.NodeAbsent, Cause: "no route"}
	}
	return nodes, nil
}

var errGivesUp = errors.New("gives up")

func (s *scripted) Measure(_ context.Context, t leader.Task) (leader.Outcome, error) {
	var out leader.Outcome
	s.rounds++
	if s.rounds == s.fails {
		return out, errGivesUp
	}
	if t.Kind == plan.KindCollective {
		s.left = append(s.left, t.Dead)
		return out, nil
	}
	for _, f := range t.Flows {
		for from, to := range t.Plan.Ends(f) {
			var failed *result.Detail
			if s.dead > 0 && from.Node != to.Node && (from.Node == s.dead || to.Node == s.dead) {
				failed = &result.Detail{Failure: &result.Failure{Code: "retry-exceeded"}}
			}
			out.Samples = append(out.Samples, result.Sample{
				Detail: failed,
				Stage:  uint8(t.Stage), Attempt: uint8(t.Attempt), Round: uint16(t.Round),
				From: from, To: to, Load: t.Load,
				Gbps: float32(100*t.Stage + 10*t.Round + int(from.Node)),
			})
		}
	}
	if node, ok := s.loses[s.rounds]; ok {
		out.Lost = append(out.Lost, leader.Lost{Node: node, Cause: "connection reset"})
	}
	return out, nil
}

func scriptedPlan(t *testing.T, nodes int) *plan.Plan {
	var c plan.Cluster
	for i := range nodes {
		c.Nodes = append(c.Nodes, plan.Node{
			Name: fmt.Sprintf("n%d", i), Rails: []plan.Card{{Rail: 0, Device: "mlx5_0", Gbps: 400}},
		})
	}
	p, err := plan.New(c, plan.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stops is a writer that fails at a write, of which it takes a part.
type stops struct {
	bytes.Buffer
	writes int // until the failure; negative for none
	part   float64
}

var errFull = errors.New("no space left on device")

func (s *stops) Write(b []byte) (int, error) {
	if s.writes == 0 {
		n := int(s.part * float64(len(b)))
		s.Buffer.Write(b[:n])
		return n, errFull
	}
	s.writes--
	return s.Buffer.Write(b)
}

func suspectsOf(*result.Run) (suspects, good []int32) { return []int32{1}, []int32{0, 2, 3, 4} }

// TestResume ends the leader at every write of its journal, before, within and after the line, and
// resumes: the result is that of a run that wasn't ended.
func TestResume(t *testing.T) {
	p := scriptedPlan(t, 7)
	now := func() time.Time { return time.Unix(1000, 0).UTC() }
	config := func(w io.Writer) leader.Config {
		return leader.Config{Plan: p, Suspects: suspectsOf, Journal: leader.NewJournal(w), Now: now}
	}
	var whole stops
	whole.writes = -1
	want, err := leader.Verify(t.Context(), &scripted{p: p}, config(&whole))
	if err != nil {
		t.Fatal(err)
	}
	if want.Stages[2].Name != plan.StagePairs || want.Stages[2].Retests == 0 || !want.Complete() {
		t.Fatalf("stages %+v: no retests", want.Stages)
	}
	lines := strings.Count(whole.String(), "\n")
	for k := 1; k < lines; k++ {
		for _, part := range []float64{0, 0.5, 0.999} {
			w := &stops{writes: k, part: part}
			if _, err := leader.Verify(t.Context(), &scripted{p: p}, config(w)); !errors.Is(err, errFull) {
				t.Fatalf("write %d: %v, want %v", k, err, errFull)
			}
			old, size, err := leader.ReadJournal(bytes.NewReader(w.Bytes()))
			if err != nil || size > int64(w.Len()) {
				t.Fatalf("write %d: read journal: %v, %d bytes", k, err, size)
			}
			rest := &stops{writes: -1}
			rest.Buffer.Write(w.Bytes()[:size])
			c := config(rest)
			c.Resume = old
			got, err := leader.Verify(t.Context(), &scripted{p: p}, c)
			if err != nil {
				t.Fatalf("write %d: resume: %v", k, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("write %d, part %g: the resumed run differs (-want +got):\n%s", k, part, diff)
			}
			if rest.String() != whole.String() {
				t.Fatalf("write %d, part %g: the resumed journal differs", k, part)
			}
		}
	}
}

// TestResumeOther checks that a journal of another cluster is refused.
func TestResumeOther(t *testing.T) {
	p, other := scriptedPlan(t, 5), scriptedPlan(t, 6)
	var b bytes.Buffer
	config := leader.Config{Plan: p, Journal: leader.NewJournal(&b)}
	if _, err := leader.Verify(t.Context(), &scripted{p: p}, config); err != nil {
		t.Fatal(err)
	}
	old, _, err := leader.ReadJournal(&b)
	if err != nil {
		t.Fatal(err)
	}
	_, err = leader.Verify(t.Context(), &scripted{p: other}, leader.Config{Plan: other, Resume: old})
	if !errors.Is(err, leader.ErrOtherPlan) {
		t.Errorf("resume another cluster: %v, want %v", err, leader.ErrOtherPlan)
	}
}

// TestVerifyLost checks that a lost node is recorded with the place where it was lost, and that an
// error of the runner keeps what was measured.
func TestVerifyLost(t *testing.T) {
	p := scriptedPlan(t, 5)
	said := ""
	lost := func(node, cause string) { said += node + ": " + cause }
	run, err := leader.Verify(t.Context(), &scripted{p: p, loses: map[int]int32{7: 3}},
		leader.Config{Plan: p, Lost: lost})
	if said != "n3: connection reset" {
		t.Errorf("said of lost nodes: %q", said)
	}
	if err != nil || run.Complete() {
		t.Fatal("a run with a lost node is complete", err)
	}
	n := run.Nodes[3]
	if n.State != result.NodeLost || n.Cause != "connection reset" ||
		run.Stages[n.LostStage].Name != plan.StageLoopback ||
		n.LostRound != 1 {
		t.Errorf("lost node: %+v", n)
	}
	run, err = leader.Verify(t.Context(), &scripted{p: p, fails: 9}, leader.Config{Plan: p})
	if !errors.Is(err, errGivesUp) || !strings.Contains(err.Error(), "round 2 of stage pairs") {
		t.Errorf("error = %v", err)
	}
	if run.Stages[2].Done != 1 || run.Complete() || len(run.Samples) == 0 {
		t.Errorf("stages %+v", run.Stages)
	}
}

// TestDeadCards checks that collectives leave out a card of which all measurements failed, and no
// other one.
func TestDeadCards(t *testing.T) {
	p := scriptedPlan(t, 5)
	for dead, want := range map[int32][]plan.End{0: nil, 3: {{Node: 3}}} {
		s := &scripted{p: p, dead: dead}
		if _, err := leader.Verify(t.Context(), s, leader.Config{Plan: p}); err != nil {
			t.Fatal(err)
		}
		if len(s.left) == 0 {
			t.Fatal("the plan has no collectives")
		}
		for _, left := range s.left {
			if !slices.Equal(left, want) {
				t.Errorf("collectives leave out %v, want %v", left, want)
			}
		}
	}
}

// TestResumeRecordsNodes checks that the journal of a resumed run has the nodes that don't answer
// any more, and those that are back.
func TestResumeRecordsNodes(t *testing.T) {
	p := scriptedPlan(t, 5)
	w := &stops{writes: 5}
	old := func() *result.Run {
		t.Helper()
		run, _, err := leader.ReadJournal(bytes.NewReader(w.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	config := func() leader.Config { return leader.Config{Plan: p, Journal: leader.NewJournal(w)} }
	if _, err := leader.Verify(t.Context(), &scripted{p: p}, config()); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		absent int
		states []result.NodeState
	}{
		{3, []result.NodeState{"ready", "ready", "ready", "absent", "ready"}},
		{1, []result.NodeState{"ready", "absent", "ready", "ready", "ready"}},
	} {
		w.Truncate(strings.LastIndex(w.String(), "\n") + 1)
		w.writes = 2
		c := config()
		c.Resume = old()
		if _, err := leader.Verify(t.Context(), &scripted{p: p, absent: tt.absent}, c); !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		var states []result.NodeState
		for _, n := range old().Nodes {
			states = append(states, n.State)
		}
		if diff := cmp.Diff(tt.states, states); diff != "" {
			t.Errorf("states in the journal (-want +got):\n%s", diff)
		}
		if cause := old().Nodes[tt.absent].Cause; cause != "no route" {
			t.Errorf("cause %q", cause)
		}
	}
}

// TestReadJournal checks that a damaged journal is refused with the line, and never half read.
func TestReadJournal(t *testing.T) {
	p := scriptedPlan(t, 3)
	var b bytes.Buffer
	config := leader.Config{Plan: p, Journal: leader.NewJournal(&b)}
	if _, err := leader.Verify(t.Context(), &scripted{p: p}, config); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "read journal: not a journal of a verification"},
		{"text", "hello\n", "read journal: line 1: not a journal"},
		{"round first", lines[1], "read journal: line 1: not a journal"},
		{"missing round", lines[0] + lines[2], "read journal: line 2: round 1 of stage reach follows round -1"},
		{"stage", lines[0] + `{"round":{"stage":9,"round":0}}` + "\n", "read journal: line 2: stage 9 of 7"},
		{
			"node", lines[0] + `{"round":{"stage":0,"round":0,"lost":[{"node":3}]}}` + "\n",
			"read journal: line 2: node 3 of 3",
		},
		{
			"leaves", lines[0] + `{"leaves":{"from":"latency","nodes":["a"]}}` + "\n",
			"read journal: line 2: leaves of 1 nodes of",
		},
		{"neither", lines[0] + "{}\n", "read journal: line 2: neither a round nor leaves nor nodes nor the end"},
		{"cut", lines[0] + `{"round":` + "\n", "read journal: line 2: unexpected end of JSON input"},
		{"two values", lines[0] + strings.TrimSpace(lines[1]) + "{}\n", "read journal: line 2: invalid character '{'"},
		{"text after the first line", strings.TrimSpace(lines[0]) + " x\n", "read journal: line 1: not a journal"},
		{
			"card", lines[0] + `{"round":{"stage":0,"round":0,` +
				`"samples":[{"s":0,"i":0,"f":{"n":0,"r":5},"t":{"n":1,"r":0}}]}}` + "\n",
			"read journal: line 2: sample 0: node n0 has no card of rail 5",
		},
	} {
		_, _, err := leader.ReadJournal(strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// FuzzReadJournal checks that no journal makes the reader panic, and that what it accepts is a
// checked run.
func FuzzReadJournal(f *testing.F) {
	f.Add([]byte(`{"begin":{"schema":"rdmakit.cluster-run/v1",` +
		`"stages":[{"name":"pairs","kind":"bandwidth","planned":1}]}}` + "\n" +
		`{"round":{"stage":0,"round":0}}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		run, size, err := leader.ReadJournal(bytes.NewReader(b))
		if err != nil {
			return
		}
		if size > int64(len(b)) {
			t.Errorf("%d good bytes of %d", size, len(b))
		}
		if err := run.Check(); err != nil {
			t.Error(err)
		}
	})
}

// TestResumeKeepsLost checks that a node that was lost stays so in a resumed run, even if it is
// back: its pairs are missing.
func TestResumeKeepsLost(t *testing.T) {
	p := scriptedPlan(t, 5)
	w := &stops{writes: 9}
	lost := map[int]int32{7: 3}
	config := leader.Config{Plan: p, Journal: leader.NewJournal(w)}
	_, err := leader.Verify(t.Context(), &scripted{p: p, loses: lost}, config)
	if !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	old, _, err := leader.ReadJournal(bytes.NewReader(w.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	run, err := leader.Verify(t.Context(), &scripted{p: p}, leader.Config{Plan: p, Resume: old})
	if err != nil {
		t.Fatal(err)
	}
	if n := run.Nodes[3]; n.State != result.NodeLost || run.Complete() {
		t.Errorf("the lost node is %+v, the run complete: %t", n, run.Complete())
	}
}
