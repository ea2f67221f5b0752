package inventory_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// load returns a test tree.
func load(t *testing.T, name string) *nodetree.Tree {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// sources returns the sources for a tree as on the command line: with its recorded live data.
func sources(t *testing.T, tree *nodetree.Tree) inventory.Sources {
	t.Helper()
	src := inventory.Sources{Root: tree.FS()}
	data, err := fs.ReadFile(src.Root, "live.json")
	if errors.Is(err, fs.ErrNotExist) {
		return src
	}
	live := &inventory.Live{}
	if err == nil {
		err = json.Unmarshal(data, live)
	}
	if err != nil {
		t.Fatal(err)
	}
	src.Live = live
	return src
}

func scan(t *testing.T, tree *nodetree.Tree) inventory.Snapshot {
	t.Helper()
	snap, err := inventory.Scan(t.Context(), sources(t, tree))
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestScanGolden compares the whole snapshot of every tree with a recorded one, as JSON without
// repetitions, so that a change of the model is visible in review.
func TestScanGolden(t *testing.T) {
	for _, name := range testtrees.Names() {
		t.Run(name, func(t *testing.T) {
			tree := load(t, name)
			snap, _ := inventory.Scan(t.Context(), sources(t, tree)) // errors are in Problems
			got := summary(snap)
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				//nolint:gosec // a test file for everyone
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("snapshot of %s differs (-want +got):\n%s", name, diff)
			}
		})
	}
}

// summary formats a snapshot with one line per object, so that golden files are readable.
func summary(s inventory.Snapshot) string {
	var b strings.Builder
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	fmt.Fprintf(&b, "host %s\n", text(s.Host))
	for _, d := range s.Devices {
		ports := d.Ports
		d.Ports = nil
		fmt.Fprintf(&b, "device %s\n", text(d))
		for _, p := range ports {
			gids, gaps := p.GIDs, p.GIDGaps()
			p.GIDs = nil
			fmt.Fprintf(&b, "port %s:%d %s\n", d.Name, p.Number, text(p))
			for i, g := range gids {
				if i == 6 && len(gids) > 8 {
					fmt.Fprintf(&b, "  … %d more gids, the last %s\n", len(gids)-i, text(gids[len(gids)-1]))
					break
				}
				fmt.Fprintf(&b, "  gid %s\n", text(g))
			}
			fmt.Fprintf(&b, "  gaps %s\n", gaps)
		}
	}
	for _, n := range s.Netdevs {
		fmt.Fprintf(&b, "netdev %s\n", text(n))
	}
	for _, g := range s.GPUs {
		fmt.Fprintf(&b, "gpu %s\n", text(g))
	}
	for _, c := range s.Cards {
		fmt.Fprintf(&b, "card %s\n", text(c))
	}
	for _, o := range s.Obstacles() {
		fmt.Fprintf(&b, "obstacle %s\n", text(o))
	}
	for _, c := range s.Candidates() {
		fmt.Fprintf(&b, "candidate %s\n", text(c))
	}
	fmt.Fprintf(&b, "tcp %q\n", s.TCPNetdev())
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "problem %s\n", text(p))
	}
	return b.String()
}

func TestSnapshotRoundTripsThroughJSON(t *testing.T) {
	for _, name := range testtrees.Names() {
		snap, _ := inventory.Scan(t.Context(), sources(t, load(t, name)))
		data, err := json.Marshal(snap)
		if err != nil {
			t.Errorf("marshal %s: %v", name, err)
			continue
		}
		var back inventory.Snapshot
		if err := json.Unmarshal(data, &back); err != nil {
			t.Errorf("unmarshal %s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(snap, back, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s changes when encoded as JSON and decoded (-before +after):\n%s", name, diff)
		}
	}
}

