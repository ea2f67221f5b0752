package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of Parse; the environment of a process is not larger.
const (
	maxBytes    = 16 << 20
	maxSettings = 100_000
)

// ErrSyntax is matched by errors about a file that is not an environment in the given form.
var ErrSyntax = errors.New("no environment")

// Parse parses the variables of a file; name is for messages. [FormAuto] detects the form from the
// content. Parse does not support Kubernetes manifests, and FormAuto doesn't recognise them. In a
// shell script, lines that set nothing are ignored; in the other forms they are errors. The error
// has the line number and matches [ErrSyntax].
func Parse(name string, data []byte, form Form) (Environment, error) {
	env := Environment{Name: name, Form: form}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > maxBytes {
		return env, fmt.Errorf("read %s: larger than %d MiB: %w", name, maxBytes>>20, ErrSyntax)
	}
	if form == FormAuto || form == "" {
		env.Form = Detect(data)
	}
	if env.Form != FormEnviron && bytes.IndexByte(data, 0) >= 0 {
		return env, fmt.Errorf("read %s: not a text file (it has zero bytes): %w", name, ErrSyntax)
	}
	var err error
	switch env.Form {
	case FormEnviron:
		env = FromPairs(name, FormEnviron, strings.Split(string(data), "\x00"))
		for i := range env.Settings {
			env.Settings[i].File = name
		}
	case FormJSON:
		env.Settings, err = parseJSON(data)
	case FormShell:
		env.Settings = parseShell(string(data))
	case FormDotenv, FormDocker, FormSystemd, FormEnv:
		env.Settings, err = parseLines(string(data), env.Form)
	default:
		err = fmt.Errorf("form %q is not supported: %w", env.Form, ErrSyntax)
	}
	if err != nil {
		return env, fmt.Errorf("read %s: %w", name, err)
	}
	if len(env.Settings) > maxSettings {
		return env, fmt.Errorf("read %s: more than %d variables: %w", name, maxSettings, ErrSyntax)
	}
	if len(env.Settings) == 0 && len(bytes.TrimSpace(data)) > 0 && env.Form == FormShell {
		return env, fmt.Errorf("read %s: no variable is set: %w", name, ErrSyntax)
	}
	for i := range env.Settings {
		env.Settings[i].File = name
	}
	return env, nil
}

// Detect returns the form of a file with the given content: a JSON object, the environ file of a
// process, the output of env(1), a shell script, or else dotenv.
func Detect(data []byte) Form {
	trimmed := bytes.TrimSpace(data)
	switch {
	case bytes.IndexByte(data, 0) >= 0:
		return FormEnviron
	case len(trimmed) > 0 && trimmed[0] == '{':
		return FormJSON
	}
	var path, other bool
	names := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			if strings.HasPrefix(line, "#!") {
				return FormShell
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		switch {
		case !ok || !isName(name):
			other = true
		case name == "PATH" || name == "HOME" || name == "PWD" || name == "_" || name == "SHLVL" || name == "HOSTNAME":
			names++
			path = path || strings.HasPrefix(line, "PATH=/") && !strings.Contains(line, "$")
		}
	}
	switch {
	case path && names >= 2 && !hasExport(data):
		return FormEnv
	case other || shellLine(data):
		return FormShell
	}
	return FormDotenv
}

func hasExport(data []byte) bool {
	return slices.ContainsFunc(strings.Split(string(data), "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "export ")
	})
}

// shellLine reports whether a line is valid only in a shell: A=b C=d.
func shellLine(data []byte) bool {
	for line := range strings.Lines(string(data)) {
		words := shellWords(strings.TrimSpace(line))
		if len(words) > 1 && isAssignment(words[0].text) && isAssignment(words[1].text) {
			return true
		}
	}
	return false
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && isName(name)
}

