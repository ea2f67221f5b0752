//go:build kernel

package kernel

import "testing"

const (
	verbsPackage = "github.com/rdmakit/rdmakit/integration/kernel/testdata/verbs"
	verbsProgram = "/tmp/verbs"
)

// TestVerbs exchanges data through libibverbs and the kernel's devices.
func TestVerbs(t *testing.T) {
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	for _, name := range []string{"rc"} {
		t.Run(name, func(t *testing.T) {
			status, out := statusOf(t, g, verbsProgram+" "+name)
			if status != 0 {
				t.Errorf("status %d: %s", status, out)
			}
			t.Log(out)
		})
	}
}
