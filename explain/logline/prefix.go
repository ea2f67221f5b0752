package logline

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// maxPrefixes bounds how many prefixes are taken off: kubectl's before the runtime's before
// mpirun's before Ray's is the longest chain seen.
const maxPrefixes = 6

// Peel sets the text of a line that is raw in its file, and what its prefixes say; its place and
// file stay.
func Peel(raw []byte, l *evidence.Line) {
	l.Time = time.Time{}
	s := string(raw)
	if strings.Contains(s, "[") {
		s = withoutColours(s)
	}
	for range maxPrefixes {
		rest, ok := takeOne(s, l)
		if !ok {
			break
		}
		s = rest
	}
	l.Text = s
}

// taker removes one kind of prefix from the beginning of a line.
type taker func(s string, l *evidence.Line) (rest string, ok bool)

// takeOne removes one prefix.
func takeOne(s string, l *evidence.Line) (string, bool) {
	if s == "" {
		return s, false
	}
	var takers []taker
	switch c := s[0]; {
	case c == '[':
		takers = []taker{takeMPI, takeTorch, takePod, takeBracketTime}
	case c == '(':
		takers = []taker{takeRay}
	case c == '{':
		takers = []taker{takeDocker}
	case c == ' ':
		takers = []taker{takeSrun, takeIndent}
	case c >= '0' && c <= '9':
		takers = []taker{takeISO, takeSrun}
	case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		takers = []taker{takeSyslog, takeTagTime, takeCompose}
	}
	for _, take := range takers {
		if rest, ok := take(s, l); ok {
			return rest, true
		}
	}
	return s, false
}

// takeMPI takes "[1,3]<stdout>:" of mpirun --tag-output, also with a time: "[1,3]<stderr> ".
func takeMPI(s string, l *evidence.Line) (string, bool) {
	in, rest, ok := strings.Cut(s[1:], "]")
	job, rank, comma := strings.Cut(in, ",")
	if !ok || !comma || !number(job) || !number(rank) {
		return s, false
	}
	for _, tag := range [...]string{"<stdout>", "<stderr>", "<stddiag>"} {
		if after, ok := strings.CutPrefix(rest, tag); ok {
			l.Process.Rank, _ = strconv.Atoi(rank)
			return strings.TrimPrefix(strings.TrimPrefix(after, ":"), " "), true
		}
	}
	return s, false
}

// takeTagTime takes the time of mpirun --timestamp-output, such as "Fri Nov 27 06:34:31 2026"
// before "[1,3]<stdout>:", and before "<stdout>:" without --tag-output.
func takeTagTime(s string, l *evidence.Line) (string, bool) {
	const length = len(time.ANSIC)
	if len(s) <= length || s[3] != ' ' || s[length] != '[' && s[length] != '<' {
		return s, false
	}
	t, err := time.Parse(time.ANSIC, s[:length])
	if err != nil {
		return s, false
	}
	rest := s[length:]
	if after, ok := strings.CutPrefix(rest, "<stdout>:"); ok {
		rest = after
	} else if after, ok := strings.CutPrefix(rest, "<stderr>:"); ok {
		rest = after
	}
	l.Time = t
	return rest, true
}

// takeIndent takes blanks before a tag of mpirun: the log is quoted in something else.
func takeIndent(s string, _ *evidence.Line) (string, bool) {
	rest := strings.TrimLeft(s, " ")
	if len(rest) < len("[1,3]<std") || rest[0] != '[' || !strings.Contains(rest[:min(len(rest), 16)], "]<std") {
		return s, false
	}
	return rest, true
}

// takeTorch takes "[rank3]:" of torchrun, and "[default3]:" of its --tee, a local rank.
func takeTorch(s string, l *evidence.Line) (string, bool) {
	in, rest, ok := strings.Cut(s[1:], "]:")
	if !ok || len(in) > 40 {
		return s, false
	}
	if n, ok := strings.CutPrefix(in, "rank"); ok && number(n) {
		l.Process.Rank, _ = strconv.Atoi(n)
		return strings.TrimPrefix(rest, " "), true
	}
	if n := strings.TrimLeft(in, "abcdefghijklmnopqrstuvwxyz_-"); n != in && number(n) {
		return strings.TrimPrefix(rest, " "), true
	}
	return s, false
}

