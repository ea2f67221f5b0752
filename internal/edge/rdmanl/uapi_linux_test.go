package rdmanl

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newer are names of Linux 6.11 (include/uapi/rdma/rdma_netlink.h), which the headers of Debian 12
// don't have.
var newer = []string{"RDMA_NLDEV_ATTR_DEV_TYPE", "RDMA_NLDEV_ATTR_PARENT_NAME", "RDMA_DEVICE_TYPE_SMI"}

// TestUAPIMatchesHeaders compiles every name in uapi.go against the kernel's
// headers and compares the numbers.
func TestUAPIMatchesHeaders(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal("needs a C compiler: make deps")
	}
	if _, err := os.Stat("/usr/include/rdma/rdma_netlink.h"); err != nil {
		t.Fatal("needs the kernel's headers (package linux-libc-dev): make deps")
	}
	file, err := parser.ParseFile(token.NewFileSet(), "uapi.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, h := range []string{
		"stdio.h", "linux/netlink.h", "linux/rtnetlink.h", "linux/if_link.h", "linux/if_addr.h", "rdma/rdma_netlink.h",
	} {
		fmt.Fprintf(&code, "#include <%s>\n", h)
	}
	code.WriteString("int main(void) {\n")
	names := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a plain number", spec.Names[0].Name)
			}
			name, value := spec.Names[0].Name, literal.Value
			if slices.Contains(newer, name) {
				return true
			}
			fmt.Fprintf(&code, "if (%s != %s) printf(\"%s is %%d, not %s\\n\", (int)%s);\n",
				name, value, name, value, name)
			names++
		}
		return true
	})
	code.WriteString("}\n")
	source, program := filepath.Join(t.TempDir(), "uapi.c"), filepath.Join(t.TempDir(), "uapi")
	if err := os.WriteFile(source, []byte(code.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil || len(out) != 0 ||
		names < 70 {
		t.Errorf("%d names, %v:\n%s", names, err, out)
	}
}
