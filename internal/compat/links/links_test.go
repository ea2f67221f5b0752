package links

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A program with the name of an applet must not be replaced.
func TestInstallBesideItself(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "ibstat")
	if err := os.WriteFile(exe, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, hard := range []bool{false, true} {
		if got, err := (&Linker{exe: exe, dir: dir, beside: true, Hard: hard}).plan(exe); got != Kept || err != nil {
			t.Errorf("plan(the program itself), hard = %v: %q, %v, want %q", hard, got, err, Kept)
		}
	}
}

// TestLinker makes links, finds them again, and keeps other files.
func TestLinker(t *testing.T) {
	dir := t.TempDir()
	exe, bin := filepath.Join(dir, "rdmactl"), filepath.Join(dir, "bin")
	err := errors.Join(os.WriteFile(exe, []byte("program"), 0o700), os.Mkdir(bin, 0o700),
		os.WriteFile(filepath.Join(bin, "b"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(exe, exe); !errors.Is(err, ErrNoFolder) {
		t.Errorf("New in a file = %v, want %v", err, ErrNoFolder)
	}
	for _, tt := range []struct {
		hard, force bool
		want        []Action // of a and b; nil: b is in the way
	}{
		{want: nil},
		{force: true, want: []Action{Made, Replaced}},
		{want: []Action{Kept, Kept}},
		{hard: true, want: []Action{Replaced, Replaced}},
	} {
		l, err := New(exe, bin)
		if err != nil {
			t.Fatal(err)
		}
		l.Hard, l.Force = tt.hard, tt.force
		list, err := l.Plan("a", "b")
		if (err == nil) != (tt.want != nil) {
			t.Fatalf("Plan, force = %v: %v", tt.force, err)
		}
		if err != nil {
			continue
		}
		if err := l.Make(list); err != nil {
			t.Fatal(err)
		}
		for i, want := range tt.want {
			data, err := os.ReadFile(list[i].Path)
			if list[i].Action != want || string(data) != "program" || err != nil || (list[i].Target == "") != tt.hard {
				t.Errorf("%+v, hard = %v: %v, want %s", list[i], tt.hard, err, want)
			}
		}
	}
}
