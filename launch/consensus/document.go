package consensus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// Limits of a document. A node with 32 cards, 62 virtual functions each and full GID tables is
// below them; without limits a few megabytes of "{},{},…" would become gigabytes.
const (
	maxDocument = 32 << 20 // bytes
	maxElements = 1 << 17  // of all arrays together
	maxDepth    = 64
	maxPorts    = 4096 // 32 cards with 62 virtual functions have half as many
	maxNetdevs  = 8192
)

// detectSchema is the schema of `rdmactl detect -o json`, which has a snapshot in its field node.
const detectSchema = "rdmakit.detect/v1"

// wanted describes the accepted document.
const wanted = `give the output of "rdmactl detect -o json"`

// ErrDocument is matched by errors about JSON that does not describe a node.
var ErrDocument = errors.New("not a description of a node")

// documentError is an error about a document; it matches ErrDocument.
type documentError string

// Error implements error.
func (e documentError) Error() string { return string(e) }

// Is reports whether target is ErrDocument.
func (e documentError) Is(target error) bool { return target == ErrDocument }

// Documents reads snapshots from JSON: one document, several documents in sequence, or an array of
// them, with schema rdmakit.inventory/v1 or rdmakit.detect/v1. A document that can't be used yields
// an error, and the iteration continues with the next one; after invalid JSON it ends.
func Documents(r io.Reader) iter.Seq2[inventory.Snapshot, error] {
	return func(yield func(inventory.Snapshot, error) bool) {
		in := &meter{r: bufio.NewReaderSize(r, 64<<10)}
		in.reset()
		dec := json.NewDecoder(in)
		array, err := in.begin()
		if err == nil && array {
			_, err = dec.Token()
		}
		if err != nil {
			yield(inventory.Snapshot{}, jsonError(err))
			return
		}
		for n := 0; ; n++ {
			in.reset()
			var raw json.RawMessage
			if array && !dec.More() {
				_, err = dec.Token()
				if err == nil {
					return
				}
			} else {
				err = dec.Decode(&raw)
			}
			if errors.Is(err, io.EOF) && !array && n > 0 {
				return
			}
			if err != nil {
				if array && errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				yield(inventory.Snapshot{}, jsonError(err))
				return
			}
			if !yield(parseDocument(raw)) {
				return
			}
		}
	}
}

// jsonError returns the error for invalid JSON.
func jsonError(err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return documentError(
			fmt.Sprintf("read json: the document is larger than %d MiB", maxDocument>>20))
	case errors.Is(err, io.EOF):
		return documentError("read json: empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return documentError("read json: unexpected end of a document")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return documentError(fmt.Sprintf("read json: byte %d: %v", syntax.Offset, syntax))
	}
	return fmt.Errorf("read json: %w", err)
}

// document has the fields of both kinds of documents.
type document struct {
	Schema string              `json:"schema"`
	Node   *inventory.Snapshot `json:"node"`
	inventory.Snapshot
}

