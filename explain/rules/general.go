package rules

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/forms/posix"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// maxGeneral is how many causes are named for a line of an unknown program.
const maxGeneral = 2

// GeneralCauses returns what an error in a line of a program that isn't known here usually comes
// from, at most two causes; nil if the line doesn't say enough.
func GeneralCauses(text string) []Cause {
	has := func(part string) bool { return strings.Contains(text, part) }
	list := errnoCauses(posix.Errno(text), text)
	for _, g := range symptoms.Generals() {
		if slices.ContainsFunc(g.Texts, has) {
			list = nil
			for _, c := range g.Causes {
				list = append(list, Cause{Slug: c.Slug, Title: c.Title, Decide: c.Decide, Remedy: c.Remedy})
			}
			break
		}
	}
	list = list[:min(len(list), maxGeneral)]
	for i := range list {
		list[i].Confidence = Possible
	}
	return list
}
