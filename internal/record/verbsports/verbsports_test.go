package verbsports_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/verbsports"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// collectVerbs runs the collector on a node with one device and returns its datum.
func collectVerbs(t *testing.T, rec recording.Recording) *facts.Datum[[]facts.VerbsPort] {
	t.Helper()
	c := verbsports.Collector(time.Now, func(context.Context, ...string) (recording.Recording, error) {
		return rec, errors.New("is in the recording")
	})
	f := facts.New(nil)
	f.Gather(t.Context(), &inventory.Snapshot{Devices: []inventory.Device{{Name: "mlx5_0"}}}, []facts.Collector{c},
		facts.KindVerbs)
	return f.Verbs
}

func TestCollector(t *testing.T) {
	attributes := func(most, active int) *provider.PortAttributes {
		return &provider.PortAttributes{MaxMTU: provider.DriverMTU(most), ActiveMTU: provider.DriverMTU(active)}
	}
	opened := &provider.DeviceAttributes{}
	d := collectVerbs(t, recording.Recording{Devices: []recording.Device{
		{Name: "mlx5_0", Attributes: opened, Ports: []recording.Port{
			{Number: 1, Attributes: attributes(5, 3)}, {Number: 2, Attributes: attributes(5, 17)}, {Number: 3},
		}, Errors: []*recording.QueryError{{
			Query: recording.QueryPort, Device: "mlx5_0", Port: 3, Errno: 5, Name: "EIO", Text: "input/output error",
		}}},
		{Name: "mlx5_1", Errors: []*recording.QueryError{{
			Query: recording.QueryOpen, Device: "mlx5_1", Errno: 13, Name: "EACCES", Text: "permission denied",
		}}},
	}})
	want := []facts.VerbsPort{
		{Object: "mlx5_0:1", MaxMTU: 4096, ActiveMTU: 1024},
		{Object: "mlx5_0:2", MaxMTU: 4096},
		{Object: "mlx5_0:3", Error: "query_port mlx5_0 port 3: input/output error (EIO)"},
		{Object: "mlx5_1", Denied: "open_device mlx5_1: permission denied (EACCES)"},
	}
	if diff := cmp.Diff(want, d.Value); diff != "" || !d.Known() {
		t.Errorf("state %v (-want +got):\n%s", d.State(), diff)
	}
}

func TestWithoutLibrary(t *testing.T) {
	d := collectVerbs(t, recording.Recording{Errors: []*recording.QueryError{{
		Query: recording.QueryLoad, Name: recording.NameNotInstalled, Text: "libibverbs.so.1 is not installed",
	}}})
	if err := d.State(); !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("without the library: %v, want that it is absent", err)
	}
	d = collectVerbs(t, recording.Recording{Errors: []*recording.QueryError{{
		Query: recording.QueryDeviceList, Errno: 12, Name: "ENOMEM", Text: "cannot allocate memory",
	}}})
	if err := d.State(); err == nil || errors.Is(err, facts.ErrAbsent) {
		t.Errorf("without a list: %v, want an error", err)
	}
	f := facts.New(nil)
	c := verbsports.Collector(time.Now, nil) // not called on a node without devices
	f.Gather(t.Context(), &inventory.Snapshot{}, []facts.Collector{c}, facts.KindVerbs)
	if err := f.State(facts.KindVerbs); !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("without devices: %v, want that it is absent", err)
	}
}
