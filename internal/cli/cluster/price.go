package cluster

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// planSchema names the document that --plan prints.
const planSchema = "rdmakit.cluster-plan/v1"

// planDocument is what --plan prints.
type planDocument struct {
	Schema  string       `json:"schema"`
	Nodes   int          `json:"nodes"`
	Cards   int          `json:"cards"`
	Options plan.Options `json:"options"`
	Cost    plan.Cost    `json:"cost"`
	// OverBudget is set if the plan takes longer than the budget: no stage can be shortened below a
	// round.
	OverBudget bool `json:"overBudget"`
}

func newPlanDocument(p *plan.Plan, c plan.Cost) planDocument {
	return planDocument{
		Schema: planSchema, Nodes: len(p.Cluster.Nodes), Cards: cardsOf(p), Options: p.Options, Cost: c,
		OverBudget: overBudget(p, c),
	}
}

// assumed returns the plan for nodes that have not been surveyed yet.
func (f *verifyFlags) assumed(rails int) (*plan.Plan, error) {
	var c plan.Cluster
	for n := range f.nodes() {
		node := plan.Node{Name: fmt.Sprintf("node-%05d", n+1)}
		for rail := range rails {
			node.Rails = append(node.Rails, plan.Card{Rail: rail, Device: "card-" + strconv.Itoa(rail)})
		}
		c.Nodes = append(c.Nodes, node)
	}
	return plan.New(c, f.options())
}

// printPlan prints the price for nodes that have not been surveyed yet.
func (f *verifyFlags) printPlan(app *cli.App) error {
	p, err := f.assumed(f.rails)
	if err != nil {
		return err
	}
	return f.showPlan(app, p)
}

// showPlan prints the price of a plan, stage by stage.
func (f *verifyFlags) showPlan(app *cli.App, p *plan.Plan) error {
	c := p.Cost()
	f.warnBudget(app, p, c)
	return app.Out.Print(newPlanDocument(p, c), planTable(c), output.Paragraph(priceOf(p, c)))
}

// planTable lists the stages with their price.
func planTable(c plan.Cost) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "stage"},
		{Name: "measures"},
		{Name: "rounds", Align: output.AlignRight},
		{Name: "of", Align: output.AlignRight},
		{Name: "time", Align: output.AlignRight},
	}}
	for _, s := range c.Stages {
		rounds := output.Plain(strconv.Itoa(s.Rounds))
		if s.Rounds < s.Full {
			rounds = output.Warn(strconv.Itoa(s.Rounds))
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(string(s.Name)), output.Plain(string(s.Kind)), rounds, output.Plain(strconv.Itoa(s.Full)),
			output.Plain(roundTime(s.Time).String()),
		})
	}
	return t
}

// printPrice prints what the plan costs, or what is left of it.
func (f *verifyFlags) printPrice(app *cli.App, p *plan.Plan, c plan.Cost) {
	app.Out.Note("%s", priceOf(p, c))
	f.warnBudget(app, p, c)
}

func (f *verifyFlags) warnBudget(app *cli.App, p *plan.Plan, c plan.Cost) {
	if f.old == nil && overBudget(p, c) {
		app.Out.Note("warning: the budget of %v is too small for a round of each stage: --stages leaves some out",
			p.Options.Budget)
	}
}

func overBudget(p *plan.Plan, c plan.Cost) bool {
	return p.Options.Budget > 0 && c.Time > p.Options.Budget
}

func cardsOf(p *plan.Plan) (cards int) {
	for _, n := range p.Cluster.Nodes {
		cards += len(n.Rails)
	}
	return cards
}

// roundTime rounds an estimate for people.
func roundTime(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// priceOf describes the cost of a plan.
func priceOf(p *plan.Plan, c plan.Cost) string {
	text := fmt.Sprintf("%s with %s: %s, about %v", english.Count(len(p.Cluster.Nodes), "node"),
		english.Count(cardsOf(p), "card"), english.Count(c.Rounds, "round"), c.Time.Round(time.Second))
	if c.Bytes > 0 {
		text += fmt.Sprintf(", up to %.0f GB, %.1f GB by one card", c.Bytes/giga, c.MostPerCard/giga)
	}
	if len(c.Trimmed) > 0 {
		text += "; shortened by the budget: " + strings.Join(stageNames(c.Trimmed), ", ")
	}
	return text
}

const giga = 1e9

// A run that costs more than this needs a confirmation.
const (
	freeTime  = time.Minute
	freeBytes = giga // by one card
)

// ask asks on a terminal before a run that takes long or sends much.
func (f *verifyFlags) ask(ctx context.Context, app *cli.App, c plan.Cost) error {
	if f.yes || c.Time <= freeTime && c.MostPerCard <= freeBytes ||
		!app.IsTerminal(app.Stdin) || !app.IsTerminal(app.Stderr) {
		return nil
	}
	_, _ = fmt.Fprint(app.Stderr, "measure? [Y/n] ")
	answer := make(chan string, 1)
	go func() { // ends with the input, or with the process
		line, _ := bufio.NewReader(app.Stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		case "":
			if strings.HasSuffix(line, "\n") { // not the end of the input
				return nil
			}
		}
		return cli.Exitf(cli.ExitPartial, "nothing was measured: the answer was no")
	}
}