// The same tree on disk, with its injected errors in errno.json, must give the same snapshot.
func TestScanOfFolderEqualsScanOfMemory(t *testing.T) {
	for _, name := range []string{"01_ib_8hca", "07_sriov_vf_pod", "20_states"} {
		tree := load(t, name)
		want := scan(t, tree)
		dir := t.TempDir()
		if err := tree.WriteDir(dir); err != nil {
			t.Fatal(err)
		}
		got := scanDir(t, dir)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s: snapshot of the folder differs (-memory +folder):\n%s", name, diff)
		}
	}
}

const port0 = "sys/class/infiniband/mlx5_0/ports/1"

// TestPartialFailure makes one file at a time unreadable or invalid: the scan must return the rest,
// and report the path if it is an error.
func TestPartialFailure(t *testing.T) {
	tests := []struct {
		name  string
		edit  func(*nodetree.Tree) error
		path  string // in the error; "" if there must be none
		cause error
	}{
		{
			"denied state",
			func(n *nodetree.Tree) error { return n.SetError(realName(port0)+"/state", syscall.EACCES) },
			"/" + port0 + "/state", fs.ErrPermission,
		},
		{
			"device removed while read",
			func(n *nodetree.Tree) error { return n.SetError(realName(port0)+"/rate", syscall.ENODEV) },
			"/" + port0 + "/rate", syscall.ENODEV,
		},
		{
			"input/output error",
			func(n *nodetree.Tree) error { return n.SetError(realName(port0)+"/gids/3", syscall.EIO) },
			"/" + port0 + "/gids/3", syscall.EIO,
		},
		{
			"invalid argument means no value",
			func(n *nodetree.Tree) error { return n.SetError(realName(port0)+"/cap_mask", syscall.EINVAL) }, "", nil,
		},
		{"missing optional file", func(n *nodetree.Tree) error {
			return n.Remove(realDevice("mlx5_0") + "/infiniband/mlx5_0/board_id")
		}, "", nil},
		{
			"missing required file", func(n *nodetree.Tree) error { return n.Remove(realName(port0) + "/state") },
			"/" + port0 + "/state", fs.ErrNotExist,
		},
		{
			"empty required file", func(n *nodetree.Tree) error { return n.Set(realName(port0)+"/state", "") },
			"/" + port0 + "/state", nil,
		},
		{
			"garbage state", func(n *nodetree.Tree) error { return n.Set(realName(port0)+"/state", "?\x00\n") },
			"/" + port0 + "/state", nil,
		},
		{
			"garbage rate", func(n *nodetree.Tree) error { return n.Set(realName(port0)+"/rate", "fast\n") },
			"/" + port0 + "/rate", nil,
		},
		{
			"garbage lid", func(n *nodetree.Tree) error { return n.Set(realName(port0)+"/lid", "0xfffff\n") },
			"/" + port0 + "/lid", nil,
		},
		{
			"garbage gid", func(n *nodetree.Tree) error { return n.Set(realName(port0)+"/gids/0", "fe80:zz\n") },
			"/" + port0 + "/gids/0", nil,
		},
		{
			"unknown gid type",
			func(n *nodetree.Tree) error { return n.Set(realName(port0)+"/gid_attrs/types/0", "RoCE v9\n") },
			"/" + port0 + "/gid_attrs/types/0", nil,
		},
		{
			"no ports", func(n *nodetree.Tree) error { return n.Remove(realName("sys/class/infiniband/mlx5_0/ports")) },
			"/sys/class/infiniband/mlx5_0/ports", nil,
		},
		{
			"broken class link",
			func(n *nodetree.Tree) error { return n.Remove(realName("sys/class/infiniband/mlx5_0")) },
			"/sys/class/infiniband/mlx5_0", nil,
		},
	}
	whole := scan(t, load(t, "02_rocev2_8hca"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := load(t, "02_rocev2_8hca")
			if err := tt.edit(tree); err != nil {
				t.Fatal(err)
			}
			snap, err := inventory.Scan(t.Context(), sources(t, tree))
			checkPartial(t, err, tt.path, tt.cause)
			if len(snap.Problems) == 0 != (err == nil) {
				t.Errorf("Problems = %v, but the error is %v", snap.Problems, err)
			}
			for _, name := range []string{"mlx5_1", "mlx5_7"} {
				if diff := cmp.Diff(whole.Device(name).Ports[0].GIDs, snap.Device(name).Ports[0].GIDs); diff != "" {
					t.Errorf("%s lost something:\n%s", name, diff)
				}
			}
		})
	}
}

