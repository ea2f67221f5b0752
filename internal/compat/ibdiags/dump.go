package ibdiags

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// row is a line of an attribute's dump.
type row struct{ name, value string }

// String sets the value in column 34, with dots before it (C twin: mad_dump_field).
func (w row) String() string {
	return w.name + ":" + strings.Repeat(".", max(0, 32-len(w.name))) + w.value + "\n"
}

// dump joins the lines of an attribute.
func dump(rows []row) string {
	var b strings.Builder
	for _, w := range rows {
		b.WriteString(w.String())
	}
	return b.String()
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// decimal and hex show a number as libibmad does; hex pads it to a number of bytes.
func decimal[T unsigned](name string, v T) row { return row{name, fmt.Sprintf("%d", uint64(v))} }

func hex[T unsigned](name string, v T, bytes int) row {
	return row{name, fmt.Sprintf("0x%0*x", 2*bytes, uint64(v))}
}

func guidRow(name string, guid ib.GUID) row { return hex(name, guid64(guid), 8) }

func bit(name string, set bool) row {
	if set {
		return row{name, "1"}
	}
	return row{name, "0"}
}

// choice formats a number by its name.
func choice(name string, v uint8, names ...string) row {
	if int(v) < len(names) && names[v] != "" {
		return row{name, names[v]}
	}
	return row{name, fmt.Sprintf("?(%d)", v)}
}

// mask formats bits by their names, one per line below the number. names may have gaps.
func mask(name string, v uint32, names []string) row {
	var b strings.Builder
	fmt.Fprintf(&b, "0x%x", v)
	for i, n := range names {
		if v>>i&1 != 0 && n != "" {
			b.WriteString("\n\t\t\t\t" + n)
		}
	}
	return row{name, b.String()}
}

// anyOf joins the names of the bits that are set with "or".
func anyOf(v uint8, names ...string) string {
	var list []string
	for i, n := range names {
		if v>>i&1 != 0 {
			list = append(list, n)
		}
	}
	return strings.Join(list, " or ")
}

// leftHex shows a byte in two columns, from the left.
func leftHex(v byte) string { return fmt.Sprintf("0x%-2X", v) }
