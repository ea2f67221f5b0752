package own_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/internal/formtest"
	"github.com/rdmakit/rdmakit/explain/forms/own"
)

func TestForms(t *testing.T) { formtest.Run(t, "testdata/forms.txt", own.Table()) }

func FuzzForms(f *testing.F) {
	formtest.Seed(f, "testdata/forms.txt")
	matcher := forms.NewMatcher(own.Table())
	f.Fuzz(func(_ *testing.T, s string) { matcher.Read(&evidence.Line{Text: s}) })
}

// Words that other programs print, too, don't make a line one of rdmactl.
func TestStrict(t *testing.T) {
	m := forms.NewMatcher(own.Table())
	for _, line := range []string{
		"WARN  main: retrying", "FAIL  test_x", "ERROR  [worker] connection refused",
		"rdmactl: bench write-bw: no such device",
		"the port is not ACTIVE", "BREAKS  everything", "from a (LID 1) to b",
	} {
		if got := m.Read(&evidence.Line{Text: line}); len(got) > 0 {
			t.Errorf("%q gives %v", line, got[0].Fields)
		}
	}
	if n := m.Counts()["rdmactl"]; n > 0 {
		t.Errorf("%d lines count as those of rdmactl, want 0", n)
	}
}
