package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// TextFormat is a way to write the variables of a [Plan].
type TextFormat string

// The formats.
const (
	// FormatShell is `export NAME='value'` for any POSIX shell, as in
	// eval "$(rdmactl env)". It carries every value without a NUL byte.
	FormatShell TextFormat = "sh"
	// FormatDotenv is NAME=value, quoted only where needed. What Format writes
	// means the same to a POSIX shell (set -a; . ./file) and to dotenv libraries;
	// values without a space or a sign are unquoted, as docker's --env-file
	// and systemd's EnvironmentFile want them. Values that the readers don't agree
	// on are refused: those with quotes, backslashes, line breaks or bytes that
	// aren't UTF-8.
	FormatDotenv TextFormat = "dotenv"
	// FormatJSON is one object, name to value, in the order of the Plan. Only
	// values of valid UTF-8 can be carried.
	FormatJSON TextFormat = "json"
	// FormatSystemd is a file for EnvironmentFile= of systemd: values in double
	// quotes. A shell reads the same from it. Only values of valid UTF-8 without
	// noncharacters (U+FFFE and others) can be carried.
	FormatSystemd TextFormat = "systemd"
	// FormatDocker is a file for docker run --env-file: what stands behind the
	// first = is the value, quotes included. Line breaks, bytes that aren't UTF-8
	// and lines of more than 65535 bytes can't be carried.
	FormatDocker TextFormat = "docker"
	// FormatContainer is a YAML list for the field env of a Kubernetes container.
	// Only values of valid UTF-8 can be carried.
	FormatContainer TextFormat = "k8s-env"
	// FormatConfigMap is a Kubernetes v1 ConfigMap; see FormatOptions. Only
	// values of valid UTF-8 can be carried, and 1 MiB in all.
	FormatConfigMap TextFormat = "configmap"
)

// TextFormats returns all formats.
func TextFormats() []TextFormat {
	return []TextFormat{
		FormatShell, FormatDotenv, FormatJSON, FormatSystemd, FormatDocker, FormatContainer, FormatConfigMap,
	}
}

// ParseTextFormat reads the name of a format.
func ParseTextFormat(s string) (TextFormat, error) {
	if f := TextFormat(s); slices.Contains(TextFormats(), f) {
		return f, nil
	}
	var names []string
	for _, f := range TextFormats() {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("parse format %q: not one of %s", s, strings.Join(names, ", "))
}

// Format is [FormatWith] without options.
func Format(plan Plan, format TextFormat) ([]byte, error) {
	return FormatWith(plan, format, FormatOptions{})
}

// FormatWith writes the variables of a [Plan]. [FormatShell] writes its Unset variables
// too, which the others can't express. The error names the variable whose name or value
// the format can't carry, or the option that doesn't fit (then it matches [ErrOptions]).
func FormatWith(plan Plan, format TextFormat, opts FormatOptions) ([]byte, error) {
	head, tail, none, err := frame(plan, format, opts)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", format, err)
	}
	if len(plan.Variables) == 0 {
		head = none
	}
	var out bytes.Buffer
	out.WriteString(head)
	for i, v := range plan.Variables {
		if err := checkVariable(v); err != nil {
			return nil, fmt.Errorf("write %s as %s: %w", printableName(v.Name), format, err)
		}
		line, err := formatVariable(v, format, i == 0)
		if err != nil {
			return nil, fmt.Errorf("write %s as %s: %w", v.Name, format, err)
		}
		out.WriteString(line)
	}
	out.WriteString(tail)
	return out.Bytes(), nil
}

// frame returns what a format writes before and after the variables, and in place
// of the head where there is no variable.
func frame(plan Plan, format TextFormat, opts FormatOptions) (head, tail, none string, err error) {
	switch format {
	case FormatShell:
		for _, u := range plan.Unset {
			if !isVariableName(u.Name) {
				return "", "", "", fmt.Errorf("unset %q: no name of a variable", u.Name)
			}
			tail += "unset " + u.Name + "\n"
		}
	case FormatJSON:
		if len(plan.Variables) > 0 {
			return "{\n", "\n}\n", "", nil
		}
		none = "{}\n"
	case FormatContainer:
		none = "[]\n"
	case FormatConfigMap:
		head, none, err = configMapHead(plan, opts)
	case FormatDotenv, FormatSystemd, FormatDocker:
	default:
		err = errors.New("unknown format")
	}
	return head, tail, none, err
}

func formatVariable(v Variable, format TextFormat, first bool) (line string, err error) {
	var value string
	switch format {
	case FormatShell:
		return "export " + v.Name + "=" + quoteShell(v.Value) + "\n", nil
	case FormatDotenv:
		value, err = quoteDotenv(v.Value)
		line = v.Name + "=" + value + "\n"
	case FormatJSON:
		value, err = quoteJSON(v.Value)
		line = "  \"" + v.Name + "\": " + value
		if !first {
			line = ",\n" + line
		}
	case FormatSystemd:
		value, err = quoteSystemd(v.Value)
		line = v.Name + "=" + value + "\n"
	case FormatDocker:
		line, err = dockerLine(v)
	case FormatContainer:
		value, err = quoteYAML(escapeExpansion(v.Value))
		line = "- name: " + yamlName(v.Name) + "\n  value: " + value + "\n"
	case FormatConfigMap:
		value, err = quoteYAML(v.Value)
		line = "  " + yamlName(v.Name) + ": " + value + "\n"
	}
	return line, err
}

func checkVariable(v Variable) error {
	if !isVariableName(v.Name) {
		return fmt.Errorf("no name of a variable")
	}
	if strings.ContainsRune(v.Value, 0) {
		return fmt.Errorf("the value has a NUL byte, which no environment holds")
	}
	return nil
}

// isVariableName reports whether a shell takes s for a name.
func isVariableName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// quoteShell quotes for a POSIX shell: in single quotes nothing is special but the
// single quote itself.
func quoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteDotenv leaves plain values bare and puts others in single quotes.
func quoteDotenv(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the value is not UTF-8")
	}
	if i := strings.IndexAny(s, "'\"\\\n\r"); i >= 0 {
		return "", fmt.Errorf("the value has %q, which readers of dotenv files take differently", s[i])
	}
	if strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/=@%^") == "" {
		return s, nil
	}
	return "'" + s + "'", nil
}

// quoteJSON writes a string without the escapes for HTML that encoding/json makes.
func quoteJSON(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the value is not UTF-8")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
