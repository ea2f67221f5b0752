package pciname

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxSize is the largest size of a database; the database of 2026 has 1.7 MB.
const maxSize = 16 << 20

// Check returns an error if file can't be read or is not a pci.ids file; the error names the first
// invalid line. New does not report these errors: names are missing then.
func Check(file string) error {
	// Pipes are rejected because they can be read only once, and both Check and the parser read the
	// file.
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("open PCI id database: %w", err)
	}
	if !info.Mode().IsRegular() && file != os.DevNull {
		return fmt.Errorf("open PCI id database %s: not a regular file", file)
	}
	f, err := os.Open(file) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("open PCI id database: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return fmt.Errorf("read PCI id database: %w", err)
	}
	if err := checkLines(data); err != nil {
		return fmt.Errorf("read PCI id database %s: %w", file, err)
	}
	return nil
}

// section is the kind of entry that indented lines belong to.
type section int

const (
	sectionNone section = iota
	sectionVendor
	sectionDevice // a vendor with a device
	sectionClass
	sectionSubclass // a class with a subclass
)

// checkLines checks data against the grammar of pci.ids (pciutils' pci.ids(5)) that the parser
// supports. The parser prints a warning to standard output for an unknown line, and panics on a
// truncated one.
func checkLines(data []byte) error {
	if len(data) > maxSize {
		return errors.New("too large for a pci.ids file")
	}
	in := sectionNone
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		next, ok := in.next(line)
		if !ok {
			return fmt.Errorf("line %d is not valid in a pci.ids file", number)
		}
		in = next
	}
	return nil
}

// next returns the section after a line, and whether the line is valid in this section.
func (in section) next(line []byte) (section, bool) {
	text := bytes.TrimLeft(line, "\t")
	switch depth := len(line) - len(text); {
	case depth == 0 && bytes.HasPrefix(text, []byte("C ")):
		return sectionClass, ids(text[2:], 2)
	case depth == 0:
		return sectionVendor, ids(text, 4) && text[0]|0x20 == text[0] // the parser rejects capitals in vendor IDs
	case depth == 1 && (in == sectionVendor || in == sectionDevice):
		return sectionDevice, ids(text, 4)
	case depth == 1 && (in == sectionClass || in == sectionSubclass):
		return sectionSubclass, ids(text, 2)
	case depth == 2 && in == sectionDevice:
		return in, ids(text, 4, 4)
	case depth == 2 && in == sectionSubclass:
		return in, ids(text, 2)
	}
	return in, false
}

// ids reports whether text begins with hexadecimal numbers of these widths, separated by spaces and
// followed by a space or the end of the line.
func ids(text []byte, widths ...int) bool {
	for i, width := range widths {
		if i > 0 {
			text = bytes.TrimLeft(text, " \t")
		}
		if len(text) < width || len(bytes.Trim(text[:width], "0123456789abcdefABCDEF")) > 0 {
			return false
		}
		text = text[width:]
		if len(text) > 0 && text[0] != ' ' && text[0] != '\t' && text[0] != '\r' {
			return false
		}
	}
	return true
}
