package applets

import (
	"os"
	"path/filepath"
	"testing"
)

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
