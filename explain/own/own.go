// Package own reads the JSON documents of rdmactl (connect, ping, doctor, cluster report) as
// events, so that they count beside the logs of a job.
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
}

// document has the parts of all documents that name faults.
type document struct {
	Schema string `json:"schema"`
	// connect
	Local    struct{ Host string }
	Attempts []struct {
		Local, Remote struct{ Host, Port string }
		Failure       *failure
	}
	Lost *failure
	// ping
	Failure *failure
	// doctor
	Node     string
	Findings []struct {
		Check, Outcome, Object, Summary string
		Suppressed                      json.RawMessage
	}
	// cluster report
	Verdicts []struct {
		Cause      string
		Confidence float64
		Words      string
		Where      struct{ Name string }
		Next       string
	}
}

type failure struct {
	Stage, Operation, Object, Code, Cause string
	Remedies                              []string
}

// Read reads a document whole.
func Read(r io.Reader, name string) (Found, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxLen+1))
	if err == nil && len(data) > MaxLen {
		err = ErrTooLarge
	}
	if err != nil {
		return Found{}, fmt.Errorf("read document %s: %w", name, err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return Found{}, fmt.Errorf("read document %s: %w", name, err)
	}
	f := Found{Schema: d.Schema}
	place := evidence.Place{File: name}
	switch kind, _, _ := strings.Cut(strings.TrimPrefix(d.Schema, "rdmakit."), "/"); kind {
	case "connect":
		f.connect(&d, place)
	case "ping":
		f.failed(evidence.OwnPing, d.Failure, place, "", "")
	case "doctor":
		f.doctor(&d, place)
	case "cluster-report":
		f.cluster(&d, place)
	default:
		return f, fmt.Errorf("read document %s of schema %s: %w", name, d.Schema, ErrUnknown)
	}
	f.Healthy = len(f.Events) == 0
	return f, nil
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

func (f *Found) failed(kind evidence.Kind, x *failure, place evidence.Place, host, peer string) {
	if x == nil {
		return
	}
	text := fmt.Sprintf("%s %s: %s", x.Operation, x.Object, x.Cause)
	f.add(kind, place, host, text, evidence.Fields{
		"code": x.Code, "stage": x.Stage, "cause": x.Cause, "peer": peer, "remedy": strings.Join(x.Remedies, "; "),
	})
}

func (f *Found) connect(d *document, place evidence.Place) {
	f.failed(evidence.OwnConnect, d.Lost, place, d.Local.Host, "")
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
}

func (f *Found) doctor(d *document, place evidence.Place) {
	for _, x := range d.Findings {
		if x.Outcome != "fail" && x.Outcome != "warn" || len(x.Suppressed) > 0 && string(x.Suppressed) != "null" {
			continue
		}
		f.add(evidence.OwnDoctor, place, d.Node, x.Object+": "+x.Summary,
			evidence.Fields{"check": x.Check, "outcome": x.Outcome, "object": x.Object})
	}
}

func (f *Found) cluster(d *document, place evidence.Place) {
	for _, v := range d.Verdicts {
		f.add(
			evidence.OwnCluster,
			place,
			"",
			v.Words,
			evidence.Fields{
				"cause":      v.Cause,
				"where":      v.Where.Name,
				"confidence": fmt.Sprintf("%.2f", v.Confidence),
				"next":       v.Next,
			},
		)
	}
}
