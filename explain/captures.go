package explain

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/rdmakit/rdmakit/explain/capture"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/input"
)

// captureMagics are the first bytes of pcap, in both byte orders and both precisions, and of
// pcapng.
var captureMagics = [][]byte{
	{0xd4, 0xc3, 0xb2, 0xa1},
	{0xa1, 0xb2, 0xc3, 0xd4},
	{0x4d, 0x3c, 0xb2, 0xa1},
	{0xa1, 0xb2, 0x3c, 0x4d},
	{0x0a, 0x0d, 0x0d, 0x0a},
}

// isCapture reports whether the beginning of an input is that of a capture.
func isCapture(head []byte) bool {
	for _, magic := range captureMagics {
		if bytes.HasPrefix(head, magic) {
			return true
		}
	}
	return false
}

// Capture is what was read of a capture.
type Capture struct {
	Name string
	*capture.Report
}

// readCapture reads a capture and adds its findings as events.
func readCapture(in input.Input, store *evidence.Store, result *InputResult) *Capture {
	report, err := capture.Read(in.Reader, capture.Options{})
	if err != nil {
		result.Err = err
		if errors.Is(err, capture.ErrFormat) || report == nil {
			result.Binary = true
			return nil
		}
	}
	result.Lines, result.Bytes = report.Packets, report.Bytes
	result.Capture = true
	if rdma := report.Packets - report.Other; rdma > 0 {
		result.Recognized = map[string]int{"RDMA transports": rdma}
	}
	addFindings(in.Name, report.Findings, store)
	return &Capture{Name: in.Name, Report: report}
}

// addFindings adds an event for each finding that stands by itself; what follows from it is part of
// its text.
func addFindings(name string, findings []capture.Finding, store *evidence.Store) {
	events := make([]*evidence.Event, len(findings))
	for i := range findings {
		events[i] = captureEvent(name, &findings[i])
	}
	for i := range findings {
		if origin := findings[i].Follows; origin >= 0 {
			events[origin].Text += "; " + events[i].Text
		}
	}
	for i, e := range events {
		if findings[i].Follows < 0 {
			store.Add(e)
		}
	}
}

// captureEvent returns the event of a finding.
func captureEvent(name string, f *capture.Finding) *evidence.Event {
	e := &evidence.Event{
		Kind: evidence.CapturePrefix + evidence.Kind(f.Name), Place: evidence.Place{File: name},
		Process: evidence.Process{File: name, Rank: evidence.NoRank}, Text: f.Summary,
		Fields: evidence.Fields{
			"finding": string(f.Name), "severity": string(f.Severity), "where": f.Where, "means": f.Means,
			"count": strconv.Itoa(f.Count),
		},
	}
	if f.Status != capture.StatusNone {
		e.Fields["status"] = strconv.Itoa(int(f.Status))
	}
	switch f.Severity {
	case capture.SeverityFault:
		e.Severity = evidence.Error
	case capture.SeverityWarning:
		e.Severity = evidence.Warning
	}
	if len(f.Evidence) > 0 {
		e.Place.Line, e.Time = f.Evidence[0].Packet, f.Evidence[0].Time
	}
	return e
}
