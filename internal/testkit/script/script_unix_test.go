//go:build unix

package script_test

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/script"
)

// Scripts can be run while others are written and started: os.WriteFile alone fails in that.
func TestWriteWhileOthersStart(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			for range 100 {
				file := filepath.Join(dir, name)
				script.Write(t, file, "echo "+name)
				out, err := exec.CommandContext(t.Context(), file).Output()
				if err != nil || string(out) != name+"\n" {
					t.Errorf("%s: %q, %v", name, out, err)
				}
			}
		})
	}
	group.Wait()
}
