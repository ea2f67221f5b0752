package fabric

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// IsSaved reports whether head, the first bytes of a file, begins like the output of
// [Topology.WriteJSON] or the JSON of a [Document], ignoring white space; 256 bytes are enough.
func IsSaved(head []byte) bool {
	squeezed := strings.Join(strings.Fields(string(head)), "")
	return strings.HasPrefix(squeezed, `{"schema":"`+Schema+`"`)
}

// WriteJSON saves the topology: one line for the whole, then one for each node. Equal topologies
// give equal bytes. It needs memory for one node at a time.
func (t *Topology) WriteJSON(w io.Writer) error {
	head, err := json.Marshal(t.documentHead())
	if err != nil {
		return fmt.Errorf("save topology: %w", err)
	}
	const nodes = `"nodes":null}`
	b := bufio.NewWriterSize(w, 1<<16)
	b.Write(bytes.TrimSuffix(head, []byte(nodes))) //nolint:errcheck // b keeps its error until Flush
	fmt.Fprint(b, "\n\"nodes\":[")
	separator := "\n"
	for _, n := range t.Nodes {
		line, err := json.Marshal(nodeDocument(n))
		if err != nil {
			return fmt.Errorf("save topology: node %s: %w", n.GUID(), err)
		}
		b.WriteString(separator)
		b.Write(line) //nolint:errcheck // b keeps its error until Flush
		separator = ",\n"
	}
	fmt.Fprint(b, "\n]}\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("save topology: %w", err)
	}
	return nil
}

func multicastDocument(table map[ib.LID]PortSet) []MulticastDocument {
	if table == nil {
		return nil
	}
	list := make([]MulticastDocument, 0, len(table))
	for _, lid := range slices.Sorted(maps.Keys(table)) {
		one := MulticastDocument{LID: lid, Ports: []int{}}
		for _, port := range table[lid].Ports() {
			one.Ports = append(one.Ports, int(port))
		}
		list = append(list, one)
	}
	return list
}

// counterMap returns the fields of a set of counters that are not zero, by name; nil for nil.
func counterMap[C mad.PortCounters | mad.PortCountersExtended](counters *C) map[string]uint64 {
	if counters == nil {
		return nil
	}
	fields := map[string]uint64{}
	v := reflect.ValueOf(counters).Elem()
	for i := range v.NumField() {
		if value := v.Field(i).Uint(); value != 0 {
			fields[v.Type().Field(i).Name] = value
		}
	}
	return fields
}

// countersFromMap is the inverse of counterMap.
func countersFromMap[C mad.PortCounters | mad.PortCountersExtended](fields map[string]uint64) (*C, error) {
	if fields == nil {
		return nil, nil //nolint:nilnil // the port has none
	}
	counters := new(C)
	v := reflect.ValueOf(counters).Elem()
	for name, value := range fields {
		field := v.FieldByName(name)
		if !field.IsValid() {
			continue // from a later version
		}
		if field.OverflowUint(value) {
			return nil, fmt.Errorf("counter %s: %d does not fit in %d bits", name, value, field.Type().Bits())
		}
		field.SetUint(value)
	}
	return counters, nil
}
