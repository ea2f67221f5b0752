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

// TextFormat is a text format for the variables of a [Plan].
type TextFormat string

// The formats.
const (
	// FormatShell is `export NAME='value'` for any POSIX shell, as in eval "$(rdmactl env)". It
	// supports every value without a NUL byte.
	FormatShell TextFormat = "sh"
	// FormatDotenv is NAME=value, quoted only if necessary. A POSIX shell (set -a; . ./file) and
	// dotenv libraries read the output in the same way; values without spaces or special characters
	// are unquoted, as docker's --env-file and systemd's EnvironmentFile require. Values that these
	// programs read differently are rejected: those with quotes, backslashes, line breaks or bytes
	// that aren't UTF-8.
	FormatDotenv TextFormat = "dotenv"
	// FormatJSON is one object, name to value, in the order of the Plan. It supports only values of
	// valid UTF-8.
	FormatJSON TextFormat = "json"
	// FormatSystemd is a file for EnvironmentFile= of systemd, with values in double quotes. A
	// shell reads the same values. It supports only values of valid UTF-8 without noncharacters
	// (U+FFFE and others).
	FormatSystemd TextFormat = "systemd"
	// FormatDocker is a file for docker run --env-file: the value is the text after the first =,
	// including quotes. It does not support line breaks, bytes that aren't UTF-8, and lines of more
	// than 65535 bytes.
	FormatDocker TextFormat = "docker"
	// FormatContainer is a YAML list for the field env of a Kubernetes container. It supports only
	// values of valid UTF-8.
	FormatContainer TextFormat = "k8s-env"
	// FormatConfigMap is a Kubernetes v1 ConfigMap; see FormatOptions. It supports only values of
	// valid UTF-8, and at most 1 MiB in total.
	FormatConfigMap TextFormat = "configmap"
)

// TextFormats returns all formats.
func TextFormats() []TextFormat {
	return []TextFormat{
		FormatShell, FormatDotenv, FormatJSON, FormatSystemd, FormatDocker, FormatContainer, FormatConfigMap,
	}
}

// ParseTextFormat parses the name of a format.
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

// FormatWith formats the variables of a [Plan]. [FormatShell] includes its Unset variables, which
// the other formats can't express. The error names the variable whose name or value the format does
// not support, or the invalid option (then it matches [ErrOptions]).
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

// frame returns the text of a format before and after the variables, and the text to write instead
// of head if there are no variables.
func frame(plan Plan, format TextFormat, opts FormatOptions) (head, tail, none string, err error) {
	switch format {
	case FormatShell:
		for _, u := range plan.Unset {
			if !isVariableName(u.Name) {
				return "", "", "", fmt.Errorf("unset %q: not a valid variable name", u.Name)
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
		return fmt.Errorf("not a valid variable name")
	}
	if strings.ContainsRune(v.Value, 0) {
		return fmt.Errorf("the value has a NUL byte, which is not possible in an environment")
	}
	return nil
}

// isVariableName reports whether s is a valid name in a shell.
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

// quoteShell quotes a value for a POSIX shell: within single quotes only the single quote is
// special.
func quoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteDotenv puts a value in single quotes if necessary.
func quoteDotenv(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the value is not UTF-8")
	}
	if i := strings.IndexAny(s, "'\"\\\n\r"); i >= 0 {
		return "", fmt.Errorf("the value has %q, which programs read differently in dotenv files", s[i])
	}
	if strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/=@%^") == "" {
		return s, nil
	}
	return "'" + s + "'", nil
}

// quoteJSON quotes a string without the HTML escapes of encoding/json.
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
