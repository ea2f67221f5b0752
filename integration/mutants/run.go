package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// project is the module whose packages are changed.
type project struct {
	root     string
	tables   string // folder with named.yaml and explained.yaml
	packages []testedPackage
	slow     map[string]string // slow tests by folder: a pattern; -test.short makes them quick
	isolate  bool              // run tests in their own network namespace
	pattern  string            // the only tests to run; "" is all
}

// withTests returns the project with a choice of tests: all, or the conformance suite of providers,
// which runs on the engine only.
func (p project) withTests(choice string) (project, error) {
	switch choice {
	case "all":
		return p, nil
	case "conformance":
		p.pattern, p.slow = "^TestConformance$", nil
		p.packages = slices.Clone(p.packages)
		for i := range p.packages {
			p.packages[i].tests = []string{p.packages[0].dir}
		}
		return p, nil
	}
	return p, fmt.Errorf("tests %q: want all or conformance", choice)
}

// testedPackage is a package and the folders with the tests that a change of it concerns.
type testedPackage struct {
	dir   string
	tests []string
}

type outcome string

const (
	killed     outcome = "killed"
	survived   outcome = "survived"
	equivalent outcome = "explained"
	notBuilt   outcome = "not built"
)

// The quick tests of an engine take four seconds, the slow ones seventy.
const (
	quickLimit = time.Minute
	slowLimit  = 3 * time.Minute
)

// try runs the tests on a mutant: the quick ones first, since most mutants don't survive them.
func (p project) try(ctx context.Context, m *mutant) error {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := p.overlay(dir, m)
	if err != nil {
		return err
	}
	binary := map[string]string{}
	for i, folder := range m.pkg.tests {
		binary[folder] = filepath.Join(dir, fmt.Sprint("test", i))
		build := []string{"go", "test", "-c", "-overlay", overlay, "-o", binary[folder], "./" + folder}
		out, err := p.command(ctx, slowLimit, p.root, build...)
		if err != nil {
			m.outcome, m.by = notBuilt, strings.Join(strings.Fields(string(out)), " ")
			return context.Cause(ctx)
		}
		most, command := quickLimit, []string{binary[folder], "-test.short"}
		if p.pattern != "" {
			most, command = slowLimit, append(command, "-test.run", p.pattern)
		}
		if p.dies(ctx, m, most, folder, command...) {
			return context.Cause(ctx)
		}
	}
	for _, folder := range m.pkg.tests {
		pattern, ok := p.slow[folder]
		if ok && p.dies(ctx, m, slowLimit, folder, binary[folder], "-test.run", pattern) {
			return context.Cause(ctx)
		}
	}
	m.outcome, m.by = survived, ""
	return context.Cause(ctx)
}

// overlay writes the changed file and the overlay that puts it in place of the real one.
func (p project) overlay(dir string, m *mutant) (name string, err error) {
	replace := map[string]string{}
	if m.file != "" {
		name, err = filepath.Abs(filepath.Join(p.root, m.file))
		if err != nil {
			return "", err
		}
		replace[name] = filepath.Join(dir, "mutant.go")
		if err := os.WriteFile(replace[name], m.source, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// failure finds the first test that failed, or the reason why the process ended.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*|fatal error: .*)`)

// dies reports whether the tests fail or don't end, and notes why.
func (p project) dies(ctx context.Context, m *mutant, most time.Duration, folder string, command ...string) bool {
	command = append(command, "-test.failfast", "-test.timeout", most.String())
	if p.isolate {
		command = append(isolated(), command...)
	}
	out, err := p.command(ctx, most+10*time.Second, filepath.Join(p.root, folder), command...)
	if err == nil {
		return false
	}
	m.outcome, m.by = killed, err.Error()
	if found := failure.FindAllSubmatch(out, -1); found != nil {
		m.by = string(bytes.Join(found[0][1:], nil))
		for _, f := range found { // the first subtest instead of its test
			if sub := string(f[1]); strings.HasPrefix(sub, m.by+"/") {
				m.by = sub
			}
		}
	}
	return true
}

// isolated returns the beginning of a command that runs the rest with its own loopback device, and
// with at most 8 GB of address space: a loop without end may also allocate without end.
func isolated() []string {
	out := []string{"unshare", "--net"}
	if os.Getuid() != 0 {
		out = append(out, "--map-root-user")
	}
	return append(out, "sh", "-c", `ip link set lo up && ulimit -v 8000000 && exec "$@"`, "sh")
}

// command runs a command and returns its output. When the time is over it ends the command and all
// its children.
func (p project) command(ctx context.Context, most time.Duration, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errors.New("timeout"))
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	group(cmd)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}
