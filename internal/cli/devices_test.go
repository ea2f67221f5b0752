package cli

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs"
)

// TestOpenFirst passes over what can't be opened, and says what it took.
func TestOpenFirst(t *testing.T) {
	device := &verbs.Device{}
	for _, tt := range []struct {
		name          string
		names, kernel []string
		usable        string
		why, err      string
	}{
		{
			"first",
			[]string{"roce@eth0", "roce@lo"},
			nil, "roce@eth0 roce@lo",
			"no device was given: using roce@eth0, the first one that can be opened", "",
		},
		{
			"second",
			[]string{"roce@eth0", "roce@lo"},
			[]string{"mlx5_0", "mlx5_1"},
			"roce@lo",
			"no device was given: using roce@lo, the first one that can be opened; this version can't transfer data " +
				"through mlx5_0, mlx5_1",
			"",
		},
		{
			"none",
			[]string{"roce@eth0"},
			nil, "", "",
			"no device was given, and none can be opened: open device roce@eth0: taken",
		},
		{
			"no address", nil, nil, "", "",
			"no device was given, and none can be opened: no network device that is up has an IP address",
		},
	} {
		got, why, err := openFirst(tt.names, tt.kernel, func(name string) (*verbs.Device, error) {
			if strings.Contains(tt.usable, name) {
				return device, nil
			}
			return nil, errors.New("open device " + name + ": taken")
		})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if why != tt.why || said != tt.err || (got == device) != (tt.err == "") {
			t.Errorf("%s: openFirst = %v, %q, %v, want %q, %q", tt.name, got, why, err, tt.why, tt.err)
		}
		if err != nil && ExitCode(err) != ExitNotFound {
			t.Errorf("%s: exit code %d, want %d", tt.name, ExitCode(err), ExitNotFound)
		}
	}
	root := fstest.MapFS{"sys/class/infiniband/mlx5_1/x": {}, "sys/class/infiniband/mlx5_0/x": {}}
	if diff := cmp.Diff([]string{"mlx5_0", "mlx5_1"}, kernelDevices(root)); diff != "" {
		t.Errorf("kernelDevices, -want +got:\n%s", diff)
	}
}
