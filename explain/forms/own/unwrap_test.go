package own_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/forms/own"
)

func TestUnwrapper(t *testing.T) {
	var u own.Unwrapper
	var got []string
	take := func() {
		if text, line := u.Done(); text != "" {
			got = append(got, strings.Repeat("#", line)+text)
		}
	}
	parts := 0
	for line := range strings.Lines("a log\nopen: a\n      b\n       c\ndata: x\r\n      y\r\n  possible z\n" +
		"openings: no\nRTR: last\n     d\n") {
		if u.Line([]byte(line)) {
			parts++
		}
		take()
	}
	u.End()
	take()
	want := "##open: a b|#####data: x y|#########RTR: last d"
	if strings.Join(got, "|") != want || parts != 6 {
		t.Errorf("got %q from %d lines, want %q from 6", strings.Join(got, "|"), parts, want)
	}
	for range 100 {
		u.Line([]byte("data: x"))
		for range 40 {
			u.Line([]byte("      y"))
		}
	}
	u.End()
	if text, _ := u.Done(); len(text) > 100 {
		t.Errorf("a text of %d bytes, want a bound", len(text))
	}
}
