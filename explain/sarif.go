package explain

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/text/sarif"
)

// projectURL is the address of the project, for links to pages of rules.
const projectURL = "https://github.com/rdmakit/rdmakit"

// SARIF returns the report in the Static Analysis Results Interchange Format: a result for each
// finding, at the lines that show it. version is that of the program.
func (d *Document) SARIF(version string) ([]byte, error) {
	run := sarif.NewRun("rdmactl explain", version, projectURL)
	all := map[string]rules.Rule{}
	for _, r := range rules.All() {
		all[r.ID] = r
	}
	added := map[string]bool{}
	invocation := sarif.Invocation{Successful: true}
	for _, in := range d.Inputs {
		if in.Error != "" {
			invocation.Notifications = append(invocation.Notifications,
				sarif.Notification{Level: sarif.LevelError, Message: sarif.Text{Text: in.Error}})
		}
	}
	for _, h := range d.Facts.Hidden {
		invocation.Notifications = append(invocation.Notifications,
			sarif.Notification{Level: sarif.LevelNote, Message: sarif.Text{Text: "not visible: " + h}})
	}
	run.Invocations = []sarif.Invocation{invocation}
	for i := range d.Findings {
		f := &d.Findings[i]
		if r := all[f.Rule]; !added[f.Rule] {
			added[f.Rule] = true
			run.AddRule(sarif.Rule{
				ID: r.ID, Short: sarif.Text{Text: r.Title}, Full: sarif.Text{Text: r.Explanation},
				Help:    sarif.Text{Text: "Sources: " + strings.Join(r.Sources, ", ")},
				HelpURI: projectURL + "/blob/main/docs/explain-rules.md#" + strings.ToLower(r.ID),
				Default: sarif.RuleLevel{Level: sarif.LevelError},
			})
		}
		run.Results = append(run.Results, f.sarif())
	}
	return run.Encode()
}

func (f *FindingDocument) sarif() sarif.Result {
	r := sarif.Result{RuleID: f.Rule, Level: sarif.LevelError, Message: sarif.Text{Text: f.What}}
	if f.Harmless {
		r.Level = sarif.LevelNote
	}
	for _, c := range f.Causes {
		r.Message.Text += "\n" + string(c.Confidence) + ": " + c.Title
		if c.Decide != "" {
			r.Message.Text += " (decides: " + c.Decide + ")"
		}
		if c.Remedy != "" {
			r.Message.Text += "; to do: " + c.Remedy
		}
	}
	for _, l := range f.Lines {
		at := sarif.Location{Physical: &sarif.Physical{Artifact: sarif.Artifact{URI: l.File}}}
		if l.Line > 0 {
			at.Physical.Region = &sarif.Region{StartLine: l.Line}
		}
		r.Locations = append(r.Locations, at)
	}
	return r
}
