package lint

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What looks like a here-document and is none must not swallow the rest of a script.
func TestShellHereDocument(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"SIZE=$((1 << SHIFT))\nexport NCCL_IB_TIMEOUT=22\n", "SIZE NCCL_IB_TIMEOUT"},
		{"((SIZE <<= SHIFT))\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
		{"echo \"use <<EOF here\"\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
		{"echo 'use <<EOF here'\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
		{"cat <<<word\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
		{"cat <<EOF\nNCCL_IB_SL=1\nEOF\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
		{"cat <<-'END OF'\nNCCL_IB_SL=1\n\tEND OF\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
		{"cat <<\"EOT-1\"\nNCCL_IB_SL=1\nEOT-1\nNCCL_IB_TIMEOUT=22\n", "NCCL_IB_TIMEOUT"},
	} {
		var got []string
		for _, s := range parseShell(test.script) {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("parseShell(%q) (-want +got):\n%s", test.script, diff)
		}
	}
}

// Files that Parse takes must not keep it busy: the time has to grow with the size, not with
// its square.
func TestParseLarge(t *testing.T) {
	const n = 1 << 20
	for name, f := range map[string]struct {
		form Form
		text string
	}{
		"one continued line":      {FormShell, strings.Repeat("aaaaaaa\\\n", n) + "\nNCCL_IB_SL=1\n"},
		"a value of many lines":   {FormEnv, "NCCL_IB_SL=1\n" + strings.Repeat("x\n", n)},
		"an object of many names": {FormJSON, "{" + strings.Repeat(`"A":"",`, n) + `"B":""}`},
	} {
		start := time.Now()
		_, _ = Parse(name, []byte(f.text), f.form)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("Parse(%s, %d bytes) took %v", name, len(f.text), took)
		}
	}
}
