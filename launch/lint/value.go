package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// The rules about values as such.
func valueRules() []Rule {
	return []Rule{
		{
			ID: "value-quotes", Title: "quotes are part of the value", Severity: SeverityError,
			Variables: []string{"*"}, On: "02_rocev2_8hca",
			Wrong: []string{`NCCL_IB_HCA="=mlx5_0"`}, Right: []string{"NCCL_IB_HCA==mlx5_0"},
			Explanation: prose.Join(`
				A shell removes quotes; docker's --env-file, a manifest with quotes inside quotes,
				and programs that start other programs don't. The library then looks for a device,
				or reads a number, that begins with a quote.`),
			Remedy:  "write the value without quotes",
			Sources: []string{"docker, reference of docker run --env-file"}, check: checkQuotes,
		},
		{
			ID: "value-space", Title: "white space in the value", Severity: SeverityError, Variables: []string{"*"},
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=mlx5_0, mlx5_1"}, Right: []string{"NCCL_IB_HCA=mlx5_0,mlx5_1"},
			Explanation: "The libraries don't trim white space: a space after a comma, or a carriage return at the " +
				"end of a Windows line, becomes part of the name, and no device has that name.",
			Remedy: "write lists without spaces", Sources: []string{srcNCCL, srcUCX}, check: checkSpace,
		},
		{
			ID: "value-comma", Title: "empty entry in a list", Severity: SeverityNote,
			Variables: append(listNames(), allSockets()...), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=mlx5_0,"}, Right: []string{"NCCL_IB_HCA=mlx5_0"},
			Explanation: "NCCL ignores empty entries. Often a variable was empty when a script put the list " +
				"together.",
			Remedy: "remove the comma, or find the empty variable", Sources: []string{srcNCCL}, check: checkComma,
		},
		{
			ID: "value-empty", Title: "variable with an empty value", Severity: SeverityNote, Variables: []string{"*"},
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA="}, Right: []string{"NCCL_IB_HCA==mlx5_0"},
			Explanation: "The libraries treat an empty value as not set and use their default, which is probably not " +
				"intended. KServe's init script overwrites empty values.",
			Remedy: "set a value, or remove the line", Sources: []string{srcNCCLEnv, srcLaunch},
			check: checkEmpty,
		},
		{
			ID: "value-type", Title: "value that the library doesn't understand", Severity: SeverityError,
			Variables: []string{"*"}, On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_NET_MERGE_LEVEL=PORTS"}, Right: []string{"NCCL_NET_MERGE_LEVEL=PORT"},
			Explanation: prose.Join(`
				NCCL reads numbers with C's strtoll: text that does not begin with a digit is 0,
				without an error. NCCL_IB_DISABLE=true is 0 and leaves RDMA on. Names of levels and
				families must match exactly; unknown names are ignored.`),
			Remedy:  "write one of the allowed values",
			Sources: []string{srcNCCLEnv, srcNCCLTopo, srcMooncake}, check: checkType,
		},
		{
			ID: "value-range", Title: "number out of range", Severity: SeverityWarn, Variables: []string{"*"},
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_RETRY_CNT=20"}, Right: []string{"NCCL_IB_RETRY_CNT=7"},
			Explanation: prose.Join(`
				The number does not fit into its field of the queue pair or packet: 3 bits for the
				retry count (at most 7), 5 bits for the timeout (at most 31), 4 bits for the service
				level, 8 bits for the traffic class. The excess bits are cut off, or the queue pair
				can't be set up.`),
			Remedy:  "use a value within the range",
			Sources: []string{"InfiniBand Architecture Specification volume 1, chapters 9 and 11", srcNCCL},
			check:   checkRangeOfNumber,
		},
	}
}

// integer parses a whole number like strtoll with base 0; false if the text has anything after it.
func integer(s string) (int64, bool) {
	v, rest := leadingInteger(s)
	return v, rest == "" && strings.TrimSpace(s) != ""
}

// leadingInteger returns the number at the beginning of a text, 0 for none, and the rest of the
// text.
func leadingInteger(s string) (value int64, rest string) {
	t := strings.TrimLeft(s, " \t\n\v\f\r")
	n, base := 0, 10
	if t != "" && (t[0] == '-' || t[0] == '+') {
		n = 1
	}
	if len(t) > n+2 && t[n] == '0' && (t[n+1] == 'x' || t[n+1] == 'X') && isDigit(t[n+2], 16) {
		return prefixed(t, n, n+2, 16)
	}
	if len(t) > n && t[n] == '0' {
		base = 8
	}
	return prefixed(t, n, n, base)
}

func prefixed(t string, sign, first, base int) (int64, string) {
	end := first
	for end < len(t) && isDigit(t[end], base) {
		end++
	}
	if end == first {
		return 0, t
	}
	v, err := strconv.ParseInt(t[:sign]+t[first:end], base, 64)
	if err != nil {
		v = math.MaxInt64
		if t[0] == '-' {
			v = math.MinInt64
		}
	}
	return v, t[end:]
}

