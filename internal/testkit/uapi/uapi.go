// Package uapi compares the numbers in a source file with the headers of the kernel on the build
// machine.
//
//	uapi.Compare(t, "uapi.go", "linux/devlink.h")
package uapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Compare compiles a program that compares every constant of the file with the name in the headers,
// and fails the test for each that differs. A constant that is no plain number fails the test, and
// so does a machine without a C compiler or the headers.
func Compare(t *testing.T, file string, headers ...string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal("needs a C compiler: make deps")
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var code, body strings.Builder
	n := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is not a plain number", spec.Names[0].Name)
		}
		name := spec.Names[0].Name
		fmt.Fprintf(&body, "if (%s != %s) printf(\"%s is %%d, not %s\\n\", (int)%s);\n",
			name, literal.Value, name, literal.Value, name)
		n++
		return true
	})
	if n == 0 {
		t.Fatalf("%s has no constants", file)
	}
	for _, h := range append([]string{"stdio.h"}, headers...) {
		fmt.Fprintf(&code, "#include <%s>\n", h)
	}
	fmt.Fprintf(&code, "int main(void) {\n%s}\n", body.String())
	source, program := filepath.Join(t.TempDir(), "uapi.c"), filepath.Join(t.TempDir(), "uapi")
	if err := os.WriteFile(source, []byte(code.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("compile with the kernel's headers (package linux-libc-dev): %v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%s differs from the headers: %v:\n%s", file, err, out)
	}
}
