package leader

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/cluster/result"
)

// Journal records a verification as it goes, so that it can be resumed. Its lines are JSON: the
// beginning of the run, each round, the end. A line is written at once and then synced, so whatever
// ends the leader costs at most one round. A nil Journal records nothing.
type Journal struct {
	w io.Writer
}

// NewJournal returns a journal that writes to w. If w has a method Sync() error, as files do, it is
// called after each line.
func NewJournal(w io.Writer) *Journal { return &Journal{w} }

// line is a line of a journal: one of its fields is set.
type line struct {
	Begin *result.Run `json:"begin,omitempty"`
	Round *entry      `json:"round,omitempty"`
	// Leaves are those that became known after the beginning.
	Leaves *leavesEntry `json:"leaves,omitempty"`
	// Nodes are those whose state is another one when the run is resumed.
	Nodes []nodeEntry `json:"nodes,omitempty"`
	End   *time.Time  `json:"end,omitempty"`
}

// entry is a round of a journal.
type entry struct {
	Stage   int `json:"stage"`
	Round   int `json:"round"`
	Attempt int `json:"attempt,omitempty"`
	Outcome
}

// nodeEntry is a node of a resumed run.
type nodeEntry struct {
	Index int         `json:"index"` // of the cluster
	Node  result.Node `json:"node"`
}

// leavesEntry are the leaves of a run.
type leavesEntry struct {
	From  string   `json:"from"`  // as result.Run.LeavesFrom
	Nodes []string `json:"nodes"` // by index of the cluster
}

// apply sets the leaves of a run, in a copy of its nodes: the plan's stay as they are.
func (l *leavesEntry) apply(run *result.Run) {
	run.LeavesFrom = l.From
	run.Cluster.Nodes = slices.Clone(run.Cluster.Nodes)
	for i := range run.Cluster.Nodes {
		run.Cluster.Nodes[i].Leaf = l.Nodes[i]
	}
}

func (j *Journal) leaves(l leavesEntry) error { return j.write(line{Leaves: &l}) }
func (j *Journal) nodes(n []nodeEntry) error  { return j.write(line{Nodes: n}) }
func (j *Journal) begin(r *result.Run) error  { return j.write(line{Begin: r}) }
func (j *Journal) round(e entry) error        { return j.write(line{Round: &e}) }
func (j *Journal) end(at time.Time) error     { return j.write(line{End: &at}) }

func (j *Journal) write(l line) error {
	if j == nil {
		return nil
	}
	b, err := json.Marshal(l)
	if err == nil {
		_, err = j.w.Write(append(b, '\n'))
	}
	if s, ok := j.w.(interface{ Sync() error }); ok && err == nil {
		err = s.Sync()
	}
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// maxLine is the largest line of a journal in bytes: a round of 10,000 nodes with 8 cards fits in.
const maxLine = 256 << 20

// ErrNoJournal is the error for a file that doesn't begin as a journal does.
var ErrNoJournal = errors.New("not a journal of a verification")

// ReadJournal returns the run of a journal. A last line that was cut off is left out: size is how
// many bytes of the journal are good, and a writer that continues it must begin there. Errors match
// [ErrNoJournal] or name the line.
func ReadJournal(r io.Reader) (run *result.Run, size int64, err error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		b, err := readLine(lines)
		if errors.Is(err, io.EOF) { // a line without its end was cut off
			if run == nil {
				return nil, 0, fmt.Errorf("read journal: %w", ErrNoJournal)
			}
			return run, size, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read journal: line %d: %w", n, err)
		}
		if run, err = apply(run, b); err != nil {
			return nil, 0, fmt.Errorf("read journal: line %d: %w", n, err)
		}
		size += int64(len(b)) + 1
	}
}

// readLine returns a line without its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case len(whole) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case err == nil:
			return whole[:len(whole)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// apply adds a line to a run.
func apply(run *result.Run, b []byte) (*result.Run, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		if run == nil {
			return nil, fmt.Errorf("%w: %w", ErrNoJournal, err)
		}
		return nil, err
	}
	switch {
	case run == nil && (l.Begin == nil || l.Begin.Schema != result.Schema):
		return nil, ErrNoJournal
	case run == nil:
		return l.Begin, l.Begin.Check()
	case l.Round != nil:
		if err := l.Round.check(run); err != nil {
			return nil, err
		}
		add(run, *l.Round)
	case l.Leaves != nil && len(l.Leaves.Nodes) != len(run.Cluster.Nodes):
		return nil, fmt.Errorf("leaves of %d nodes of %d", len(l.Leaves.Nodes), len(run.Cluster.Nodes))
	case l.Leaves != nil:
		l.Leaves.apply(run)
	case l.Nodes != nil:
		return run, replace(run, l.Nodes)
	case l.End != nil:
		run.Ended = *l.End
	default:
		return nil, errors.New("neither a round nor leaves nor nodes nor the end")
	}
	return run, nil
}

// replace replaces nodes of a run.
func replace(run *result.Run, nodes []nodeEntry) error {
	for _, n := range nodes {
		if n.Index < 0 || n.Index >= len(run.Nodes) {
			return fmt.Errorf("node %d of %d", n.Index, len(run.Nodes))
		}
		run.Nodes[n.Index] = n.Node
	}
	part := result.Run{Schema: run.Schema, Cluster: run.Cluster, Stages: run.Stages, Nodes: run.Nodes}
	return part.Check()
}

// check returns an error for a round that can't be of this run.
func (e *entry) check(run *result.Run) error {
	if e.Stage < 0 || e.Stage >= len(run.Stages) {
		return fmt.Errorf("stage %d of %d", e.Stage, len(run.Stages))
	}
	if want := run.Stages[e.Stage].Done; e.Attempt == 0 && e.Round != want {
		return fmt.Errorf("round %d of stage %s follows round %d", e.Round, run.Stages[e.Stage].Name, want-1)
	}
	for _, l := range e.Lost {
		if l.Node < 0 || int(l.Node) >= len(run.Nodes) {
			return fmt.Errorf("node %d of %d", l.Node, len(run.Nodes))
		}
	}
	part := result.Run{
		Schema: run.Schema, Cluster: run.Cluster, Stages: run.Stages, Nodes: run.Nodes, Samples: e.Samples,
		Collectives: e.Collectives, Barriers: e.Barriers,
	}
	return part.Check()
}

// add adds a round to a run.
func add(run *result.Run, e entry) {
	run.Samples = append(run.Samples, e.Samples...)
	run.Collectives = append(run.Collectives, e.Collectives...)
	run.Barriers = append(run.Barriers, e.Barriers...)
	for _, l := range e.Lost {
		n := &run.Nodes[l.Node]
		n.State, n.Cause, n.LostStage, n.LostRound = result.NodeLost, l.Cause, e.Stage, e.Round
	}
	if e.Attempt == 0 {
		run.Stages[e.Stage].Done++
	} else {
		run.Stages[e.Stage].Retests++
	}
}
