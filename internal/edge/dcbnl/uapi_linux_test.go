package dcbnl

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

// TestUAPIMatchesHeaders compiles every name in uapi.go, and the sizes of the structures, against
// the kernel's headers.
func TestUAPIMatchesHeaders(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal("needs a C compiler: make deps")
	}
	file, err := parser.ParseFile(token.NewFileSet(), "uapi.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	code.WriteString("#include <stdio.h>\n#include <stddef.h>\n" +
		"#include <linux/rtnetlink.h>\n#include <linux/dcbnl.h>\n" +
		"#define IS(a, b) if ((long)(a) != (long)(b)) printf(\"%s is %ld, not %s\\n\", #a, (long)(a), #b);\n" +
		"int main(void) {\n")
	names := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			names++
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a plain number", spec.Names[0].Name)
			}
			fmt.Fprintf(&code, "IS(%s, %s)\n", spec.Names[0].Name, literal.Value)
		}
		return true
	})
	for what, n := range map[string]int{
		"sizeof(struct dcbmsg)": dcbmsgLen, "sizeof(struct ieee_ets)": etsLen, "sizeof(struct ieee_pfc)": pfcLen,
		"sizeof(struct dcb_app)": appLen, "sizeof(struct dcbnl_buffer)": bufferLen,
		"offsetof(struct ieee_pfc, delay)": 4, "offsetof(struct ieee_pfc, indications)": 72,
		"offsetof(struct dcbnl_buffer, total_size)": 40, "offsetof(struct dcb_app, protocol)": 2,
	} {
		fmt.Fprintf(&code, "IS(%s, %d)\n", what, n)
	}
	code.WriteString("}\n")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "uapi.c"), filepath.Join(dir, "uapi")
	if err := os.WriteFile(source, []byte(code.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%v:\n%s", err, out)
	}
	if names < 20 {
		t.Errorf("only %d names", names)
	}
}
