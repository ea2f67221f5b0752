package cluster

import (
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// progress shows where a verification is: a line on a terminal, a note for each stage elsewhere.
type progress struct {
	app   *cli.App
	line  *output.Progress
	stage plan.Name
}

func newProgress(app *cli.App, rounds int) *progress {
	return &progress{app: app, line: app.Out.Progress("verify", rounds)}
}

// show is called before each round.
func (g *progress) show(p leader.Progress) {
	if p.Stage != g.stage {
		g.stage = p.Stage
		g.app.Out.Note("stage %s: %s of %s, %v left", p.Stage, english.Count(p.Rounds, "round"),
			english.Count(p.Pairs, "pair"), p.Left.Round(time.Second))
	}
	if p.Retest {
		g.app.Out.Note("stage %s: %s again", p.Stage, english.Count(p.Pairs, "suspect"))
		return
	}
	g.line.Add(1)
}

func (g *progress) done() { g.line.Done() }
