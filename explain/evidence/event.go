package evidence

import (
	"strconv"
	"time"
)

// Kind is what an event is about, as program and subject: "nccl.completion", "kernel.health". Kinds
// are stable: rules and tests name them.
type Kind string

// Severity is how the writer of a line has marked it.
type Severity uint8

// Severities, from the least severe.
const (
	Info Severity = iota
	Warning
	Error
)

// Standing is what an event is among others that failed.
type Standing uint8

// Standings. The zero value leaves it to the kind of the event.
const (
	ByKind   Standing = iota
	Origin            // names its own cause, or cuts off a node by itself
	Failed            // may be the origin or not
	Waiting           // a program that waited for others
	Vague             // says only that something failed
	Echo              // only follows from something else
	Harmless          // looks like a fault and is none
)

// Event is what one line or packet says.
type Event struct {
	Kind     Kind
	Place    Place
	Process  Process
	Time     time.Time // zero: unknown; see [Line.Time]
	Severity Severity
	Standing Standing
	// Fields are the values in the line, under names that are the same for all forms of the kind:
	// "status", "device", "peer". Values are normalized: numbers are decimal, GIDs as
	// [github.com/rdmakit/rdmakit/wire/ib.GID] prints them.
	Fields Fields
	// Text is the message without prefixes, for the reader of a report.
	Text string
	// Form is the name of the form that matched, and Since and Until the releases that print it:
	// together with those of other events they date the library. Empty: unlimited or unknown.
	Form, Since, Until string
	// Recorded marks what a recording of a node holds, which may be older than what the logs are
	// about.
	Recorded bool
	// Count is how many equal events this one stands for; 0 before [Store.Add].
	Count int
	// Last is the place and LastTime the time of the last of them.
	Last     Place
	LastTime time.Time
}

// Fields are named values.
type Fields map[string]string

// Int returns a decimal number, and false if there is none under that name.
func (f Fields) Int(name string) (int, bool) {
	n, err := strconv.Atoi(f[name])
	return n, err == nil
}

// Form is one way in which a program prints something.
type Form struct {
	// Name identifies the form, for tests and coverage: "nccl/completion-2.20".
	Name string
	Kind Kind
	// Anchor is a text that each line of the form contains; Parse isn't called for other lines.
	Anchor string
	// Since and Until are the first and last release with the form; "": unlimited or unknown.
	Since, Until string
	// Source is where the form was read, such as a source file of the program.
	Source string
	// Parse reads the line, which contains Anchor at position at, and fills in the event's fields,
	// text, severity, process and time. It reports whether the line has the form.
	Parse func(l *Line, at int, e *Event) bool
}
