package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// drivers are those that are missing in Debian's kernel, with the variables of their makefiles.
var drivers = []struct{ name, dir, variable string }{
	{"siw", "drivers/infiniband/sw/siw", "CONFIG_RDMA_SIW=m"},
	{"netdevsim", "drivers/net/netdevsim", "CONFIG_NETDEVSIM=m"},
}

// makeKernel unpacks the kernel, and compiles the drivers that are missing in Debian's kernel from
// Debian's source of the same version, and rdmakit_card.
func (b *builder) makeKernel(ctx context.Context) error {
	k := b.kernel
	get := aptGet(ctx, "download", "linux-image-"+k.Release+"="+k.Version)
	get.Dir = b.dir("kernel")
	if err := b.run(ctx, get); err != nil {
		return err
	}
	debs, err := filepath.Glob(b.dir("kernel", "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("download the kernel: %d packages came, not 1", len(debs))
	}
	if err := b.run(ctx, exec.CommandContext(ctx, "dpkg", "-x", debs[0], b.dir("kernel"))); err != nil {
		return err
	}
	source := "linux-source-" + k.series()
	unpack := exec.CommandContext(ctx, "tar", "-xf", "/usr/src/"+source+".tar.xz", "-C", b.dir("source"),
		"--strip-components=1")
	for _, d := range drivers {
		unpack.Args = append(unpack.Args, source+"/"+d.dir)
	}
	if err := b.run(ctx, unpack); err != nil {
		return fmt.Errorf("unpack drivers: %w", err)
	}
	for _, d := range drivers {
		if err := b.compileModule(ctx, d.name, b.dir("source", d.dir), d.variable); err != nil {
			return err
		}
	}
	if err := writeFiles(b.dir("source"), b.recipe.Card); err != nil {
		return err
	}
	if err := b.compileModule(ctx, "rdmakit_card", b.dir("source", "card")); err != nil {
		return err
	}
	return b.run(ctx, exec.CommandContext(ctx, "depmod", "-b", b.dir("kernel"), k.Release))
}

// compileModule compiles a kernel module in a folder and installs it in the unpacked kernel.
func (b *builder) compileModule(ctx context.Context, name, dir string, variables ...string) error {
	file := filepath.Join(dir, name+".ko")
	build := exec.CommandContext(ctx, "make", "-j2", "-C", "/usr/src/linux-headers-"+b.kernel.Release, "M="+dir)
	build.Args = append(append(build.Args, variables...), "modules")
	for _, cmd := range []*exec.Cmd{build, exec.CommandContext(ctx, "strip", "--strip-debug", file)} {
		if err := b.run(ctx, cmd); err != nil {
			return fmt.Errorf("compile %s: %w", name, err)
		}
	}
	err := copyFile(file, b.dir("kernel", "lib/modules", b.kernel.Release, "extra", name+".ko"), 0o644)
	if err != nil {
		return fmt.Errorf("install %s: %w", name, err)
	}
	return nil
}

// writeFiles writes files, path to content, below a folder.
func writeFiles(dir string, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(files[name]), 0o644)
		}
		if err != nil {
			return fmt.Errorf("write source files: %w", err)
		}
	}
	return nil
}

// makeRoot installs the guest's packages in a separate tree.
func (b *builder) makeRoot(ctx context.Context) error {
	mirror, err := b.findMirror(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", "--cache-dir="+filepath.Join(b.cache, "debs"),
		"--include="+strings.Join(b.recipe.Packages, ","), b.recipe.Suite, b.dir("root"), mirror)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	// File systems that debootstrap mounts in the tree must be unmounted: otherwise removing the
	// tree would reach into this machine's /sys.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := b.run(ctx, cmd); err != nil {
		return err
	}
	return b.checkPrograms()
}

