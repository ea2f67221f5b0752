//go:build kernel

package kernel

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

const (
	conformancePackage = "github.com/rdmakit/rdmakit/integration/kernel/testdata/conformance"
	conformanceProgram = "/tmp/conformance"
)

// fewestRules is the number of rules that rxe must satisfy at least: it has all features of the
// suite but two. fewestRulesIWARP is that of siw, and of the rules that make test-kernel selects.
const (
	fewestRules         = 300
	fewestRulesIWARP    = 120
	fewestSelectedRules = 40
)

// selectedIWARP are the subjects of make test-kernel on siw: those of iWARP itself, and fast ones.
const selectedIWARP = "(device|memory|transfer|order|inline|close|connector|not-applicable)"

// TestConformance runs the conformance suite of providers on the kernel's rxe through libibverbs:
// with short messages, or all of it in make test-kernel-all. Each rule is a subtest here, too.
func TestConformance(t *testing.T) { runConformance(t, "TestItself", fewestRules) }

// TestConformanceIWARP does the same with siw, which connects through librdmacm: all subjects in
// make test-kernel-all only.
func TestConformanceIWARP(t *testing.T) {
	if wantAll() {
		runConformance(t, "TestIWARP", fewestRulesIWARP)
		return
	}
	runConformance(t, "TestIWARP/"+selectedIWARP, fewestSelectedRules)
}

// mostRepeated is the number of rules that may be repeated.
const mostRepeated = 2

// repeated runs the failed rules again if all of them waited in vain for a connection, and reports
// whether they then passed. In two of six runs one connection of siw with itself didn't arrive at
// its listener, of another rule each time, with Linux 6.1; why is not known. A rule that fails
// twice fails.
func repeated(ctx context.Context, t *testing.T, g *guest.Guest, results *conformance) bool {
	t.Helper()
	var failed []int
	for i, r := range results.rules {
		if r.passed {
			continue
		}
		if !strings.Contains(r.output, "wait for a connection to ") || len(failed) == mostRepeated {
			return false
		}
		failed = append(failed, i)
	}
	for _, i := range failed {
		name := results.rules[i].name
		res, err := g.Run(ctx, "timeout 60 "+conformanceProgram+" -test.v -test.run '^TestIWARP$/^"+
			strings.ReplaceAll(name, "/", "$/^")+"$' -test.short")
		if err != nil {
			t.Fatal(err)
		}
		again := parseConformance(string(res.Stdout))
		if res.ExitCode != 0 || len(again.rules) != 1 || !again.rules[0].passed {
			return false
		}
		t.Logf("%s: passed when it was repeated; before: %s", name, results.rules[i].output)
		results.rules[i] = again.rules[0]
		results.passed++
	}
	return len(failed) > 0
}

// runConformance runs a test of the suite's binary, which must satisfy a number of rules.
func runConformance(t *testing.T, test string, fewest int) {
	t.Helper()
	g := withTestBinary(t, conformancePackage, conformanceProgram)
	g.Exclusive(t)
	short := " -test.short"
	if wantAll() {
		short = ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := g.Run(ctx, "timeout 540 "+conformanceProgram+" -test.v -test.timeout 9m -test.run '"+test+"'"+short)
	if err != nil {
		t.Fatal(err)
	}
	results := parseConformance(string(res.Stdout))
	if repeated(ctx, t, g, &results) {
		res.ExitCode = 0
	}
	for _, r := range results.rules {
		t.Run(r.name, func(t *testing.T) {
			if t.Log(r.output); !r.passed {
				t.Fail()
			}
		})
	}
	t.Logf("%d rules passed, %d known faults, %d not applicable", results.passed, results.faults, results.absent)
	if results.passed < fewest {
		t.Errorf("%d rules passed, want at least %d", results.passed, fewest)
	}
	if res.ExitCode != 0 {
		t.Errorf("exit status %d: %s%s", res.ExitCode, results.rest, res.Stderr)
	}
}

// conformance is what a run of the suite has printed.
type conformance struct {
	rules                  []conformanceRule
	passed, faults, absent int
	rest                   string // what belongs to no rule
}

// conformanceRule is the result of one rule.
type conformanceRule struct {
	name, output string // name: SUBJECT/RULE
	passed       bool
}

var (
	ruleBegin  = regexp.MustCompile(`^=== RUN +Test\w+/(\S+/\S+)$`)
	ruleResult = regexp.MustCompile(`^ +--- (PASS|FAIL): Test\w+/(\S+/\S+) `)
	ruleAbsent = regexp.MustCompile(`: (\d+) rules are not applicable:$`)
)

// parseConformance reads the output of a test binary that was run with -test.v. A rule without a
// result has failed.
func parseConformance(text string) (c conformance) {
	index := map[string]int{}
	current := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := ruleBegin.FindStringSubmatch(line); m != nil {
			current = len(c.rules)
			index[m[1]] = current
			c.rules = append(c.rules, conformanceRule{name: m[1]})
			continue
		}
		if m := ruleResult.FindStringSubmatch(line); m != nil {
			if i, ok := index[m[2]]; ok {
				c.rules[i].passed = m[1] == "PASS"
			}
			continue
		}
		if strings.HasPrefix(line, "=== RUN") {
			current = -1
		}
		if m := ruleAbsent.FindStringSubmatch(line); m != nil {
			c.absent, _ = strconv.Atoi(m[1])
		}
		if current >= 0 {
			c.rules[current].output += line + "\n"
		} else {
			c.rest += line + "\n"
		}
	}
	for _, r := range c.rules {
		switch fault := strings.Contains(r.output, ": known fault: "); {
		case r.passed && strings.Contains(r.output, ": not applicable: "):
			// counted already, by the subtest that lists them
		case r.passed && fault:
			c.faults++
		case r.passed:
			c.passed++
		}
	}
	return c
}

// withTestBinary returns the shared guest with the test binary of a package in it.
func withTestBinary(t *testing.T, pkg, target string) *guest.Guest {
	t.Helper()
	g := guest.Shared(t)
	file := filepath.Join(tools.folder(t), filepath.Base(pkg)+".test")
	tools.once(t, "copy "+target, func() {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", file, pkg)
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v: %s", pkg, err, out)
		}
		if err := g.CopyIn(t.Context(), file, target); err != nil {
			t.Fatal(err)
		}
	})
	return g
}
