package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// ignoreMarker starts a comment that suppresses findings: "# rdmactl:ignore RULE[,RULE...] reason".
const ignoreMarker = "rdmactl:ignore"

// ignore is a comment that suppresses findings.
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

// line identifies a line of a file.
type line struct {
	file   string
	number int
}

// ignores are comments by the line that they refer to. A comment on the first line of an object
// refers to the whole object.
type ignores map[line][]ignore

func (m *model) ignoresByLine() ignores {
	out := ignores{}
	for _, ig := range m.ignored {
		at := line{ig.At.File, ig.Target}
		out[at] = append(out[at], ig)
	}
	return out
}

// reason reports whether a comment suppresses a finding, and returns the comment's reason. The
// comment may refer to the line of the finding, to the line of its key, or to its object.
func (by ignores) reason(f located) (reason string, ok bool) {
	for _, number := range []int{f.Line, f.keyLine, f.objectLine} {
		for _, ig := range by[line{f.File, number}] {
			alone := ig.At.Line != ig.Target
			if number > 0 && (number == f.Line || number == f.keyLine || alone) && slices.Contains(ig.rules, f.Rule) {
				return ig.reason, true
			}
		}
	}
	return "", false
}

// located is a finding with the other lines on which a comment may suppress it, 0 for none.
type located struct {
	*Finding
	keyLine, objectLine int
}
