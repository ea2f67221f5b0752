package verbs_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/internal/formtest"
	"github.com/rdmakit/rdmakit/explain/forms/verbs"
)

func tables() []forms.Table {
	return []forms.Table{verbs.Perftest(), verbs.Pasted(), verbs.Other()}
}

func TestForms(t *testing.T) { formtest.Run(t, "testdata/forms.txt", tables()...) }

func FuzzForms(f *testing.F) {
	formtest.Seed(f, "testdata/forms.txt")
	matcher := forms.NewMatcher(tables()...)
	f.Fuzz(func(_ *testing.T, s string) { matcher.Read(&evidence.Line{Text: s}) })
}
