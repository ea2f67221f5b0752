package guest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCacheDir(t *testing.T) {
	tests := []struct {
		name, given string
		env         map[string]string
		want        string
		err         bool
	}{
		{name: "given", given: "/x/y", env: map[string]string{"RDMAKIT_GUEST_CACHE": "/a"}, want: "/x/y"},
		{
			name: "own variable",
			env:  map[string]string{"RDMAKIT_GUEST_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"},
			want: "/a/rdmakit/guest",
		},
		{name: "xdg", env: map[string]string{"XDG_CACHE_HOME": "/b", "HOME": "/c"}, want: "/b/rdmakit/guest"},
		{name: "home", env: map[string]string{"HOME": "/c"}, want: "/c/.cache/rdmakit/guest"},
		{name: "nothing", err: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cacheDir(tt.given, func(k string) string { return tt.env[k] })
			if got != tt.want || (err != nil) != tt.err {
				t.Errorf("cacheDir = %q, %v, want %q, error %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestImageLife(t *testing.T) {
	cache := t.TempDir()
	if _, err := findImage(cache, "k1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("findImage in an empty cache = %v, want ErrNotExist", err)
	}
	save := func(key string) Image {
		work := filepath.Join(cache, workPrefix+key)
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		image, err := saveImage(work, cache, Image{Key: key, KernelRelease: "6.1", Built: time.Unix(0, 0).UTC()})
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	save("k1") // replaced by the next
	want := save("k1")
	got, err := findImage(cache, "k1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findImage differs (-want +got):\n%s", diff)
	}

	old := save("k2")
	if err := os.Mkdir(filepath.Join(cache, workPrefix+"dead"), 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(old.Dir, "image.json"), now, now.Add(-keepImages-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := prune(cache, now); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"k1"}, names); diff != "" {
		t.Errorf("cache after prune differs (-want +got):\n%s", diff)
	}
}
