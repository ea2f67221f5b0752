package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// TextFormat is a way to write the variables of a Plan.
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
)

// TextFormats returns all formats.
func TextFormats() []TextFormat { return []TextFormat{FormatShell, FormatDotenv, FormatJSON} }

// ParseTextFormat reads the name of a format.
func ParseTextFormat(s string) (TextFormat, error) {
	if f := TextFormat(s); slices.Contains(TextFormats(), f) {
		return f, nil
	}
	return "", fmt.Errorf("parse format %q: not one of sh, dotenv, json", s)
}

// Format writes the variables of a Plan. FormatShell writes its Unset variables too,
// which the others can't express. The error names the variable whose name or value
// the format can't carry.
func Format(plan Plan, format TextFormat) ([]byte, error) {
	var out bytes.Buffer
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
	switch format {
	case FormatShell:
		for _, u := range plan.Unset {
			if !isVariableName(u.Name) {
				return nil, fmt.Errorf("write %q as %s: no name of a variable", u.Name, format)
			}
			out.WriteString("unset " + u.Name + "\n")
		}
	case FormatJSON:
		if len(plan.Variables) == 0 {
			return []byte("{}\n"), nil
		}
		out.WriteString("\n}\n")
	}
	return out.Bytes(), nil
}

func formatVariable(v Variable, format TextFormat, first bool) (string, error) {
	switch format {
	case FormatShell:
		return "export " + v.Name + "=" + quoteShell(v.Value) + "\n", nil
	case FormatDotenv:
		value, err := quoteDotenv(v.Value)
		return v.Name + "=" + value + "\n", err
	case FormatJSON:
		value, err := quoteJSON(v.Value)
		if first {
			return "{\n  \"" + v.Name + "\": " + value, err
		}
		return ",\n  \"" + v.Name + "\": " + value, err
	}
	return "", fmt.Errorf("unknown format")
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
