//go:build kernel

package kernel

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// comparison runs pairs of commands whose results must be equal. No command may change the input of
// another.
type comparison struct {
	pairs  [][2]string
	before string                   // what the shell does first
	as     string                   // what goes before the shell that runs them, such as setpriv
	mask   func(text string) string // makes equal what may differ
}

// commandResult is the result of one run of a command.
type commandResult struct {
	Stdout, Stderr string
	Code           int
}

// script prints an archive with three files for each run, such as 0.1.code, 0.1.out and 0.1.err: of
// the second command of the first pair. It starts nothing but the commands: a process costs the
// guest's emulated processor a tenth of a second.
func (c comparison) script() string {
	var b strings.Builder
	b.WriteString("export t=$(mktemp -d); chmod 777 $t; cat >$t/commands <<'end of the commands'\n" + c.before + "\n")
	for i, pair := range c.pairs {
		for side, command := range pair {
			run := fmt.Sprintf("$t/%d.%d", i, side)
			fmt.Fprintf(&b, "%s >%s.out 2>%s.err </dev/null; echo $? >%s.code\n", command, run, run, run)
		}
	}
	b.WriteString("end of the commands\n" + c.as + " bash $t/commands; rm $t/commands; tar -C $t -c .; rm -r $t\n")
	return b.String()
}

// where runs a script, in the guest or on this machine, and returns what it prints.
type where func(ctx context.Context, script string) (string, error)

// onThisMachine runs comparisons that need no kernel with RDMA, without the slow emulated
// processor.
func onThisMachine(ctx context.Context, script string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, &stderr)
	}
	return stdout.String(), nil
}

// check runs the commands and returns how many pairs were equal.
func (c comparison) check(t *testing.T, run where) (equal int, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := run(ctx, c.script())
	if err != nil {
		return 0, err
	}
	files, err := readArchive(out)
	if err != nil {
		return 0, err
	}
	for i, pair := range c.pairs {
		var got [2]commandResult
		for side := range pair {
			if got[side], err = c.result(files, fmt.Sprintf("%d.%d.", i, side)); err != nil {
				return equal, fmt.Errorf("%s was not run: %w", pair[side], err)
			}
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Errorf("%s\n-%s\n+%s\ndiffer:\n%s", c.as, pair[0], pair[1], diff)
			continue
		}
		equal++
	}
	return equal, nil
}

func (c comparison) result(files map[string]string, run string) (commandResult, error) {
	code, err := strconv.Atoi(strings.TrimSpace(files[run+"code"]))
	return commandResult{Stdout: c.mask(files[run+"out"]), Stderr: c.mask(files[run+"err"]), Code: code}, err
}

// readArchive returns the files of a tar archive by the last part of their names.
func readArchive(archive string) (map[string]string, error) {
	files := map[string]string{}
	for in := tar.NewReader(strings.NewReader(archive)); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		files[path.Base(head.Name)] = string(text)
	}
}

// atOnce is the number of concurrent comparisons: the number of the guest's processors.
const atOnce = 2

// shares splits a comparison into as many as run at the same time.
func (c comparison) shares() []comparison {
	list := make([]comparison, atOnce)
	for i := range list {
		list[i] = c
		list[i].pairs = nil
		for j := i; j < len(c.pairs); j += atOnce {
			list[i].pairs = append(list[i].pairs, c.pairs[j])
		}
	}
	return list
}

// checkAll runs comparisons concurrently and logs how many pairs were equal.
func checkAll(t *testing.T, run where, list []comparison) {
	t.Helper()
	var mu sync.Mutex
	equal, total := 0, 0
	next := make(chan comparison)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for c := range next {
				n, err := c.check(t, run)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				equal += n
				total += len(c.pairs)
				mu.Unlock()
			}
		})
	}
	for _, c := range list {
		next <- c
	}
	close(next)
	wg.Wait()
	t.Logf("%d of %d commands equal", equal, total)
}
