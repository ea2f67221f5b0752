package explain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/fabric"
	"github.com/rdmakit/rdmakit/explain/forms/kernel"
	"github.com/rdmakit/rdmakit/explain/forms/nccl"
	"github.com/rdmakit/rdmakit/explain/forms/nvshmem"
	ownforms "github.com/rdmakit/rdmakit/explain/forms/own"
	"github.com/rdmakit/rdmakit/explain/forms/torch"
	"github.com/rdmakit/rdmakit/explain/forms/ucx"
	"github.com/rdmakit/rdmakit/explain/forms/verbs"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/own"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Options are the settings of [Explain].
type Options struct {
	// Recordings reads recorded nodes, bundles of rdmactl snapshot; nil: they are named only.
	Recordings ReadRecording
	// Progress, if set, is called now and then with the number of bytes that were read of an input.
	Progress func(name string, bytes int64)
}

// Report is the result of [Explain].
type Report struct {
	Inputs   []InputResult
	Facts    *facts.Facts
	Findings []rules.Finding
	// Captures are those among the inputs, with their flows.
	Captures []*Capture
}

func (r *Report) addCapture(c *Capture) {
	if c != nil {
		r.Captures = append(r.Captures, c)
	}
}

// InputResult is what was read of an input.
type InputResult struct {
	Name  string
	Bytes int64
	Lines int
	// Recognized counts the lines of known programs, by program; all others are counted by Lines
	// only.
	Recognized map[string]int
	// Capture reports that the input is a capture, whose Lines are packets.
	Capture bool
	// Other says what the input is, if it is known and has nothing to explain.
	Other string
	// Binary reports that the input is neither text nor a known form of binary data.
	Binary bool
	// Recording is set for a recorded node.
	Recording *Recording
	// Err is the error that ended reading early; what was read before counts.
	Err error
}

// programs are the forms of all programs, in the order in which they are tried.
var programs = sync.OnceValue(func() *forms.Set {
	return forms.Compile(slices.Concat([]forms.Table{
		ownforms.Table(),
		nccl.Symptoms(), nccl.Table(), nccl.Tests(),
		forms.Symptoms(symptoms.Mooncake, nil), ucx.Mooncake(), ucx.Symptoms(), ucx.Table(),
		forms.Symptoms(symptoms.NVSHMEM, nil), nvshmem.Table(), forms.Symptoms(symptoms.OpenSM, nil), fabric.OpenSM(),
		forms.Symptoms(symptoms.Perftest, nil), verbs.Perftest(), forms.Symptoms(symptoms.Kernel, nil), kernel.Table(),
		forms.Symptoms(symptoms.Kubernetes, nil), torch.Symptoms(), forms.Symptoms(symptoms.Libfabric, nil),
		forms.Symptoms(symptoms.Verbs, nil),
		torch.Hangs(), verbs.Pasted(),
		fabric.Kubernetes(), fabric.Commands(), torch.Table(), ucx.Libfabric(), verbs.Other(),
	}, torch.Exceptions(), []forms.Table{forms.Troubles()})...)
})

// Explain reads the inputs, which [input.All] opens, and returns what they say. An input that can't
// be read to its end is named in [Report.Inputs] and doesn't stop the others. If the context ends,
// the error is its cause, and the report is about what was read until then.
func Explain(ctx context.Context, inputs iter.Seq2[input.Input, error], o Options) (*Report, error) {
	store := evidence.NewStore(evidence.Limits{})
	report := &Report{}
	var stopped error
	for in, err := range inputs {
		result := InputResult{Err: err}
		if err == nil {
			result = report.readInput(ctx, in, store, o)
		}
		if ctx.Err() != nil {
			stopped = context.Cause(ctx)
			if result.Err == nil {
				result.Err = fmt.Errorf("read %s: %w", in.Name, stopped)
			}
		}
		report.Inputs = append(report.Inputs, result)
		if stopped != nil {
			break
		}
	}
	report.Facts = facts.New(store)
	report.Findings = rules.Judge(report.Facts, rules.All())
	return report, stopped
}

// readInput reads one input, until the context ends.
func (r *Report) readInput(ctx context.Context, in input.Input, store *evidence.Store, o Options) InputResult {
	result := InputResult{Name: in.Name}
	head, _ := in.Reader.Peek(headLen) // an error comes again when it is read
	switch {
	case isCapture(head):
		r.addCapture(readCapture(in, store, &result))
		return result
	case in.Bundle || isTextBundle(head):
		readRecording(ctx, in, store, &result, o.Recordings)
		return result
	case own.Is(head):
		readOwn(in, store, &result)
		return result
	case binary(head) && !programs().Marked(head):
		result.Binary = true
		return result
	}
	readLog(ctx, in, store, &result, o)
	return result
}

// readOwn reads a JSON document of rdmactl.
func readOwn(in input.Input, store *evidence.Store, result *InputResult) {
	found, err := own.Read(in.Reader, in.Name)
	switch {
	case errors.Is(err, own.ErrUnknown):
		result.Other = "document " + found.Schema + " of rdmactl, " + found.Why
		return
	case err != nil:
		result.Err = err
		return
	}
	result.Recognized = map[string]int{found.Schema: 1}
	result.Lines = 1
	for _, e := range found.Events {
		store.Add(e)
	}
}

// headLen is how much of an input is looked at to tell text from other data.
const headLen = 4096

// binary reports whether the beginning of an input shows that it isn't text: logs may have single
// zero bytes, where a file system lost a block.
func binary(head []byte) bool {
	odd := 0
	for _, c := range head {
		if c == 0 || c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b && c != '\b' && c != '\f' {
			odd++
		}
	}
	return odd*10 > len(head)
}
