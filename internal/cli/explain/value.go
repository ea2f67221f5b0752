package explain

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/explain/codes"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

const valueSchema = "rdmakit.explain-value/v1"

// valueReport is the JSON form of an explained value.
type valueReport struct {
	Schema string `json:"schema"`
	codes.Explanation
}

// explainValue explains the value of --code, --errno or --cqe.
func explainValue(app *cli.App, cmd *cobra.Command, f *explainFlags) error {
	var e codes.Explanation
	var err error
	switch f.instead(cmd) {
	case "--code":
		e, err = codes.Lookup(f.code)
	case "--cqe":
		e, err = codes.LookupCQE(f.cqe)
	default:
		e, err = codes.LookupErrno(f.errno, f.verb, f.link)
	}
	if err != nil {
		return cli.UsageError(cmd, err)
	}
	return app.Out.Print(valueReport{Schema: valueSchema, Explanation: e}, valueText(&e).Text)
}

// valueText is the text form of an explained value.
func valueText(e *codes.Explanation) text {
	var t text
	t.head(output.Bold(e.Title))
	if e.Meaning != "" {
		t.add("meaning", e.Meaning)
	}
	if e.Who != codes.WhoUnknown {
		t.add("at fault", e.Who.String())
	}
	for _, d := range e.Details {
		t.add("detail", d.Name+": "+d.Value)
	}
	for _, s := range e.Causes {
		t.add("cause", s)
	}
	for _, s := range e.Ambiguities {
		t.add("but", s)
	}
	if len(e.Sources) > 0 {
		t.add("sources", strings.Join(e.Sources, "; "))
	}
	return t
}
