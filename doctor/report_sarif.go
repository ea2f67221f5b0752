package doctor

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/sarif"
)

// projectURL is the base URL of the reference of the checks.
const projectURL = "https://github.com/rdmakit/rdmakit"

// SARIF returns the report as a SARIF 2.1.0 log. version is that of the program; checks are those
// that were passed to [Run]. A result is located at the file of its first evidence, as a file of
// the node, and at its object. Findings that are on trial are left out. What is to be known of the
// whole run (no RDMA device, the age of a recording, changed limits) are notifications.
func (r Report) SARIF(version string, checks []Check) ([]byte, error) {
	run := sarif.NewRun("rdmactl doctor", version, projectURL)
	for _, c := range slices.Concat(checks, []Check{SuppressionsCheck()}) {
		if !slices.ContainsFunc(r.Checks, func(res CheckResult) bool { return res.ID == c.ID }) {
			continue
		}
		level, _ := sarifLevel(c.Severity)
		help := "/blob/main/docs/checks.md#" + c.ID
		if c.ID == SuppressionsID { // no check of the list
			help = "/blob/main/docs/doctor.md#accepted-findings"
		}
		run.AddRule(sarif.Rule{
			ID: c.ID, Short: sarif.Text{Text: c.Title}, Full: sarif.Text{Text: c.Explanation},
			Help: sarif.Text{Text: c.Remedy}, HelpURI: projectURL + help,
			Default: sarif.RuleLevel{Level: level}, Properties: sarif.Tags(string(c.Group)),
		})
	}
	invocation := sarif.Invocation{Successful: true, ExitCode: r.ExitCode, Start: r.Time}
	for i, line := range r.about() {
		level := sarif.LevelNote
		if i == 0 && r.NoDevice != "" {
			level = sarif.LevelError
		}
		invocation.Notifications = append(invocation.Notifications,
			sarif.Notification{Level: level, Message: sarif.Text{Text: line}})
	}
	run.Invocations = []sarif.Invocation{invocation}
	for _, f := range r.Findings {
		if !f.Shadow {
			run.Results = append(run.Results, f.sarif(r.Node))
		}
	}
	return run.Encode()
}

// sarifLevel returns the level and the kind of a result. Only results of kind fail, the default,
// have a level.
func sarifLevel(o Outcome) (level, kind string) {
	switch o {
	case OutcomeFail:
		return sarif.LevelError, ""
	case OutcomeWarn:
		return sarif.LevelWarning, ""
	case OutcomeInfo:
		return sarif.LevelNote, ""
	case OutcomePass:
		return sarif.LevelNone, sarif.KindPass
	case OutcomeNotApplicable:
		return sarif.LevelNone, sarif.KindNotApplicable
	}
	return sarif.LevelNone, sarif.KindOpen
}

func (f Finding) sarif(node string) sarif.Result {
	res := sarif.Result{RuleID: f.CheckID, Message: sarif.Text{Text: f.Object + ": " + f.Summary}}
	res.Level, res.Kind = sarifLevel(f.Outcome)
	if len(f.Remedy) > 0 {
		res.Message.Text += "\nfix:\n" + strings.Join(f.Remedy, "\n")
	}
	at := sarif.Location{Logical: []sarif.Logical{{
		Name: strings.TrimPrefix(node+"/"+f.Object, "/"), Kind: string(f.Kind),
	}}}
	for _, e := range f.Evidence {
		if file, ok := e.file(); ok {
			uri := url.URL{Scheme: "file", Path: file}
			at.Physical = &sarif.Physical{Artifact: sarif.Artifact{URI: uri.String()}}
			break
		}
	}
	res.Locations = []sarif.Location{at}
	if s := f.Suppressed; s != nil {
		why := strings.TrimPrefix(strings.TrimPrefix(s.String(), "suppressed"), ": ")
		res.Suppressions = []sarif.Suppression{{Kind: "external", Justification: strings.TrimSpace(why)}}
	}
	return res
}

// file returns the path of the file that has the value, false for an answer of the kernel.
func (e Evidence) file() (string, bool) {
	if !strings.HasPrefix(e.Path, "/") {
		return "", false
	}
	if dir, name := path.Split(e.Path); strings.HasPrefix(dir, "/proc/") { // a line of a file: path, colon, key
		name, _, _ = strings.Cut(name, ":")
		return dir + name, true
	}
	return e.Path, true
}
