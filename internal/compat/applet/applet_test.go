package applet

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
	"github.com/rdmakit/rdmakit/wire/ib"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// run runs a command line on a node and returns all of its output.
func run(t *testing.T, node Node, line string) string {
	t.Helper()
	words := strings.Fields(line)
	var out, errOut strings.Builder
	code := Run(t.Context(), Env{Name: words[0], Args: words[1:], Stdout: &out, Stderr: &errOut, PID: 7, Node: node})
	text := "$ " + line + "\n" + out.String()
	for l := range strings.Lines(errOut.String()) {
		text += "stderr: " + strings.TrimSuffix(l, "\n") + "\n"
	}
	if code != 0 {
		text += fmt.Sprintf("exit code %d\n", code)
	}
	return text
}

func treeNode(t *testing.T, name string) Node {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	root := tree.FS()
	node := Node{Root: root, WhyNoVerbs: "test"}
	if data, err := fs.ReadFile(root, "live.json"); err == nil {
		live := &inventory.Live{}
		if err := json.Unmarshal(data, live); err != nil {
			t.Fatal(err)
		}
		node.Live = live
	}
	return node
}

// TestTrees compares the output of the applets on every test tree with golden files; on trees for
// timing they are only run.
func TestTrees(t *testing.T) {
	for _, name := range testtrees.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := treeNode(t, name)
			var got strings.Builder
			for _, line := range []string{
				"ibv_devices", "ibv_devinfo -v", "ibstat", "ibstatus", "ibdev2netdev", "ibdev2netdev -v", "show_gids",
			} {
				got.WriteString(run(t, node, line))
			}
			if strings.HasPrefix(name, "3") {
				return
			}
			golden(t, name, got.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a file for everyone
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("output on %s, -golden +got:\n%s", name, diff)
	}
}

// everything is a device with all attributes that ibv_devinfo can print.
func everything() recording.Recording {
	attributes := &provider.DeviceAttributes{
		Firmware: "28.39.3560", NodeGUID: ib.GUID{0, 2, 0xc9, 3, 0, 0xa5, 0x10, 0}, VendorID: 0x2c9, VendorPartID: 4129,
		HWVersion: 0x1a,
		MaxMRSize: 1<<64 - 1, PageSizeCap: 0xfffffffffffff000, MaxQP: 131072, CapFlags: 1<<31 | 1<<20 | 1, AtomicCap: 1,
		MaxFMR: 1, MaxSRQ: 2,
		MaxPKeys: 128, PhysPortCount: 2, Extended: true, ODP: provider.ODPCapabilities{General: 7, RC: 0x7f, UD: 1},
		CompletionTimestampMask: 0x7fffffffffffffff, HCACoreClock: 1000000, CapFlagsExtended: 1<<34 | 1<<40,
		MaxWQTypeRQ:   8388608,
		TSO:           provider.TSOCapabilities{Max: 262144, SupportedQPs: 1<<8 | 1<<2},
		RSS:           provider.RSSCapabilities{SupportedQPs: 1 << 8, RXHashFieldsMask: 0x800000ff},
		PacketPacing:  provider.PacketPacingCapabilities{RateLimitMax: 25000000, SupportedQPs: 1 << 4},
		RawPacketCaps: 0xff,
		TagMatching:   provider.TagMatchingCapabilities{MaxTags: 127, Flags: 3},
		CQModeration:  provider.CQModerationCapabilities{MaxCount: 65535, MaxPeriod: 4095}, MaxDMSize: 131072,
	}
	port := &provider.PortAttributes{
		State: 5, MaxMTU: ib.MTU4096, ActiveMTU: -9, GIDTableLength: 255, LID: 0xc001, LMC: 3, MaxVLs: 9,
		ActiveWidth: 3, ActiveSpeed: 3, PhysState: 9, LinkLayer: 2,
	}
	gids := []provider.GIDEntry{
		{Index: 0, GID: ib.GID{0: 0xfe, 1: 0x80, 15: 1}, Type: provider.GIDTypeRoCEv1},
		{Index: 1, GID: ib.GID{0: 0xfe, 1: 0x80}, Type: provider.GIDTypeRoCEv1},
		{Index: 2, GID: ib.GID{0: 0xfe, 1: 0x80, 15: 2}, Type: provider.GIDTypeUnknown},
		{Index: 3, GID: ib.GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}, Type: provider.GIDTypeRoCEv2},
	}
	failed := func(device, query string, port, errno int, name string) []*recording.QueryError {
		return []*recording.QueryError{{Query: query, Device: device, Port: port, Errno: errno, Name: name}}
	}
	return recording.Recording{Schema: recording.Schema, Devices: []recording.Device{
		{
			Name: "mlx5_1", GUID: attributes.NodeGUID, BoardID: "MT_0000000838", NumCompVectors: 63,
			Attributes: attributes,
			Ports:      []recording.Port{{Number: 1, Attributes: port, GIDs: gids}, {Number: 2}},
			Errors:     failed("mlx5_1", recording.QueryPort, 2, 22, "EINVAL"),
		},
		{Name: "mlx5_0", Transport: -1, Errors: failed("mlx5_0", recording.QueryOpen, 0, 13, "EACCES")},
		{Name: "mlx5_2", Errors: append(
			failed("mlx5_2", recording.QueryDevice, 0, 5, ""), failed("mlx5_2", recording.QueryClose, 0, 0, "")...,
		)},
	}}
}