func checkPartial(t *testing.T, err error, path string, cause error) {
	t.Helper()
	if path == "" {
		if err != nil {
			t.Errorf("Scan error = %v, want none", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), path+":") {
		t.Errorf("Scan error = %v, want one that names %s", err, path)
	}
	if cause != nil && !errors.Is(err, cause) {
		t.Errorf("Scan error = %v, want the cause %v", err, cause)
	}
}

// realName maps a class path of the tree 02_rocev2_8hca to its resolved path, with which trees are
// edited.
func realName(name string) string {
	return strings.Replace(name, "sys/class/infiniband/mlx5_0", realDevice("mlx5_0")+"/infiniband/mlx5_0", 1)
}

func realDevice(string) string { return "sys/devices/pci0000:10/0000:10:01.0/0000:18:00.0" }

// vanishing is a file system in which a device is removed at a given read.
type vanishing struct {
	fs.FS
	tree *nodetree.Tree
	left *atomic.Int64 // number of reads until the device is removed
}

func (v vanishing) step() {
	if v.left.Add(-1) == 0 {
		_ = v.tree.Remove("sys/class/infiniband/mlx5_0")
		_ = v.tree.Remove(realDevice("mlx5_0"))
	}
}

func (v vanishing) ReadFile(name string) ([]byte, error) {
	v.step()
	return fs.ReadFile(v.FS, name)
}

func (v vanishing) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(v.FS, name) }
func (v vanishing) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(v.FS, name) }
func (v vanishing) ReadLink(name string) (string, error)       { return fs.ReadLink(v.FS, name) }
func (v vanishing) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(v.FS, name) }
func (v vanishing) Sub(name string) (fs.FS, error) {
	sub, err := fs.Sub(v.FS, name)
	return vanishing{FS: sub, tree: v.tree, left: v.left}, err
}

// TestHotUnplug removes mlx5_0 after every possible number of reads: the device must either be
// complete in the snapshot or be reported as removed, and the others must be complete.
func TestHotUnplug(t *testing.T) {
	whole := scan(t, load(t, "02_rocev2_8hca"))
	dropped := 0
	for after := int64(1); after < 900; after += 7 {
		tree := load(t, "02_rocev2_8hca")
		var left atomic.Int64
		left.Store(after)
		snap, err := inventory.Scan(t.Context(),
			inventory.Sources{Root: vanishing{FS: tree.FS(), tree: tree, left: &left}})
		if snap.Device("mlx5_0") == nil {
			dropped++
		}
		if d := snap.Device("mlx5_7"); d == nil || len(d.Ports) != 1 ||
			!cmp.Equal(d.Ports[0].GIDs, whole.Device("mlx5_7").Ports[0].GIDs) {
			t.Fatalf("unplugged after %d reads: mlx5_7 = %+v, error %v", after, d, err)
		}
		for _, p := range snap.Problems {
			if strings.Contains(p.Path, "mlx5_7") {
				t.Fatalf("unplugged after %d reads: problem with another device: %+v", after, p)
			}
		}
	}
	if dropped < 10 {
		t.Errorf("mlx5_0 was dropped in %d scans only: the test unplugs at the wrong time", dropped)
	}
}

func TestScanEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	snap, err := inventory.Scan(ctx, sources(t, load(t, "02_rocev2_8hca")))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Scan error = %v, want context.Canceled", err)
	}
	if len(snap.Devices) != 0 {
		t.Errorf("Scan read %d devices after its context ended", len(snap.Devices))
	}
	if _, err := inventory.Scan(t.Context(), inventory.Sources{}); err == nil {
		t.Error("Scan without a root: want an error")
	}
}

