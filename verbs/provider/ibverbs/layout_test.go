//go:build linux && (amd64 || arm64)

package ibverbs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newer are the fields that the header of rdma-core 44 doesn't have.
var newer = map[string]bool{"ibv_port_attr active_speed_ex": true}

// TestLayout compiles a program against the installed header and compares each mirrored field.
func TestLayout(t *testing.T) {
	var fields, want strings.Builder
	for _, s := range []struct {
		name string
		v    any
	}{
		{"ibv_device", cDevice{}},
		{"ibv_context", cContext{}},
		{"ibv_device_attr", cDeviceAttr{}},
		{"ibv_device_attr_ex", cDeviceAttrEx{}},
		{"ibv_port_attr", cPortAttr{}},
		{"ibv_gid_entry", cGIDEntry{}},
	} {
		size := reflect.TypeOf(s.v).Size()
		for f := range reflect.TypeOf(s.v).Fields() {
			name := f.Tag.Get("c")
			if newer[s.name+" "+name] {
				size = f.Offset
				continue
			}
			if name == "" {
				continue // padding
			}
			fmt.Fprintf(&fields, "FIELD(%s, %s)\n", s.name, name)
			fmt.Fprintf(&want, "%s %s %d %d\n", s.name, name, f.Offset, f.Type.Size())
		}
		fmt.Fprintf(&fields, "SIZE(%s)\n", s.name)
		fmt.Fprintf(&want, "%s sizeof %d\n", s.name, size)
	}
	for name, distance := range map[string]int{
		"sz": distanceSize, "query_device_ex": distanceQueryDeviceEx, "query_port": distanceQueryPort,
	} {
		fmt.Fprintf(&fields, "DISTANCE(%s)\n", name)
		fmt.Fprintf(&want, "verbs_context %s %d\n", name, distance)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fields.h"), []byte(fields.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "layout")
	compile(t, "-I", dir, "-o", program, "testdata/layout.c")
	got, err := exec.CommandContext(t.Context(), program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("layout.go differs from infiniband/verbs.h (-Go +C):\n%s", diff)
	}
}

// compile runs the C compiler. The test fails if the compiler or the header is missing:
// scripts/deps.sh installs both.
func compile(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "gcc",
		append([]string{"-Wall", "-Wno-unused-parameter", "-O1"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (scripts/deps.sh test installs gcc and libibverbs-dev)\n%s", cmd, err, out)
	}
}
