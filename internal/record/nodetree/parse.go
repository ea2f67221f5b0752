package nodetree

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Parse parses the text form. The name, usually of a file, is used in errors, which have the line
// number too and none of the text but names of entries: a user who may run the program with more
// privileges must not read other files through it. Names must be unique, no entry may be below a
// file or a link, and links may have any target.
func Parse(name string, text []byte) (*Tree, error) {
	if len(text) > maxTotal {
		return nil, fmt.Errorf("parse %s: %w: %d bytes of text", name, ErrTooLarge, len(text))
	}
	p := &parser{tree: New(), dir: "."}
	if err := p.parse(text); err != nil {
		return nil, fmt.Errorf("parse %s:%d: %w", name, p.line, err)
	}
	p.tree.about = strings.TrimSuffix(p.about.String(), "\n")
	return p.tree, nil
}

func (p *parser) parse(text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for line := range bytes.Lines(text) {
		p.line++
		if err := p.budget.work(1); err != nil {
			return err
		}
		if err := p.parseLine(string(bytes.TrimRight(line, " \t\r\n"))); err != nil {
			return err
		}
	}
	return p.endBlock()
}

type parser struct {
	tree   *Tree
	budget budget
	line   int
	dir    string          // of the last header
	about  strings.Builder // comment lines before anything else
	body   bool            // the leading comment has ended
	any    bool            // there was an entry
	block  *block          // the file whose lines are being read
}

type block struct {
	name    string
	quoted  bool
	content strings.Builder
}

func (p *parser) parseLine(line string) error {
	line = strings.TrimLeft(line, " \t")
	if strings.HasPrefix(line, "|") {
		return p.blockLine(line[1:])
	}
	if err := p.endBlock(); err != nil {
		return err
	}
	if comment, ok := strings.CutPrefix(line, "#"); ok {
		if !p.body {
			p.about.WriteString(strings.TrimSpace(comment) + "\n")
		}
		return nil
	}
	if line == "" {
		// A blank line ends the leading comment, if it has begun.
		p.body = p.body || p.about.Len() > 0
		return nil
	}
	p.body = true
	if strings.HasPrefix(line, "[") {
		return p.header(line)
	}
	if err := p.entry(line); err != nil {
		return err
	}
	p.any = true
	return nil
}

func (p *parser) header(line string) error {
	inner, ok := strings.CutSuffix(line[1:], "]")
	if !ok {
		return errors.New("header: missing ]")
	}
	dir, err := unquoteIf(inner)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := p.mkdir(dir); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	p.dir = dir
	return nil
}

// entry reads "name OPERATOR value" or "name/".
func (p *parser) entry(line string) error {
	name, rest, quoted, err := cutName(line)
	if err != nil {
		return err
	}
	op, value, _ := strings.Cut(rest, " ")
	value = strings.TrimLeft(value, " \t")
	switch {
	case op == "=" && value == "":
		p.block = &block{name: name, quoted: quoted}
		return nil
	case op == "=":
		return p.value(name, quoted, value)
	case op == "!":
		return p.errno(name, quoted, value)
	case op == "->":
		return p.link(name, value)
	case op == "" && strings.HasSuffix(name, "/"):
		full, err := p.join(strings.TrimSuffix(name, "/"))
		if err == nil {
			err = p.mkdir(full)
		}
		return wrapName(name, err)
	}
	return &formError{first: !p.any}
}

// formError is the error for a line that is not an entry.
type formError struct {
	first bool // no entry precedes the line, so the whole text is probably something else
}

func (*formError) Error() string {
	return "want NAME = VALUE, NAME ! ERRNO, NAME -> TARGET or NAME/"
}

func (p *parser) value(name string, quoted bool, value string) error {
	content := value + "\n"
	if strings.HasPrefix(value, `"`) {
		var err error
		if content, err = strconv.Unquote(value); err != nil {
			return fmt.Errorf("%.200s: value: bad Go string", name)
		}
	} else if !utf8.ValidString(value) {
		return fmt.Errorf("%.200s: value is not UTF-8: write it as a Go string", name)
	}
	return p.files(name, quoted, []byte(content), 0)
}

func (p *parser) errno(name string, quoted bool, value string) error {
	errno, err := parseErrno(value)
	if err != nil {
		return fmt.Errorf("%.200s: %w", name, err)
	}
	dir, ok := strings.CutSuffix(name, "/")
	if !ok {
		return p.files(name, quoted, nil, errno)
	}
	full, err := p.join(dir)
	if err != nil {
		return wrapName(name, err)
	}
	n, err := p.tree.dir(full, false)
	if err != nil {
		return wrapName(name, err)
	}
	n.errno = errno
	return p.budget.check(p.tree, 0)
}

func (p *parser) link(name, value string) error {
	full, err := p.join(name)
	if err != nil {
		return wrapName(name, err)
	}
	target, err := unquoteIf(value)
	if err == nil {
		err = p.tree.addLink(full, target, false)
	}
	if err == nil {
		err = p.budget.check(p.tree, 0)
	}
	return wrapName(name, err)
}

