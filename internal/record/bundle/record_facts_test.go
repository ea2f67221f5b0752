package bundle

import (
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// treeOf makes a tree of files.
func treeOf(t *testing.T, files map[string]string) *nodetree.Tree {
	t.Helper()
	tree := nodetree.New()
	for name, text := range files {
		if err := tree.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestVersionsOfPackages(t *testing.T) {
	root := treeOf(t, map[string]string{
		dpkgStatus: "Package: rdma-core\nStatus: install ok installed\nVersion: 44.0-2\n\n" +
			"Package: perftest\nStatus: deinstall ok config-files\nVersion: 4.5-1\n\n" +
			"Package: bash\nStatus: install ok installed\nVersion: 5.2\n",
		"usr/lib/os-release":                               "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		"proc/sys/kernel/osrelease":                        "6.1.0-32-amd64\n",
		"usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0": "",
		"usr/lib/x86_64-linux-gnu/libibverbs.so.1":         "",
	}).FS()
	want := Versions{
		Kernel: "6.1.0-32-amd64", OS: "Debian GNU/Linux 12 (bookworm)", Modules: map[string]string{},
		Libraries: []string{"/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0"},
		Packages:  map[string]string{"rdma-core": "44.0-2"},
	}
	if diff := cmp.Diff(want, readVersions(t.Context(), root)); diff != "" {
		t.Errorf("readVersions (-want +got):\n%s", diff)
	}
}

func TestMachineFilesAreRecorded(t *testing.T) {
	files := map[string]string{"sys/class/net/eth0/mtu": "1500\n"}
	for _, name := range sysfs.MachineFiles {
		files[name] = "here\n"
	}
	b, err := Record(t.Context(), Options{Sources: inventory.Sources{Root: treeOf(t, files).FS()}, Origin: OriginRoot})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if got, err := fs.ReadFile(b.Tree.FS(), name); string(got) != text {
			t.Errorf("%s in the bundle = %q, %v, want %q", name, got, err, text)
		}
	}
}

// changing is a file system in which one file has another content at every third and
// fourth reading.
type changing struct {
	fs.ReadLinkFS
	later fs.FS
	name  string
	reads *atomic.Int32
}

func (c changing) Open(name string) (fs.File, error) {
	if name == c.name && (c.reads.Add(1)-1)/2%2 == 1 {
		return c.later.Open(name)
	}
	return c.ReadLinkFS.Open(name)
}

func (c changing) ReadFile(name string) ([]byte, error) {
	if name == c.name && (c.reads.Add(1)-1)/2%2 == 1 {
		return fs.ReadFile(c.later, name)
	}
	return fs.ReadFile(c.ReadLinkFS, name)
}

// TestUnsteadyNode: a node that changes while it is recorded is reported, because its bundle gives
// other answers than the node did.
func TestUnsteadyNode(t *testing.T) {
	for _, changes := range []bool{false, true} {
		tree, err := testtrees.Load("02_rocev2_8hca")
		if err != nil {
			t.Fatal(err)
		}
		before, ok := tree.FS().(fs.ReadLinkFS)
		if !ok {
			t.Fatal("a tree knows no links")
		}
		const name = "sys/bus/pci/devices/0000:18:00.0/vendor" // a scan reads it for the card and for the port
		later := treeOf(t, map[string]string{name: "0x8086\n"})
		if !changes {
			if later, err = testtrees.Load("02_rocev2_8hca"); err != nil {
				t.Fatal(err)
			}
		}
		root := changing{ReadLinkFS: before, later: later.FS(), name: name, reads: &atomic.Int32{}}
		b, err := Record(t.Context(), Options{Sources: inventory.Sources{Root: root}, Origin: OriginRoot})
		if err != nil {
			t.Fatal(err)
		}
		if b.Manifest.Steady == changes {
			t.Errorf("node that changes %v: steady = %v (%d readings)", changes, b.Manifest.Steady, root.reads.Load())
		}
	}
}

func TestManifestMustBeThere(t *testing.T) {
	for _, name := range []string{VersionsFile, EnvironmentFile, FindingsDir + "/detect.json"} {
		if _, err := FromTree(treeOf(t, map[string]string{name: "{}"})); err == nil {
			t.Errorf("a bundle with %s and without a manifest opens", name)
		}
	}
	if _, err := FromTree(treeOf(t, map[string]string{"sys/class/net/eth0/mtu": "1500\n"})); err != nil {
		t.Errorf("a tree without a manifest: %v", err)
	}
}

func TestKeysThatAnyoneGuesses(t *testing.T) {
	for _, secret := range []string{"short", string(make([]byte, 100)), "abababababababababab"} {
		if _, err := NewRedactor([]byte(secret)); err == nil {
			t.Errorf("NewRedactor(%q) takes it", secret)
		}
	}
}

// TestRedactedStaysRedacted: a copy of a redacted bundle is marked as redacted.
func TestRedactedStaysRedacted(t *testing.T) {
	b, err := Record(t.Context(), Options{
		Sources: inventory.Sources{Root: treeOf(t, map[string]string{"sys/class/net/eth0/mtu": "1\n"}).FS()},
		Origin:  OriginBundle, Redacted: true, RedactionKey: "12ab",
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := b.Manifest; !m.Redacted || m.RedactionKey != "12ab" {
		t.Errorf("manifest of the copy: redacted %v with %q", m.Redacted, m.RedactionKey)
	}
}

// TestFactsAreRedacted has what would identify a machine in the kernel's answers.
func TestFactsAreRedacted(t *testing.T) {
	r := testRedactor(t)
	text := `{"modules": {"value": [{"netdev": "eth0", "partNumber": "MMA1B00-SS1", "serial": "MT1834FT03846"}]},
		"kernelLog": {"value": [{"text": "mlx5_core 0000:3b:00.0: a0:88:c2:69:11:9e joins 10.77.3.4"}]}}`
	got, ok := r.file(FactsFile, []byte(text))
	if !ok {
		t.Fatal("facts.json is refused")
	}
	for _, secret := range []string{"MT1834FT03846", "a0:88:c2:69:11:9e", "10.77.3.4"} {
		if strings.Contains(got, secret) {
			t.Errorf("the bundle tells %s: %s", secret, got)
		}
	}
	for _, kept := range []string{"MMA1B00-SS1", "0000:3b:00.0", `"serial": "serial-`} {
		if !strings.Contains(got, kept) {
			t.Errorf("the bundle lacks %s: %s", kept, got)
		}
	}
}
