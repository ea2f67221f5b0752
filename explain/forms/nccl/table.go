package nccl

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Table returns the forms of NCCL and RCCL. The last ones take every other warning.
func Table() forms.Table {
	rows := slices.Concat(
		startRows(),
		networkRows(),
		pluginRows(),
		pathRows(),
		verbRows(),
		completionRows(),
		socketRows(),
		handshakeRows(),
		endRows(),
	)
	t := forms.Table{
		Program: "NCCL", Markers: append(markers(), quoteMarkers...), Split: splitGlued, Follow: newQuotes,
	}
	for i := range rows {
		t.Forms = append(t.Forms, rows[i].form())
	}
	return t
}

// Symptoms returns the lines of NCCL and RCCL that package symptoms has.
// Programs print the last warning of NCCL without its prefix, so the texts themselves are markers.
func Symptoms() forms.Table {
	t := forms.Table{Program: symptoms.NCCL, Strict: true, Split: splitGlued}
	for _, m := range symptoms.Of(symptoms.NCCL) {
		t.Markers = append(t.Markers, m.Line.All[0])
		x := forms.SymptomRow(m)
		r := row{name: x.Name, kind: x.Kind, anchor: x.Anchor, source: x.Source, standing: x.Standing, whole: x.Parse}
		t.Forms = append(t.Forms, r.form())
	}
	version := startRows()[0] // the rest of a line with an error, see splitGlued
	t.Forms = append(t.Forms, version.form())
	return t
}

// markers are texts one of which each line of NCCL contains.
func markers() []string {
	return []string{
		"NCCL INFO ", "NCCL WARN ", "NCCL version ", "RCCL version", "] misc/", "] include/", "] transport/",
		// Programs print the last warning of NCCL without its prefix.
		"NET/IB : Got completion", "NET/IB: Got completion", "NET/OFI ", "Call to ibv_", "socketProgress",
		"socketPollConnect", "Connection closed by remote peer", "socketStartConnect", "WARN Socket creation failed",
		" is neither AF_INET(",
	}
}

// row is a form of which only the message differs.
type row struct {
	name         string
	kind         evidence.Kind
	anchor       string // in the message
	since, until string
	source       string // below src/
	// parse reads the message from the anchor on, and what comes before it in the message; it
	// reports whether the message has the form. nil: every message with the anchor has it.
	parse func(m, before string, f evidence.Fields) bool
	// whole is parse for forms that read the prefix, too: level and source file are in the text
	// before the anchor.
	whole func(m, before string, f evidence.Fields) bool
	// dates, if set, returns the first and last release with this variant of the form.
	dates func(m, before string) (since, until string)

	standing evidence.Standing
}

// form returns the form of the whole line.
func (r *row) form() evidence.Form {
	return evidence.Form{
		Name: "nccl/" + r.name, Kind: r.kind, Anchor: r.anchor, Since: r.since, Until: r.until,
		Source: "src/" + strings.TrimPrefix(r.source, "NVIDIA/nccl, src/"),
		Parse:  r.read,
	}
}

func (r *row) read(l *evidence.Line, at int, e *evidence.Event) bool {
	h, message, ok := split(l.Text)
	if !ok { // a line of the levels VERSION and CALL
		h, message = head{}, l.Text
	}
	start := at - (len(l.Text) - len(message))
	switch {
	case start < 0 && r.kind == evidence.NCCLWarn:
		start = 0 // every warning
	case start < 0:
		return false // the anchor is in the prefix
	}
	if h.place != "" {
		e.Fields["source"] = h.place
	}
	if r.parse != nil && !r.parse(message[start:], message[:start], e.Fields) {
		return false
	}
	if r.whole != nil && (inSource(l.Text) || !r.whole(l.Text[at:], l.Text[:at], e.Fields)) {
		return false
	}
	if r.dates != nil {
		e.Since, e.Until = r.dates(message[start:], message[:start])
	}
	if strings.HasPrefix(h.place, "ib_plugin.c:") { // HPC-X's plugin has releases of its own
		e.Since, e.Until = "", ""
	}
	e.Text, e.Severity, e.Standing = message, h.severity, r.standing
	if !ok && r.kind == evidence.Symptom {
		e.Severity = evidence.Error
	}
	if h.host != "" {
		e.Process.Host, e.Process.PID = h.host, h.pid
	}
	if !h.time.IsZero() {
		e.Time = h.time
	}
	if h.severity != evidence.Error {
		return true
	}
	switch {
	case h.function != "":
		e.Since = later(e.Since, "2.30.7")
	case h.stamped:
		e.Since = later(e.Since, "2.26")
	}
	return true
}

// inSource reports whether a text is from the source of the program: the message is an argument of
// the macro that prints it, a result, or has directives of printf.
func inSource(text string) bool {
	for _, mark := range [...]string{"WARN(", "INFO(", `return "`, "%d", "%s", "%lx", "%ld", "%p"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// versionInError is where PyTorch's message of an error goes on with the version of NCCL.
const versionInError = ", NCCL version "

// splitGlued cuts a line at the beginning of each further line of NCCL in it: several ranks that
// write to one pipe can lose the line end between them.
func splitGlued(text string) []string {
	if i := strings.Index(text, versionInError); i > 0 { // "unhandled system error, NCCL version 2.12.10"
		return []string{text[:i], text[i+len(", "):]}
	}
	if strings.Count(text, " NCCL INFO ")+strings.Count(text, " NCCL WARN ") < 2 {
		return []string{text}
	}
	var parts []string
	for {
		i := nextHead(text)
		if i < 0 {
			return append(parts, text)
		}
		parts = append(parts, text[:i])
		text = text[i:]
	}
}

// nextHead returns where the second "HOST:PID:TID [DEV] … NCCL" of a text begins, -1 if there is
// none. A host that is glued to the message before it can't be told from it: the word as a whole is
// taken.
func nextHead(text string) int {
	first := levelIndex(text)
	second := levelIndex(text[first+1:])
	if first < 0 || second < 0 {
		return -1
	}
	message := first + len(" NCCL INFO ")
	second += first + 1
	if second <= message {
		return -1
	}
	for end := second; ; {
		start := strings.LastIndexByte(text[message:end], ' ') + 1 + message
		parts := strings.Split(text[start:end], ":")
		if n := len(parts); n >= 3 && digits(parts[n-1]) && digits(parts[n-2]) {
			return start
		}
		if start == message {
			return -1
		}
		end = start - 1
	}
}

func levelIndex(text string) int {
	i, w := strings.Index(text, " NCCL INFO "), strings.Index(text, " NCCL WARN ")
	if i < 0 || w >= 0 && w < i {
		return w
	}
	return i
}
