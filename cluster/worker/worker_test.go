package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/sim/engines"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// start returns a worker with cards of rails 0 and 1 on one network, and one of rail 2 that can't
// be opened.
func start(t *testing.T) *worker.Worker {
	n := packetnet.New(packetnet.Faults{Delay: 10 * time.Microsecond})
	node := worker.Node{Name: "node"}
	for rail := range 3 {
		name := fmt.Sprintf("%s10.0.0.%d", roce.Prefix, rail+1)
		open := func(ctx context.Context) (*verbs.Device, error) {
			return verbs.Open(ctx, name, engines.Provider{Network: n, MTU: ib.MTU1024})
		}
		if rail == 2 {
			open = func(context.Context) (*verbs.Device, error) {
				return nil, fmt.Errorf("open %s: %w", name, fs.ErrPermission)
			}
		}
		node.Cards = append(node.Cards, worker.Card{Rail: rail, Name: name, Port: 1, Open: open})
	}
	w := worker.New(worker.Config{Node: node, Message: 4096, Depth: 8, Wait: verbs.WaitEvent})
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	r := w.Do(t.Context(), protocol.Command{Kind: protocol.KindSurvey})
	if r.Error != "" || len(r.Rails) != 3 || len(r.Node.Cards) != 3 {
		t.Fatalf("survey: %+v", r)
	}
	want := &result.Failure{Step: result.StepOpen, Code: "permission", Text: "open roce@10.0.0.3: permission denied"}
	if diff := cmp.Diff(want, r.Node.Cards[2].Failure); diff != "" || r.Node.Cards[0].Failure != nil {
		t.Errorf("failure of the card that can't be opened (-want +got):\n%s", diff)
	}
	return w
}

func prepare(t *testing.T, w *worker.Worker, edges ...protocol.Edge) []protocol.EdgeReply {
	t.Helper()
	r := w.Do(t.Context(), protocol.Command{Kind: protocol.KindPrepare, Edges: edges})
	if r.Error != "" || len(r.Edges) != len(edges) {
		t.Fatalf("prepare: %+v", r)
	}
	return r.Edges
}

// TestWrongCommands checks that each command that can't be done says why, and that the worker goes
// on.
func TestWrongCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, c := range []struct {
			command protocol.Command
			want    string
		}{
			{protocol.Command{Kind: "dance"}, `unknown command "dance"`},
			{
				protocol.Command{Kind: protocol.KindConnect, Peers: []protocol.Peer{{ID: 7}}},
				"no edge with the number 7",
			},
			{
				protocol.Command{Kind: protocol.KindPrepare, Edges: []protocol.Edge{
					{ID: 1, Flows: 1, Role: protocol.RoleTarget}, {ID: 1, Flows: 1, Role: protocol.RoleTarget},
				}},
				"two edges with the number 1",
			},
		} {
			if r := w.Do(t.Context(), c.command); r.Error != c.want {
				t.Errorf("%+v: %q, want %q", c.command, r.Error, c.want)
			}
		}
		for _, c := range []struct {
			edge protocol.Edge
			want string
		}{
			{protocol.Edge{Rail: 9, Flows: 1, Role: protocol.RoleSend}, "this node has no card of rail 9"},
			{protocol.Edge{Rail: 2, Flows: 1, Role: protocol.RoleSend}, "roce@10.0.0.3 is not open"},
			{protocol.Edge{Flows: 0, Role: protocol.RoleSend}, "0 flows: not 1 to 64"},
			{protocol.Edge{Flows: 65, Role: protocol.RoleSend}, "65 flows: not 1 to 64"},
			{protocol.Edge{Flows: 1, Role: protocol.RoleCollective, Bytes: 1 << 40}, "messages of 1099511627776 bytes"},
			{protocol.Edge{Flows: 1, Role: protocol.RoleCollective, Bytes: -1}, "messages of -1 bytes"},
			{protocol.Edge{Flows: 1, Role: protocol.RoleCollective, Bytes: 32<<20 + 4}, "messages of 33554436 bytes"},
		} {
			got := prepare(t, w, c.edge)[0]
			if got.Failure == nil || got.Failure.Step != result.StepPrepare ||
				!strings.HasPrefix(got.Failure.Text, c.want) {
				t.Errorf("prepare %+v: %+v, want %q", c.edge, got.Failure, c.want)
			}
		}
		r := w.Do(t.Context(), protocol.Command{Kind: protocol.KindRun, Measure: []int{3}})
		if len(r.Edges) != 1 || r.Edges[0].Failure == nil || r.Edges[0].Failure.Text != "edge 3 is not connected" {
			t.Errorf("run of an unknown edge: %+v", r)
		}
	})
}