// files adds the file with a name, or a file for each name of a range. The files of a range share
// their content.
func (p *parser) files(name string, quoted bool, content []byte, errno syscall.Errno) error {
	if len(content) > maxFile {
		return fmt.Errorf("%.200s: %w: %d bytes in one file", name, ErrTooLarge, len(content))
	}
	prefix, from, to, ok := cutRange(name)
	if quoted || !ok {
		return wrapName(name, p.file(name, content, errno))
	}
	if to < from {
		return fmt.Errorf("%.200s: empty range", name)
	}
	if to-from >= maxEntries {
		return fmt.Errorf("%.200s: %w", name, ErrTooLarge)
	}
	for i := from; i <= to; i++ {
		if err := p.file(prefix+strconv.Itoa(i), content, errno); err != nil {
			return wrapName(prefix+strconv.Itoa(i), err)
		}
	}
	return nil
}

func (p *parser) file(name string, content []byte, errno syscall.Errno) error {
	if strings.HasSuffix(name, "/") {
		return errors.New("a directory has no content")
	}
	full, err := p.join(name)
	if err != nil {
		return err
	}
	n, err := p.tree.file(full, false)
	if err != nil {
		return err
	}
	n.data, n.errno = content, errno
	return p.budget.check(p.tree, len(content))
}

func (p *parser) mkdir(dir string) error {
	if err := p.budget.path(dir); err != nil {
		return err
	}
	if _, err := p.tree.dir(dir, false); err != nil {
		return err
	}
	return p.budget.check(p.tree, 0)
}

// join returns the path of a name in the header's directory. It must not clean the path, because
// checkPath rejects paths that are not clean. It charges the lookup to the budget, because a range
// may look up a deep path for each of its files.
func (p *parser) join(name string) (string, error) {
	if p.dir != "." {
		name = p.dir + "/" + name
	}
	return name, p.budget.path(name)
}

// blockLine reads "| text" after "name =".
func (p *parser) blockLine(line string) error {
	if p.block == nil {
		return errors.New("a | line without a NAME = before it")
	}
	text, err := unquoteIf(strings.TrimPrefix(line, " "))
	if err != nil {
		return err
	}
	if !utf8.ValidString(line) {
		return errors.New("line is not UTF-8: write it as a Go string")
	}
	if p.block.content.Len()+len(text) > maxFile {
		return fmt.Errorf("%.200s: %w", p.block.name, ErrTooLarge)
	}
	p.block.content.WriteString(text)
	p.block.content.WriteByte('\n')
	return nil
}

func (p *parser) endBlock() error {
	b := p.block
	if b == nil {
		return nil
	}
	p.block = nil
	if b.content.Len() == 0 {
		return fmt.Errorf(`%.200s: no value: write "" for an empty file`, b.name)
	}
	return p.files(b.name, b.quoted, []byte(b.content.String()), 0)
}

// cutName splits a line after its first name.
func cutName(line string) (name, rest string, quoted bool, err error) {
	if !strings.HasPrefix(line, `"`) {
		name, rest, _ = strings.Cut(line, " ")
		return name, strings.TrimLeft(rest, " \t"), false, nil
	}
	q, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", "", false, errors.New("name: bad Go string")
	}
	rest = strings.TrimLeft(line[len(q):], " \t")
	name, err = strconv.Unquote(q)
	if strings.HasPrefix(rest, "/") { // "name"/: a directory
		name, rest = name+"/", strings.TrimLeft(rest[1:], " \t")
	}
	return name, rest, true, err
}

// cutRange splits a name that ends in A..B. Names whose numbers have leading
// zeros or more than 9 digits are plain names.
func cutRange(name string) (prefix string, from, to int, ok bool) {
	left, right, found := cutLast(name, "..")
	if !found || !isNumber(right) {
		return "", 0, 0, false
	}
	prefix, number := cutNumber(left)
	if !isNumber(number) {
		return "", 0, 0, false
	}
	from, _ = strconv.Atoi(number)
	to, _ = strconv.Atoi(right)
	return prefix, from, to, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// cutNumber splits off the digits at the end of a name.
func cutNumber(name string) (prefix, number string) {
	i := len(name)
	for i > 0 && isDigit(name[i-1]) {
		i--
	}
	return name[:i], name[i:]
}

// isNumber reports whether s is a number in canonical form.
func isNumber(s string) bool {
	return s != "" && len(s) <= 9 && digits(s) == len(s) && (s == "0" || s[0] != '0')
}

// unquoteIf unquotes a Go string; it returns text that does not begin with a quote unchanged.
func unquoteIf(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	u, err := strconv.Unquote(s)
	if err != nil {
		return "", errors.New("bad Go string")
	}
	return u, nil
}

func wrapName(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%.200s: duplicate name", name)
	}
	return fmt.Errorf("%.200s: %w", name, err)
}
