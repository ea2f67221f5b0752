package pmi

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// maxAnswer is the largest answer in bytes. MPICH's own client reads up to 1024.
const maxAnswer = 8 << 10

// answer is a line of the server: words NAME=VALUE, of which the first is the command.
type answer struct {
	command string
	fields  map[string]string
}

// parse decodes a line without its newline. Only texts of errors may contain spaces: words without
// a name continue one.
func parse(line string) (answer, error) {
	a := answer{fields: map[string]string{}}
	text := ""
	for i, word := range strings.Fields(line) {
		for _, c := range []byte(word) {
			if c < '!' || c > '~' {
				return a, fmt.Errorf("%w: %.40q has a control character", ErrMalformed, word)
			}
		}
		name, value, ok := strings.Cut(word, "=")
		if !ok && text != "" {
			a.fields[text] += " " + word
			continue
		}
		if _, double := a.fields[name]; !ok || name == "" || double {
			return a, fmt.Errorf("%w: %.40q is no new name with a value", ErrMalformed, word)
		}
		if i == 0 && name != "cmd" {
			return a, fmt.Errorf("%w: %.40q does not begin with a command", ErrMalformed, line)
		}
		text = ""
		if name == "msg" || name == "errmsg" {
			text = name
		}
		a.fields[name] = value
	}
	a.command = a.fields["cmd"]
	if a.command == "" {
		return a, fmt.Errorf("%w: no command in %.40q", ErrMalformed, line)
	}
	return a, nil
}

// failure returns a *[ServerError] if the answer has a code that isn't 0.
func (a answer) failure() error {
	text, ok := a.fields["rc"]
	if !ok {
		return nil // Hydra omits it in some answers
	}
	code, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w: rc=%.20q is no number", ErrMalformed, text)
	case code == 0:
		return nil
	}
	return &ServerError{Command: a.command, Code: code, Text: cmp.Or(a.fields["msg"], a.fields["errmsg"])}
}

// number returns a field that must be a number from least to most.
func (a answer) number(name string, least, most int) (int, error) {
	n, err := strconv.Atoi(a.fields[name])
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%w: %s of %s is %.20q, not a number from %d to %d", ErrMalformed, name, a.command,
			a.fields[name], least, most)
	}
	return n, nil
}

// limits are lengths in bytes that the server accepts, without the NUL that C counts.
type limits struct{ name, key, value int }

// limits decodes the answer to get_maxes.
func (a answer) limits() (limits, error) {
	var l limits
	for _, f := range []struct {
		name string
		to   *int
	}{{"kvsname_max", &l.name}, {"keylen_max", &l.key}, {"vallen_max", &l.value}} {
		n, err := a.number(f.name, 2, 1<<20)
		if err != nil {
			return l, err
		}
		*f.to = n - 1
	}
	return l, nil
}
