package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keepImages is how long an unused built guest stays in the cache.
const keepImages = 14 * 24 * time.Hour

// workPrefix is the prefix of the names of unfinished builds. The holder of the build lock may
// remove all of them.
const workPrefix = "work-"

// Image is a built guest.
type Image struct {
	Dir string `json:"-"`
	// Key is the recipe's, see recipe.key.
	Key string `json:"key"`
	// KernelRelease and KernelVersion are the guest's uname -r and the
	// version of Debian's kernel package.
	KernelRelease string    `json:"kernelRelease"`
	KernelVersion string    `json:"kernelVersion"`
	Built         time.Time `json:"built"`
}

func (i Image) kernel() string { return filepath.Join(i.Dir, "vmlinuz") }
func (i Image) initrd() string { return filepath.Join(i.Dir, "initrd.cpio") }

// cacheDir returns the folder of built guests: the given one, or guest of
// $RDMAKIT_GUEST_CACHE/rdmakit, or of the user's cache folder's rdmakit.
func cacheDir(given string, getenv func(string) string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	base := getenv("RDMAKIT_GUEST_CACHE")
	if base == "" {
		base = getenv("XDG_CACHE_HOME")
	}
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New(
				"find the guest cache: neither RDMAKIT_GUEST_CACHE nor XDG_CACHE_HOME nor HOME is set")
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Abs(filepath.Join(base, "rdmakit", "guest"))
}

// findImage returns the built guest of a key. A build appears under its key only when it is
// complete. The error is fs.ErrNotExist if there is none.
func findImage(cache, key string) (Image, error) {
	i := Image{Dir: filepath.Join(cache, key)}
	text, err := os.ReadFile(filepath.Join(i.Dir, "image.json"))
	if err != nil {
		return Image{}, fmt.Errorf("find built guest: %w", err)
	}
	if err := json.Unmarshal(text, &i); err != nil {
		return Image{}, fmt.Errorf("read %s: %w", i.Dir, err)
	}
	return i, nil
}

// saveImage completes a build: it writes the description in work and renames the folder.
func saveImage(work, cache string, i Image) (Image, error) {
	text, err := json.MarshalIndent(i, "", "\t")
	if err != nil {
		return Image{}, fmt.Errorf("describe built guest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(work, "image.json"), append(text, '\n'), 0o644); err != nil {
		return Image{}, fmt.Errorf("describe built guest: %w", err)
	}
	i.Dir = filepath.Join(cache, i.Key)
	if err := os.RemoveAll(i.Dir); err != nil {
		return Image{}, fmt.Errorf("replace built guest: %w", err)
	}
	if err := os.Rename(work, i.Dir); err != nil {
		return Image{}, fmt.Errorf("save built guest: %w", err)
	}
	return i, nil
}

// prune removes unfinished builds, and finished builds that have not been used for keepImages. The
// caller holds the build lock. Running guests are not affected, because QEMU keeps its files open.
func prune(cache string, now time.Time) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return fmt.Errorf("prune guest cache: %w", err)
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(cache, e.Name())
		info, err := os.Stat(filepath.Join(path, "image.json"))
		old := err == nil && now.Sub(info.ModTime()) > keepImages
		if old || strings.HasPrefix(e.Name(), workPrefix) {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}
