package output

import (
	"fmt"
	"strings"
)

// Format is the format of the data on standard output.
type Format string

// The formats that every command has. Wide is like table, with the columns marked as Wide.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

// Formats returns the formats that every command has, the default first.
func Formats() []Format {
	return []Format{FormatTable, FormatWide, FormatJSON, FormatYAML}
}

// JoinFormats joins the names of formats.
func JoinFormats(formats []Format, sep string) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return strings.Join(names, sep)
}

// ColorMode is the setting for colours.
type ColorMode string

// ColorAuto enables colours on terminals unless NO_COLOR or TERM=dumb is set; ColorAlways and
// ColorNever ignore the environment.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// UnknownFormatError is the error for a format that Print does not support; it is a bug of the
// calling command.
type UnknownFormatError struct {
	Format Format
}

// Error implements error.
func (e *UnknownFormatError) Error() string {
	return fmt.Sprintf("print: format %q has no renderer", string(e.Format))
}
