package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json` and `go help buildjson`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string // import path whose build broke this package
}

// counts are leaf tests, plus one failure for each package that failed outside of any test.
type counts struct{ passed, failed, skipped int }

// result is the result of one test.
type result struct {
	action string // "pass", "fail", "skip"; "" while it runs
	output []string
}

// pkg is the state of one package during its tests.
type pkg struct {
	tests  map[string]*result
	output []string // printed outside of any test
	done   bool
}

// ownOutput returns the output of the package without the lines "FAIL…" of the go command.
func (p *pkg) ownOutput() []string {
	return slices.DeleteFunc(p.output, func(line string) bool { return strings.HasPrefix(line, "FAIL") })
}

// tally prints events as they arrive and counts tests.
type tally struct {
	w       *bufio.Writer
	pkgs    map[string]*pkg
	builds  map[string][]string // compiler output by import path
	total   counts
	skipped []string // "package Test: reason"
	failed  []string // "package Test"
}

func newTally(w io.Writer) *tally {
	return &tally{w: bufio.NewWriter(w), pkgs: map[string]*pkg{}, builds: map[string][]string{}}
}

// read reads the stream to its end. A line that is not an event is printed unchanged: the go
// command writes such lines if it can't start the tests.
func (t *tally) read(r io.Reader) error {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if line != "" {
			t.line(line)
		}
		if br.Buffered() == 0 { // no more input at the moment: show the output
			_ = t.w.Flush() // finish returns the error
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

func (t *tally) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(t.w, line)
		return
	}
	t.add(e)
}

func (t *tally) add(e event) {
	if strings.HasPrefix(e.Action, "build-") {
		if e.Action == "build-output" {
			t.builds[e.ImportPath] = append(t.builds[e.ImportPath], e.Output)
		}
		return
	}
	p := t.pkgs[e.Package]
	if p == nil {
		p = &pkg{tests: map[string]*result{}}
		t.pkgs[e.Package] = p
	}
	if e.Test == "" {
		t.packageEvent(p, e)
		return
	}
	res := p.tests[e.Test]
	if res == nil {
		res = &result{}
		p.tests[e.Test] = res
	}
	switch e.Action {
	case "output":
		res.output = append(res.output, e.Output)
	case "pass", "fail", "skip":
		res.action = e.Action
	}
}

func (t *tally) packageEvent(p *pkg, e event) {
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "pass", "fail", "skip":
		t.close(e.Package, p, e)
	}
}

// finish closes the packages without an end event, and prints the lists and the last line.
func (t *tally) finish() (counts, error) {
	for _, name := range slices.Sorted(maps.Keys(t.pkgs)) {
		if p := t.pkgs[name]; !p.done {
			p.output = append(p.output, "the event stream ended before this package did\n")
			t.close(name, p, event{Action: "fail", Package: name})
		}
	}
	list(t.w, "skipped", t.skipped)
	list(t.w, "failed", t.failed)
	fmt.Fprintf(t.w, "%d passed, %d failed, %d skipped\n", t.total.passed, t.total.failed, t.total.skipped)
	if err := t.w.Flush(); err != nil {
		return t.total, fmt.Errorf("print: %w", err)
	}
	return t.total, nil
}

func list(w *bufio.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n  %s\n", title, strings.Join(items, "\n  "))
}

// close counts a package that ended with e, prints its line, and frees its output.
func (t *tally) close(name string, p *pkg, e event) {
	p.done = true
	c := t.count(name, p)
	if e.Action == "fail" {
		fmt.Fprint(t.w, strings.Join(t.builds[e.FailedBuild], ""), strings.Join(p.ownOutput(), ""))
		if c.failed == 0 {
			c.failed++
			t.failed = append(t.failed, name+" (outside of any test)")
		}
	}
	t.total.passed += c.passed
	t.total.failed += c.failed
	t.total.skipped += c.skipped
	switch {
	case c.failed > 0:
		fmt.Fprintf(t.w, "FAIL %s %.1fs: %d passed, %d failed\n", name, e.Elapsed, c.passed, c.failed)
	case c.passed+c.skipped > 0:
		fmt.Fprintf(t.w, "ok   %s %.1fs: %d passed%s\n", name, e.Elapsed, c.passed, ifAny(c.skipped, ", %d skipped"))
	} // no line for a package without tests
	p.tests, p.output = nil, nil
}

func ifAny(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// count counts a package's leaf tests and prints the output of failed tests. A test that failed
// without a failed subtest is counted itself; a test without an end event (the process died in it)
// has failed.
func (t *tally) count(name string, p *pkg) counts {
	var c counts
	parents := parentsOf(p.tests)
	failedBelow := map[string]bool{}
	names := slices.Sorted(maps.Keys(p.tests))
	slices.Reverse(names) // subtests before their parents
	for _, test := range names {
		res := p.tests[test]
		ownFailure := (res.action == "fail" || res.action == "") && !failedBelow[test]
		switch {
		case ownFailure:
			c.failed++
			t.failed = append(t.failed, name+" "+test)
			fmt.Fprint(t.w, strings.Join(res.output, ""))
		case parents[test]: // counted through its subtests
		case res.action == "skip":
			c.skipped++
			t.skipped = append(t.skipped, name+" "+test+": "+reason(res.output))
		case res.action == "pass":
			c.passed++
		}
		if ownFailure {
			eachPrefix(test, func(parent string) { failedBelow[parent] = true })
		}
	}
	return c
}

// parentsOf returns the names that have subtests. Names of subtests may contain slashes, so each
// prefix is included, even if there is no test with that name.
func parentsOf(tests map[string]*result) map[string]bool {
	parents := map[string]bool{}
	for test := range tests {
		eachPrefix(test, func(parent string) { parents[parent] = true })
	}
	return parents
}

func eachPrefix(test string, f func(parent string)) {
	for i, c := range test {
		if c == '/' {
			f(test[:i])
		}
	}
}

// reason returns the reason of a skipped test: its output without the lines of the go command.
func reason(output []string) string {
	var text []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		text = append(text, line)
	}
	if len(text) == 0 {
		return "no reason given"
	}
	return strings.Join(text, " ")
}