// takePod takes "[pod/NAME/CONTAINER] " of kubectl logs --prefix.
func takePod(s string, l *evidence.Line) (string, bool) {
	in, rest, ok := strings.Cut(s[1:], "] ")
	if !ok || !strings.HasPrefix(in, "pod/") {
		return s, false
	}
	name, _, _ := strings.Cut(in[len("pod/"):], "/")
	l.Process.Host = name
	return rest, true
}

// takeBracketTime takes the kernel's "[ 1234.567890] ", dmesg -T's "[Fri Nov 27 06:34:31 2026] ",
// and "[2026-11-27 06:34:31] ", unless a line of NCCL follows, whose form it is part of.
func takeBracketTime(s string, l *evidence.Line) (string, bool) {
	in, rest, ok := strings.Cut(s[1:], "]")
	if !ok || len(in) > 40 || rest == "" {
		return s, false
	}
	in = strings.TrimSpace(in)
	whole, frac, ok := strings.Cut(in, ".")
	if ok && number(whole) && number(frac) && rest[0] == ' ' && len(frac) == 6 {
		seconds, err := strconv.ParseFloat(in, 64)
		if err != nil || len(whole) > 9 {
			return s, false // UCX writes seconds since 1970 here, in its own prefix
		}
		if l.Time.IsZero() {
			l.Time = time.Time{}.AddDate(-1, 0, 0).Add(time.Duration(seconds * float64(time.Second)))
		}
		return rest[1:], true
	}
	for _, layout := range [...]string{time.ANSIC, "Mon Jan _2 15:04:05 2006"} {
		if t, err := time.Parse(layout, in); err == nil {
			l.Time = t
			return strings.TrimPrefix(rest, " "), true
		}
	}
	if len(in) >= 19 && in[4] == '-' && !strings.Contains(rest, " NCCL ") {
		if t, ok := parseISO(in); ok {
			l.Time = t
			return strings.TrimPrefix(rest, " "), true
		}
	}
	return s, false
}

// takeDocker takes the line out of docker's json-file log:
// {"log":"text\n","stream":"stderr","time":"2026-11-27T06:34:31.5Z"}.
func takeDocker(s string, l *evidence.Line) (string, bool) {
	if !strings.HasPrefix(s, `{"log":`) {
		return s, false
	}
	var entry struct {
		Log  *string   `json:"log"`
		Time time.Time `json:"time"`
	}
	if err := json.Unmarshal([]byte(s), &entry); err != nil || entry.Log == nil {
		return s, false
	}
	if !entry.Time.IsZero() {
		l.Time = entry.Time.UTC()
	}
	return strings.TrimRight(*entry.Log, "\r\n"), true
}

// takeRay takes "(RayWorkerWrapper pid=593, ip=10.5.6.103) ".
func takeRay(s string, l *evidence.Line) (string, bool) {
	in, rest, ok := strings.Cut(s[1:], ")")
	if !ok || !strings.Contains(in, "pid=") || len(in) > 200 {
		return s, false
	}
	for word := range strings.FieldsFuncSeq(in, func(r rune) bool { return r == ' ' || r == ',' }) {
		if pid, ok := strings.CutPrefix(word, "pid="); ok {
			l.Process.PID, _ = strconv.Atoi(pid)
		}
		if ip, ok := strings.CutPrefix(word, "ip="); ok {
			l.Process.Host = ip
		}
	}
	return strings.TrimPrefix(rest, " "), true
}

// takeSrun takes " 2: " of srun --label, which fills the label up to the width of the last one.
func takeSrun(s string, l *evidence.Line) (string, bool) {
	in, rest, ok := strings.Cut(s, ": ")
	if ok = ok && len(in) <= 6; ok {
		in = strings.TrimLeft(in, " ")
	}
	if !ok || !number(in) {
		return s, false
	}
	l.Process.Rank, _ = strconv.Atoi(in)
	return rest, true
}

// takeISO takes time stamps such as "2026-11-27T06:34:31.123456789Z " and "2026-11-27 06:34:31,1",
// and what container runtimes write behind them: "stdout F ".
func takeISO(s string, l *evidence.Line) (string, bool) {
	if len(s) < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' || s[13] != ':' {
		return s, false
	}
	end := 19
	for end < len(s) && strings.IndexByte("0123456789.,:+-Z", s[end]) >= 0 {
		end++
	}
	t, ok := parseISO(s[:end])
	if !ok {
		return s, false
	}
	rest := strings.TrimPrefix(s[end:], " ")
	l.Time, rest = zoned(t, rest)
	for _, tag := range [...]string{"stdout F ", "stderr F ", "stdout P ", "stderr P "} {
		if after, ok := strings.CutPrefix(rest, tag); ok {
			rest = after
		}
	}
	return rest, true
}