// TestWrongPeers checks that a connect refuses numbers that can't be of a peer.
func TestWrongPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for _, c := range []struct {
			peers []protocol.Endpoint
			want  string
		}{
			{nil, "the peer has 0 flows instead of 1"},
			{[]protocol.Endpoint{{GID: "nonsense", MTU: 1024}}, "GID of the peer"},
			{[]protocol.Endpoint{{GID: "", MTU: 1024, QPN: 5}}, ""},
		} {
			prepare(t, w, protocol.Edge{ID: 1, Flows: 1, Role: protocol.RoleSend})
			r := w.Do(t.Context(), protocol.Command{
				Kind: protocol.KindConnect, Peers: []protocol.Peer{{ID: 1, Endpoints: c.peers}},
			})
			f := r.Edges[0].Failure
			if f == nil || f.Step != result.StepConnect || !strings.HasPrefix(f.Text, c.want) {
				t.Errorf("connect with %+v: %+v, want %q", c.peers, f, c.want)
			}
		}
	})
}

// join connects edges 1 (rail 0) and 2 (rail 1) of a worker with each other.
func join(t *testing.T, w *worker.Worker, flows int, a, b protocol.Role) {
	t.Helper()
	edges := prepare(t, w, protocol.Edge{ID: 1, Rail: 0, Flows: flows, Role: a, Steps: 50},
		protocol.Edge{ID: 2, Rail: 1, Flows: flows, Role: b, Steps: 50})
	r := w.Do(t.Context(), protocol.Command{Kind: protocol.KindConnect, Peers: []protocol.Peer{
		{ID: 1, Endpoints: edges[1].Endpoints}, {ID: 2, Endpoints: edges[0].Endpoints},
	}})
	for _, e := range r.Edges {
		if e.Failure != nil {
			t.Fatal(e.Failure)
		}
	}
}

// TestForeign checks that a queue pair takes nothing from a peer that the leader didn't arrange: a
// third queue pair with the right numbers gets no answer, and the arranged one still does.
func TestForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		edges := prepare(t, w, protocol.Edge{ID: 1, Rail: 0, Flows: 1, Role: protocol.RoleSend},
			protocol.Edge{ID: 2, Rail: 1, Flows: 1, Role: protocol.RoleTarget},
			protocol.Edge{ID: 3, Rail: 0, Flows: 1, Role: protocol.RoleSend})
		r := w.Do(t.Context(), protocol.Command{Kind: protocol.KindConnect, Peers: []protocol.Peer{
			{ID: 1, Endpoints: edges[1].Endpoints},
			{ID: 2, Endpoints: edges[0].Endpoints},
			{ID: 3, Endpoints: edges[1].Endpoints},
		}})
		if len(r.Edges) != 3 {
			t.Fatalf("%+v", r)
		}
		r = w.Do(t.Context(), protocol.Command{
			Kind: protocol.KindRun, Length: 100 * time.Millisecond, Limit: 20 * time.Second, Measure: []int{3},
		})
		if f := r.Edges[0].Failure; f == nil || f.Step != result.StepData || r.Edges[0].Gbps != 0 {
			t.Errorf("a queue pair that wasn't arranged measured %v Gb/s, failure %+v", r.Edges[0].Gbps, f)
		}
		r = w.Do(t.Context(), protocol.Command{
			Kind: protocol.KindRun, Length: 100 * time.Millisecond, Limit: 20 * time.Second, Measure: []int{1, 2},
		})
		for _, e := range r.Edges {
			if e.Failure != nil || e.ID == 1 && e.Gbps <= 0 {
				t.Errorf("the arranged queue pair: %+v", e)
			}
		}
	})
}