func isDigit(b byte, base int) bool {
	switch {
	case b >= '0' && b <= '9':
		return int(b-'0') < base
	case b >= 'a' && b <= 'f', b >= 'A' && b <= 'F':
		return base == 16
	}
	return false
}

// quoted reports whether a value begins or ends with a quote.
func quoted(v string) bool {
	v = strings.TrimSpace(v)
	return v != "" && (strings.ContainsAny(v[:1], `"'`) || strings.ContainsAny(v[len(v)-1:], `"'`))
}

// effective visits the settings in effect whose names a library reads.
func (l *linter) effective(visit func(s *Setting)) {
	for _, name := range l.names() {
		if s := l.last[name]; !s.Unknown && ours(name) {
			visit(s)
		}
	}
}

func checkQuotes(l *linter) {
	l.effective(func(s *Setting) {
		if _, known := findKnown(s.Name); known && quoted(s.Value) {
			l.report(s, SeverityError, "the value begins or ends with a quote, which is part of the value").set(s.Name,
				strings.Trim(strings.TrimSpace(s.Value), `"'`))
		}
	})
}

func checkSpace(l *linter) {
	l.effective(func(s *Setting) {
		k, known := findKnown(s.Name)
		inside := k.list && strings.ContainsAny(s.Value, " \t\r\n")
		if !known || k.kind == kindText && !k.list || strings.TrimSpace(s.Value) == s.Value && !inside ||
			strings.TrimSpace(s.Value) == "" {
			return
		}
		severity := SeverityError
		if k.kind == kindNumber {
			severity = SeverityNote // strtoll accepts it
		}
		clean := strings.TrimSpace(s.Value)
		if k.list {
			clean = strings.Join(strings.Fields(strings.NewReplacer(",", " ").Replace(s.Value)), ",")
		}
		l.report(s, severity, "the value %q has white space, which is part of the value", s.Value).set(s.Name, clean)
	})
}

func checkComma(l *linter) {
	l.effective(func(s *Setting) {
		k, _ := findKnown(s.Name)
		entries := strings.Split(s.Value, ",")
		if !k.list || s.Value == "" || len(entries) < 2 || !slices.Contains(entries, "") {
			return
		}
		kept := slices.DeleteFunc(entries, func(e string) bool { return e == "" })
		l.report(s, SeverityNote, "an entry of the list is empty").set(s.Name, strings.Join(kept, ","))
	})
}

func checkEmpty(l *linter) {
	l.effective(func(s *Setting) {
		if _, known := findKnown(s.Name); known && s.Value == "" {
			f := l.report(s, SeverityNote, "treated as not set")
			if l.derive(f, s.Name); len(f.Fixes) == 0 {
				f.unset(s.Name)
			}
		}
	})
}

func checkType(l *linter) {
	l.effective(func(s *Setting) {
		k, known := findKnown(s.Name)
		if !known || s.Value == "" || quoted(s.Value) || strings.TrimSpace(s.Value) != s.Value {
			return
		}
		switch k.kind {
		case kindNumber:
			if _, whole := integer(s.Value); !whole && !k.allows(s.Value) {
				value, rest := leadingInteger(s.Value)
				f := l.report(s, SeverityError, "%s", k.misread(value, rest))
				if truth, ok := boolean(s.Value); ok && k.low >= 0 && k.low <= truth && truth <= k.high {
					f.set(s.Name, strconv.FormatInt(truth, 10))
				}
			}
		case kindWord:
			if k.allows(s.Value) {
				return
			}
			if _, err := strconv.Atoi(s.Value); err == nil && k.numbers {
				return
			}
			f := l.report(s, k.severity(), "not one of %s%s", strings.Join(k.words, ", "), k.otherwise)
			if near := spelling.Nearest(s.Value, k.words, spelling.Strict); near != "" {
				f.set(s.Name, near)
			}
		}
	})
}

// boolean parses common words for yes and no.
func boolean(s string) (value int64, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "y":
		return 1, true
	case "false", "no", "off", "n":
		return 0, true
	}
	return 0, false
}

func checkRangeOfNumber(l *linter) {
	l.effective(func(s *Setting) {
		k, known := findKnown(s.Name)
		value, whole := integer(s.Value)
		if !known || k.kind != kindNumber || !whole || value >= k.low && value <= k.high || k.allows(s.Value) {
			return
		}
		most := fmt.Sprint(k.high)
		allowed := fmt.Sprintf("%d to %s", k.low, most)
		if k.high == math.MaxInt64 {
			allowed = fmt.Sprintf("%d or more", k.low)
		}
		f := l.report(s, SeverityWarn, "%s is out of range: allowed is %s", strings.TrimSpace(s.Value), allowed)
		if value > k.high && k.clamp {
			f.set(s.Name, most)
		}
	})
}