func TestRecordedVerbs(t *testing.T) {
	node := Node{Root: fstest.MapFS{}, Verbs: Recorded(everything())}
	var got strings.Builder
	for _, line := range []string{
		"ibv_devices", "ibv_devinfo -l", "ibv_devinfo", "ibv_devinfo -v -d mlx5_1 -i 1", "ibv_devinfo -d mlx5_2",
		"ibv_devinfo -i 3 -d mlx5_1", "ibv_devinfo -d mlx5_3",
	} {
		got.WriteString(run(t, node, line))
	}
	node.Verbs = Recorded(recording.Recording{
		Schema: 1, Errors: []*recording.QueryError{{Query: recording.QueryDeviceList, Errno: 38, Name: "ENOSYS"}},
	})
	got.WriteString(run(t, node, "ibv_devices") + run(t, node, "ibv_devinfo") + run(t, node, "ibv_devinfo -l"))
	node.Verbs = Recorded(recording.Recording{Schema: 1})
	got.WriteString(run(t, node, "ibv_devices") + run(t, node, "ibv_devinfo") + run(t, node, "ibv_devinfo -l"))
	golden(t, "verbs", got.String())
}

// TestHostileText checks that text from a node is printed unchanged and causes no error.
func TestHostileText(t *testing.T) {
	t.Chdir(t.TempDir()) // ibnetdiscover writes the file that its operand names
	const evil = "\xff\x1b]0;x\a%s%n\x00\r\n\n-1 99999999999999999999999"
	files := fstest.MapFS{}
	for _, dir := range []string{
		"ports/1/", "ports/1/gids/", "ports/1/pkeys/", "ports/1/gid_attrs/types/", "ports/1/gid_attrs/ndevs/", "",
	} {
		for _, name := range []string{
			"node_guid", "sys_image_guid", "fw_ver", "hw_rev", "hca_type", "board_id", "node_desc", "0", "lid",
			"sm_lid", "sm_sl", "lid_mask_count",
			"state", "phys_state", "rate", "cap_mask", "link_layer",
		} {
			if dir == "" || strings.Count(dir, "/") == 2 || name != "0" {
				files["sys/class/infiniband/evil/"+dir+name] = &fstest.MapFile{Data: []byte(evil)}
			}
		}
	}
	delete(files, "sys/class/infiniband/evil/0")
	for _, dir := range []string{"gids/0", "pkeys/0", "gid_attrs/types/0", "gid_attrs/ndevs/0"} {
		files["sys/class/infiniband/evil/ports/1/"+dir] = &fstest.MapFile{Data: []byte(strings.Repeat(evil, 99))}
	}
	for _, kind := range []string{"1", "4: x", evil, "-1"} {
		files["sys/class/infiniband/evil/node_type"] = &fstest.MapFile{Data: []byte(kind)}
		node := Node{Root: files}
		for _, a := range All() {
			for _, args := range []string{"", " -v", " evil 1", " -d evil -v", " evil:1", " ../../.. 1", " -dd"} {
				run(t, node, a.Name+args)
			}
		}
	}
	files["sys/class/infiniband/evil/node_type"] = &fstest.MapFile{Data: []byte("1")}
	if got := run(t, Node{Root: files}, "ibstatus evil:1"); !strings.Contains(got, "state:\t\t \xff\x1b]0;x\a%s%n") {
		t.Errorf("ibstatus printed %q, want the bytes of the file", got)
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]bool{
		"ibstat": true, "/usr/sbin/ibstat": true, "ibstat.sh": false, "": false, "rdmactl": false,
	} {
		if _, got := Find(name); got != want {
			t.Errorf("Find(%q) = %t, want %t", name, got, want)
		}
	}
	var errOut strings.Builder
	if code := Run(context.Background(), Env{Name: "x/nosuch", Stderr: &errOut}); code != 127 ||
		errOut.String() != "x/nosuch: no such applet\n" {
		t.Errorf("Run of an unknown applet = %d, %q", code, errOut.String())
	}
}
