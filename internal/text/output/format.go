package output

import (
	"fmt"
	"strings"
)

// Format names a form of the data on standard output.
type Format string

// The formats that every command has. Wide is [Table] with the columns that are marked so.
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

// JoinFormats writes formats as the user types them, with sep in between.
func JoinFormats(formats []Format, sep string) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return strings.Join(names, sep)
}

// ColorMode says when to colour.
type ColorMode string

// ColorAuto colours terminals unless NO_COLOR or TERM=dumb says no; ColorAlways and ColorNever
// don't look.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// UnknownFormatError reports a format that Print can't render; it is a mistake of the
// calling command.
type UnknownFormatError struct {
	Format Format
}

// Error implements error.
func (e *UnknownFormatError) Error() string {
	return fmt.Sprintf("print: format %q has no renderer", string(e.Format))
}
