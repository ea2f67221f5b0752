//go:build linux && (amd64 || arm64) && !nodl

package ibverbs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fake compiles testdata/fake.c into a library that only this test uses.
func fake(t testing.TB, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "libfake.so.1.2.3")
	compile(t, append(flags, "-shared", "-fPIC", "-o", file, "testdata/fake.c")...)
	return file
}

func loadFake(t *testing.T, flags ...string) *Library {
	t.Helper()
	l, err := load(fake(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	l.chars = t.TempDir() // not /dev/infiniband, whose files belong to other devices
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// control calls one of the fake library's own functions.
func control(t *testing.T, l *Library, name string, arg int) int {
	t.Helper()
	f, err := l.dl.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	ret, _ := f.CallErrno(uintptr(arg))
	return int(int32(ret))
}

func TestDescribeFake(t *testing.T) {
	l := loadFake(t)
	got, err := l.Describe(t.Context(), "good0", "old0", "denied0", "gone0", "broken0", "noreason0",
		"fallback0", "absent0")
	for target, want := range map[error]bool{
		fs.ErrPermission: true, fs.ErrNotExist: true, context.DeadlineExceeded: false,
	} {
		if errors.Is(err, target) != want {
			t.Errorf("Describe: errors.Is(err, %v) = %v, want %v: %v", target, !want, want, err)
		}
	}
	text, jsonErr := json.MarshalIndent(got, "", "  ")
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	text = append(text, '\n')
	const golden = "testdata/fake.json"
	text = []byte(strings.ReplaceAll(string(text), l.info.Path, "LIBRARY"))
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, readErr := os.ReadFile(golden)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("Describe differs from %s (-want +got):\n%s", golden, diff)
	}
	back, decodeErr := recording.Decode(text)
	if decodeErr != nil {
		t.Fatal(decodeErr)
	}
	got.Library.Name, got.Library.Path = "LIBRARY", "LIBRARY"
	if diff := cmp.Diff(got, back); diff != "" {
		t.Errorf("a recording changes on its way through JSON (-before +after):\n%s", diff)
	}
	if n := control(t, l, "fake_open_devices", 0); n != 0 {
		t.Errorf("%d devices are still open after Describe", n)
	}
	if n := control(t, l, "fake_open_lists", 0); n != 0 {
		t.Errorf("%d lists still exist after Describe", n)
	}
}

// TestList checks that a list has the devices of the library, in its order, and opens none.
func TestList(t *testing.T) {
	l := loadFake(t)
	r, err := l.list(t.Context())
	if err != nil || r.Schema != recording.Schema || r.Library != l.info || len(r.Errors) > 0 {
		t.Fatalf("list = %+v, %v", r, err)
	}
	var listed []string
	for _, d := range r.Devices {
		listed = append(listed, d.Name)
		if d.GUID.IsZero() || d.Attributes != nil || d.NumCompVectors != 0 {
			t.Errorf("device %+v: want a GUID, and no properties of an open device", d)
		}
	}
	want := []string{
		"good0", "old0", "hang0", "denied0", "gone0", "broken0", "noreason0", "hangopen0", "fallback0",
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("names (-fake.c +list):\n%s", diff)
	}
	if r, err = loadFake(t, "-DNOSYS").list(t.Context()); len(r.Errors) != 1 || r.Devices == nil ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("list without RDMA = %+v, %v, want one error and no device", r, err)
	}
}

// A library that is too old for _ibv_query_gid_ex reports types in another way.
func TestDescribeOldLibrary(t *testing.T) {
	l := loadFake(t, "-DOLD")
	got, err := l.Describe(t.Context(), "good0")
	var types []string
	for _, g := range got.Devices[0].Ports[0].GIDs {
		types = append(types, g.Type.String())
	}
	if diff := cmp.Diff([]string{"RoCE v1", "RoCE v1", "unknown", "RoCE v2"}, types); diff != "" {
		t.Errorf("types of GIDs differ (-want +got):\n%s\n%v", diff, err)
	}
	for _, layer := range []provider.LinkLayer{provider.LinkLayerEthernet, provider.LinkLayerInfiniBand} {
		want := map[provider.LinkLayer]provider.GIDType{
			provider.LinkLayerEthernet: provider.GIDTypeRoCEv1, provider.LinkLayerInfiniBand: provider.GIDTypeIB,
		}[layer]
		list, c := openFake(t, l, "good0")
		entry, err := c.QueryGIDEntry(t.Context(), 1, 0, layer)
		if entry.Type != want || err != nil {
			t.Errorf("QueryGIDEntry(1, 0, %v) = %+v, %v, want type %v", layer, entry, err, want)
		}
		_, _ = list.Close(), c.Close()
	}
}

func openFake(t *testing.T, l *Library, name string) (*DeviceList, *Context) {
	t.Helper()
	list, err := l.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Devices() {
		if d.Name == name {
			c, err := d.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return list, c
		}
	}
	t.Fatalf("no device %s", name)
	return nil, nil
}

func TestLoadErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		file, name, text, remedy string
		notExist                 bool
	}{
		"missing symbol": {fake(t, "-DBROKEN"), recording.NameNotInstalled, "ibv_open_device", "libibverbs1", true},
		"missing library": {
			"libibverbs-nowhere.so.9", recording.NameNotInstalled, "libibverbs-nowhere.so.9", "libibverbs1", true,
		},
		"no library": {"testdata/fake.c", recording.NameUnsupported, "fake.c", "install", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := describeWith(t.Context(), tt.file, nil)
			if !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) != tt.notExist {
				t.Errorf("error %v: ErrUnsupported %v, ErrNotExist %v, want true and %v",
					err, errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrNotExist), tt.notExist)
			}
			if e, ok := errors.AsType[*dl.Error](err); !ok || e.Library != tt.file {
				t.Errorf("error %#v, want a *dl.Error about %s", err, tt.file)
			}
			if len(r.Errors) != 1 || r.Schema != recording.Schema {
				t.Fatalf("recording %+v, want one error", r)
			}
			if e := r.Errors[0]; e.Name != tt.name || !strings.Contains(e.Text, tt.text) ||
				!strings.Contains(e.Remedy, tt.remedy) {
				t.Errorf("recorded error %+v, want name %s, %q in the text, %q in the remedy",
					e, tt.name, tt.text, tt.remedy)
			}
		})
	}
}

