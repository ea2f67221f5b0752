package kserve

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// need returns the path of a program that the tests of this package can't do without.
func need(t testing.TB, program string) string {
	t.Helper()
	p, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is missing: run make deps", program)
	}
	return p
}

// TestBashKeyOrder asks the real bash in which order it walks tables with random indices.
func TestBashKeyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var sets [][]string
	for range 3000 {
		var keys []string
		for range 1 + rng.IntN(16) {
			if k := strconv.Itoa(rng.IntN(256)); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
		sets = append(sets, keys)
	}
	sets = append(sets, []string{"15", "178"}, []string{"178", "15"}, []string{"5", "54", "131", "218"},
		[]string{"x y", "$(id)", "ä"})
	var in bytes.Buffer
	for _, keys := range sets {
		in.WriteString(strings.Join(keys, "\t") + "\n")
	}
	cmd := exec.CommandContext(t.Context(), need(t, "bash"), "-c", `
		while IFS=$'\t' read -r -a keys; do
			declare -A table=()
			for k in "${keys[@]}"; do table["$k"]=1; done
			(IFS=$'\t'; echo "${!table[*]}")
			unset table
		done`)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(sets) {
		t.Fatalf("bash answered %d lines for %d sets", len(lines), len(sets))
	}
	for i, keys := range sets {
		if got := strings.Join(bashKeyOrder(keys), "\t"); got != lines[i] {
			t.Errorf("bashKeyOrder(%q) = %q, bash says %q", keys, got, lines[i])
		}
	}
}

// grepSamples are what GID type files hold, and what patterns might meet.
var grepSamples = []string{
	"RoCE v2\n", "IB/RoCE v1\n", "RoCE v1\n", "", "\n", "RoCE v2", "rocev2\n", "a\nRoCE v2\n", "aab\n", "a*b\n",
	"x^y$z\n", "a+b?c|d(e){f}\n", "[v2]\n", "a]b-c\n", "\\d\n", "v22\n", "  v2\n", "ab12_\n", "abab\n", "v2 RoCE\n",
}

// TestGrepAgainstGrep compares with the real grep: chosen patterns first, then random ones.
func TestGrepAgainstGrep(t *testing.T) {
	grep := need(t, "grep")
	dir := t.TempDir()
	var files []string
	for i, s := range grepSamples {
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	patterns := []string{
		"RoCE v2", "RoCE v1", "v1", "v[12]", "v[^1]", "^RoCE", "2$", "^RoCE v2$", "RoCE.*2", `RoCE v\(1\|2\)`, `v2\+`,
		`v2\?`, `v2\{1\}`, `v2\{2,\}`, `v\{1,2\}2`, `a\{,2\}b`, "a+b", "a?b", "a|d", "(e)", "{f}", "*b", `\(*b\)`, "^*",
		`a\*b`, "x^y", "y$z", `\^y`, `\$z`, "[]a]", "[^]a]", "[a-]", "[[:digit:]]", "[[:alpha:]_]*[[:digit:]]",
		`\w\W\w`, `\s*v2`, `\bv2\b`, `\Bv`, "a**", `\(ab\)*$`, `\(ab\)\{2\}`, "^^", `\(^a\)`, `a\|^R`, `[\d]`, "[a\\]",
		"v2\nv1", "\n", `\.`, `.`, "[a-c]b", `\+b`, `\?`, `x\(\)y`, `a\{0\}b`, "[[:upper:]][[:lower:]]C", `[.]`, `[*]`,
		`\/`, "é",
	}
	rng := rand.New(rand.NewPCG(3, 4))
	pieces := []string{
		"a", "b", "v", "2", " ", ".", "*", "^", "$", `\(`, `\)`, `\|`, `\+`, `\?`, `\{1,2\}`, "[ab]", "[^a]", "R", "o",
		"+", "?", `\*`,
	}
	for range 400 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		patterns = append(patterns, b.String())
	}
	refused := 0
	for _, p := range patterns {
		want, bad := runGrep(t, grep, p, files)
		re, err := compileGrep(p)
		if err != nil {
			if !bad && !strings.Contains(err.Error(), "nothing to repeat") { // grep's answers to a leading \{ vary
				t.Errorf("refused though grep takes it: %v", err)
			}
			refused++
			continue
		}
		if bad {
			t.Errorf("compileGrep(%q) = no error, but grep refuses it", p)
			continue
		}
		var got []int
		for i, s := range grepSamples {
			if re.match(s) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pattern %q (%v) matches samples %v, grep says %v", p, re.lines, got, want)
		}
	}
	if refused > len(patterns)/2 {
		t.Errorf("%d of %d patterns were refused", refused, len(patterns))
	}
}

// runGrep returns the places of the files that match, or that grep refused the pattern.
func runGrep(t *testing.T, grep, pattern string, files []string) (matched []int, refused bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), grep, append([]string{"-l", pattern}, files...)...)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil {
		if ok := asExit(err, &exit); !ok || exit.ExitCode() > 2 {
			t.Fatal(err)
		}
		if exit.ExitCode() == 2 {
			return nil, true
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		if line != "" {
			i, err := strconv.Atoi(filepath.Base(line))
			if err != nil {
				t.Fatal(err)
			}
			matched = append(matched, i)
		}
	}
	return matched, false
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // exec returns it unwrapped
	*exit = e
	return ok
}

func TestGrepRefuses(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{`\(a\)\1`, "back-reference"},
		{"-v", "options"},
		{"a\x00", "NUL"},
		{"a\xff", "UTF-8"},
		{"[a", "[ without ]"},
		{`\(a`, `\( without \)`},
		{`a\)`, `\) without \(`},
		{`a\`, "trailing backslash"},
		{`a\{2,1\}`, "bad repetition"},
		{`a\{x\}`, "bad repetition"},
		{`a\{1`, `\{ without \}`},
		{`\{1\}`, "nothing to repeat"},
		{`\<v2`, "word edge"},
		{"[z-a]", "bad range"},
		{"[[:nope:]]", "unknown class"},
		{"[[=a=]]", "not supported"},
		{"[:alpha:]", "must be written"},
		{`a\{1001\}`, "1001"},
	}
	for _, tt := range tests {
		_, err := compileGrep(tt.pattern)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("compileGrep(%q) = %v, want an error with %q", tt.pattern, err, tt.want)
		}
	}
}

func FuzzCompileGrep(f *testing.F) {
	for _, p := range []string{"RoCE v2", `\(a\|b\)*\{2\}`, "[]^-]", `x\{1,2\}$^*`, "a\n\nb", `\`} {
		f.Add(p, "RoCE v2\n")
	}
	f.Fuzz(func(_ *testing.T, pattern, content string) {
		if p, err := compileGrep(pattern); err == nil {
			_ = p.match(content)
		}
	})
}
