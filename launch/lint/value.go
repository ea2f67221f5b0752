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
				A shell takes quotes away; docker's --env-file, a manifest with quotes inside of
				quotes, and programs that start others don't. The library then looks for a device,
				or reads a number, that begins with a quote.`),
			Remedy:  "write the value without quotes",
			Sources: []string{"docker, reference of docker run --env-file"}, check: checkQuotes,
		},
		{
			ID: "value-space", Title: "white space in the value", Severity: SeverityError, Variables: []string{"*"},
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=mlx5_0, mlx5_1"}, Right: []string{"NCCL_IB_HCA=mlx5_0,mlx5_1"},
			Explanation: "The libraries don't trim: a blank behind a comma, or a carriage return at the end of a " +
				"line from Windows, belongs to the name, and no device has that name.",
			Remedy: "write lists without blanks", Sources: []string{srcNCCL, srcUCX}, check: checkSpace,
		},
		{
			ID: "value-comma", Title: "empty entry in a list", Severity: SeverityNote,
			Variables: append(listNames(), allSockets()...), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA=mlx5_0,"}, Right: []string{"NCCL_IB_HCA=mlx5_0"},
			Explanation: "NCCL passes over empty entries. They mostly are what is left where a variable in the " +
				"middle of the list was empty when it was put together.",
			Remedy: "take the comma away, or find what was empty", Sources: []string{srcNCCL}, check: checkComma,
		},
		{
			ID: "value-empty", Title: "variable is set to nothing", Severity: SeverityNote, Variables: []string{"*"},
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_HCA="}, Right: []string{"NCCL_IB_HCA==mlx5_0"},
			Explanation: "An empty value counts as not set: the library chooses by itself, which is mostly not what " +
				"someone wanted who wrote the name down. KServe's init script overwrites empty values.",
			Remedy: "set a value, or take the line away", Sources: []string{srcNCCLEnv, srcLaunch},
			check: checkEmpty,
		},
		{
			ID: "value-type", Title: "value that the library doesn't understand", Severity: SeverityError,
			Variables: []string{"*"}, On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_NET_MERGE_LEVEL=PORTS"}, Right: []string{"NCCL_NET_MERGE_LEVEL=PORT"},
			Explanation: prose.Join(`
				NCCL reads numbers as C's strtoll does: what begins with no digit is 0, and no
				message says so. NCCL_IB_DISABLE=true is 0, and leaves RDMA on. Names of levels and
				families are compared letter by letter; one that is not known is passed over.`),
			Remedy:  "write one of the values that are known",
			Sources: []string{srcNCCLEnv, srcNCCLTopo, srcMooncake}, check: checkType,
		},
		{
			ID: "value-range", Title: "number out of range", Severity: SeverityWarn, Variables: []string{"*"},
			On:    "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_RETRY_CNT=20"}, Right: []string{"NCCL_IB_RETRY_CNT=7"},
			Explanation: prose.Join(`
				The field of the queue pair or packet that takes the number is smaller: 3 bits
				for retries (7 at most), 5 bits for the timeout (31 at most), 4 bits for the
				service level, 8 bits for the traffic class. The rest is cut off, or the queue
				pair is refused.`),
			Remedy:  "take a value within the range",
			Sources: []string{"InfiniBand Architecture Specification volume 1, chapters 9 and 11", srcNCCL},
			check:   checkRangeOfNumber,
		},
	}
}

// integer reads a whole number as strtoll with base 0 does; false where anything is left over.
func integer(s string) (int64, bool) {
	v, rest := leadingInteger(s)
	return v, rest == "" && strings.TrimSpace(s) != ""
}

// leadingInteger returns the number that a text begins with, 0 for none, and what is left.
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

// quoted reports a value that stands between quotes, or has lost one of them.
func quoted(v string) bool {
	v = strings.TrimSpace(v)
	return v != "" && (strings.ContainsAny(v[:1], `"'`) || strings.ContainsAny(v[len(v)-1:], `"'`))
}

// judged visits the settings that count whose names a library reads.
func (l *linter) judged(visit func(s *Setting)) {
	for _, name := range l.names() {
		if s := l.last[name]; !s.Unknown && ours(name) {
			visit(s)
		}
	}
}

func checkQuotes(l *linter) {
	l.judged(func(s *Setting) {
		if _, known := findKnown(s.Name); known && quoted(s.Value) {
			l.report(s, SeverityError, "the value begins or ends with a quote, which belongs to it").set(s.Name,
				strings.Trim(strings.TrimSpace(s.Value), `"'`))
		}
	})
}

func checkSpace(l *linter) {
	l.judged(func(s *Setting) {
		k, known := findKnown(s.Name)
		inside := k.list && strings.ContainsAny(s.Value, " \t\r\n")
		if !known || k.kind == kindText && !k.list || strings.TrimSpace(s.Value) == s.Value && !inside ||
			strings.TrimSpace(s.Value) == "" {
			return
		}
		severity := SeverityError
		if k.kind == kindNumber {
			severity = SeverityNote // strtoll takes it all the same
		}
		clean := strings.TrimSpace(s.Value)
		if k.list {
			clean = strings.Join(strings.Fields(strings.NewReplacer(",", " ").Replace(s.Value)), ",")
		}
		l.report(s, severity, "the value %q has white space, which belongs to it", s.Value).set(s.Name, clean)
	})
}

func checkComma(l *linter) {
	l.judged(func(s *Setting) {
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
	l.judged(func(s *Setting) {
		if _, known := findKnown(s.Name); known && s.Value == "" {
			f := l.report(s, SeverityNote, "counts as not set")
			if l.derive(f, s.Name); len(f.Fixes) == 0 {
				f.unset(s.Name)
			}
		}
	})
}

func checkType(l *linter) {
	l.judged(func(s *Setting) {
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

// boolean reads what people write for yes and no.
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
	l.judged(func(s *Setting) {
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
		f := l.report(s, SeverityWarn, "%s is not %s", strings.TrimSpace(s.Value), allowed)
		if value > k.high && k.clamp {
			f.set(s.Name, most)
		}
	})
}
