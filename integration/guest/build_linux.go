package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Build returns the built guest for this version of the harness. If it is not in the cache, Build
// builds it, which takes about 100 s with a fast mirror, and up to 700 MB in the cache during the
// build, half of that afterwards. It installs Debian packages on this machine as needed.
//
// If several processes want to build, one builds and the others wait. The remains of an interrupted
// build are never used.
//
// Build uses only the options Cache and Log. The error matches [ErrUnavailable] if this machine
// can't build.
func Build(ctx context.Context, opts Options) (Image, error) {
	cache, err := cacheDir(opts.Cache, os.Getenv)
	if err != nil {
		return Image{}, err
	}
	rec, err := newRecipe()
	if err != nil {
		return Image{}, err
	}
	key, err := rec.key()
	if err != nil {
		return Image{}, err
	}
	image, err := findImage(cache, key)
	if !errors.Is(err, fs.ErrNotExist) {
		return image, err
	}
	if err := readHost().checkBuild(); err != nil {
		return Image{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Image{}, fmt.Errorf("make guest cache: %w", err)
	}
	lock, err := waitLock(ctx, filepath.Join(cache, "build.lock"), func() {
		opts.logf("waiting for another process that builds the guest in %s", cache)
	})
	if err != nil {
		return Image{}, err
	}
	defer lock.Close()
	image, err = findImage(cache, key)
	if !errors.Is(err, fs.ErrNotExist) {
		return image, err
	}
	return buildLocked(ctx, opts, rec, cache, key)
}

func buildLocked(ctx context.Context, opts Options, rec recipe, cache, key string) (Image, error) {
	if err := prune(cache, time.Now()); err != nil {
		opts.logf("%v", err)
	}
	logPath := filepath.Join(cache, "build.log")
	log, err := os.Create(logPath)
	if err != nil {
		return Image{}, fmt.Errorf("make build log: %w", err)
	}
	defer log.Close()
	work, err := os.MkdirTemp(cache, workPrefix)
	if err != nil {
		return Image{}, fmt.Errorf("make work folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // prune removes the rest
	if err := os.Chmod(work, 0o755); err != nil {
		return Image{}, err
	}
	opts.logf("building the guest in %s (about 2 minutes, once; log: %s)", cache, logPath)
	start := time.Now()
	b := &builder{runner: runner{log: log}, opts: opts, recipe: rec, cache: cache, work: work}
	if err := b.build(ctx); err != nil {
		return Image{}, fmt.Errorf("build guest: %w (log: %s)", err, logPath)
	}
	image, err := saveImage(b.out(), cache, Image{
		Key: key, KernelRelease: b.kernel.Release, KernelVersion: b.kernel.Version,
		Built: start.UTC().Truncate(time.Second),
	})
	if err != nil {
		return Image{}, err
	}
	opts.logf("built the guest in %.0f s: %s, kernel %s", time.Since(start).Seconds(), image.Dir, image.KernelRelease)
	return image, nil
}

// builder holds one build. Folders in work: root is the guest's file system, kernel the unpacked
// kernel package, source and guestd the compiled parts, out the result.
type builder struct {
	runner
	opts   Options
	recipe recipe
	cache  string
	work   string
	kernel kernelPackage
}

func (b *builder) dir(parts ...string) string {
	return filepath.Join(append([]string{b.work}, parts...)...)
}

func (b *builder) out() string { return b.dir("out") }

func (b *builder) build(ctx context.Context) error {
	if err := b.prepareHost(ctx); err != nil {
		return err
	}
	// Half of the time is spent waiting for the network and half compiling.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var kernelErr, rootErr error
	wg.Go(func() {
		if kernelErr = b.makeKernel(ctx); kernelErr != nil {
			cancel(kernelErr)
		}
	})
	wg.Go(func() {
		if rootErr = b.makeRoot(ctx); rootErr != nil {
			cancel(rootErr)
		}
	})
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := b.fillRoot(ctx); err != nil {
		return err
	}
	return b.pack(ctx)
}

// prepareHost installs the packages for the build on this machine.
func (b *builder) prepareHost(ctx context.Context) error {
	if err := b.updatePackages(ctx); err != nil {
		return err
	}
	var err error
	if b.kernel, err = b.findKernel(ctx); err != nil {
		return err
	}
	packages, err := b.missing(ctx, b.kernel.buildPackages())
	if err != nil {
		return err
	}
	if len(packages) > 0 {
		b.opts.logf("installing %d packages on this machine", len(packages))
	}
	if err := b.installPackages(ctx, packages); err != nil {
		return err
	}
	for _, d := range []string{
		b.dir("root"), b.dir("kernel"), b.dir("source"), b.dir("guestd"), b.out(), filepath.Join(b.cache, "debs"),
	} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("make build folder: %w", err)
		}
	}
	return nil
}

// copyFile copies a regular file and makes the folders above the new one.
func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
