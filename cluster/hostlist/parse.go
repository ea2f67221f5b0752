package hostlist

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxHosts bounds a list, before and after exclusions, so that [0-999999999] is refused before it
// is expanded. It is also pdsh's limit for a range.
const MaxHosts = 1 << 14

// Parse expands a list of hosts in its order. Errors are of type [*Error].
func Parse(list string) ([]string, error) {
	p := parser{op: "parse host list", lines: []string{list}, exclusions: true}
	if err := p.list(0); err != nil {
		return nil, err
	}
	return p.finish()
}

// parser collects the hosts of the lines of a file, or of one list.
type parser struct {
	op         string
	lines      []string // positions are counted in them
	file       bool     // positions have lines
	exclusions bool     // elements that begin with a hyphen are exclusions
	hosts      []host
	excluded   []host
}

// host is a name with its place: a line and the offset of its element in it, both from 0.
type host struct {
	name         string
	line, offset int
}

// key identifies a host: without user@, in lower case, as ssh looks it up.
func (h host) key() string {
	return strings.ToLower(h.name[strings.IndexByte(h.name, '@')+1:])
}

// position returns the place of an offset.
func (p *parser) position(line, offset int) position {
	at := position{column: utf8.RuneCountInString(p.lines[line][:offset]) + 1}
	if p.file {
		at.line = line + 1
	}
	return at
}

// fail returns an error about the text at an offset.
func (p *parser) fail(line, offset int, text string, err error) error {
	at := p.position(line, offset)
	return &Error{Op: p.op, Line: at.line, Column: at.column, Text: strings.TrimSpace(text), Err: err}
}

// list reads the elements of a line.
func (p *parser) list(line int) error {
	text := p.lines[line]
	start, open := 0, -1
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '[' && open < 0:
			open = i
		case i < len(text) && text[i] == '[':
			return p.fail(line, open, text[start:], errors.New("bracket is not closed before the next one"))
		case i < len(text) && text[i] == ']' && open < 0:
			return p.fail(line, i, text[start:i+1], errors.New("closing bracket without an opening one"))
		case i < len(text) && text[i] == ']':
			open = -1
		case i == len(text) && open >= 0:
			return p.fail(line, open, text[start:], errors.New("bracket is not closed"))
		case i == len(text) || text[i] == ',' && open < 0:
			if err := p.element(line, start, text[start:i]); err != nil {
				return err
			}
			start = i + 1
		}
	}
	return nil
}

// element reads the element of a list at an offset.
func (p *parser) element(line, offset int, text string) error {
	trimmed := strings.TrimLeft(text, " \t")
	offset += len(text) - len(trimmed)
	text = strings.TrimRight(trimmed, " \t")
	if text == "" {
		return nil
	}
	to, pattern := &p.hosts, text
	if p.exclusions {
		if rest, ok := strings.CutPrefix(text, "-"); ok {
			to, pattern = &p.excluded, rest
		}
	}
	parts, at, err := split(pattern)
	if err != nil {
		return p.fail(line, offset+len(text)-len(pattern)+at, text, err)
	}
	if count(parts) > MaxHosts-len(*to) {
		return p.fail(line, offset, text, ErrTooMany)
	}
	for name := range expand(parts) {
		if err := checkName(name); err != nil {
			return p.fail(line, offset, text, err)
		}
		*to = append(*to, host{name, line, offset})
	}
	return nil
}

// finish returns the hosts that are not excluded.
func (p *parser) finish() ([]string, error) {
	if err := p.exclude(); err != nil {
		return nil, err
	}
	if err := p.duplicates(); err != nil {
		return nil, err
	}
	if len(p.hosts) == 0 {
		return nil, &Error{Op: p.op, Err: ErrEmpty}
	}
	names := make([]string, len(p.hosts))
	for i, h := range p.hosts {
		names[i] = h.name
	}
	return names, nil
}

// duplicates returns an error if hosts are in the list more than once: all of them, with the places
// of the first and the other occurrence. Those of the same two elements are folded.
func (p *parser) duplicates() error {
	type places struct{ first, again position }
	var order []places
	names := map[places][]string{}
	first := make(map[string]host, len(p.hosts))
	for _, h := range p.hosts {
		f, ok := first[h.key()]
		if !ok {
			first[h.key()] = h
			continue
		}
		at := places{p.position(f.line, f.offset), p.position(h.line, h.offset)}
		if names[at] == nil {
			order = append(order, at)
		}
		names[at] = append(names[at], h.name)
	}
	if len(order) == 0 {
		return nil
	}
	const most = 10 // of a message
	var messages []string
	for _, at := range order[:min(len(order), most)] {
		messages = append(messages, fmt.Sprintf("%s (%s and %s)", clip(Compress(names[at])), at.first, at.again))
	}
	if more := len(order) - most; more > 0 {
		messages = append(messages, fmt.Sprintf("%d more", more))
	}
	return &Error{Op: p.op, Err: fmt.Errorf("%w: %s", ErrDuplicate, strings.Join(messages, ", "))}
}