// TestLargestCollective checks a ring and a tree with the largest buffer that a leader asks for:
// then an edge has the fewest receive requests.
func TestLargestCollective(t *testing.T) {
	const size = 32 << 20
	for _, c := range []struct {
		algorithm protocol.Algorithm
		edges     []protocol.Edge
		peers     [][2]int
		places    [2]protocol.Collective
	}{
		{
			protocol.AlgorithmRing,
			[]protocol.Edge{
				{ID: 0, Rail: 0, Bytes: size / 2},
				{ID: 1, Rail: 1, Bytes: size / 2},
				{ID: 2, Rail: 1, Bytes: size / 2},
				{ID: 3, Rail: 0, Bytes: size / 2},
			},
			[][2]int{{0, 1}, {1, 0}, {2, 3}, {3, 2}},
			[2]protocol.Collective{{Next: 0, Previous: 3, Parent: -1}, {Next: 2, Previous: 1, Parent: -1}},
		},
		{
			protocol.AlgorithmTree,
			[]protocol.Edge{{ID: 0, Rail: 1, Bytes: size}, {ID: 1, Rail: 0, Bytes: size}},
			[][2]int{{0, 1}, {1, 0}},
			[2]protocol.Collective{
				{Next: -1, Previous: -1, Parent: -1, Children: []int{1}}, {Next: -1, Previous: -1, Parent: 0},
			},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			for i := range c.edges {
				c.edges[i].Flows, c.edges[i].Role = 1, protocol.RoleCollective
			}
			edges := prepare(t, w, c.edges...)
			connect := protocol.Command{Kind: protocol.KindConnect}
			for _, p := range c.peers {
				connect.Peers = append(connect.Peers, protocol.Peer{ID: p[0], Endpoints: edges[p[1]].Endpoints})
			}
			for _, e := range w.Do(t.Context(), connect).Edges {
				if e.Failure != nil {
					t.Fatal(c.algorithm, e.Failure)
				}
			}
			run := protocol.Command{Kind: protocol.KindRun, Limit: time.Minute}
			for rank, place := range c.places {
				place.Algorithm, place.Rail, place.Rank, place.Nodes, place.Bytes = c.algorithm, rank, rank, 2, size
				run.Collectives = append(run.Collectives, place)
			}
			parts := w.Do(t.Context(), run).Collectives
			if len(parts) != 2 || parts[0].Failure != nil || parts[1].Failure != nil {
				t.Errorf("%s: %+v", c.algorithm, parts)
			}
		})
	}
}

// TestLatencySteps checks that round trips are half of what they take, as many as wanted, and that
// a run ends within its limit when the peer is silent.
func TestLatencySteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		join(t, w, 1, protocol.RoleAsk, protocol.RoleAnswer)
		run := protocol.Command{
			Kind: protocol.KindRun, Length: time.Second, Limit: 3 * time.Second, Measure: []int{1, 2},
		}
		first := time.Now()
		edges := w.Do(t.Context(), run).Edges
		// 50 steps are 25 bursts of two; the last one begins at 48/50 of the time.
		if took := time.Since(first); took < 48*run.Length/50 || took > run.Length {
			t.Errorf("the steps took %v of %v", took, run.Length)
		}
		for _, e := range edges {
			switch {
			case e.Failure != nil:
				t.Errorf("%+v", e.Failure)
			// The delay of the network is 10 µs.
			case e.ID == 1 && (len(e.Steps) != 50 || e.Latency.Count != 50 || e.Latency.P50 != 10):
				t.Errorf("%d steps, %+v", len(e.Steps), e.Latency)
			}
		}
		join(t, w, 1, protocol.RoleAnswer, protocol.RoleAnswer)
		began := time.Now()
		for _, e := range w.Do(t.Context(), run).Edges {
			if e.Failure == nil || e.Failure.Code != "timeout" {
				t.Errorf("two ends that wait: %+v", e)
			}
		}
		if took := time.Since(began); took != run.Limit {
			t.Errorf("the run ended after %v, want %v", took, run.Limit)
		}
	})
}
