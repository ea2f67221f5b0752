package facts

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms/nccl"
)

// versionKinds are the events with the version of a library, and the library's name if the event
// doesn't have it.
var versionKinds = map[evidence.Kind]string{
	evidence.NCCLVersion: "", evidence.TorchVersion: "torch", evidence.UCXVersion: "ucx",
	evidence.NVSHMEMVersion: "nvshmem", evidence.DeepEPVersion: "deepep",
}

// librariesOf returns the libraries with what is known of their versions.
func librariesOf(store *evidence.Store) []Library {
	var list []Library
	of := func(name string) *Library {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		list = append(list, Library{Name: name})
		return &list[len(list)-1]
	}
	for library, e := range versionEvents(store) {
		l := of(library)
		l.Versions = addValue(l.Versions, e.Fields["version"], e.Place)
	}
	if hasNCCLLines(store) {
		name := "nccl"
		for _, l := range list {
			if l.Name == "rccl" {
				name = "rccl"
			}
		}
		of(name).limit(store)
	}
	return list
}

// versionEvents returns the events with the version of a library, with the library's name.
func versionEvents(store *evidence.Store) iter.Seq2[string, *evidence.Event] {
	return func(yield func(string, *evidence.Event) bool) {
		for _, kind := range store.Kinds() {
			name, ok := versionKinds[kind]
			if !ok {
				continue
			}
			for e := range store.Of(kind) {
				if !yield(cmp.Or(e.Fields["library"], name), e) {
					return
				}
			}
		}
	}
}

func hasNCCLLines(store *evidence.Store) bool {
	for _, k := range store.Kinds() {
		if strings.HasPrefix(string(k), "nccl.") {
			return true
		}
	}
	return false
}

// limit narrows the version by the forms that were seen.
func (l *Library) limit(store *evidence.Store) {
	for e := range store.Of("nccl.") {
		if e.Since != "" && nccl.CompareVersions(e.Since, l.Since) > 0 {
			l.Since, l.SinceBy = e.Since, e.Place
		}
		if e.Until != "" && (l.Until == "" || nccl.CompareVersions(e.Until, l.Until) < 0) {
			l.Until, l.UntilBy = e.Until, e.Place
		}
	}
	if len(l.Versions) == 0 {
		return
	}
	// With several versions, each form can be that of one of them.
	compare := func(a, b Value) int { return nccl.CompareVersions(a.Text, b.Text) }
	oldest, newest := slices.MinFunc(l.Versions, compare), slices.MaxFunc(l.Versions, compare)
	switch {
	case l.Since != "" && nccl.CompareVersions(newest.Text, l.Since) < 0:
		l.Contradiction = fmt.Sprintf("%s says version %s, but %s has a form of %s and later",
			newest.Places[0], newest.Text, l.SinceBy, l.Since)
	case l.Until != "" && nccl.CompareVersions(oldest.Text, l.Until) > 0:
		l.Contradiction = fmt.Sprintf("%s says version %s, but %s has a form of %s and earlier",
			oldest.Places[0], oldest.Text, l.UntilBy, l.Until)
	}
}

// Library returns what is known of a library, and false if nothing is.
func (f *Facts) Library(name string) (Library, bool) {
	for _, l := range f.Libraries {
		if l.Name == name {
			return l, true
		}
	}
	return Library{}, false
}

// Between reports whether the version of a library can be from since to until, both included ("" is
// no limit), and whether that is certain: then all versions that are possible are in the range.
func (l *Library) Between(since, until string) (possible, certain bool) {
	in := func(v string) bool {
		return nccl.CompareVersions(v, since) >= 0 && (until == "" || nccl.CompareVersions(v, until) <= 0)
	}
	if len(l.Versions) > 0 && l.Contradiction == "" {
		certain = true
		for _, v := range l.Versions {
			possible = possible || in(v.Text)
			certain = certain && in(v.Text)
		}
		return possible, certain
	}
	tooOld := l.Until != "" && nccl.CompareVersions(l.Until, since) < 0
	if tooOld || until != "" && nccl.CompareVersions(l.Since, until) > 0 {
		return false, true
	}
	certain = (since == "" || nccl.CompareVersions(l.Since, since) >= 0) &&
		(until == "" || l.Until != "" && nccl.CompareVersions(l.Until, until) <= 0)
	return true, certain
}

// Place returns where the version was read: its line, or those that limit it.
func (l *Library) Place() []evidence.Place {
	if len(l.Versions) > 0 {
		return l.Versions[0].Places[:1]
	}
	var list []evidence.Place
	for _, p := range [...]evidence.Place{l.SinceBy, l.UntilBy} {
		if p.File != "" {
			list = append(list, p)
		}
	}
	return list
}
