package leader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
)

// broken is the failure of a card that can't be opened.
func broken() *result.Failure { return &result.Failure{Step: result.StepOpen} }

// hanging is a worker that doesn't answer to the end.
type hanging struct{ leader.Link }

func (h hanging) Do(ctx context.Context, c protocol.Command) (protocol.Reply, error) {
	if c.Kind != protocol.KindEnd {
		return h.Link.Do(ctx, c)
	}
	<-ctx.Done()
	return protocol.Reply{}, context.Cause(ctx)
}

// TestFleetEnd checks that the error of the end names the nodes, but not thousands, and that it is
// one cause if the leader was ended.
func TestFleetEnd(t *testing.T) {
	for _, c := range []struct {
		hang, lines int
		more        string
	}{
		{0, 0, ""},
		{1, 1, ""},
		{10, 10, ""},
		{13, 11, "\nend the workers: 3 more failed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var links []leader.Link
			for i := range 15 {
				node := worker.Node{Name: fmt.Sprintf("node-%02d", i), Cards: []worker.Card{{Failure: broken()}}}
				var l leader.Link = direct{worker.New(worker.Config{Node: node})}
				if i >= 15-c.hang {
					l = hanging{l}
				}
				links = append(links, l)
			}
			f, left, err := leader.NewFleet(t.Context(), leader.FleetConfig{Links: links, Grace: time.Second})
			if err != nil || len(left) > 0 {
				t.Fatal(left, err)
			}
			err = f.End(t.Context())
			if c.hang == 0 {
				if err != nil {
					t.Errorf("End = %v", err)
				}
				return
			}
			first := fmt.Sprintf("end the worker of node-%02d: no answer to end within 2s", 15-c.hang)
			if err == nil || !strings.HasPrefix(err.Error(), first) || !strings.HasSuffix(err.Error(), c.more) ||
				strings.Count(err.Error(), "\n")+1 != c.lines {
				t.Errorf("%d workers hang: End = %v", c.hang, err)
			}
			why := errors.New("interrupt")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			if err := f.End(ctx); err != why { //nolint:errorlint // it alone
				t.Errorf("End of a leader that was ended = %v", err)
			}
		})
	}
}
