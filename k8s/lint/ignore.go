package lint

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// AnnotationIgnore is an annotation that suppresses findings, for charts whose comments are lost
// when they are rendered. Each line of it is "RULE[,RULE...] reason". It applies to the object, and
// in a pod template to the template.
const AnnotationIgnore = "rdmactl/ignore"

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
		ig := ignore{Comment: c}
		ig.rules, ig.reason = parseIgnore(c.Text)
		out = append(out, ig)
	}
	return out
}

// parseIgnore splits "RULE[,RULE...] reason".
func parseIgnore(text string) (rules []string, reason string) {
	list, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	if list != "" {
		rules = strings.Split(list, ",")
	}
	return rules, strings.TrimSpace(reason)
}

// ignoreLines returns the lines of the annotation in a mapping with metadata.
func ignoreLines(v *manifest.Value) []string {
	if text := v.Find("metadata", "annotations", AnnotationIgnore); text != nil {
		return strings.FieldsFunc(text.Text, func(r rune) bool { return r == '\n' })
	}
	return nil
}

// annotated returns the reason in an annotation of the object, or of a template around the value,
// that suppresses a finding.
func (f located) annotated() (reason string, ok bool) {
	if f.object == nil {
		return "", false
	}
	for i := range len(f.at) + 1 {
		for _, text := range ignoreLines(f.object.Find(f.at[:i]...)) {
			if rules, reason := parseIgnore(text); f.in(rules) {
				return reason, true
			}
		}
	}
	return "", false
}

// in reports whether IDs of rules and groups include the rule of a finding.
func (f *Finding) in(ids []string) bool {
	return slices.Contains(ids, f.Rule) || f.Group != "" && slices.Contains(ids, f.Group)
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

// reason reports whether a comment or an annotation suppresses a finding, and returns its reason.
// The comment may refer to the line of the finding, to the line of its key, or to its object.
func (by ignores) reason(f located) (reason string, ok bool) {
	keyLine, objectLine := 0, 0
	if len(by) > 0 && f.object != nil { // rare, and KeyAt searches the whole mapping
		keyLine, objectLine = f.object.KeyAt(f.at...).Line, f.object.Root.At.Line
	}
	for _, number := range []int{f.Line, keyLine, objectLine} {
		for _, ig := range by[line{f.File, number}] {
			alone := ig.At.Line != ig.Target
			if number > 0 && (number == f.Line || number == keyLine || alone) && f.in(ig.rules) {
				return ig.reason, true
			}
		}
	}
	return f.annotated()
}

// located is a finding with its place in an object, if it is in one.
type located struct {
	*Finding
	object *manifest.Object
	at     path
}
