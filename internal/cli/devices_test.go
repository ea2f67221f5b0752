package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// fakeProvider has devices with the errors of opening them and the states of their ports.
type fakeProvider struct {
	names []string
	err   error // of listing
	deny  map[string]error
	down  []string
	link  provider.LinkLayer
}

func (p fakeProvider) Name() string { return "fake" }

func (p fakeProvider) Devices(context.Context) (list []provider.DeviceInfo, err error) {
	for _, name := range p.names {
		list = append(list, provider.DeviceInfo{Name: name})
	}
	return list, p.err
}

func (p fakeProvider) Open(_ context.Context, name string) (provider.Device, error) {
	if err := p.deny[name]; err != nil {
		return nil, err
	}
	if !slices.Contains(p.names, name) {
		return nil, fs.ErrNotExist
	}
	return fakeDevice{name: name, down: slices.Contains(p.down, name), link: p.link}, nil
}

// fakeDevice has two ports, of which the second one is active unless the device is down.
type fakeDevice struct {
	provider.Device
	name string
	down bool
	link provider.LinkLayer
}

func (d fakeDevice) Name() string { return d.name }
func (d fakeDevice) Close() error { return nil }

func (d fakeDevice) Attributes() provider.DeviceAttributes {
	return provider.DeviceAttributes{PhysPortCount: 2}
}

func (d fakeDevice) Port(_ context.Context, number int) (provider.PortAttributes, error) {
	if number < 1 || number > 2 {
		return provider.PortAttributes{}, fmt.Errorf("no port %d", number)
	}
	if number == 2 && !d.down {
		return provider.PortAttributes{State: provider.PortStateActive, LinkLayer: d.link}, nil
	}
	return provider.PortAttributes{State: provider.PortStateDown, LinkLayer: d.link}, nil
}

func (d fakeDevice) GIDs(context.Context, int) ([]provider.GIDEntry, error) { return nil, nil }

// scanTree scans a recorded node.
func scanTree(t *testing.T, name string) *inventory.Snapshot {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
	if err != nil {
		t.Fatal(err)
	}
	return &snapshot
}

var errDenied = &recording.QueryError{
	Query: recording.QueryOpen, Device: "mlx5_0", Name: "EACCES", Text: "permission denied", Remedy: "join group rdma",
}

// TestOpenFirst skips devices that can't be used, and reports which and why.
func TestOpenFirst(t *testing.T) {
	engines := fakeProvider{names: []string{"roce@eth0", "roce@lo"}}
	const (
		none      = "no device was given: using "
		firstRDMA = ", the first RDMA device that can be opened and has an active port"
		firstOne  = ", the first one that can be opened"
	)
	for _, tt := range []struct {
		name, tree      string
		static          bool
		kernel, engines fakeProvider
		why, err        string
	}{
		{
			"no RDMA", "06_none", false,
			fakeProvider{err: errors.New("no library")},
			engines,
			none + "roce@eth0" + firstOne, "",
		},
		{
			"the first engine is taken", "06_none", false,
			fakeProvider{},
			fakeProvider{names: engines.names, deny: map[string]error{"roce@eth0": errors.New("taken")}},
			none + "roce@lo" + firstOne, "",
		},
		{
			"rxe", "51_rxe_siw", false,
			fakeProvider{names: []string{"rxe0", "siw0"}},
			engines,
			none + "rxe0" + firstRDMA, "",
		},
		{
			"siw is first", "51_rxe_siw", false,
			fakeProvider{names: []string{"siw0", "rxe0"}},
			engines,
			none + "rxe0" + firstRDMA + "; skipped siw0 (iWARP needs rdma_cm to connect)", "",
		},
		{
			"denied and down", "51_rxe_siw", false,
			fakeProvider{
				names: []string{"mlx5_0", "mlx5_1", "mlx5_2", "rxe0"}, down: []string{"mlx5_1", "mlx5_2"},
				deny: map[string]error{"mlx5_0": errDenied},
			},
			engines,
			none + "rxe0" + firstRDMA + "; skipped mlx5_0 (permission denied), mlx5_1, mlx5_2 (no active port)", "",
		},
		{
			"no libibverbs", "51_rxe_siw", false,
			fakeProvider{err: errors.New("not installed")},
			engines,
			none + "roce@eth0" + firstOne + "; skipped rxe0, siw0 (list devices of fake: not installed)", "",
		},
		{
			"static", "51_rxe_siw", true,
			fakeProvider{names: []string{"rxe0"}},
			engines,
			none + "roce@eth0" + firstOne + "; skipped rxe0, siw0 (rdmactl-static has no libibverbs)", "",
		},
		{
			"nothing", "51_rxe_siw", false,
			fakeProvider{names: []string{"mlx5_0"}, down: []string{"mlx5_0"}},
			fakeProvider{},
			"", "no device was given, and none can be opened: open device mlx5_0: no active port\n" +
				"no network device that is up has an IP address",
		},
	} {
		o := opener{
			loads: !tt.static, node: scanTree(t, tt.tree),
			kernel: []provider.Provider{tt.kernel}, engines: []provider.Provider{tt.engines},
			linkLocal: func() []string { return nil },
		}
		device, why, err := o.first(t.Context())
		said := ""
		if err != nil {
			said = err.Error()
		}
		if why != tt.why || said != tt.err || (device != nil) != (tt.err == "") {
			t.Errorf("%s: first = %v, %q, %v, want %q, %q", tt.name, device, why, err, tt.why, tt.err)
		}
		if err != nil && ExitCode(err) != ExitNotFound {
			t.Errorf("%s: exit code %d, want %d", tt.name, ExitCode(err), ExitNotFound)
		}
	}
}