// checkPrograms checks that the packages include the programs that tests rely on.
func (b *builder) checkPrograms() error {
	var missing []string
	for _, name := range b.recipe.Programs {
		found := slices.ContainsFunc([]string{"usr/bin", "usr/sbin", "bin", "sbin"}, func(d string) bool {
			_, err := os.Lstat(b.dir("root", d, name))
			return err == nil
		})
		if !found {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("install the guest's packages: no %s came with them", strings.Join(missing, ", "))
	}
	return nil
}

// fillRoot adds to the tree the files that are not from Debian's packages.
func (b *builder) fillRoot(ctx context.Context) error {
	if err := b.copyModules(ctx); err != nil {
		return err
	}
	if err := b.compileDaemon(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(b.dir("root", "init"), []byte(b.recipe.Init), 0o755); err != nil {
		return fmt.Errorf("write init: %w", err)
	}
	for _, waste := range []string{
		"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists",
	} {
		if err := os.RemoveAll(b.dir("root", waste)); err != nil {
			return fmt.Errorf("trim the guest: %w", err)
		}
	}
	return nil
}

func (b *builder) copyModules(ctx context.Context) error {
	from := b.dir("kernel", "lib/modules", b.kernel.Release)
	to := b.dir("root", "usr/lib/modules", b.kernel.Release)
	dep, err := os.ReadFile(filepath.Join(from, "modules.dep"))
	if err != nil {
		return fmt.Errorf("read kernel modules: %w", err)
	}
	builtin, err := os.ReadFile(filepath.Join(from, "modules.builtin"))
	if err != nil {
		return fmt.Errorf("read kernel modules: %w", err)
	}
	table, err := parseModules(string(dep), string(builtin))
	if err != nil {
		return err
	}
	files, err := table.choose(b.recipe.Trees, slices.Concat(b.recipe.Modules, b.recipe.Boot))
	if err != nil {
		return err
	}
	for _, f := range append(files, "modules.order", "modules.builtin", "modules.builtin.modinfo") {
		if err := copyFile(filepath.Join(from, f), filepath.Join(to, f), 0o644); err != nil {
			return fmt.Errorf("copy kernel modules: %w", err)
		}
	}
	return b.run(ctx, exec.CommandContext(ctx, "depmod", "-b", b.dir("root"), b.kernel.Release))
}

// compileDaemon compiles guestd from the copy of its source in this program.
func (b *builder) compileDaemon(ctx context.Context) error {
	if err := writeFiles(b.dir("guestd"), b.recipe.Daemon); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o",
		b.dir("root", "usr/local/sbin/guestd"), "./cmd/guestd")
	cmd.Dir = b.dir("guestd")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-buildvcs=false",
		"GOWORK=off")
	if err := b.run(ctx, cmd); err != nil {
		return fmt.Errorf("compile guestd: %w", err)
	}
	return nil
}

// pack writes the result: the kernel, and the tree as a cpio archive. The archive is not
// compressed, because the emulated processor takes longer to decompress than to read it.
func (b *builder) pack(ctx context.Context) error {
	kernel := b.dir("kernel", "boot/vmlinuz-"+b.kernel.Release)
	if err := copyFile(kernel, filepath.Join(b.out(), "vmlinuz"), 0o644); err != nil {
		return fmt.Errorf("copy the kernel: %w", err)
	}
	var names strings.Builder
	err := fs.WalkDir(os.DirFS(b.dir("root")), ".", func(path string, _ fs.DirEntry, err error) error {
		names.WriteString(path + "\x00")
		return err
	})
	if err != nil {
		return fmt.Errorf("list the guest's files: %w", err)
	}
	archive, err := os.Create(filepath.Join(b.out(), "initrd.cpio"))
	if err != nil {
		return fmt.Errorf("make the initrd: %w", err)
	}
	cmd := exec.CommandContext(ctx, "cpio", "--null", "--create", "--format=newc", "--quiet")
	cmd.Dir = b.dir("root")
	cmd.Stdin = strings.NewReader(names.String())
	cmd.Stdout = archive
	err = b.run(ctx, cmd)
	if err := errors.Join(err, archive.Close()); err != nil {
		return fmt.Errorf("make the initrd: %w", err)
	}
	return nil
}
