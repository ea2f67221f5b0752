package own

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// The parts of documents that name faults.
type (
	failure struct {
		Stage, End, Operation, Object, Code, Cause string
		Remedies                                   []string
	}
	connectDocument struct {
		Local    struct{ Host string }
		Attempts []struct {
			Local, Remote struct{ Host, Port string }
			Failure       *failure
		}
		TCP  *struct{ Failure *failure }
		Lost *failure
	}
	pingDocument   struct{ Failure *failure }
	doctorDocument struct {
		Node     string
		Findings []struct {
			Check, Outcome, Object, Summary string
			Shadow                          bool
			Suppressed                      json.RawMessage
		}
	}
	doctorNodesDocument struct {
		Nodes      []struct{ Report doctorDocument }
		Comparison consensusDocument
	}
	clusterDocument struct {
		Verdicts struct {
			Verdicts []struct {
				Cause      string
				Confidence float64
				Words      string
				Where      struct{ Name string }
				Next       string
			}
		}
	}
	consensusDocument struct {
		Differences []struct{ Check, Severity, Text, Remedy string }
	}
	lintDocument struct {
		Findings []struct {
			Rule, Severity, Object, Variable, Value, Path, Summary, Remedy string
			File                                                           string
			Line                                                           int
		}
	}
	fabricEnd struct {
		Name string
		Port int
	}
	fabricErrorsDocument struct {
		Links []struct {
			A, B     *fabricEnd
			Counters []struct {
				At, Name string
				Value    uint64
				Exceeded bool
			}
		}
	}
	fabricTraceDocument struct {
		From, To    fabricEnd
		End, Reason string
	}
)

func (e *fabricEnd) String() string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%s[%d]", e.Name, e.Port)
}

func (f *Found) failed(kind evidence.Kind, x *failure, place evidence.Place, host, peer string) {
	if x == nil {
		return
	}
	text := fmt.Sprintf("%s %s: %s", x.Operation, x.Object, x.Cause)
	f.add(kind, place, host, text, evidence.Fields{
		"code": x.Code, "stage": x.Stage, "cause": x.Cause, "peer": peer, "remedy": strings.Join(x.Remedies, "; "),
	})
}

func (f *Found) connect(d *connectDocument, place evidence.Place) {
	for _, a := range d.Attempts {
		host := a.Local.Host
		if host == "" {
			host = d.Local.Host
		}
		before := len(f.Events)
		f.failed(evidence.OwnConnect, a.Failure, place, host, a.Remote.Host)
		if len(f.Events) > before {
			device, port, _ := strings.Cut(a.Local.Port, ":")
			f.Events[before].Fields["device"], f.Events[before].Fields["port"] = device, port
		}
	}
	if d.TCP != nil {
		f.failed(evidence.OwnConnect, d.TCP.Failure, place, d.Local.Host, "")
	}
	f.failed(evidence.OwnConnect, d.Lost, place, d.Local.Host, "")
}

func (f *Found) ping(d *pingDocument, place evidence.Place) {
	f.failed(evidence.OwnPing, d.Failure, place, "", "")
}

func (f *Found) doctor(d *doctorDocument, place evidence.Place) {
	for _, x := range d.Findings {
		suppressed := len(x.Suppressed) > 0 && string(x.Suppressed) != "null"
		if x.Outcome != "fail" && x.Outcome != "warn" || suppressed || x.Shadow {
			continue
		}
		text := x.Summary
		if x.Object != "node" {
			text = x.Object + ": " + text
		}
		f.add(evidence.OwnDoctor, place, d.Node, text,
			evidence.Fields{"check": x.Check, "outcome": x.Outcome, "object": x.Object})
	}
}

func (f *Found) doctorNodes(d *doctorNodesDocument, place evidence.Place) {
	for i := range d.Nodes {
		f.doctor(&d.Nodes[i].Report, place)
	}
	f.consensus(&d.Comparison, place)
}

func (f *Found) cluster(d *clusterDocument, place evidence.Place) {
	for _, v := range d.Verdicts.Verdicts {
		text := v.Where.Name
		if v.Words != "" {
			text += ": " + v.Words
		}
		f.add(evidence.OwnCluster, place, "", text, evidence.Fields{
			"cause": v.Cause, "where": v.Where.Name, "confidence": fmt.Sprintf("%.2f", v.Confidence), "next": v.Next,
		})
	}
}

func (f *Found) consensus(d *consensusDocument, place evidence.Place) {
	for _, x := range d.Differences {
		if x.Severity == "note" {
			continue
		}
		f.add(evidence.OwnConsensus, place, "", x.Text,
			evidence.Fields{"check": x.Check, "severity": x.Severity, "remedy": x.Remedy})
	}
}

func (f *Found) lint(d *lintDocument, place evidence.Place) {
	for _, x := range d.Findings {
		if x.Severity != "error" && x.Severity != "warn" {
			continue
		}
		object := x.Object
		if x.Variable != "" {
			object = x.Variable + "=" + x.Value
		}
		f.add(evidence.OwnLint, place, "", object+": "+x.Summary,
			evidence.Fields{"rule": x.Rule, "severity": x.Severity, "object": object, "remedy": x.Remedy})
	}
}

func (f *Found) fabricErrors(d *fabricErrorsDocument, place evidence.Place) {
	for _, l := range d.Links {
		for _, c := range l.Counters {
			if !c.Exceeded {
				continue
			}
			end := l.A
			if c.At == "b" {
				end = l.B
			}
			value := strconv.FormatUint(c.Value, 10)
			f.add(evidence.OwnFabric, place, "", fmt.Sprintf("%v: %s %s", end, c.Name, value),
				evidence.Fields{"fault": c.Name, "object": end.String(), "value": value})
		}
	}
}

// fabricTrace adds the end of a path that doesn't arrive. One that isn't known is no fault.
func (f *Found) fabricTrace(d *fabricTraceDocument, place evidence.Place) {
	if d.End == "arrived" || d.End == "unknown" || d.End == "" {
		return
	}
	f.add(evidence.OwnFabric, place, "", fmt.Sprintf("from %v to %v: %s: %s", &d.From, &d.To, d.End, d.Reason),
		evidence.Fields{"fault": d.End})
}
