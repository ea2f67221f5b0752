package node

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch"
)

// explainBlocks formats the reasoning behind a plan.
func explainBlocks(plan launch.Plan, wide bool) []output.Block {
	out := []output.Block{output.Line(output.Bold("Effect: "), output.Plain(plan.Effect).Flow(cli.TextWidth))}
	if len(plan.Ports) > 0 {
		out = append(out, envPortTable(plan, wide))
	}
	if len(plan.Variables) > 0 {
		out = append(out, envVariableTable(plan, wide))
	}
	if len(plan.Arguments) > 0 {
		t := output.Table{Title: "Arguments", Columns: []output.Column{
			{Name: "for"}, {Name: "argument"}, {Name: "value", Wrap: true}, {Name: "rule", Priority: 1},
		}}
		for _, a := range plan.Arguments {
			t.Rows = append(t.Rows, plainRow(string(a.Library), a.Flag, a.Value, a.Rule))
		}
		out = append(out, t)
	}
	if len(plan.Conflicts) > 0 {
		t := output.Table{Title: "Conflicts with the environment", Columns: []output.Column{
			{Name: "name"},
			{Name: "yours", Wrap: true},
			{Name: "derived", Wrap: true},
			{Name: "kept"},
			{Name: "reason", Wrap: true},
			{Name: "rule", Priority: 1},
		}}
		for _, c := range plan.Conflicts {
			derived := c.Derived
			if derived == "" {
				derived = "(not set)"
			}
			kept := map[launch.Source]string{launch.SourceUser: "yours"}[c.Kept]
			if kept == "" {
				kept = "derived"
			}
			t.Rows = append(t.Rows, plainRow(c.Name, c.User, derived, kept, c.Reason, c.Rule))
		}
		out = append(out, t)
	}
	if len(plan.Warnings) > 0 {
		t := output.Table{
			Title:   "Warnings",
			Columns: []output.Column{{Name: "rule"}, {Name: "warning", Wrap: true}, {Name: "file", Wide: true}},
		}
		for _, w := range plan.Warnings {
			t.Rows = append(t.Rows,
				[]output.Cell{output.Warn(w.Rule), output.Plain(w.Text), output.Plain(strings.Join(w.Files, " "))})
		}
		out = append(out, t)
	}
	return append(out, output.Line(output.Plain(outcomeText(plan)).Flow(0)))
}

func plainRow(texts ...string) []output.Cell {
	var out []output.Cell
	for _, text := range texts {
		out = append(out, output.Plain(text))
	}
	return out
}

// outcomeText summarises whether RDMA can be used.
func outcomeText(plan launch.Plan) string {
	selected := 0
	for _, p := range plan.Ports {
		if p.Decision == launch.DecisionSelected {
			selected++
		}
	}
	switch plan.Outcome {
	case launch.OutcomeRDMA:
		return fmt.Sprintf("outcome: RDMA on %d of %d ports", selected, len(plan.Ports))
	case launch.OutcomeLibfabric:
		return fmt.Sprintf("outcome: RDMA through libfabric on %d EFA devices", selected)
	case launch.OutcomeOff:
		return "outcome: switched off"
	}
	return "outcome: no RDMA"
}

func envPortTable(plan launch.Plan, wide bool) output.Table {
	kserve := plan.Compat != ""
	t := output.Table{Title: "Ports", Columns: []output.Column{
		{Name: "port"},
		{Name: "decision"},
		{Name: "gid", Wide: kserve, Priority: 4},
		{Name: "NCCL alone", Wide: kserve, Priority: 1},
		{Name: "NCCL now", Wide: kserve, Priority: 3},
		{Name: "UCX alone", Wide: kserve, Priority: 2},
		{Name: "rule", Below: true},
		{Name: "reason", Wrap: true},
		{Name: "peer", Wide: true},
		{Name: "file", Below: true},
	}}
	for _, p := range plan.Ports {
		gid := ""
		if p.GID != nil {
			gid = fmt.Sprintf("%d %s", p.GID.Index, p.GID.Addr)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(p.Name()), decisionCell(p.Decision), output.Plain(gid), choiceCell(p.NCCLAuto, p.GID),
			choiceCell(p.NCCLPlanned, p.GID), choiceCell(p.UCXAuto, p.GID), output.Plain(p.Rule),
			output.Plain(p.Reason), output.Plain(string(p.Reach)), output.Plain(filesText(p.Files, wide)),
		})
	}
	return t
}

func decisionCell(d launch.Decision) output.Cell {
	switch d {
	case launch.DecisionSelected:
		return output.Good(string(d))
	case launch.DecisionCandidate:
		return output.Plain(string(d))
	}
	return output.Bad(string(d))
}

// choiceCell shows what a library does with a port: "GID 3" for the index that it uses, or "no" if
// it does not use the port.
func choiceCell(c *launch.AutoChoice, want *launch.GIDChoice) output.Cell {
	switch {
	case c == nil:
		return output.Plain("")
	case !c.Used:
		return output.Dim("no")
	case want != nil && c.Index != want.Index:
		return output.Bad(gidText(c))
	case c.Note != "":
		return output.Warn(gidText(c) + " (" + c.Note + ")")
	}
	return output.Plain(gidText(c))
}

func gidText(c *launch.AutoChoice) string { return "GID " + strconv.Itoa(c.Index) }

func envVariableTable(plan launch.Plan, wide bool) output.Table {
	t := output.Table{Title: "Variables", Columns: []output.Column{
		{Name: "for", Wide: true},
		{Name: "name"},
		{Name: "value", Wrap: true},
		{Name: "source", Priority: 2},
		{Name: "rule", Priority: 1},
		{Name: "reason", Below: true},
		{Name: "file", Below: true},
	}}
	for _, v := range plan.Variables {
		t.Rows = append(t.Rows,
			plainRow(string(v.Library), v.Name, v.Value, string(v.Source), v.Rule, v.Reason, filesText(v.Files, wide)))
	}
	for _, u := range plan.Unset {
		t.Rows = append(t.Rows, plainRow("", u.Name, "(unset)", string(launch.SourceDerived), u.Rule, u.Reason, ""))
	}
	return t
}

// filesText lists all files if wide, else the first and the number of the others.
func filesText(files []string, wide bool) string {
	if len(files) < 2 || wide {
		return strings.Join(files, " ")
	}
	return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
}
