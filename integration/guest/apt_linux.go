package guest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// aptGet returns an apt-get command that asks nothing and waits while another
// program uses the package database.
func aptGet(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "apt-get",
		append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=600"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	return cmd
}

// updatePackages fetches the package lists. It must be called before any query to apt, because the
// lists may be absent or outdated.
func (r *runner) updatePackages(ctx context.Context) error {
	return r.run(ctx, aptGet(ctx, "update"))
}

// installPackages installs the packages, each a name or name=version.
func (r *runner) installPackages(ctx context.Context, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
	slices.Sort(packages)
	args := append([]string{"install", "--no-install-recommends"}, packages...)
	if err := r.run(ctx, aptGet(ctx, args...)); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, " "), err)
	}
	return nil
}

// findKernel queries apt for the kernel that kernelPolicy currently selects.
func (r *runner) findKernel(ctx context.Context) (kernelPackage, error) {
	text, err := r.output(ctx, exec.CommandContext(ctx, "apt-cache", "show", "--no-all-versions", kernelPolicy))
	if err != nil {
		return kernelPackage{}, err
	}
	return parseKernelPackage(text)
}

// findMirror queries apt for the mirror of the guest's suite.
func (r *runner) findMirror(ctx context.Context) (string, error) {
	text, err := r.output(ctx, exec.CommandContext(ctx, "apt-get", "indextargets",
		"--format", "$(REPO_URI) $(SUITE) $(CODENAME) $(COMPONENT)", "Created-By: Packages"))
	if err != nil {
		return "", err
	}
	return parseMirror(text)
}

// missing queries dpkg for the wanted packages that are not installed.
func (r *runner) missing(ctx context.Context, want map[string]string) ([]string, error) {
	text, err := r.output(ctx,
		exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n"))
	if err != nil {
		return nil, err
	}
	return missingPackages(want, text), nil
}
