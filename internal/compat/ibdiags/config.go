package ibdiags

import (
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

// readDefaults reads a file of defaults, "name=value" lines, as C does: a name matches if it begins
// with a known one, and an unreadable file is ignored (C twin: read_ibdiag_config). MLX_EPI, which
// no program here uses, is ignored.
func (r *run) readDefaults(file string) {
	if r.ReadFile == nil {
		return
	}
	text, err := r.ReadFile(file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		number, _ := clib.Strtoul(value, 0)
		switch {
		case strings.HasPrefix(name, "CA"):
			r.device = value
		case strings.HasPrefix(name, "Port"):
			r.port = int(int32(uint32(number))) //nolint:gosec // C cuts it too
		case strings.HasPrefix(name, "timeout"):
			r.timeout = time.Duration(min(number, 1<<31)) * time.Millisecond
		case strings.HasPrefix(name, "m_key"):
			r.mkey = number
		case strings.HasPrefix(name, "sa_key"):
			r.saKey = number
		}
	}
}

// leadingNumber parses the number at the beginning of a text, as strtoull(3) with base 0, and
// returns the rest of the text: all of it if there is no number.
func leadingNumber(s string) (v uint64, rest string) {
	digits := strings.TrimLeft(s, " \t\n\v\f\r")
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	set := "0123456789"
	switch {
	case len(digits) > 2 && strings.EqualFold(digits[:2], "0x") &&
		strings.ContainsRune("0123456789abcdefABCDEF", rune(digits[2])):
		digits, set = digits[2:], "0123456789abcdefABCDEF"
	case strings.HasPrefix(digits, "0"):
		set = "01234567"
	}
	rest = strings.TrimLeft(digits, set)
	if rest == digits {
		return 0, s
	}
	v, _ = clib.Strtoul(s, 0)
	return v, rest
}