// failingLive returns one result and an error.
type failingLive struct{}

func (failingLive) Live(context.Context) (*inventory.Live, error) {
	return &inventory.Live{NetnsMode: inventory.NetnsModeExclusive}, syscall.EPERM
}

func TestLiveFailureIsPartial(t *testing.T) {
	src := sources(t, load(t, "02_rocev2_8hca"))
	src.Live = failingLive{}
	snap, err := inventory.Scan(t.Context(), src)
	if !errors.Is(err, syscall.EPERM) {
		t.Errorf("Scan error = %v, want EPERM", err)
	}
	if snap.Host.NetnsMode != inventory.NetnsModeExclusive || len(snap.Devices) != 8 {
		t.Errorf("Scan = netns mode %q and %d devices, want what could be read", snap.Host.NetnsMode, len(snap.Devices))
	}
}

// TestScanSurvivesDamage removes, empties and corrupts random files of random trees: a scan must
// never panic and always return.
func TestScanSurvivesDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test wants the same damage each time
	garbage := []string{
		"", "\n", "\x00", "-1", "99999999999999999999", "4:", ": ACTIVE", strings.Repeat("x", 5000), "0xzz",
		"fe80::1%eth0",
	}
	names := testtrees.Names()
	for range 150 {
		name := names[rng.IntN(len(names))]
		if strings.Contains(name, "8x256") {
			continue // large, and covered by 14_lexical_gid_order
		}
		tree := load(t, name)
		var files []string
		if err := fs.WalkDir(tree.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				files = append(files, path)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(30) {
			file := files[rng.IntN(len(files))]
			switch rng.IntN(4) {
			case 0:
				_ = tree.Remove(file)
			case 1:
				_ = tree.SetError(file, syscall.EIO)
			case 2:
				_ = tree.Link(file, "../nowhere")
			default:
				_ = tree.Set(file, garbage[rng.IntN(len(garbage))])
			}
		}
		snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
		_ = snap.Obstacles()
		_ = snap.Candidates()
		for _, d := range snap.Devices {
			for _, p := range d.Ports {
				_, _ = inventory.ReadCounters(t.Context(), tree.FS(), d.Name, p.Number)
			}
		}
	}
}

// A sub-function has no PCI function: it must not be treated as another card next to its PF. In a
// pod, where the PF is not visible, jobs use it.
func TestSubFunction(t *testing.T) {
	const pf = "sys/devices/pci0000:10/0000:10:01.0/0000:18:00.0"
	tree := load(t, "02_rocev2_8hca")
	from := pf + "/infiniband/mlx5_0"
	if err := fs.WalkDir(tree.FS(), from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := fs.ReadFile(tree.FS(), name)
		if errors.Is(err, syscall.EINVAL) {
			return nil
		}
		return errors.Join(err,
			tree.Set(pf+"/mlx5_core.sf.2/infiniband/mlx5_8"+strings.TrimPrefix(name, from), string(text)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := tree.Link("sys/class/infiniband/mlx5_8",
		"../../devices/"+strings.TrimPrefix(pf, "sys/devices/")+"/mlx5_core.sf.2/infiniband/mlx5_8"); err != nil {
		t.Fatal(err)
	}
	check := func(role inventory.Role, parent string) {
		t.Helper()
		snap, err := inventory.Scan(t.Context(), sources(t, tree))
		if err != nil {
			t.Fatal(err)
		}
		sf := snap.Device("mlx5_8")
		if sf == nil || sf.VF == nil || !sf.VF.SubFunction || sf.VF.ParentDevice != parent || sf.Ports[0].Role != role {
			t.Errorf("mlx5_8 = %+v, want a sub-function of %q with the role %q", sf, parent, role)
		}
	}
	check(inventory.RoleUnknown, "mlx5_0")
	if err := tree.Remove("sys/class/infiniband/mlx5_0"); err != nil {
		t.Fatal(err)
	}
	check(inventory.RoleCompute, "")
}
