package fabric

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// faults returns the names of the counters of an end that are above threshold or have grown.
func (l *linkErrorsReport) faults(at string, limits fabric.Thresholds) []string {
	var names []string
	for i := range l.Counters {
		if c := &l.Counters[i]; c.At == at && (c.Exceeded || c.grown(limits)) {
			names = append(names, c.Name)
		}
	}
	return names
}

// suspects lists for each cable with a fault what to look at.
func (r *errorsReport) suspects() []output.Block {
	table := output.Table{Title: "Where to look", Columns: []output.Column{
		{Name: "cable"}, {Name: "to"}, {Name: "what the counters say", Wrap: true},
	}}
	for i := range r.Links {
		l := &r.Links[i]
		if l.Suspect == fabric.SuspectNone {
			continue
		}
		to := ""
		if l.B != nil {
			to = l.B.String()
		}
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(l.A.String()), output.Plain(to), output.Plain(l.advice(r.Thresholds)),
		})
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []output.Block{table}
}

// advice explains the suspect.
func (l *linkErrorsReport) advice(limits fabric.Thresholds) string {
	parts := []string{l.direction()}
	const downed = "LinkDownedCounter"
	a, b := slices.Contains(l.faults("a", limits), downed), slices.Contains(l.faults("b", limits), downed)
	switch {
	case a && b:
		parts = append(parts, "the link went down, which both ends count")
	case a || b:
		end, other := l.name("a"), l.name("b")
		if b {
			end, other = other, end
		}
		text := "the link went down, which only " + end + " counts"
		if len(l.Read) == len(endNames()) {
			text += fmt.Sprintf(": %s was restarted, its counters were reset, or it ended the link itself", other)
		}
		parts = append(parts, text)
	}
	if len(l.Read) < len(endNames()) && l.Suspect != fabric.SuspectTraffic {
		parts = append(parts, "the counters of "+
			l.name(endNames()[1-slices.Index(endNames(), l.Read[0])])+" were not read")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

func (l *linkErrorsReport) direction() string {
	receiver := func(at, from string) string {
		return fmt.Sprintf("%s receives errors: the transmitter of %s, the cable, or this receiver", l.name(at), from)
	}
	switch l.Suspect {
	case fabric.SuspectBToA:
		return receiver("a", l.name("b"))
	case fabric.SuspectAToB:
		return receiver("b", l.name("a"))
	case fabric.SuspectBoth:
		return "both ends receive errors: the cable is what both directions share"
	case fabric.SuspectOther:
		return "the packets were damaged on a link before this one"
	case fabric.SuspectTraffic:
		return "no damage of this cable: packets were discarded or refused"
	case fabric.SuspectLink:
		if !slices.ContainsFunc(l.Counters, func(c counterReport) bool { return c.Name == "LinkDownedCounter" }) {
			return "the link retrained, which shows no direction"
		}
	}
	return ""
}

// name returns an end of the link.
func (l *linkErrorsReport) name(at string) string {
	switch {
	case at == "a":
		return l.A.String()
	case l.B != nil:
		return l.B.String()
	}
	return "the other end"
}
