package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func TestQueryErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  QueryError
		want string
	}{
		{
			QueryError{Query: QueryDeviceList, Text: "function not implemented", Errno: 38, Name: "ENOSYS"},
			"get_device_list: function not implemented (ENOSYS)",
		},
		{QueryError{Query: QueryOpen, Device: "mlx5_0", Text: "no reason"}, "open_device mlx5_0: no reason"},
		{QueryError{
			Query: QueryGID, Device: "mlx5_0", Port: 1, Index: new(0), Errno: 14, Name: "EFAULT", Text: "bad address",
		}, "query_gid mlx5_0 port 1 index 0: bad address (EFAULT)"},
		{QueryError{Query: QueryDevice, Device: "d", Name: NameTimeout, Text: "too late"}, "query_device d: too late"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}

func TestQueryErrorIs(t *testing.T) {
	targets := []error{
		fs.ErrPermission, fs.ErrNotExist, fs.ErrClosed, errors.ErrUnsupported, context.DeadlineExceeded,
		context.Canceled,
	}
	for name, want := range map[string][]error{
		"EACCES": {fs.ErrPermission}, "EPERM": {fs.ErrPermission}, "ENOENT": {fs.ErrNotExist},
		"ENXIO": {fs.ErrNotExist}, "ENODEV": {fs.ErrNotExist}, "ENOSYS": {errors.ErrUnsupported},
		"EOPNOTSUPP": {errors.ErrUnsupported}, "ENOTSUP": {errors.ErrUnsupported},
		"ETIMEDOUT": {context.DeadlineExceeded}, "EIO": nil, "": nil,
		NameNotInstalled: {fs.ErrNotExist, errors.ErrUnsupported}, NameUnsupported: {errors.ErrUnsupported},
		NameTimeout: {context.DeadlineExceeded}, NameCanceled: {context.Canceled}, NameClosed: {fs.ErrClosed},
	} {
		var got []error
		for _, target := range targets {
			if errors.Is(fmt.Errorf("wrapped: %w", &QueryError{Name: name}), target) {
				got = append(got, target)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("a QueryError named %q is %v, want %v", name, got, want)
		}
	}
}

// TestOldRecording checks that a recording from a version in which MTUs were codes is read, and
// written back unchanged.
func TestOldRecording(t *testing.T) {
	old, err := os.ReadFile("testdata/recording.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(old)
	if err != nil {
		t.Fatal(err)
	}
	var got []ib.MTU
	for _, p := range r.Devices[0].Ports {
		if p.Attributes.MaxMTU != ib.MTU4096 {
			t.Errorf("port %d: MaxMTU = %d, want 4096", p.Number, p.Attributes.MaxMTU)
		}
		got = append(got, p.Attributes.ActiveMTU)
	}
	if diff := cmp.Diff([]ib.MTU{0, 256, 512, 1024, 2048, 4096, -6, -9, -255}, got); diff != "" {
		t.Errorf("ActiveMTU of the ports (-want +got):\n%s", diff)
	}
	again, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), string(again)+"\n"); diff != "" {
		t.Errorf("the recording changes (-before +after):\n%s", diff)
	}
}

func sample() Recording {
	return Recording{
		Schema: Schema, Library: Library{Name: "libibverbs.so.1", Version: "1.14.44.0"},
		Errors: []*QueryError{{Query: QueryOpen, Device: "absent", Name: "ENODEV", Text: "no such device"}},
		Devices: []Device{
			{
				Name: "a", Attributes: &provider.DeviceAttributes{MaxMRSize: math.MaxUint64, MaxQP: -1},
				Ports: []Port{
					{
						Number: 1,
						Attributes: &provider.PortAttributes{
							State: provider.PortStateActive, MaxMTU: ib.MTU4096, ActiveMTU: -9,
						},
						GIDs: []provider.GIDEntry{{Index: 0}, {Index: 3, Type: provider.GIDTypeUnknown}},
					},
					{Number: 2},
				},
				Errors: []*QueryError{
					{
						Query: QueryGIDType, Device: "a", Port: 1, Index: new(3), Errno: 95,
						Name: "EOPNOTSUPP", Text: "x",
					},
					{Query: QueryPort, Device: "a", Port: 2, Errno: 22, Name: "EINVAL", Text: "y"},
				},
			},
			{Name: "b"},
		},
	}
}

func TestRecording(t *testing.T) {
	r := sample()
	if got := strings.Count(r.Err().Error(), "\n") + 1; got != 3 {
		t.Errorf("Err() joins %d errors, want 3: %v", got, r.Err())
	}
	if err := (&Recording{}).Err(); err != nil {
		t.Errorf("Err() of no errors = %v, want nil", err)
	}
	if r.Device("b") == nil || r.Device("c") != nil {
		t.Errorf("Device(b), Device(c) = %v, %v, want one and nil", r.Device("b"), r.Device("c"))
	}
	a := r.Device("a")
	for _, tt := range []struct {
		query       string
		port, index int
		want        bool
	}{
		{QueryGIDType, 1, 3, true},
		{QueryGIDType, -1, -1, true},
		{QueryGIDType, 1, 2, false},
		{QueryGIDType, 2, 3, false},
		{QueryPort, 2, -1, true},
		{QueryPort, 2, 0, false},
		{QueryOpen, -1, -1, false},
	} {
		if got := a.Failed(tt.query, tt.port, tt.index); (got != nil) != tt.want {
			t.Errorf("Failed(%s, %d, %d) = %v, want one: %v", tt.query, tt.port, tt.index, got, tt.want)
		}
	}
}

func TestDecode(t *testing.T) {
	want := sample()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Decode = %v, differs (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{
		``, `null`, `{}`, `{"schema":2}`, `{"schema":1,"errors":[null]}`, `{"schema":1,"devices":[{"name":""}]}`,
		`{"schema":1,"devices":[{"name":"a"},{"name":"a"}]}`, `{"schema":1,"devices":[{"name":"a","errors":[null]}]}`,
		`{"schema":1,"devices":[{"name":"a","ports":[{"number":0}]}]}`,
		`{"schema":1,"devices":[{"name":"a","ports":[{"number":2},{"number":1}]}]}`,
		`{"schema":1,"devices":[{"name":"a","ports":[{"number":1,"gids":[{"index":-1}]}]}]}`,
		`{"schema":1,"devices":[{"name":"a","ports":[{"number":1,"gids":[{"index":1},{"index":1}]}]}]}`,
		`{"schema":1,"devices":[{"name":"a","attributes":{"vendorID":-1}}]}`,
	} {
		if got, err := Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%s) = %+v, want an error", bad, got)
		}
	}
}

// FuzzDecode checks that an accepted recording survives encoding and decoding, and that its methods
// don't panic.
func FuzzDecode(f *testing.F) {
	b, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":1,"devices":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		_ = r.Err()
		for i := range r.Devices {
			_ = r.Devices[i].Failed(QueryGID, -1, -1)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatalf("Decode of its own output: %v", err)
		}
		third, err := json.Marshal(back)
		if err != nil || string(third) != string(again) {
			t.Errorf("the second round differs: %s, then %s, %v", again, third, err)
		}
	})
}