// zoned takes a zone that stands apart from its time: "2026-11-27 06:34:31.123 +08:00 ".
func zoned(t time.Time, rest string) (time.Time, string) {
	if len(rest) < len("+08:00 ") || rest[0] != '+' && rest[0] != '-' || rest[6] != ' ' {
		return t, rest
	}
	zone, err := time.Parse("-07:00", rest[:6])
	if err != nil {
		return t, rest
	}
	_, seconds := zone.Zone()
	return t.Add(-time.Duration(seconds) * time.Second), rest[7:]
}

func parseISO(s string) (time.Time, bool) {
	s = strings.Replace(strings.TrimSuffix(s, ":"), ",", ".", 1)
	s = s[:10] + "T" + s[11:]
	const local = "2006-01-02T15:04:05.999999999"
	for _, layout := range [...]string{time.RFC3339Nano, local, local + "-0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// takeSyslog takes "Nov 27 06:34:31 node7 kernel: " of syslog and the journal.
func takeSyslog(s string, l *evidence.Line) (string, bool) {
	if len(s) < 16 || s[3] != ' ' || s[6] != ' ' || s[9] != ':' || s[12] != ':' {
		return s, false
	}
	t, err := time.Parse(time.Stamp, s[:15])
	if err != nil {
		return s, false
	}
	rest := s[15:]
	if i := strings.IndexByte(rest, ' '); i > 0 { // a part of a second
		rest = rest[i:]
	}
	host, after, ok := strings.Cut(strings.TrimPrefix(rest, " "), " ")
	if !ok || host == "" {
		return s, false
	}
	if number(host) && strings.HasPrefix(after, "[") { // OpenSM: microseconds, no host
		l.Time = t
		return after, true
	}
	l.Time, l.Process.Host = t, host
	program, message, ok := strings.Cut(after, ": ")
	if ok && !strings.ContainsAny(program, " /") {
		return message, true
	}
	return after, true
}

// takeCompose takes "worker-1  | " of docker compose, and "node2: " of DeepSpeed and pdsh, the
// latter only before a line of NCCL, nccl-tests or "[rank3]:", because many programs begin lines
// with a word and a colon.
func takeCompose(s string, l *evidence.Line) (string, bool) {
	end := strings.IndexAny(s, " :|")
	if end <= 0 || end > 64 {
		return s, false
	}
	rest := strings.TrimLeft(s[end:], " ")
	if after, ok := strings.CutPrefix(rest, "| "); ok {
		l.Process.Host = s[:end]
		return after, true
	}
	after, ok := strings.CutPrefix(s[end:], ": ")
	ofPython := strings.HasSuffix(s[:end], "Error") // "RuntimeError: [1] is setting up NCCL communicator …"
	ofTests := strings.HasPrefix(after, "Test CUDA failure ")
	if ok && !ofPython && (strings.Contains(after, " NCCL ") || ofRank(after) || ofTests) {
		l.Process.Host = s[:end]
		return after, true
	}
	return s, false
}

// ofRank reports whether a line begins with "[rank3]:".
func ofRank(s string) bool {
	after, ok := strings.CutPrefix(s, "[rank")
	digits, _, closed := strings.Cut(after, "]:")
	return ok && closed && number(digits)
}

func number(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// withoutColours removes ANSI sequences of colours, also where the escape byte is missing.
func withoutColours(s string) string {
	if strings.IndexByte(s, 'm') < 0 {
		return s
	}
	var b []byte
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '[' {
			continue
		}
		end := i + 1
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == ';') {
			end++
		}
		escaped := i > 0 && s[i-1] == 0x1b
		if end == len(s) || s[end] != 'm' || end == i+1 && !escaped {
			continue
		}
		start := i
		if escaped {
			start--
		}
		b = append(b, s[from:start]...)
		from = end + 1
		i = end
	}
	if b == nil {
		return s
	}
	return string(append(b, s[from:]...))
}
