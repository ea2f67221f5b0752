package nodetree

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// inlined lists the sysfs directories with a table or a group of counters. They have no header:
// their files are listed in the section of the parent directory, which is easier to read and keeps
// diffs together.
var inlined = [...]string{
	"bonding", "counters", "gid_attrs", "gids", "hw_counters", "ndevs", "pkeys", "power", "statistics", "types",
}

const (
	maxOneLine = 100 // longest Go string before a file of several lines becomes a block
	minFold    = 3   // shortest run of equal files that becomes a range
)

// Text returns the canonical text form: directories and names in natural order, one header for each
// directory, runs of equal files as ranges. Equal trees have equal texts, and [Parse] returns an
// equal tree.
func (t *Tree) Text() []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	w := &textWriter{}
	if t.about != "" {
		for line := range strings.SplitSeq(t.about, "\n") {
			w.WriteString(strings.TrimRight("# "+line, " ") + "\n")
		}
		w.WriteByte('\n')
	}
	w.section(t.root, ".")
	return w.Bytes()
}

type textWriter struct{ bytes.Buffer }

// textEntry is a line of a section.
type textEntry struct {
	name string // relative to the section
	node *node
}

// section writes the section of a directory, then those of its subdirectories.
func (w *textWriter) section(dir *node, name string) {
	var entries []textEntry
	var sections []textEntry
	collect(dir, "", &entries, &sections)
	if len(entries) > 0 && name != "." {
		if w.Len() > 0 && !bytes.HasSuffix(w.Bytes(), []byte("\n\n")) {
			w.WriteByte('\n')
		}
		w.WriteString("[" + quoteHeader(name) + "]\n")
	}
	for len(entries) > 0 {
		n := run(entries)
		w.entry(entries[0], n)
		entries = entries[n:]
	}
	for _, s := range sections {
		if name != "." {
			s.name = name + "/" + s.name
		}
		w.section(s.node, s.name)
	}
}

// collect returns the entries of a directory's section, and the subdirectories with separate
// sections.
func collect(dir *node, prefix string, entries, sections *[]textEntry) {
	children := dir.sorted()
	slices.SortStableFunc(children, func(a, b *node) int { return compareNatural(a.name, b.name) })
	for _, c := range children {
		e := textEntry{name: prefix + c.name, node: c}
		if !c.isDir() {
			*entries = append(*entries, e)
			continue
		}
		if len(c.children) == 0 || c.errno != 0 {
			*entries = append(*entries, textEntry{name: e.name + "/", node: c})
		}
		switch {
		case len(c.children) == 0:
		case slices.Contains(inlined[:], c.name):
			collect(c, e.name+"/", entries, sections)
		default:
			*sections = append(*sections, e)
		}
	}
}

// run returns the number of leading entries that form a range, or 1.
func run(entries []textEntry) int {
	first := entries[0]
	prefix, number := cutNumber(first.name)
	if first.node.isDir() || first.node.isLink() || !isNumber(number) || nameNeedsQuotes(first.name) {
		return 1
	}
	start, _ := strconv.Atoi(number)
	n := 1
	for n < len(entries) && start+n < 1e9 { // ranges have shorter numbers
		next := entries[n]
		if next.name != prefix+strconv.Itoa(start+n) || !next.node.equal(first.node) {
			break
		}
		n++
	}
	if n < minFold {
		return 1
	}
	return n
}

// entry writes one line, or a block, for n entries.
func (w *textWriter) entry(e textEntry, n int) {
	name := quoteName(e.name)
	if n > 1 {
		_, number := cutNumber(e.name)
		start, _ := strconv.Atoi(number)
		name += ".." + strconv.Itoa(start+n-1)
	}
	w.WriteString(name)
	if errno, ok := sysfs.ErrnoName(e.node.errno); ok {
		w.WriteString(" ! " + errno + "\n")
		return
	}
	switch {
	case e.node.isDir():
		w.WriteByte('\n')
	case e.node.isLink():
		w.WriteString(" -> " + quoteTarget(e.node.link) + "\n")
	default:
		w.content(string(e.node.data))
	}
}

func (w *textWriter) content(data string) {
	line, ends := strings.CutSuffix(data, "\n")
	if ends && bareValue(line) {
		w.WriteString(" = " + line + "\n")
		return
	}
	quoted := strconv.Quote(data)
	if len(quoted) <= maxOneLine || !ends || !strings.Contains(line, "\n") {
		w.WriteString(" = " + quoted + "\n")
		return
	}
	w.WriteString(" =\n")
	for l := range strings.SplitSeq(line, "\n") {
		switch {
		case l == "":
			w.WriteString("|\n")
		case l[0] != '"' && plain(l) && !strings.HasSuffix(l, " "): // leading spaces are kept
			w.WriteString("| " + l + "\n")
		default:
			w.WriteString("| " + strconv.Quote(l) + "\n")
		}
	}
}

// bareValue reports whether a line can be written without quotes.
func bareValue(line string) bool {
	return line != "" && line[0] != '"' && plain(line) && strings.TrimSpace(line) == line
}

// plain reports whether a string is printable: valid UTF-8 without control characters and without
// white space other than spaces.
func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func quoteName(name string) string {
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		return quoteName(dir) + "/"
	}
	if nameNeedsQuotes(name) {
		return strconv.Quote(name)
	}
	return name
}

func nameNeedsQuotes(name string) bool {
	if _, _, _, ok := cutRange(name); ok {
		return true
	}
	return !plain(name) || strings.Contains(name, " ") || strings.ContainsRune(`"#[|`, rune(name[0])) ||
		strings.HasPrefix(name, "\ufeff")
}

func quoteTarget(target string) string {
	if bareValue(target) {
		return target
	}
	return strconv.Quote(target)
}

func quoteHeader(dir string) string {
	if bareValue(dir) {
		return dir
	}
	return strconv.Quote(dir)
}
