package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Table returns the forms of NCCL and RCCL.
func Table() forms.Table {
	return forms.Table{
		Program: "NCCL",
		Markers: []string{" NCCL ", "NCCL version ", "RCCL version "},
		Forms:   []evidence.Form{version("NCCL"), version("RCCL"), completion()},
	}
}

// version is "NCCL version 2.21.5+cuda12.4", with or without prefix (src/init.cc).
func version(library string) evidence.Form {
	return evidence.Form{
		Name: strings.ToLower(library) + "/version", Kind: evidence.NCCLVersion, Anchor: library + " version ",
		Source: "src/init.cc",
		Parse: func(l *evidence.Line, at int, e *evidence.Event) bool {
			text := l.Text[at:]
			words := strings.Fields(text)
			if len(words) < 3 || words[2][0] < '0' || words[2][0] > '9' {
				return false
			}
			number, cuda, _ := strings.Cut(words[2], "+cuda")
			number, _, _ = strings.Cut(number, "+")
			e.Fields["library"], e.Fields["version"] = strings.ToLower(library), number
			if cuda != "" {
				e.Fields["cuda"] = cuda
			}
			setHead(l.Text, e)
			e.Text = text
			return true
		},
	}
}

// completion is the line of a completion with error.
func completion() evidence.Form {
	return evidence.Form{
		Name: "nccl/completion", Kind: evidence.NCCLCompletion, Anchor: "Got completion ",
		Source: "src/transport/net_ib.cc",
		Parse: func(l *evidence.Line, at int, e *evidence.Event) bool {
			setHead(l.Text, e)
			e.Text = l.Text[at:]
			for word := range strings.FieldsSeq(e.Text) {
				if v, ok := strings.CutPrefix(word, "status="); ok {
					e.Fields["status"] = v
				}
			}
			return e.Fields["status"] != ""
		},
	}
}

// setHead sets process, time and severity from the prefix of the line.
func setHead(text string, e *evidence.Event) {
	h, _, ok := split(text)
	if !ok {
		return
	}
	e.Severity = h.severity
	if h.host != "" {
		e.Process.Host, e.Process.PID = h.host, h.pid
	}
	if !h.time.IsZero() {
		e.Time = h.time
	}
}
