package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// source is a file of a program's source, whose lines say writes.
type source struct{ program, file string }

// says returns a line of the source with these texts.
func (s source) says(name string, all ...string) Line {
	return Line{Name: name, Program: s.program, All: all, Source: s.file}
}

// not adds texts that the line doesn't contain.
func (l Line) not(texts ...string) Line {
	l.None = append(l.None, texts...)
	return l
}

// any sets texts of which the line contains at least one.
func (l Line) any(texts ...string) Line {
	l.Any = texts
	return l
}

// as sets the standing of the line.
func (l Line) as(standing evidence.Standing) Line {
	l.Standing = standing
	return l
}

// speaks adds causes for which the line is strong evidence.
func (l Line) speaks(slugs ...string) Line {
	l.Speaks = append(l.Speaks, slugs...)
	return l
}

// decides sets the cause that the line proves.
func (l Line) decides(slug string) Line {
	l.Decides = slug
	return l
}

// with adds a value: the word behind a text.
func (l Line) with(field, after string) Line {
	l.Fields = append(slices.Clip(l.Fields), Field{Name: field, After: after})
	return l
}
