package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/process"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/k8s/podenv"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// maxLintFile is the size of a file that env lint reads, in bytes.
const maxLintFile = 16 << 20

// readLintFile reads the environments of a file, or of standard input.
func readLintFile(app *cli.App, name string, form lint.Form) ([]lint.Environment, error) {
	data, err := readEnvFile(app, name)
	if err != nil {
		return nil, err
	}
	label := name
	if name == "-" {
		label = "standard input"
	}
	if form == lint.FormKubernetes || form == lint.FormAuto && podenv.Detect(data) {
		envs, err := podenv.Parse(label, data)
		if err != nil {
			return nil, cli.WithHints(&cli.ExitError{Code: cli.ExitUsage, Err: err},
				"--form sets the format of the file if the content is ambiguous")
		}
		if len(envs) == 0 {
			err := cli.Exitf(cli.ExitNotFound, "nothing to check: no container of %s sets a variable", label)
			return nil, cli.WithHints(err,
				"env lint reads env: of containers, data: of ConfigMaps and environment: of services")
		}
		return envs, nil
	}
	env, err := lint.Parse(label, data, form)
	if err != nil {
		return nil, cli.WithHints(&cli.ExitError{Code: cli.ExitUsage, Err: err},
			"--form sets the format of the file if the content is ambiguous")
	}
	return []lint.Environment{env}, nil
}

func readEnvFile(app *cli.App, name string) ([]byte, error) {
	var in io.Reader
	if name == "-" {
		stdin, err := app.TakeStdin("--env")
		if err != nil {
			return nil, err
		}
		in = stdin
	} else {
		file, err := os.Open(name)
		if err != nil {
			if errors.Is(err, os.ErrPermission) {
				return nil, err
			}
			return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxLintFile+1))
	switch {
	case err != nil:
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	case len(data) > maxLintFile:
		return nil, cli.Exitf(cli.ExitUsage, "read %s: larger than %d MiB", name, maxLintFile>>20)
	}
	return data, nil
}

// readProcessEnvironment reads the environment with which a process was started; later changes by
// the process are not visible.
func readProcessEnvironment(pid int) (lint.Environment, error) {
	data, err := process.Environ(pid)
	switch {
	case errors.Is(err, os.ErrPermission):
		err = &cli.ExitError{Code: cli.ExitPermission, Err: err}
		if os.Geteuid() == 0 {
			return lint.Environment{}, cli.WithHints(err,
				"root needs CAP_SYS_PTRACE, which containers usually don't have, and the same user namespace")
		}
		return lint.Environment{}, cli.WithHints(err, "only root can read the environment of another user's process: "+
			"sudo rdmactl env lint --pid "+strconv.Itoa(pid))
	case errors.Is(err, os.ErrNotExist):
		return lint.Environment{}, cli.Exitf(cli.ExitNotFound, "there is no process %d", pid)
	case err != nil:
		return lint.Environment{}, fmt.Errorf("read environment of process %d: %w", pid, err)
	}
	env, err := lint.Parse("process "+strconv.Itoa(pid), bytes.TrimSuffix(data, []byte{0}), lint.FormEnviron)
	for i := range env.Settings {
		env.Settings[i].File = "" // the name of the environment has it
	}
	return env, err
}

// openProcessRoot opens the files that a process sees. Netlink of its network namespace can't be
// used, so addresses come from the GID tables.
func openProcessRoot(pid int) (*sources.Node, error) {
	root, dir, err := process.OpenRoot(pid)
	if err != nil {
		return nil, err
	}
	return sources.FromFS(root, root.Close, "root "+dir)
}
