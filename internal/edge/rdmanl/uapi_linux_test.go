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

// newer are names that not all of the headers have that this test runs with: Debian's security
// updates of Linux 6.1 differ from each other. They are compared where the headers have them.
var newer = []string{
	"RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE",                                        // Linux 6.7
	"RDMA_NLDEV_ATTR_DEV_TYPE", "RDMA_NLDEV_ATTR_PARENT_NAME", "RDMA_DEVICE_TYPE_SMI", // Linux 6.11
}

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
	var names, late []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a plain number", spec.Names[0].Name)
			}
			name, value := spec.Names[0].Name, literal.Value
			line := fmt.Sprintf("if (%s != %s) printf(\"%s is %%d, not %s\\n\", (int)%s);\n",
				name, value, name, value, name)
			if slices.Contains(newer, name) {
				late = append(late, line)
			} else {
				names = append(names, line)
			}
		}
		return true
	})
	if len(names) < 70 || len(late) != len(newer) {
		t.Errorf("%d names and %d newer ones", len(names), len(late))
	}
	if program, err := compile(t, cc, strings.Join(names, "")); err != nil {
		t.Error(err)
	} else {
		compare(t, program)
	}
	for _, line := range late {
		if program, err := compile(t, cc, line); err == nil {
			compare(t, program)
		}
	}
}

// compile compiles a program that includes the headers.
func compile(t *testing.T, cc, body string) (program string, err error) {
	t.Helper()
	var code strings.Builder
	for _, h := range []string{
		"stdio.h", "linux/netlink.h", "linux/rtnetlink.h", "linux/if_link.h", "linux/if_addr.h", "linux/fib_rules.h",
		"linux/neighbour.h", "linux/netfilter.h", "linux/netfilter/nfnetlink.h", "linux/netfilter/nf_tables.h",
		"linux/netfilter/nf_tables_compat.h",
		"rdma/rdma_netlink.h",
	} {
		fmt.Fprintf(&code, "#include <%s>\n", h)
	}
	fmt.Fprintf(&code, "int main(void) {\n%s}\n", body)
	source, program := filepath.Join(t.TempDir(), "uapi.c"), filepath.Join(t.TempDir(), "uapi")
	if err := os.WriteFile(source, []byte(code.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-o", program, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
}

// compare runs a program that prints each number that differs.
func compare(t *testing.T, program string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%v:\n%s", err, out)
	}
}
