package dl

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOpenMissing(t *testing.T) {
	_, err := Open(Spec{Name: "libdoesnotexist.so.1", Packages: "libdoesnotexist1 (Debian)"})
	e, ok := errors.AsType[*Error](err)
	if !ok || !errors.Is(err, errors.ErrUnsupported) || e.Library != "libdoesnotexist.so.1" || e.Remedy == "" {
		t.Fatalf("Open(missing) = %#v, want an *Error that matches ErrUnsupported, with library and remedy", err)
	}
	if got := errors.Is(err, fs.ErrNotExist); got != Available || e.Absent() != Available {
		t.Errorf("Open(missing): is ErrNotExist = %v, Absent() = %v, want %v", got, e.Absent(), Available)
	}
	if Available && !strings.Contains(e.Remedy, "libdoesnotexist1 (Debian)") {
		t.Errorf("Open(missing): remedy %q, want the package in it", e.Remedy)
	}
	if !strings.HasPrefix(err.Error(), "open libdoesnotexist.so.1: ") ||
		strings.Count(err.Error(), "libdoesnotexist") != 1 {
		t.Errorf("Open(missing) = %q, want the name once", err)
	}
}

func TestZeroFunc(t *testing.T) {
	var f Func
	if ret := f.Call3(1, 2, 3); ret != ^uintptr(0) {
		t.Errorf("the zero Func: Call3() = %#x, want -1", ret)
	}
	if ret, errno := f.CallErrno(1); f.OK() || ret != ^uintptr(0) || errno.Error() == "" {
		t.Errorf("the zero Func: OK() = %v, CallErrno() = %d, %v, want no function, -1 and an error",
			f.OK(), ret, errno)
	}
}

// TestBuilds compiles a program that opens a library, without and with the tag nodl. Without it,
// the program needs a loader and calls the C library; with it, the file is static and Open fails.
func TestBuilds(t *testing.T) {
	for tags, want := range map[string]string{
		"":     "available=true ret=-1 errno=ENOENT symbol=true path=true close=<nil>\n",
		"nodl": "available=false unsupported=true\n",
	} {
		t.Run("tags="+tags, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "probe")
			cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-tags", tags, "-o", file,
				"./testdata/probe")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd, err, out)
			}
			got, err := exec.CommandContext(t.Context(), file).CombinedOutput()
			if err != nil || string(got) != want {
				t.Errorf("probe: %q, %v, want %q", got, err, want)
			}
		})
	}
}

// The loader keeps errors per thread: an error must have its message, whatever else runs.
func TestOpenMissingParallel(t *testing.T) {
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 200 {
				if _, err := Open(Spec{Name: "libdoesnotexist.so.1"}); errors.Is(err, fs.ErrNotExist) != Available {
					t.Fatalf("Open(missing) = %v, want fs.ErrNotExist: %v", err, Available)
				}
				runtime.Gosched()
			}
		})
	}
}
