package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// ignoreMarker begins a comment that suppresses findings: "# rdmactl:ignore RULE[,RULE...] reason".
const ignoreMarker = "rdmactl:ignore"

// ignore is such a comment.
type ignore struct {
	manifest.Comment
	rules  []string
	reason string
}

func readIgnores(set *manifest.Set) []ignore {
	var out []ignore
	for _, c := range set.Comments(ignoreMarker) {
		rules, reason, _ := strings.Cut(c.Text, " ")
		ig := ignore{Comment: c, reason: strings.TrimSpace(reason)}
		if rules != "" {
			ig.rules = strings.Split(rules, ",")
		}
		out = append(out, ig)
	}
	return out
}

// line is a line of a file.
type line struct {
	file   string
	number int
}

// ignores are comments by the line that they are about. One about the first line of an object is
// about all of it.
type ignores map[line][]ignore

func (m *model) ignoresByLine() ignores {
	out := ignores{}
	for _, ig := range m.ignored {
		at := line{ig.At.File, ig.Target}
		out[at] = append(out[at], ig)
	}
	return out
}

// reason tells whether a finding is suppressed and why: by its own line, by that of the key it is
// about, or by its object.
func (by ignores) reason(t told) (reason string, ok bool) {
	for _, number := range []int{t.Line, t.keyLine, t.objectLine} {
		for _, ig := range by[line{t.File, number}] {
			alone := ig.At.Line != ig.Target
			if number > 0 && (number == t.Line || number == t.keyLine || alone) && slices.Contains(ig.rules, t.Rule) {
				return ig.reason, true
			}
		}
	}
	return "", false
}

// told is a finding with the lines at which it may be suppressed, 0 where there is none.
type told struct {
	*Finding
	keyLine, objectLine int
}
