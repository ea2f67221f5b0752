package guest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecipeKey(t *testing.T) {
	base, err := newRecipe()
	if err != nil {
		t.Fatal(err)
	}
	key := func(change func(*recipe)) string {
		r, err := newRecipe()
		if err != nil {
			t.Fatal(err)
		}
		change(&r)
		k, err := r.key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	want, err := base.key()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(want) {
		t.Errorf("key = %q, want 16 hexadecimal digits", want)
	}
	if got := key(func(*recipe) {}); got != want {
		t.Errorf("key of an equal recipe = %s, want %s", got, want)
	}
	changes := map[string]func(*recipe){
		"format":  func(r *recipe) { r.Format++ },
		"package": func(r *recipe) { r.Packages = append(r.Packages, "jq") },
		"order":   func(r *recipe) { slices.Reverse(r.Packages) },
		"program": func(r *recipe) { r.Programs = r.Programs[1:] },
		"modules": func(r *recipe) { r.Modules = nil },
		"kernel":  func(r *recipe) { r.Kernel = "linux-image-cloud-amd64" },
		"suite":   func(r *recipe) { r.Suite = "trixie" },
		"init":    func(r *recipe) { r.Init += "\n" },
		"daemon":  func(r *recipe) { r.Daemon["cmd/guestd/main_linux.go"] += "\n" },
		"card":    func(r *recipe) { r.Card["card/card.c"] += "\n" },
	}
	for name, change := range changes {
		if got := key(change); got == want {
			t.Errorf("key after a change of %s = %s, want another than before", name, got)
		}
	}
}

func TestRecipeInit(t *testing.T) {
	r, err := newRecipe()
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`@[A-Z0-9]+@`).FindString(r.Init); m != "" {
		t.Errorf("init holds %s, which nothing fills in", m)
	}
	for _, want := range []string{GuestAddress + "/24", GuestAddressIWARP + "/24", " siw\n"} {
		if !strings.Contains(r.Init, want) {
			t.Errorf("init does not contain %q", want)
		}
	}
}

// The embedded copy of guestd's source must be complete; otherwise the first build on a new machine
// would fail.
func TestDaemonFiles(t *testing.T) {
	r, err := newRecipe()
	if err != nil {
		t.Fatal(err)
	}
	files := r.Daemon
	want := []string{
		"cmd/guestd/main_linux.go", "cmd/guestd/main_other.go", "go.mod",
		"internal/frame/frame.go", "internal/frame/message.go",
		"internal/guestd/command_linux.go", "internal/guestd/doc.go", "internal/guestd/file_linux.go",
		"internal/guestd/server_linux.go",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files of guestd differ (-want +got):\n%s", diff)
	}
	imports := regexp.MustCompile(`(?m)^\s*"([a-z0-9.-]+\.[a-z]+/[^"]+)"$`)
	for name, text := range files {
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(m[1], "github.com/rdmakit/rdmakit/integration/guest/internal/") {
				t.Errorf("%s imports %s, which the copy does not hold", name, m[1])
			}
		}
	}
}
