package output

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Frame is like Print for a command that prints repeatedly, such as status --watch. On a terminal
// each frame replaces the previous one and is cut to the size of the screen; its last line then
// says how many lines are missing. Elsewhere the frames follow each other: text with an empty line
// in between, json with one line per frame (JSON Lines), yaml as documents that begin with "---".
func (p *Printer) Frame(v any, blocks ...Block) error {
	data, err := p.renderFrame(v, blocks)
	if err != nil {
		return err
	}
	return p.Raw(data)
}

func (p *Printer) renderFrame(v any, blocks []Block) ([]byte, error) {
	p.mu.Lock()
	first := p.frames == 0
	p.frames++
	p.mu.Unlock()
	switch p.format {
	case FormatJSON:
		return encodeJSON(v, true)
	case FormatYAML:
		data, err := encodeYAML(v)
		return append([]byte("---\n"), data...), err
	}
	data, err := p.Render(v, blocks...)
	switch {
	case err != nil:
		return nil, err
	case p.screen:
		return p.paintScreen(string(data), first), nil
	case first:
		return data, nil
	}
	return append([]byte("\n"), data...), nil
}

// paintScreen overwrites the previous frame line by line, because clearing the screen first would
// flicker.
func (p *Printer) paintScreen(text string, first bool) []byte {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	columns, rows := p.size()
	if shown := rows - 1; shown > 0 && len(lines) > shown { // a line feed in the last row would scroll
		left := fmt.Sprintf("… %d more lines: the window is too low", len(lines)-shown+1)
		lines = append(lines[:shown-1:shown-1], p.pal.paint(StyleDim, left))
	}
	var b strings.Builder
	if first {
		b.WriteString(ansi.EraseEntireScreen)
	}
	b.WriteString(ansi.CursorHomePosition)
	for _, line := range lines {
		if columns > 0 {
			line = ansi.Truncate(line, columns, "…")
		}
		b.WriteString(line + ansi.EraseLineRight + "\n")
	}
	b.WriteString(ansi.EraseScreenBelow)
	return []byte(b.String())
}
