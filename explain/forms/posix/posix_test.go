package posix_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// Programs print the text of the C library, Go its own with a small letter, others the number.
func TestErrno(t *testing.T) {
	for text, want := range map[string]string{
		"modify_qp failed: Connection timed out":     "110",
		"connect failed: errno=111":                  "111",
		"write sriov_numvfs: cannot allocate memory": "12",
		"open /dev/x: permission denied":             "13",
		"Xannot allocate memory":                     "",
		"annot allocate memory":                      "",
		"Too many open files in system":              "23",
		"in progress: errno=115":                     "",
		"done":                                       "",
	} {
		if got := posix.Errno(text); got != want {
			t.Errorf("Errno(%q) = %q, want %q", text, got, want)
		}
	}
}
