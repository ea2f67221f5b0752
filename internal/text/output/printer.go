package output

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Options are the streams, format and environment of a [Printer]. The zero value discards all
// output.
type Options struct {
	Out, Err io.Writer
	Format   Format
	Color    ColorMode
	// Quiet suppresses notes and progress, but not data and errors.
	Quiet bool
	// OutTerminal and ErrTerminal report whether the streams are terminals.
	OutTerminal, ErrTerminal bool
	// LookupEnv reads NO_COLOR, TERM, COLORTERM and WT_SESSION.
	LookupEnv func(name string) (string, bool)
	// Size returns the columns and rows of the terminal of Out or Err, 0 if unknown.
	Size func() (columns, rows int)
	// KeepWords marks as [Unbroken] the parts of a note that stay on one line; nil for none.
	KeepWords func(note string) string
	// Now is the clock for the progress line.
	Now func() time.Time
}

// Printer prints the results of one run. Create it with [New]. Several goroutines may call its
// methods.
type Printer struct {
	format   Format
	pal      palette
	terminal bool // Out is a terminal
	screen   bool // Out supports cursor movements
	notes    bool // Err is a terminal
	progress bool // Err supports cursor movements, and progress is enabled
	quiet    bool
	size     func() (int, int)
	keep     func(string) string
	now      func() time.Time

	mu     sync.Mutex
	out    io.Writer
	err    io.Writer
	frames int
	drawn  *Progress // the progress whose line is on the screen
	dirty  bool      // its line is the last on Err and must be erased before other output
}

// New returns the [Printer] for o. Colours are enabled if o.Color is [ColorAlways], or if it is
// [ColorAuto] (or empty), Out is a terminal that supports escape sequences, and NO_COLOR is unset
// or empty.
func New(o Options) *Printer {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Err == nil {
		o.Err = io.Discard
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Size == nil {
		o.Size = func() (int, int) { return 0, 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Format == "" {
		o.Format = FormatTable
	}
	if o.KeepWords == nil {
		o.KeepWords = func(s string) string { return s }
	}
	escapes := understandsEscapes(o.LookupEnv)
	return &Printer{
		format:   o.Format,
		pal:      palette{color: wantsColor(o, escapes), depth: depthOf(o.LookupEnv)},
		terminal: o.OutTerminal,
		screen:   o.OutTerminal && escapes,
		notes:    o.ErrTerminal,
		progress: o.ErrTerminal && escapes && !o.Quiet,
		quiet:    o.Quiet,
		size:     o.Size,
		keep:     o.KeepWords,
		now:      o.Now,
		out:      o.Out,
		err:      o.Err,
	}
}

func wantsColor(o Options, escapes bool) bool {
	switch o.Color {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	noColor, _ := o.LookupEnv("NO_COLOR") // any value except the empty one: https://no-color.org
	return o.OutTerminal && escapes && noColor == ""
}

func understandsEscapes(lookup func(string) (string, bool)) bool {
	term, _ := lookup("TERM")
	if runtime.GOOS == "windows" && term == "" {
		_, modern := lookup("WT_SESSION") // Windows Terminal; the old console would print the escapes
		return modern
	}
	return term != "" && term != "dumb"
}

// Format returns the current format, for commands with additional formats.
func (p *Printer) Format() Format { return p.format }

// Structured reports whether the format is json or yaml, so that only data may be written to
// standard output.
func (p *Printer) Structured() bool { return p.format == FormatJSON || p.format == FormatYAML }

// Wide reports whether the format is wide.
func (p *Printer) Wide() bool { return p.format == FormatWide }

// page describes the screen or file that standard output is.
func (p *Printer) page() page {
	pg := page{pal: p.pal, wide: p.Wide()}
	if p.terminal && !pg.wide {
		columns, _ := p.size()
		pg.width = max(columns, 0)
	}
	return pg
}

// TextWidth returns the column at which running text is wrapped on the terminal; 0 if there is no
// terminal, its size is unknown, or the format is wide. It is for text that has lines already, such
// as help.
func (p *Printer) TextWidth() int { return p.page().textWidth() }

// Print writes v as json or yaml, or blocks as text, in one write. The json tags of v apply to
// both. The error is that of standard output, of marshalling v, or an [UnknownFormatError].
func (p *Printer) Print(v any, blocks ...Block) error {
	data, err := p.Render(v, blocks...)
	if err != nil {
		return err
	}
	return p.Raw(data)
}

// Text writes blocks as text in any format, for help.
func (p *Printer) Text(blocks ...Block) error {
	data, err := p.text(blocks)
	if err != nil {
		return err
	}
	return p.Raw(data)
}

func (p *Printer) text(blocks []Block) ([]byte, error) {
	lines, err := render(p.page(), blocks)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// Render returns what Print would write.
func (p *Printer) Render(v any, blocks ...Block) ([]byte, error) {
	switch p.format {
	case FormatJSON:
		return encodeJSON(v, false)
	case FormatYAML:
		return encodeYAML(v)
	case FormatTable, FormatWide:
		return p.text(blocks)
	}
	return nil, &UnknownFormatError{Format: p.format}
}

// Raw writes data to standard output without cleaning it: for output to another program, such as a
// shell. The caller must make sure that the data is safe.
func (p *Printer) Raw(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	if len(data) == 0 {
		return nil
	}
	_, err := p.out.Write(data)
	return err
}

// Note writes a line to standard error: a reason, a hint, a status. With Quiet it writes nothing.
// Line breaks of the format are kept, everything else is cleaned, and on a terminal lines are
// wrapped. Errors are ignored, because they can't be reported.
func (p *Printer) Note(format string, args ...any) {
	if p.quiet {
		return
	}
	width := 0
	if p.notes && !p.Wide() {
		columns, _ := p.size()
		width = max(columns, 0)
	}
	var buf bytes.Buffer
	for _, line := range CleanLines(fmt.Sprintf(format, args...)) {
		for _, part := range Wrap(p.keep(line), width) {
			buf.WriteString(part + "\n")
		}
	}
	_, _ = p.Stderr().Write(buf.Bytes())
}

// Stderr returns a writer to standard error that erases the progress line first, for logs.
func (p *Printer) Stderr() io.Writer { return stderrWriter{p} }

// Close erases the progress line if there is one. It may be called several times, and the Printer
// remains usable.
func (p *Printer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

type stderrWriter struct{ p *Printer }

func (w stderrWriter) Write(data []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.wipe()
	return w.p.err.Write(data)
}
