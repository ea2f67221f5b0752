package explain

import (
	"context"
	"fmt"
	"sync"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	ownforms "github.com/rdmakit/rdmakit/explain/forms/own"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/logline"
)

// What is on its way between the goroutines that read, match and store. A batch is small enough for
// the caches; the context is checked, and progress reported, once for each.
const (
	batchLines   = 1 << 9
	batchBytes   = 256 << 10
	batchesAhead = 2
)

// batches is a pool of [batch].
var batches = sync.Pool{New: func() any { return &batch{} }}

// batch is lines of an input, in their order.
type batch struct {
	lines []inputLine
	raw   []byte
	read  int64 // bytes of the input, up to the end of the batch
}

// inputLine is a line of an input. One without a marker is raw: the matcher may await it, which is
// known only when those before it are matched.
type inputLine struct {
	evidence.Line

	marked     bool
	marks      forms.Marks // of its text
	start, end int         // in the bytes of the batch, without a marker
	joined     bool        // of lines that are also there alone
}

// readLines reads the lines of an input, until it or the context ends, and closes the channel. It
// finds those with markers, which costs about as much as to match them.
func readLines(ctx context.Context, lines *logline.Reader, set *forms.Set, full chan<- *batch) {
	defer close(full)
	var wrapped ownforms.Unwrapper
	var part, marked bool
	lines.Wanted = func(raw []byte) bool {
		part = wrapped.Line(raw)
		marked = !part && set.Marked(raw)
		return marked
	}
	b := newBatch(0)
	file := lines.Line().Place.File
	join := func() {
		if text, line := wrapped.Done(); text != "" {
			l := evidence.Line{Text: text, Place: evidence.Place{File: file, Line: line}}
			l.Process = evidence.Process{File: file, Rank: evidence.NoRank}
			b.lines = append(b.lines, inputLine{Line: l, marked: true, marks: set.Marks(text), joined: true})
		}
	}
	for lines.Next() {
		join()
		l := inputLine{Line: *lines.Line(), marked: marked, start: len(b.raw)}
		switch {
		case marked:
			l.marks = set.Marks(l.Text)
		case !part:
			b.raw = append(b.raw, lines.Raw()...)
		}
		l.end = len(b.raw)
		b.lines = append(b.lines, l)
		if len(b.lines) >= batchLines || lines.Bytes()-b.read >= batchBytes {
			read := lines.Bytes()
			b.read = read
			full <- b
			if b = newBatch(read); ctx.Err() != nil {
				break
			}
		}
	}
	wrapped.End()
	join()
	b.read = lines.Bytes()
	full <- b
}

// newBatch returns an empty batch behind bytes of the input.
func newBatch(read int64) *batch {
	b := batches.Get().(*batch) //nolint:forcetypeassert,errcheck // see New
	b.lines, b.raw, b.read = b.lines[:0], b.raw[:0], read
	return b
}

// readLog reads an input of text. Reading, matching and storing are goroutines; each has the lines
// in their order.
func readLog(ctx context.Context, in input.Input, store *evidence.Store, result *InputResult, o Options) {
	lines, matcher := logline.NewReader(in.Reader, in.Name), programs().Matcher()
	full := make(chan *batch, batchesAhead)
	go readLines(ctx, lines, programs(), full)
	events, stored := make(chan []*evidence.Event, batchesAhead), make(chan struct{})
	go func() {
		defer close(stored)
		for list := range events {
			for _, e := range list {
				store.Add(e)
			}
		}
	}()
	for b := range full {
		events <- result.match(b, matcher)
		if o.Progress != nil {
			o.Progress(in.Name, b.read)
		}
		batches.Put(b)
	}
	close(events)
	<-stored
	result.Bytes, result.Recognized = lines.Bytes(), matcher.Counts()
	if err := lines.Err(); err != nil {
		result.Err = fmt.Errorf("read %s: %w", in.Name, err)
	}
}

// match returns the events of the lines of a batch, and counts them.
func (r *InputResult) match(b *batch, matcher *forms.Matcher) []*evidence.Event {
	var events []*evidence.Event
	for i := range b.lines {
		l := &b.lines[i]
		if !l.joined {
			r.Lines++
		}
		if !l.marked && matcher.Awaits() {
			logline.Peel(b.raw[l.start:l.end], &l.Line)
			l.marks = matcher.Marks(l.Text)
		}
		events = append(events, matcher.ReadMarked(&l.Line, l.marks)...)
	}
	return events
}
