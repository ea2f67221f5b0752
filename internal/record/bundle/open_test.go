package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// packed returns a sound bundle as an archive.
func packed(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := recordTree(t, "51_rxe_siw", nil).Encode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// openBytes opens an archive by its content.
func openBytes(t testing.TB, data []byte) (*Bundle, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.tar.gz")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return Open(name)
}

// archive packs headers with contents.
func archive(t testing.TB, entries []tar.Header, contents map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	for i := range entries {
		h := entries[i]
		h.Size = int64(len(contents[h.Name]))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(contents[h.Name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// files packs plain files.
func files(t testing.TB, contents map[string]string) []byte {
	t.Helper()
	var list []tar.Header
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		list = append(list, tar.Header{Name: name})
	}
	return archive(t, list, contents)
}

func TestHostileBundlesAreRefused(t *testing.T) {
	sound := packed(t)
	manifest := func(text string) []byte { return files(t, map[string]string{"sys/x": "1", ManifestFile: text}) }
	link := func(name, target string) []byte {
		return archive(t, []tar.Header{{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}}, nil)
	}
	one := func(h tar.Header) []byte { return archive(t, []tar.Header{h}, nil) }
	tests := []struct {
		name string
		data []byte
		want string // in the error, besides the name of the file
	}{
		{"path above the root", files(t, map[string]string{"../etc/passwd": "x"}), `"../etc/passwd"`},
		{"absolute path", files(t, map[string]string{"/etc/passwd": "x"}), `"/etc/passwd"`},
		{"path with dots inside", files(t, map[string]string{"sys/../../x": "x"}), `"sys/../../x"`},
		{"absolute link", link("sys/x", "/etc/passwd"), "sys/x -> /etc/passwd"},
		{"link out", link("sys/x", "../../etc/passwd"), "sys/x -> ../../etc/passwd"},
		{"hard link", one(tar.Header{Name: "sys/x", Typeflag: tar.TypeLink, Linkname: "sys/y"}), `entry "sys/x"`},
		{"device", one(tar.Header{Name: "dev/x", Typeflag: tar.TypeChar, Devmajor: 1}), `entry "dev/x"`},
		{"pipe", one(tar.Header{Name: "dev/x", Typeflag: tar.TypeFifo}), `entry "dev/x"`},
		{"a name twice", archive(t, []tar.Header{{Name: "sys/x"}, {Name: "sys/x"}}, nil), `entry "sys/x"`},
		{"two manifests", archive(t, []tar.Header{{Name: ManifestFile}, {Name: ManifestFile}},
			map[string]string{ManifestFile: "{}"}), `entry "manifest.json"`},
		{
			"below a link",
			archive(t, []tar.Header{{Name: "sys/a", Typeflag: tar.TypeSymlink, Linkname: "b"}, {Name: "sys/a/x"}}, nil),
			`"sys/a/x"`,
		},
		{"bomb", files(t, map[string]string{"sys/x": strings.Repeat("0", 5<<20)}), "too large"},
		{"truncated", sound[:len(sound)/2], "unexpected EOF"},
		{"data after", append(bytes.Clone(sound), 1), "data after"},
		{"damaged", flip(sound), ""},
		{"no schema", manifest("{}"), `manifest.json: schema is "", not "rdmakit.bundle/v1"`},
		{"another schema", manifest(`{"schema": "rdmakit.detect/v1"}`), `manifest.json: schema is "rdmakit.detect/v1"`},
		{"newer schema", manifest(`{"schema": "rdmakit.bundle/v2"}`), "a newer rdmactl wrote it"},
		{"older schema", manifest(`{"schema": "rdmakit.bundle/v0"}`), "an older rdmactl wrote it"},
		{"signed schema", manifest(`{"schema": "rdmakit.bundle/v+1"}`), `schema is "rdmakit.bundle/v+1"`},
		{"padded schema", manifest(`{"schema": "rdmakit.bundle/v01"}`), `schema is "rdmakit.bundle/v01"`},
		{"negative schema", manifest(`{"schema": "rdmakit.bundle/v-1"}`), "manifest.json: schema is"},
		{
			"manifest lies about entries", manifest(`{"schema": "rdmakit.bundle/v1", "entries": 7}`),
			"it lists 7 entries, but the bundle has 2",
		},
		{
			"manifest lies about bytes", manifest(`{"schema": "rdmakit.bundle/v1", "entries": 2, "bytes": 9}`),
			"it lists 9 bytes, but the bundle has 1",
		},
		{"manifest lies about contents", manifest(
			`{"schema": "rdmakit.bundle/v1", "entries": 2, "bytes": 1, "sha256": "00"}`), "the bundle was changed"},
		{"manifest is no document", manifest("["), "read manifest.json: unexpected end"},
		{
			"huge manifest", manifest(`{"schema": "` + strings.Repeat("x", maxDocument) + `"}`),
			"read manifest.json: tree too large",
		},
		{
			"huge live.json", files(t, map[string]string{"sys/x": "1", LiveFile: strings.Repeat("[", maxDocument+1)}),
			"read live.json: tree too large",
		},
		{"deep live.json", files(t,
			map[string]string{"sys/x": "1", LiveFile: `{"links":` + strings.Repeat("[", 1<<20)}), "read live.json"},
		{
			"live.json of another form", files(t, map[string]string{"sys/x": "1", LiveFile: `{"links": 7}`}),
			"read live.json",
		},
		{"live.json is a folder", files(t, map[string]string{"sys/x": "1", LiveFile + "/x": "1"}), "read live.json"},
		{
			"bad errors", files(t, map[string]string{"sys/x": "1", "errno.json": `{"sys/x": "EWHAT"}`}),
			"errno.json: sys/x",
		},
		{"errors of nothing", files(t, map[string]string{"errno.json": `{"../x": "EIO"}`}), "errno.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openBytes(t, tt.data)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "b.tar.gz") {
				t.Errorf("Open = %v, want an error with %q and the name of the file", err, tt.want)
			}
		})
	}
	if _, err := openBytes(t, sound); err != nil {
		t.Errorf("Open of the sound bundle = %v", err)
	}
	if _, err := openBytes(t, manifest(`{"schema": "rdmakit.bundle/v2"}`)); !errors.Is(err, ErrNewer) {
		t.Errorf("Open of a newer bundle = %v, want ErrNewer", err)
	}
	if _, err := openBytes(t, manifest(`{"schema": "rdmakit.bundle/v0"}`)); !errors.Is(err, ErrOlder) {
		t.Errorf("Open of an older bundle = %v, want ErrOlder", err)
	}
}

// flip damages a byte in the middle.
func flip(data []byte) []byte {
	out := bytes.Clone(data)
	out[len(out)/2] ^= 0x40
	return out
}

// TestRecordingKnowsWhatItDoesNotKnow looks at names that were listed and not read, and at folders
// that were passed.
func TestRecordingKnowsWhatItDoesNotKnow(t *testing.T) {
	tree := nodetree.New()
	for name, text := range map[string]string{
		"sys/class/net/eth0/address": "02:00:00:00:00:01\n", "sys/class/net/eth0/unknown_attribute": "7\n",
		"sys/class/net/bonding_masters": "\n", "sys/class/infiniband/mlx5_0/node_type": "1: CA\n",
		"proc/self/environ": "SECRET=1\x00", "proc/cmdline": "quiet\n", "proc/1/environ": "x\n", "sys/secret": "7\n",
		"sys/class/infiniband/mlx5_0/ports/1/gids/0": "x\n", "etc/shadow": "root\n",
	} {
		if err := tree.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tree.Link("sys/class/net/eth0/device", "/sys/secret"),
		tree.Link("sys/class/net/eth0/master", "../../../../../../outside")); err != nil {
		t.Fatal(err)
	}
	b, err := Record(t.Context(), Options{
		Sources: inventory.Sources{Root: tree.FS()}, Origin: OriginRoot,
		Limits: Limits{FileBytes: 18, TotalBytes: 1 << 20, Entries: 1000, Time: 1 << 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !b.Manifest.Steady {
		t.Error("the bundle doesn't give the snapshot of the node")
	}
	root := b.Tree.FS()
	if text, err := fs.ReadFile(root, "proc/cmdline"); string(text) != "quiet\n" || err != nil {
		t.Errorf("cmdline = %q, %v", text, err)
	}
	for _, name := range []string{"proc/self/environ", "proc/1", "etc/shadow", "outside"} {
		if _, err := fs.Stat(root, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is in the bundle: %v", name, err)
		}
	}
	if len(b.Manifest.Altered) == 0 {
		t.Error("links out of the root are not reported")
	}
	if _, err := fs.ReadDir(root, "etc"); err == nil {
		t.Error("a folder that was not listed lists")
	}
	var out bytes.Buffer
	if err := b.Encode(&out); err != nil {
		t.Fatal(err)
	}
	if _, err := openBytes(t, out.Bytes()); err != nil {
		t.Errorf("Open = %v", err)
	}
}

// TestLimitsAreTold records with bounds too small for the node.
func TestLimitsAreTold(t *testing.T) {
	tree, err := testtrees.Load("02_rocev2_8hca")
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range []Limits{
		{FileBytes: 4, TotalBytes: 1 << 20, Entries: 10000, Time: 1 << 32},
		{FileBytes: 1 << 20, TotalBytes: 100, Entries: 10000, Time: 1 << 32},
		{FileBytes: 1 << 20, TotalBytes: 1 << 20, Entries: 50, Time: 1 << 32},
		{FileBytes: 1 << 20, TotalBytes: 1 << 20, Entries: 10000, Time: 1},
	} {
		b, err := Record(t.Context(), Options{Sources: inventory.Sources{Root: tree.FS()}, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Manifest.Refused) == 0 {
			t.Errorf("%+v: nothing is reported as refused", limits)
		}
		var out bytes.Buffer
		if err := b.Encode(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := openBytes(t, out.Bytes()); err != nil {
			t.Errorf("%+v: Open = %v", limits, err)
		}
	}
}

func TestWriteFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "b")
	if err := WriteFile(name, []byte("1"), false); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(name, []byte("2"), false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("WriteFile over a file = %v, want ErrExist", err)
	}
	if err := WriteFile(name, []byte("3"), true); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(name)
	if string(data) != "3" || err != nil {
		t.Errorf("content = %q, %v", data, err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	if err := WriteFile(filepath.Join(dir, "none", "b"), nil, false); err == nil {
		t.Error("WriteFile into no folder succeeds")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// FuzzFromTree opens what anybody may have made: it must end with a bundle or an error, and a
// bundle must scan.
func FuzzFromTree(f *testing.F) {
	f.Add(packed(f))
	f.Add(files(f, map[string]string{
		"sys/x": "1", ManifestFile: `{"schema":"rdmakit.bundle/v1"}`, LiveFile: `{"links":[{"name":"x"}]}`,
	}))
	f.Add(files(f, map[string]string{
		"proc/x": "1", RoutesFile: `[{"peer":"10.0.0.1"}]`, NamesFile: `{"1:2":["a","b"]}`,
		EnvironmentFile: `{"NCCL_DEBUG":"x"}`,
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := nodetree.FromTarGz(bytes.NewReader(data))
		if err != nil {
			return
		}
		b, err := FromTree(tree)
		if err != nil {
			return
		}
		snap, _ := inventory.Scan(t.Context(), b.Sources())
		if _, err := json.Marshal(snap); err != nil {
			t.Errorf("the snapshot of a bundle doesn't marshal: %v", err)
		}
		b.Routes(snap)
	})
}