// TestOpenNamed opens devices of the kernel, and says why it can't.
func TestOpenNamed(t *testing.T) {
	o := opener{
		loads: true, node: scanTree(t, "51_rxe_siw"),
		kernel:  []provider.Provider{fakeProvider{names: []string{"rxe0"}}},
		engines: []provider.Provider{fakeProvider{names: []string{"roce@eth0"}}},
	}
	denied, static, byCM := o, o, o
	byCM.connector, byCM.kernel = true, []provider.Provider{fakeProvider{names: []string{"rxe0", "siw0"}}}
	denied.kernel = []provider.Provider{fakeProvider{deny: map[string]error{"rxe0": errDenied}}}
	static.loads = false
	for _, tt := range []struct {
		o         opener
		name, err string
		hint      string
		code      int
	}{
		{o, "rxe0", "", "", ExitOK},
		{o, "mlx5_0", "open device mlx5_0: no such RDMA device", "devices here: rxe0, siw0, roce@eth0", ExitNotFound},
		{o, "eth0", "open device eth0: no such RDMA device", "the RDMA device of eth0 is rxe0", ExitNotFound},
		{o, "siw0", "open device siw0: it is an iWARP device", "with -R, rdmactl bench and ib_write_bw", ExitNotFound},
		{byCM, "siw0", "", "", ExitOK},
		{static, "rxe0", "open device rxe0: this build has no libibverbs", "instead of rdmactl-static", ExitNotFound},
		{denied, "rxe0", "permission denied", "join group rdma", ExitPermission},
	} {
		device, err := tt.o.named(t.Context(), tt.name)
		if tt.err == "" {
			if err != nil || device.Name() != tt.name {
				t.Errorf("named(%s) = %v, %v", tt.name, device, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) || ExitCode(err) != tt.code ||
			!strings.Contains(strings.Join(Hints(err), "\n"), tt.hint) {
			t.Errorf("named(%s) = %v, exit code %d, hints %q, want %q, %d, %q",
				tt.name, err, ExitCode(err), Hints(err), tt.err, tt.code, tt.hint)
		}
	}
}

// TestChooseGIDAsks asks the device only where there is a choice.
func TestChooseGIDAsks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		link  provider.LinkLayer
		port  int
		index int
		err   string
	}{
		{"roce@eth0", provider.LinkLayerEthernet, 0, 0, ""},
		{"mlx5_0", provider.LinkLayerInfiniBand, 0, bench.NoGID, ""},
		{"mlx5_0", provider.LinkLayerInfiniBand, 3, 0, "no port 3"},
		{"mlx5_99", provider.LinkLayerEthernet, 0, 0, "choose a GID of mlx5_99 port 1: its GID table is empty"},
	} {
		p := fakeProvider{names: []string{tt.name}, link: tt.link}
		device, err := verbs.Open(t.Context(), tt.name, p)
		if err != nil {
			t.Fatal(err)
		}
		index, _, err := ChooseGID(t.Context(), device, tt.port)
		if index != tt.index || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("ChooseGID(%s port %d) = %d, %v, want %d, %q", tt.name, tt.port, index, err, tt.index, tt.err)
		}
	}
}

// TestChooseGID chooses what rdmactl env derives, and otherwise the best of what there is.
func TestChooseGID(t *testing.T) {
	linkLocal := []verbs.GIDEntry{
		{Index: 0, GID: [16]byte{0xfe, 0x80, 15: 1}, Type: provider.GIDTypeRoCEv1},
		{Index: 1, GID: [16]byte{0xfe, 0x80, 15: 1}, Type: provider.GIDTypeRoCEv2},
		{Index: 2, GID: [16]byte{0xfe, 0x80, 15: 2}, Type: provider.GIDTypeRoCEv2},
	}
	for _, tt := range []struct {
		tree, device string
		gids         []verbs.GIDEntry
		index        int
		why, err     string
	}{
		{"51_rxe_siw", "rxe0", nil, 1, "rxe0 port 1: using GID index 1, RoCE v2 of 192.0.2.1 on eth0; -x INDEX", ""},
		{"02_rocev2_8hca", "mlx5_0", nil, 3, "mlx5_0 port 1: using GID index 3, RoCE v2 of ", ""},
		{"54_link_local_only", "mlx5_0", linkLocal, 1, "using GID index 1, RoCE v2 of fe80::1, which only", ""},
		{"54_link_local_only", "mlx5_0", nil, 0, "", "choose a GID of mlx5_0 port 1: its GID table is empty"},
		{"06_none", "mlx5_0", linkLocal, 1, "which only peers on the same link reach", ""},
	} {
		index, why, err := chooseGID(scanTree(t, tt.tree), tt.device, 1, tt.gids)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if index != tt.index || !strings.Contains(why, tt.why) || said != tt.err {
			t.Errorf("%s: chooseGID = %d, %q, %v, want %d, %q, %q", tt.tree, index, why, err, tt.index, tt.why, tt.err)
		}
	}
}
