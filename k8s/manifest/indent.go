package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// indentation checks a line against the open levels, and opens or closes levels.
func (r *indentReader) indentation(n, indent int, body string) (fault, bool) {
	dash := body == "-" || strings.HasPrefix(body, "- ")
	entry, column := body, indent
	if f, ok := r.place(n, indent, body, dash); ok {
		return f, true
	}
	for dash { // "- name: a" opens a level for name after the dash
		rest := strings.TrimPrefix(entry, "-")
		inner := strings.TrimLeft(rest, " ")
		column += 1 + len(rest) - len(inner)
		entry = inner
		if entry == "" {
			r.value, r.valueLine, r.valueKey, r.keyColumn = -1, n, "-", column-1
			return fault{}, false
		}
		dash = entry == "-" || strings.HasPrefix(entry, "- ")
		if dash || keyLine.MatchString(entry) {
			r.levels = append(r.levels, level{column, n, dash})
		}
	}
	r.read(n, column, entry)
	return fault{}, false
}

// place finds the level of a line.
func (r *indentReader) place(n, indent int, body string, dash bool) (fault, bool) {
	deepest := -1
	if len(r.levels) > 0 {
		deepest = r.levels[len(r.levels)-1].indent
	}
	switch {
	case indent > deepest && r.value >= 0 && (dash || keyLine.MatchString(body)):
		return fault{
			r.t.region(n), fmt.Sprintf("indented by %d, below %q in line %d, which already has a value",
				indent, r.valueKey, r.valueLine),
			r.remedy(),
		}, true
	case indent > deepest && r.value >= 0: // continuation of a plain value
		return fault{}, false
	case indent > deepest:
		r.levels = append(r.levels, level{indent, n, dash})
		return fault{}, false
	}
	i := slices.IndexFunc(r.levels, func(l level) bool { return l.indent == indent && l.list == dash })
	if i < 0 && dash { // the entries of a list may start in the column of its key
		if j := slices.IndexFunc(r.levels, func(l level) bool { return l.indent == indent }); j >= 0 && r.value < 0 &&
			r.valueLine >= r.levels[j].line && r.keyColumn == indent {
			r.levels = append(r.levels[:j+1], level{indent, n, true})
			return fault{}, false
		}
	}
	if i >= 0 && (dash || keyLine.MatchString(body)) {
		r.levels = r.levels[:i+1]
		return fault{}, false
	}
	if i >= 0 || !dash && !keyLine.MatchString(body) {
		return fault{}, false
	}
	f := fault{at: r.t.region(n)}
	if dash && r.value < 0 && r.keyColumn > indent {
		f.text = fmt.Sprintf(
			"indented by %d, but %q in line %d, which has no value, by %d: a list must not start left of its key",
			indent, r.valueKey, r.valueLine, r.keyColumn)
		f.remedy = fmt.Sprintf("indent the entries of %q by %d or %d spaces", r.valueKey, r.keyColumn, r.keyColumn+2)
		return f, true
	}
	if slices.ContainsFunc(r.levels, func(l level) bool { return l.indent == indent }) {
		f.text = fmt.Sprintf("indented by %d like the %s in line %d, but this is %s",
			indent, r.sort(indent), r.lineOf(indent), map[bool]string{true: "an entry of a list", false: "a key"}[dash])
	} else {
		f.text = fmt.Sprintf("indented by %d, unlike any line above: it belongs to no %s", indent, sortOf(dash))
	}
	r.value = max(r.value, 0)
	f.remedy = r.remedy()
	return f, true
}

func sortOf(dash bool) string {
	if dash {
		return "list"
	}
	return "mapping"
}

func (r *indentReader) lineOf(indent int) int {
	i := slices.IndexFunc(r.levels, func(l level) bool { return l.indent == indent })
	return r.levels[i].line
}

func (r *indentReader) sort(indent int) string {
	i := slices.IndexFunc(r.levels, func(l level) bool { return l.indent == indent })
	return sortOf(r.levels[i].list)
}

// read records the unfinished parts of a line: a block scalar, brackets, or a key without a value.
func (r *indentReader) read(n, column int, entry string) {
	m := keyLine.FindStringSubmatch(entry)
	r.valueLine, r.keyColumn = n, column
	if blockEnd.MatchString(entry) {
		r.block, r.blockText, r.value = column, 0, column
		if len(r.levels) > 0 {
			r.block = r.levels[len(r.levels)-1].indent
		}
		r.valueKey = ""
		if m != nil {
			r.valueKey = m[1]
		}
		return
	}
	r.flow = max(0, brackets(entry))
	if m == nil {
		r.value, r.valueKey = column, entry
		return
	}
	value := strings.TrimSpace(m[3])
	r.valueKey = strings.TrimSpace(m[1])
	if value == "" || strings.HasPrefix(value, "#") || strings.HasPrefix(value, "&") && !strings.Contains(value, " ") {
		r.value = -1
		return
	}
	r.value = column
}
