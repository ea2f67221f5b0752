package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// target is one way to build the module. The import graph is the union over all of them.
type target struct{ goos, tags string }

func targets() []target {
	return []target{{"linux", ""}, {"linux", "nodl"}, {"darwin", ""}, {"windows", ""}}
}

// readModule sets the module's path and the requirements of go.mod.
func (t *Tree) readModule(ctx context.Context, dir string) error {
	out, err := goCommand(ctx, dir, nil, "mod", "edit", "-json")
	if err != nil {
		return err
	}
	var mod struct {
		Module  struct{ Path string }
		Require []struct{ Path string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return fmt.Errorf("go mod edit -json: %w", err)
	}
	t.Module = mod.Module.Path
	for _, r := range mod.Require {
		t.Requires = append(t.Requires, r.Path)
	}
	return nil
}

// readGraph reads every package that the module depends on from the go command.
func (t *Tree) readGraph(ctx context.Context, dir string) error {
	t.Graph = map[string]*Package{}
	for _, target := range targets() {
		env := []string{"CGO_ENABLED=0", "GOARCH=amd64", "GOOS=" + target.goos}
		out, err := goCommand(ctx, dir, env,
			"list", "-buildvcs=false", "-deps", "-json=ImportPath,Standard,Module,Imports",
			"-tags", target.tags, "./...")
		if err != nil {
			return err
		}
		if err := t.addPackages(out); err != nil {
			return fmt.Errorf("go list: %w", err)
		}
	}
	return nil
}

// addPackages decodes the concatenated JSON objects that go list prints.
func (t *Tree) addPackages(out []byte) error {
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath string
			Standard   bool
			Module     *struct{ Path string }
			Imports    []string
		}
		err := dec.Decode(&listed)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p := t.Graph[listed.ImportPath]
		if p == nil {
			p = &Package{Standard: listed.Standard}
			t.Graph[listed.ImportPath] = p
		}
		if listed.Module != nil {
			p.Module = listed.Module.Path
		}
		p.Imports = append(p.Imports, listed.Imports...)
		slices.Sort(p.Imports)
		p.Imports = slices.Compact(p.Imports)
	}
}

// goCommand runs the go command in dir and returns its standard output.
func goCommand(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "GOWORK=off")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
