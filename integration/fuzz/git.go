package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// mainBranch is the branch that a change is compared with.
const mainBranch = "origin/main"

// repository queries git about a folder, which may be a shallow clone, have no remote, or not be a
// clone.
type repository struct {
	dir string
}

func (r repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// commit returns the hash of a commit in the clone.
func (r repository) commit(ctx context.Context, name string) (string, error) {
	return r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

// base returns the commit to compare with, and the reason for the choice: the given commit, which
// must exist; else the commit where the work left the main branch; else, on that branch or without
// it, the commit before HEAD. It is empty if there is none of these.
func (r repository) base(ctx context.Context, given string) (commit, why string, err error) {
	if given != "" {
		commit, err := r.commit(ctx, given)
		if err != nil {
			return "", "", fmt.Errorf("FUZZ_BASE=%s is not a commit of this clone: %w", given, err)
		}
		return commit, "the commit of FUZZ_BASE", nil
	}
	head, err := r.commit(ctx, "HEAD")
	if err != nil {
		return "", "git finds no commit", nil //nolint:nilerr // a tree without git is fuzzed too
	}
	fork, forkErr := r.git(ctx, "merge-base", mainBranch, "HEAD")
	if forkErr == nil && fork != head {
		return fork, "the commit where this branch left " + mainBranch, nil
	}
	where := mainBranch + " contains HEAD"
	if forkErr != nil {
		where = "there is no common commit with " + mainBranch
	}
	before, err := r.commit(ctx, "HEAD~1")
	if err != nil {
		why = where + ", and the commit before HEAD is missing"
		return "", why, nil //nolint:nilerr // a shallow clone is fuzzed too
	}
	return before, "the commit before HEAD (" + where + ")", nil
}

// changed returns the files that differ from a commit, including uncommitted files, relative to the
// module.
func (r repository) changed(ctx context.Context, base string) ([]string, error) {
	known, err := r.git(ctx, "diff", "--name-only", "--no-renames", "--relative", "-z", base)
	if err != nil {
		return nil, err
	}
	others, err := r.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	files := strings.FieldsFunc(known+others, func(c rune) bool { return c == 0 })
	slices.Sort(files)
	return slices.Compact(files), nil
}

// turn returns a number for the commit, and its origin: the number of ancestors, so that each
// target gets its turn; in a shallow clone, which can't count them, a number derived from the hash.
func (r repository) turn(ctx context.Context) (turn int, from string) {
	head, err := r.commit(ctx, "HEAD")
	if err != nil {
		return 0, "because there is no commit"
	}
	if shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "false" {
		if text, err := r.git(ctx, "rev-list", "--count", "HEAD"); err == nil {
			if n, err := strconv.Atoi(text); err == nil {
				return n, "the number of commits"
			}
		}
	}
	n, err := strconv.ParseUint(head[:7], 16, 31)
	if err != nil {
		return 0, "because HEAD is " + head
	}
	return int(n), "from the hash of this shallow clone's HEAD"
}
