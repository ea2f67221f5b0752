// Package own reads the JSON documents of rdmactl that name faults (connect, ping, doctor, env
// consensus and lint, k8s lint, cluster report, fabric errors and trace) as events, so that they
// count beside the logs of a job.
//
//	found, err := own.Read(reader, "connect.json")
//
// It decodes the parts that name faults, by the names of the documents' schemas, and doesn't depend
// on the packages that write them.
package own

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// MaxLen is the largest document that is read, in bytes.
const MaxLen = 64 << 20

// Causes of errors.
var (
	// ErrUnknown is for a document of rdmactl without faults to read, such as an inventory.
	ErrUnknown = errors.New("a document of rdmactl that names no faults")
	// ErrTooLarge is for a document of more than [MaxLen] bytes.
	ErrTooLarge = errors.New("a document of more than 64 MiB")
)

// Is reports whether the beginning of an input is that of a JSON document of rdmactl.
func Is(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '{' {
		return false
	}
	_, rest, ok := bytes.Cut(head, []byte(`"schema"`))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " :\t\r\n"), []byte(`"rdmakit.`))
}

// Found is what a document says.
type Found struct {
	Schema string
	Events []*evidence.Event
	// Healthy reports that the document is one that would name faults.
	Healthy bool
	// Why says why nothing is read of a document of an unknown schema.
	Why string
}

// Read reads a document whole.
func Read(r io.Reader, name string) (Found, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxLen+1))
	if err == nil && len(data) > MaxLen {
		err = ErrTooLarge
	}
	var head struct{ Schema string }
	if err == nil {
		err = json.Unmarshal(data, &head)
	}
	if err != nil {
		return Found{}, fmt.Errorf("read document %s: %w", name, err)
	}
	f := Found{Schema: head.Schema}
	kind, _, _ := strings.Cut(strings.TrimPrefix(head.Schema, "rdmakit."), "/")
	read := readers()[kind]
	if read == nil {
		f.Why = whyNot(kind)
		return f, fmt.Errorf("read document %s of schema %s: %w", name, head.Schema, ErrUnknown)
	}
	if err := read(&f, data, evidence.Place{File: name}); err != nil {
		return Found{}, fmt.Errorf("read document %s of schema %s: %w", name, head.Schema, err)
	}
	f.Healthy = len(f.Events) == 0
	return f, nil
}

// readers returns the readers of documents by the kind in their schema.
func readers() map[string]func(*Found, []byte, evidence.Place) error {
	return map[string]func(*Found, []byte, evidence.Place) error{
		"connect":        decoded((*Found).connect),
		"ping":           decoded((*Found).ping),
		"ping-server":    decoded((*Found).ping),
		"doctor":         decoded((*Found).doctor),
		"doctor-nodes":   decoded((*Found).doctorNodes),
		"cluster-report": decoded((*Found).cluster),
		"consensus":      decoded((*Found).consensus),
		"lint":           decoded((*Found).lint),
		"k8slint":        decoded((*Found).lint),
		"fabric-errors":  decoded((*Found).fabricErrors),
		"fabric-trace":   decoded((*Found).fabricTrace),
	}
}

// decoded returns the reader of documents with the parts of T.
func decoded[T any](read func(*Found, *T, evidence.Place)) func(*Found, []byte, evidence.Place) error {
	return func(f *Found, data []byte, place evidence.Place) error {
		var d T
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		read(f, &d, place)
		return nil
	}
}

// whyNot says why no faults are read of a kind of document.
func whyNot(kind string) string {
	switch kind {
	case "bundle":
		return "the manifest of a recorded node that was unpacked: give the file that rdmactl snapshot wrote"
	case "bench":
		return "which names no faults: bench prints it only if it succeeds"
	case "detect", "inventory", "show", "status", "launch", "config", "applets", "exec", "cluster-plan", "k8splan",
		"k8splandiff", "k8simpact", "explain", "explain-value", "ping-minute":
		return "which names no faults"
	}
	return "of which no faults are read"
}

// add adds an event; fields without value are left out.
func (f *Found) add(kind evidence.Kind, place evidence.Place, host, text string, fields evidence.Fields) {
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	f.Events = append(f.Events, &evidence.Event{
		Kind: kind, Place: place, Severity: evidence.Error, Fields: fields, Text: text,
		Process: evidence.Process{File: place.File, Host: host, Rank: evidence.NoRank},
	})
}
