package explain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/kernel"
	"github.com/rdmakit/rdmakit/explain/input"
)

// ReadRecording reads a recorded node, of the form of rdmactl snapshot: an archive, or a tree as
// text. If the recording is damaged, what was read of it comes beside the error.
type ReadRecording func(ctx context.Context, name string, r io.Reader) (*Recording, error)

// Recording is what a recorded node says.
type Recording struct {
	// Node is the host's name, "" if it was not recorded.
	Node  string
	Taken time.Time // when the node was read; zero if that is not known
	// Events are those of the kinds evidence.Recorded…, and evidence.OwnDoctor for checks that
	// failed or warned.
	Events []*evidence.Event
	// KernelLog has the messages of the kernel about cards.
	KernelLog []KernelMessage
	// Failed, Warned and NoResult count the checks by their worst outcome; Checks is the number of
	// those that apply. All are 0 if no check was run.
	Checks, Failed, Warned, NoResult int
	// Warnings are the IDs of the checks that warned.
	Warnings []string
	// Notes say what the recording doesn't show, and why.
	Notes []string
}

// KernelMessage is a line of the kernel's log.
type KernelMessage struct {
	Time time.Time // zero if the time of the start is not known
	Text string
}

// readRecording reads a recorded node and adds what it says as events.
func readRecording(
	ctx context.Context, in input.Input, store *evidence.Store, result *InputResult, read ReadRecording,
) {
	if read == nil {
		result.Other = "a recorded node, which this program doesn't read"
		return
	}
	rec, err := read(ctx, in.Name, in.Reader)
	if err != nil {
		result.Err = err
	}
	if rec == nil {
		return
	}
	result.Recording = rec
	result.Recognized = map[string]int{"recorded nodes": 1}
	for _, e := range rec.Events {
		e.Recorded = true
		store.Add(e)
	}
	matcher := forms.NewMatcher(kernel.Table())
	for i, m := range rec.KernelLog {
		line := evidence.Line{
			Place:   evidence.Place{File: in.Name + ":kernel log", Line: i + 1},
			Text:    m.Text,
			Process: evidence.Process{File: in.Name, Host: rec.Node, Rank: evidence.NoRank},
			Time:    m.Time,
		}
		for _, e := range matcher.Read(&line) {
			e.Recorded = true
			store.Add(e)
		}
	}
}

// Lines of a recorded node as text: see package nodetree.
var (
	treeHeader = regexp.MustCompile(`^\[[^\s\]]+\]$`)
	nodeHeader = regexp.MustCompile(`^\[(?:dev|proc|sys)(?:/[^\]]*)?\]$`)
	treeEntry  = regexp.MustCompile(`^(?:"[^"]*"|[^\s"\[|#]\S*)(?:/?| =| = .*| ! E[A-Z0-9]+| -> .+)$`)
	treeFile   = regexp.MustCompile(`^(?:manifest|live|facts|environment|versions|verbs|names|routes)\.json = ?$`)
)

// isTextBundle reports whether the beginning of an input is that of a recorded node as text: each
// line is one of that form, and one names a folder or document that only a node has.
func isTextBundle(head []byte) bool {
	lines := bytes.Split(head, []byte("\n"))
	if len(head) == headLen {
		lines = lines[:len(lines)-1] // the last one is cut
	}
	node := false
	for _, line := range lines {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0, line[0] == '#', node && line[0] == '|':
		case nodeHeader.Match(line), treeFile.Match(line):
			node = true
		case treeHeader.Match(line):
		case line[0] == '[' || !node && bytes.HasPrefix(line, []byte("|")) || !treeEntry.Match(line):
			return false
		}
	}
	return node
}

// RecordingDocument is what was read of a recorded node.
type RecordingDocument struct {
	Node  string `json:"node,omitempty"`
	Taken string `json:"taken,omitempty"` // RFC 3339
	// Checks is the number of checks that apply, by their worst outcome; 0 if none was run.
	Checks    int      `json:"checks"`
	Failed    int      `json:"failed"`
	Warned    int      `json:"warned"`
	NoResult  int      `json:"noResult"`
	Warnings  []string `json:"warnings,omitempty"` // IDs of the checks that warned
	KernelLog int      `json:"kernelLog"`          // lines about cards
	Notes     []string `json:"notes,omitempty"`
}

func (r *Recording) document() *RecordingDocument {
	d := &RecordingDocument{
		Node: r.Node, Checks: r.Checks, Failed: r.Failed, Warned: r.Warned, NoResult: r.NoResult,
		Warnings:  r.Warnings,
		KernelLog: len(r.KernelLog), Notes: r.Notes,
	}
	if !r.Taken.IsZero() {
		d.Taken = r.Taken.UTC().Format(time.RFC3339)
	}
	return d
}

func recordedDocument(r *facts.Recorded) *RecordedDocument {
	d := &RecordedDocument{
		File: r.Place.File, Host: r.Host, Kernel: r.Kernel, Memlock: r.Memlock, Partial: r.Partial,
		Ports: []RecordedPortDocument{},
	}
	for _, p := range r.Ports {
		doc := RecordedPortDocument{
			Device: p.Device, Port: p.Port, Link: p.Link, State: p.State, Driver: p.Driver, Firmware: p.Firmware,
			Netdev: p.Netdev, MTU: p.MTU, GIDs: len(p.GIDs),
		}
		if best, ok := p.Routable(); ok {
			doc.Best = fmt.Sprintf("%d %s", best.Index, best.GID.Addr())
		}
		d.Ports = append(d.Ports, doc)
	}
	for _, s := range r.Environment {
		d.Environment = append(d.Environment, SettingDocument{Name: s.Name, Values: texts(s.Values)})
	}
	return d
}