// isName reports whether s is a valid name of a shell variable.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r)) &&
			(i == 0 || r > unicode.MaxASCII || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// parseLines reads NAME=value lines.
func parseLines(text string, form Form) ([]Setting, error) {
	var out []Setting
	number, next := 0, 0
	began := 0 // where in text the last value begins
	for line := range strings.Lines(text) {
		number++
		at := next
		next += len(line)
		line = strings.TrimSuffix(line, "\n")
		if form != FormDocker && form != FormEnv {
			line = strings.TrimSuffix(line, "\r")
		}
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || form != FormEnv && (trimmed[0] == '#' || trimmed[0] == ';' && form == FormSystemd) {
			continue
		}
		if form != FormEnv {
			line = strings.TrimLeft(line, " \t")
		}
		if form == FormDotenv {
			line = strings.TrimPrefix(line, "export ")
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimRight(name, " \t")
		switch {
		case ok && isName(name):
			out = append(out, lineSetting(name, value, number, form))
			began = at + len(line) - len(value)
		case form == FormEnv:
			// A further line of a value: env prints it as it is.
			if n := len(out); n > 0 {
				out[n-1].Value = text[began : at+len(line)] // no copy: there may be millions of lines
			}
		case form == FormDocker && isName(trimmed): // a name without a value: docker uses its own variable
			out = append(out, Setting{Name: trimmed, Line: number, Unknown: true})
		default:
			return nil, fmt.Errorf("line %d: %s is not NAME=value: %w", number, short(trimmed), ErrSyntax)
		}
	}
	return out, nil
}

func short(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func lineSetting(name, value string, line int, form Form) Setting {
	s := Setting{Name: name, Value: value, Line: line}
	switch form {
	case FormSystemd:
		s.Value = unquote(strings.TrimSpace(value))
	case FormDotenv:
		value = strings.TrimSpace(value)
		if value == "" || value[0] != '"' && value[0] != '\'' {
			if head, _, ok := strings.Cut(value, " #"); ok {
				value = strings.TrimSpace(head)
			}
			s.Value = value
		} else {
			s.Value = unquote(value)
		}
		s.Unknown = expands(value)
	}
	return s
}

// expands reports whether the value contains an expansion.
func expands(value string) bool {
	if value != "" && value[0] == '\'' {
		return false
	}
	i := strings.IndexByte(value, '$')
	return i >= 0 && i+1 < len(value) &&
		(value[i+1] == '{' || value[i+1] == '(' || value[i+1] == '_' || unicode.IsLetter(rune(value[i+1])))
}

// unquote removes a pair of quotes around a value; text after them is kept.
func unquote(v string) string {
	if len(v) < 2 || v[0] != '"' && v[0] != '\'' {
		return v
	}
	end := strings.IndexByte(v[1:], v[0])
	if end < 0 {
		return v
	}
	if rest := strings.TrimSpace(v[end+2:]); rest != "" && rest[0] != '#' {
		return v
	}
	return v[1 : end+1]
}

// parseJSON parses one object whose values are strings, numbers or booleans.
func parseJSON(data []byte) ([]Setting, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	line, counted := 1, int64(0)
	here := func() int { // continues from the last position
		line += bytes.Count(data[counted:dec.InputOffset()], []byte("\n"))
		counted = dec.InputOffset()
		return line
	}
	bad := func(err error) error {
		return fmt.Errorf("line %d: %w: %w", here(), err, ErrSyntax)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, bad(err)
	}
	if token != json.Delim('{') {
		return nil, bad(errors.New("not an object"))
	}
	var out []Setting
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, bad(err)
		}
		name, _ := key.(string) // the decoder returns only strings here
		line := here()
		if name == "" {
			return nil, bad(errors.New("a variable without a name"))
		}
		value, err := dec.Token()
		if err != nil {
			return nil, bad(err)
		}
		s := Setting{Name: name, Line: line}
		switch v := value.(type) {
		case nil:
			continue
		case json.Delim:
			return nil, bad(fmt.Errorf("the value of %s is not a string, number or boolean", short(name)))
		default:
			s.Value = fmt.Sprint(v)
		}
		out = append(out, s)
	}
	if _, err := dec.Token(); err != nil {
		return nil, bad(err)
	}
	if dec.More() {
		return nil, bad(errors.New("data after the object"))
	}
	return out, nil
}
