package sa

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Query is a question to the SA.
type Query struct {
	Attribute mad.Attribute
	Modifier  uint32 // attribute modifier, such as [mad.PortInfoRecordAllBits]
	Mask      uint64 // components of Record to compare; 0: all records match
	// Record is a record with these components, at most [mad.SADataLen] bytes; nil: zeros.
	Record []byte
}

// Table is the answer to a query.
type Table struct {
	Attribute mad.Attribute
	// Data has the records, each RecordSize bytes long.
	Data []byte
	// RecordSize is the distance from one record to the next, in bytes; 0 in a table without
	// records.
	RecordSize int
	// Segments is how many packets the answer had.
	Segments int
}

// Len returns the number of records.
func (t *Table) Len() int {
	if t.RecordSize == 0 {
		return 0
	}
	return len(t.Data) / t.RecordSize
}

// Record returns a record, from 0 to Len()-1, with its padding. It is a part of Data.
func (t *Table) Record(i int) []byte { return t.Data[i*t.RecordSize : (i+1)*t.RecordSize] }

// Records decodes all records of a table.
func Records[T any, P interface {
	*T
	Decode(b []byte) (int, error)
}](t *Table) ([]T, error) {
	list := make([]T, t.Len())
	for i := range list {
		if _, err := P(&list[i]).Decode(t.Record(i)); err != nil {
			return nil, fmt.Errorf("decode %s %d of %d, %d bytes: %w",
				t.Attribute.Name(mad.ClassSA), i+1, len(list), t.RecordSize, err)
		}
	}
	return list, nil
}
