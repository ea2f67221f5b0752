package ibverbs

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestConvert sets each field of the C structs to a different value and checks that the result
// contains each value once, to detect fields that are missing or copied twice.
func TestConvert(t *testing.T) {
	var device cDeviceAttrEx
	want := fill(reflect.ValueOf(&device).Elem(), map[string]bool{"CompMask": true}) // not a result
	got := map[uint64]int{}
	collect(reflect.ValueOf(deviceAttributes(&device, false)), got)
	delete(got, 0) // MaxInline, which libibverbs doesn't report
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of DeviceAttributes differ (-want +got):\n%s", diff)
	}
	var port cPortAttr
	want, got = fill(reflect.ValueOf(&port).Elem(), nil), map[uint64]int{}
	collect(reflect.ValueOf(portAttributes(&port)), got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of PortAttributes differ (-want +got):\n%s", diff)
	}
}

// fill numbers the fields of a struct and returns the numbers, except those of fields to skip.
func fill(v reflect.Value, skip map[string]bool) map[uint64]int {
	numbers := map[uint64]int{}
	next := uint64(0)
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		for field, f := range v.Fields() {
			name := field.Name
			if name == "_" {
				continue
			}
			next++
			switch {
			case f.Kind() == reflect.Struct:
				next--
				walk(f)
				continue
			case f.Kind() == reflect.Array && f.Len() == 64:
				f.Index(0).SetUint(next)
			case f.Kind() == reflect.Array:
				f.Index(7).SetUint(next)
			case f.CanInt():
				f.SetInt(int64(next))
			default:
				f.SetUint(next)
			}
			if !skip[name] {
				numbers[next]++
			}
		}
	}
	walk(v)
	return numbers
}

// collect counts the numbers in a struct of package provider.
func collect(v reflect.Value, into map[uint64]int) {
	mtu, isMTU := reflect.TypeAssert[ib.MTU](v)
	switch {
	case isMTU:
		into[uint64(provider.DriverMTUCode(mtu))]++
	case v.Kind() == reflect.Struct:
		for _, f := range v.Fields() {
			collect(f, into)
		}
	case v.Kind() == reflect.Array:
		var b [8]byte
		reflect.Copy(reflect.ValueOf(&b).Elem(), v)
		into[binary.BigEndian.Uint64(b[:])]++
	case v.Kind() == reflect.String:
		into[uint64(v.String()[0])]++
	case v.CanInt():
		into[uint64(v.Int())]++
	case v.CanUint():
		into[v.Uint()]++
	}
}

func TestErrnoOf(t *testing.T) {
	for _, tt := range []struct {
		ret   uint32
		errno int
		want  int
	}{
		{0, 5, 0},
		{22, 0, 22},
		{0xffffffff, 13, 13},
		{0xffffffff, 0, unknownErrno},
		{0xffffffea, 0, 22}, // -EINVAL
	} {
		// the upper half of an int's register is undefined
		for _, high := range []uintptr{0, ^uintptr(0) &^ 0xffffffff} {
			if got := errnoOf(high|uintptr(tt.ret), tt.errno); got != tt.want {
				t.Errorf("errnoOf(%#x, %d) = %d, want %d", high|uintptr(tt.ret), tt.errno, got, tt.want)
			}
		}
	}
}

func TestVersionOf(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0": "1.14.44.0",
		"/opt/a.so.2/libibverbs.so.1":                       "",
		"libibverbs.so.1.x":                                 "",
		"":                                                  "",
	} {
		if got := versionOf(path); got != want {
			t.Errorf("versionOf(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestFailedRemedy(t *testing.T) {
	if e := failed(recording.QueryPort, "d", errnoError(unknownErrno)); e.Errno != 0 || e.Text == "" {
		t.Errorf("failed(unknown) = %+v, want a text and no errno", e)
	}
}
