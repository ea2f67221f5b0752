package nccl

import (
	"strings"
	"sync"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Programs quote the last warning of NCCL (ncclGetLastError) without its prefix: PyTorch on the
// line below "Last error:" (torch/csrc/distributed/c10d/NCCLUtils.cpp), JAX and TensorFlow between
// quotes (XLA, nccl_errors.cc).
var quoteMarkers = []string{lastError, xlaQuote}

const (
	lastError = "Last error:"
	xlaQuote  = "Last NCCL warning(error)" // log entry (may be unrelated) '…'
)

// quotes reads quoted warnings as if they had their prefix.
type quotes struct {
	matcher *forms.Matcher
	waiting int              // how many more lines the text may stand on
	process evidence.Process // of the line above
	known   bool             // a line of NCCL was seen: other programs have last errors, too
}

// quoted is the forms of warnings, without what reads quotes.
var quoted = sync.OnceValue(func() *forms.Set {
	t := Table()
	t.Follow, t.Markers = nil, markers()
	return forms.Compile(Symptoms(), t)
})

func newQuotes() forms.Follower { return &quotes{} }

// quoteWithin is how many lines below "Last error:" the warning may stand.
const quoteWithin = 3

// Read reads a line with a marker, or one of the next ones.
func (q *quotes) Read(l *evidence.Line) (*evidence.Event, int) {
	q.known = q.known || levelIndex(l.Text) >= 0 || strings.Contains(l.Text, "NCCL version ")
	if _, after, ok := strings.Cut(l.Text, xlaQuote); ok {
		_, text, _ := strings.Cut(after, "'")
		text, _, ended := strings.Cut(text, "'.")
		if !ended {
			text = strings.TrimSuffix(text, "'")
		}
		return q.warning(l, text), 0
	}
	if _, after, ok := strings.Cut(l.Text, lastError); ok {
		if strings.TrimSpace(after) != "" {
			q.waiting = 0
			return q.warning(l, after), 0
		}
		q.waiting, q.process = quoteWithin, l.Process
		return nil, q.waiting
	}
	if q.waiting == 0 {
		return nil, 0
	}
	q.waiting--
	text := strings.TrimSpace(l.Text)
	if text == "" || levelIndex(text) >= 0 || l.Process != q.process { // another process's in between
		return nil, q.waiting
	}
	q.waiting = 0
	return q.warning(l, text), 0
}

// warning returns the event of a warning, nil if the text can't be one: launchers go on with their
// own lines where NCCL had no warning.
func (q *quotes) warning(l *evidence.Line, text string) *evidence.Event {
	text = strings.TrimSpace(text)
	for _, other := range [...]string{
		"Exception raised from", "frame #", "Traceback", "[E", "[W", "[I", "[20", "^",
		"File \"",
	} {
		if strings.HasPrefix(text, other) {
			return nil
		}
	}
	if q.matcher == nil {
		q.matcher = quoted().Matcher()
	}
	line := *l
	if !strings.Contains(text, " NCCL WARN ") {
		text = " NCCL WARN " + text
	}
	line.Text = text
	found := q.matcher.Read(&line)
	if len(found) == 0 {
		return nil
	}
	// A completion without its status is cut off: the warning itself comes before.
	if found[0].Kind == evidence.NCCLWarn && (!q.known || strings.Contains(text, "Got completion ")) {
		return nil
	}
	return found[0]
}
