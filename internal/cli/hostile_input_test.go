package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An alias costs a few bytes and stands for all that it names.
func TestManifestOfAliases(t *testing.T) {
	var b strings.Builder
	b.WriteString("x: &e\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  NCCL_A%d: \"1\"\n", i)
	}
	b.WriteString("spec:\n  containers:\n" + strings.Repeat("  - {name: c, env: *e}\n", 9000))
	if envs, err := manifestEnvironments("bomb.yaml", []byte(b.String())); err == nil {
		t.Errorf("manifestEnvironments(27,000,000 variables) = %d environments, want an error", len(envs))
	}
}

// A program that has the name of an applet must stay a program.
func TestInstallBesideItself(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "ibstat")
	if err := os.WriteFile(exe, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, hard := range []bool{false, true} {
		if got, err := (linker{exe: exe, dir: dir, beside: true, hard: hard}).plan(exe); got != linkKept || err != nil {
			t.Errorf("plan(the program itself), hard = %v: %q, %v, want %q", hard, got, err, linkKept)
		}
	}
}
