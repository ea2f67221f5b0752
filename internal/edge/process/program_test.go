package process_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/process"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name, path string
		want       []string
	}{
		{"vllm", "/usr/bin:/opt/bin/", []string{"/usr/bin/vllm", "/opt/bin/vllm"}},
		{"vllm", ":/bin:", []string{"./vllm", "/bin/vllm", "./vllm"}},
		{"vllm", "", []string{"./vllm"}},
		{"vllm", "/", []string{"/vllm"}},
		{"./vllm", "/usr/bin", []string{"./vllm"}},
		{"/opt/vllm", "/usr/bin", []string{"/opt/vllm"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, process.Find(tt.name, tt.path)); diff != "" {
			t.Errorf("Find(%q, %q) (-want +got):\n%s", tt.name, tt.path, diff)
		}
	}
}

// TestProgramStart simulates the kernel, and checks which files are tried and the resulting code.
func TestProgramStart(t *testing.T) {
	tests := []struct {
		name    string
		kernel  map[string]error // errors of execve by file; ENOENT for others
		want    []string
		code    int
		message string
	}{
		{"first", map[string]error{"/a/x": nil}, []string{"/a/x b"}, 0, ""},
		{"second", map[string]error{"/b/x": nil, "/a/x": syscall.ENOTDIR}, []string{"/a/x b", "/b/x b"}, 0, ""},
		{"nowhere", nil, []string{"/a/x b", "/b/x b", "/c/x b"}, process.CodeNotFound, "start x: not found in PATH"},
		{
			"denied, then found",
			map[string]error{"/a/x": syscall.EACCES, "/b/x": nil},
			[]string{"/a/x b", "/b/x b"},
			0, "",
		},
		{
			"denied, then nowhere",
			map[string]error{"/a/x": syscall.EACCES},
			[]string{"/a/x b", "/b/x b", "/c/x b"},
			process.CodeCannotStart, "start /a/x: permission denied",
		},
		{
			"too long",
			map[string]error{"/a/x": syscall.E2BIG},
			[]string{"/a/x b"},
			process.CodeCannotStart, "start /a/x: argument list too long",
		},
		{
			"script without a first line",
			map[string]error{"/a/x": syscall.ENOEXEC, "/bin/sh": nil},
			[]string{"/a/x b", "/bin/sh /a/x b"},
			0, "",
		},
		{
			"unsupported",
			map[string]error{"/a/x": errors.ErrUnsupported},
			[]string{"/a/x b"},
			process.CodeCannotStart, "start /a/x: unsupported operation",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tried []string
			p := process.Program{
				Args: []string{"x", "b"}, Files: process.Find("x", "/a:/b:/c"), Environ: []string{"A=1"},
			}
			err := p.Start(func(file string, args, environ []string) error {
				tried = append(tried, strings.Join(append([]string{file}, args[1:]...), " "))
				if !slices.Equal(environ, p.Environ) {
					t.Errorf("environment = %v, want %v", environ, p.Environ)
				}
				if err, known := tt.kernel[file]; known {
					return err
				}
				return syscall.ENOENT
			})
			if diff := cmp.Diff(tt.want, tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
			code := 0
			if e, ok := errors.AsType[*process.StartError](err); ok {
				code = e.Code
			}
			if code != tt.code || err != nil && err.Error() != tt.message {
				t.Errorf("Start = %v (%d), want %q (%d)", err, code, tt.message, tt.code)
			}
		})
	}
}