func TestNoRDMA(t *testing.T) {
	r, err := loadFake(t, "-DNOSYS").Describe(t.Context())
	want := []*recording.QueryError{{
		Query: recording.QueryDeviceList, Errno: 38, Name: "ENOSYS", Text: "function not implemented",
		Remedy: "load the kernel module ib_uverbs and the driver of the card",
	}}
	if diff := cmp.Diff(want, r.Errors); diff != "" || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Describe = %v; errors differ (-want +got):\n%s", err, diff)
	}
}

// TestProviderWithoutRDMA lists no devices on a kernel without RDMA, which is no error, and opens
// none.
func TestProviderWithoutRDMA(t *testing.T) {
	p := Provider{Library: fake(t, "-DNOSYS")}
	if list, err := p.Devices(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("Devices = %v, %v, want none and no error", list, err)
	}
	_, err := p.Open(t.Context(), "mlx5_0")
	const want = "mlx5_0: this machine has no RDMA device: no RDMA module of the kernel is loaded (ENOSYS)"
	if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Open = %v, want %q, which matches fs.ErrNotExist", err, want)
	}
}

// A driver that hangs affects only its own device; the objects that the call uses stay open until
// the driver responds.
func TestHang(t *testing.T) {
	for _, tt := range []struct{ device, query string }{
		{"hang0", recording.QueryDevice},
		{"hangopen0", recording.QueryOpen},
	} {
		t.Run(tt.device, func(t *testing.T) {
			l := loadFake(t)
			control(t, l, "fake_hold", 1)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			r, err := l.Describe(ctx, "good0", tt.device)
			if took := time.Since(start); took > 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Describe = %v after %v, want the deadline soon", err, took)
			}
			if e := r.Device(tt.device).Failed(tt.query, -1, -1); e == nil || e.Name != recording.NameTimeout {
				t.Errorf("errors of %s = %v, want %s %s",
					tt.device, r.Device(tt.device).Errors, tt.query, recording.NameTimeout)
			}
			if good := r.Device("good0"); good.Attributes == nil || len(good.Ports) != 2 {
				t.Errorf("good0 = %+v, want the complete device", good)
			}
			if err := l.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
			if n := control(t, l, "fake_open_lists", 0); tt.device == "hangopen0" && n != 1 {
				t.Errorf("%d lists while a device is being opened, want 1", n)
			}
			// The library could be unloaded when the driver responds: keep it open to read
			// its counters.
			keep, err := dl.Open(dl.Spec{Name: l.info.Path})
			if err != nil {
				t.Fatal(err)
			}
			defer keep.Close()
			control(t, l, "fake_hold", 0)
			for deadline := time.Now().Add(10 * time.Second); control(t, l, "fake_open_devices", 0) != 0 ||
				control(t, l, "fake_open_lists", 0) != 0; {
				if time.Now().After(deadline) {
					t.Fatal("the device or the list was not closed after the driver responded")
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func TestEndedContext(t *testing.T) {
	l := loadFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Devices(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Devices(canceled) = %v, want context.Canceled", err)
	}
	list, c := openFake(t, l, "good0")
	if _, err := c.QueryDevice(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("QueryDevice(canceled) = %v, want context.Canceled", err)
	}
	if _, err := list.Devices()[0].Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Open(canceled) = %v, want context.Canceled", err)
	}
	for range 2 {
		if err := errors.Join(c.Close(), list.Close()); err != nil {
			t.Errorf("Close() = %v, want nil, twice", err)
		}
	}
	if n, m := control(t, l, "fake_open_devices", 0), control(t, l, "fake_open_lists", 0); n != 0 || m != 0 {
		t.Errorf("%d devices and %d lists are open after Close", n, m)
	}
	if _, err := c.QueryPort(t.Context(), 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("QueryPort(closed) = %v, want os.ErrClosed", err)
	}
	if _, err := list.Devices()[0].Open(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Open from a closed list = %v, want os.ErrClosed", err)
	}
	if n := c.NumCompVectors(); n != 0 {
		t.Errorf("NumCompVectors(closed) = %d, want 0", n)
	}
}

func TestPortRange(t *testing.T) {
	l := loadFake(t)
	list, c := openFake(t, l, "good0")
	defer list.Close()
	defer c.Close()
	for _, port := range []int{-1, 0, 256, 257} {
		if _, err := c.QueryPort(t.Context(), port); err == nil {
			t.Errorf("QueryPort(%d) = nil, want an error: C would take it modulo 256", port)
		}
		if _, err := c.QueryGID(t.Context(), port, 0); err == nil {
			t.Errorf("QueryGID(%d, 0) = nil, want an error", port)
		}
	}
}
