package nccl

import (
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// levels are the words between prefix and message.
var levels = [...]struct {
	word     string
	severity evidence.Severity
}{{" NCCL INFO ", evidence.Info}, {" NCCL WARN ", evidence.Error}, {" WARN ", evidence.Error}}

// head is the part of a line before the message.
type head struct {
	host     string
	pid      int
	stamped  bool   // with a time stamp before the host
	place    string // of the source, of WARN lines: "net_ib.cc:1615"
	function string
	time     time.Time
	severity evidence.Severity
}

// split returns the head and the message of a line with INFO or WARN (src/debug.cc of NCCL).
func split(text string) (head, string, bool) {
	for _, level := range levels {
		if message, ok := strings.CutPrefix(text, level.word[1:]); ok && level.word != " WARN " {
			return head{severity: level.severity}, message, true
		}
		before, message, ok := strings.Cut(text, level.word)
		if !ok {
			continue
		}
		h := head{severity: level.severity}
		h.read(before)
		if h.place == "" && level.word == " WARN " {
			return head{}, "", false // of another program: until 2.4 NCCL wrote the level without its name
		}
		return h, message, true
	}
	return head{}, "", false
}

// read reads "[TIME] HOST:PID:TID [DEV] FILE:LINE (FUNCTION)", of which all but HOST:PID:TID may be
// missing.
func (h *head) read(s string) {
	if rest, ok := strings.CutSuffix(s, ")"); ok {
		if i := strings.LastIndex(rest, " ("); i >= 0 {
			s, h.function = rest[:i], rest[i+2:]
		}
	}
	words := strings.Fields(s)
	for i, word := range words {
		parts := strings.Split(word, ":")
		n := len(parts)
		if n < 3 || !digits(parts[n-1]) || !digits(parts[n-2]) {
			continue
		}
		h.host = strings.Join(parts[:n-2], ":")
		h.pid, _ = strconv.Atoi(parts[n-2])
		h.stamp(words[:i])
		if last := words[len(words)-1]; i < len(words)-1 && !strings.HasPrefix(last, "[") {
			h.place = last
		}
		return
	}
}

// stamp reads the time stamp, which has the form %F %T unless NCCL_DEBUG_TIMESTAMP_FORMAT says
// otherwise.
func (h *head) stamp(words []string) {
	if len(words) == 0 {
		return
	}
	h.stamped = true
	s := strings.Trim(strings.Join(words, " "), "[]")
	if t, err := time.Parse("2006-01-02 15:04:05", s); err == nil {
		h.time = t
	}
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