// parseDocument reads one document.
func parseDocument(raw []byte) (inventory.Snapshot, error) {
	if err := checkShape(raw); err != nil {
		return inventory.Snapshot{}, err
	}
	var doc document
	err := json.Unmarshal(raw, &doc) // fills in the schema even if other fields don't match
	snap := doc.Snapshot
	switch {
	case doc.Schema == detectSchema && doc.Node != nil:
		snap = *doc.Node
		if snap.Schema != inventory.Schema {
			return inventory.Snapshot{},
				documentError(fmt.Sprintf("the field node has schema %.60q, not %s", snap.Schema, inventory.Schema))
		}
	case doc.Schema == detectSchema:
		return inventory.Snapshot{}, documentError(
			"a document with schema " + detectSchema + " but without the field node: " + wanted)
	case doc.Schema != inventory.Schema:
		return inventory.Snapshot{}, schemaError(doc.Schema)
	}
	if err != nil {
		return inventory.Snapshot{}, documentError("read json: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := checkSnapshot(&snap); err != nil {
		return inventory.Snapshot{}, err
	}
	return snap, nil
}

// schemaError describes the document and the document that is needed instead.
func schemaError(schema string) error {
	name, _, _ := strings.Cut(schema, "/")
	switch {
	case schema == "":
		return documentError("no field schema, so it is not a document of rdmactl: " + wanted)
	case schema == launch.Schema:
		return documentError("a launch plan (" + schema + ") has no rates and no GID tables: " + wanted)
	case name+"/v1" == inventory.Schema || name+"/v1" == detectSchema:
		return documentError(
			fmt.Sprintf("schema %.60q is not supported, only v1: use the version of rdmactl that wrote it", schema))
	}
	return documentError(fmt.Sprintf("schema %.60q does not describe a node: %s", schema, wanted))
}

// checkSnapshot rejects values that no scan produces.
func checkSnapshot(snap *inventory.Snapshot) error {
	ports := 0
	if len(snap.Netdevs) > maxNetdevs {
		return documentError(fmt.Sprintf("%d network devices: too many for a node", len(snap.Netdevs)))
	}
	for d, p := range snap.Ports() {
		if ports++; ports > maxPorts {
			return documentError(fmt.Sprintf("more than %d ports: too many for a node", maxPorts))
		}
		object := fmt.Sprintf("device %.60q, port %d", d.Name, p.Number)
		switch {
		case d.Name == "":
			return documentError("a device without a name")
		case p.Number < 1 || p.Number > 255:
			return documentError(object + ": ports are numbered from 1 to 255")
		case p.Rate != nil && (p.Rate.GbPerSecond < 0 || p.Rate.GbPerSecond > 1e5):
			return documentError(fmt.Sprintf("%s: a rate of %g Gb/s", object, p.Rate.GbPerSecond))
		case p.ActiveMTU != 0 && (p.ActiveMTU < 256 || p.ActiveMTU > 4096):
			return documentError(fmt.Sprintf("%s: an active MTU of %d", object, p.ActiveMTU))
		}
		for _, g := range p.GIDs {
			if g.Index < 0 || g.Index > 0xffff {
				return documentError(fmt.Sprintf("%s: a GID index of %d", object, g.Index))
			}
		}
	}
	return nil
}

// checkShape checks the number of list entries and the depth, to limit memory. It parses only
// brackets and commas; the decoder reports invalid JSON.
func checkShape(raw []byte) error {
	var arrays [maxDepth]bool // whether the container at a depth is an array
	depth, elements := 0, 0
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth == maxDepth {
				return documentError("read json: nested too deep")
			}
			if arrays[depth] = c == '['; arrays[depth] {
				elements++
			}
			depth++
		case (c == ']' || c == '}') && depth > 0:
			depth--
		case c == ',' && depth > 0 && arrays[depth-1]:
			elements++
		}
	}
	if elements > maxElements {
		return documentError(fmt.Sprintf("read json: more than %d list entries: too many for a node", maxElements))
	}
	return nil
}

var errTooLarge = errors.New("too large")

// meter limits the number of bytes read for one document.
type meter struct {
	r    *bufio.Reader
	left int
}

func (m *meter) reset() { m.left = maxDocument }

// Read implements io.Reader.
func (m *meter) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooLarge
	}
	n, err := m.r.Read(b[:min(len(b), m.left)])
	m.left -= n
	return n, err
}

// begin skips a byte order mark and white space and reports whether an array follows.
func (m *meter) begin() (array bool, err error) {
	if b, err := m.r.Peek(3); err == nil && string(b) == "\xef\xbb\xbf" {
		_, _ = m.r.Discard(3) // they are in the buffer
	}
	for ; m.left > 0; m.left-- {
		c, err := m.r.ReadByte()
		if err != nil {
			return false, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(c)) {
			return c == '[', m.r.UnreadByte()
		}
	}
	return false, errTooLarge
}
