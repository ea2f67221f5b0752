package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/nccl"
	"github.com/rdmakit/rdmakit/explain/logline"
	"github.com/rdmakit/rdmakit/explain/rules"
)

// Input is a file, or a stream, to be read once.
type Input struct {
	// Name is the name in places.
	Name string
	// Reader is read to its end. It isn't closed.
	Reader io.Reader
}

// Options are the settings of [Explain].
type Options struct {
	// Progress, if set, is called now and then with the number of bytes that were read of an input.
	Progress func(name string, bytes int64)
}

// Report is the result of [Explain].
type Report struct {
	Inputs   []InputResult
	Facts    *facts.Facts
	Findings []rules.Finding
}

// InputResult is what was read of an input.
type InputResult struct {
	Name  string
	Bytes int64
	Lines int
	// Recognized counts the lines of known programs, by program; all others are counted by Lines
	// only.
	Recognized map[string]int
	// Binary reports that the input is neither text nor a known form of binary data.
	Binary bool
	// Err is the error that ended reading early; what was read before counts.
	Err error
}

// tables returns the forms of all programs, in the order in which they are tried.
func tables() []forms.Table {
	return []forms.Table{nccl.Table()}
}

// Explain reads the inputs and returns what they say. An input that can't be read to its end is
// named in [Report.Inputs] and doesn't stop the others; the error is that of the context.
func Explain(ctx context.Context, inputs []Input, o Options) (*Report, error) {
	store := evidence.NewStore(evidence.Limits{})
	report := &Report{}
	for _, in := range inputs {
		result, err := readInput(ctx, in, store, o)
		report.Inputs = append(report.Inputs, result)
		if err != nil {
			return report, err
		}
	}
	report.Facts = facts.New(store)
	report.Findings = rules.Judge(report.Facts, rules.All())
	return report, nil
}

// progressEvery is the number of lines between calls of [Options.Progress].
const progressEvery = 1 << 14

// readInput reads one input. The error is that of the context.
func readInput(ctx context.Context, in Input, store *evidence.Store, o Options) (InputResult, error) {
	result := InputResult{Name: in.Name}
	lines := logline.NewReader(in.Reader, in.Name)
	matcher := forms.NewMatcher(tables()...)
	for lines.Next() {
		l := lines.Line()
		result.Lines++
		if result.Lines == 1 && binary(l.Text) {
			result.Binary = true
			break
		}
		for _, e := range matcher.Read(l) {
			store.Add(e)
		}
		if result.Lines%progressEvery == 0 {
			if ctx.Err() != nil {
				return result, fmt.Errorf("read %s: %w", in.Name, context.Cause(ctx))
			}
			if o.Progress != nil {
				o.Progress(in.Name, lines.Bytes())
			}
		}
	}
	result.Bytes, result.Recognized = lines.Bytes(), matcher.Counts()
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		result.Err = fmt.Errorf("read %s: %w", in.Name, err)
	}
	return result, nil
}

// binary reports whether the first line of an input shows that it isn't text.
func binary(line string) bool { return bytes.IndexByte([]byte(line), 0) >= 0 }
