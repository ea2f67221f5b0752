package bundle

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// A bundle of a node with more entries than fit must be one that opens, and say so with a path as
// all others have it.
func TestFullBundleOpens(t *testing.T) {
	tree := nodetree.New()
	for i := range 20_000 {
		if err := tree.Set(fmt.Sprintf("sys/class/net/a-network-device-of-a-node-%05d/mtu", i), "1500\n"); err != nil {
			t.Fatal(err)
		}
	}
	limits := DefaultLimits()
	limits.Entries = 1000
	b, err := Record(t.Context(),
		Options{Sources: inventory.Sources{Root: tree.FS()}, Origin: OriginRoot, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := b.Encode(&out); err != nil {
		t.Fatal(err)
	}
	if _, err := openBytes(t, out.Bytes()); err != nil {
		t.Errorf("Open(a bundle that Record wrote) = %v", err)
	}
	for _, p := range b.Manifest.Refused {
		if !strings.HasPrefix(p.Path, "/") {
			t.Fatalf("refused %q, want an absolute path", p.Path)
		}
	}
}

func TestBondingIsRecorded(t *testing.T) {
	tree := nodetree.New()
	for name, text := range map[string]string{
		"proc/net/bonding/bond0": "Ethernet Channel Bonding Driver\n", "sys/class/net/bond0/mtu": "1500\n",
	} {
		if err := tree.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Record(t.Context(), Options{Sources: inventory.Sources{Root: tree.FS()}, Origin: OriginRoot})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(b.Tree.FS(), "proc/net/bonding/bond0"); err != nil || len(got) == 0 {
		t.Errorf("bond0 in the bundle = %q, %v", got, err)
	}
}

func TestRedactJoinedAddresses(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{"10.1.2.3:10.1.2.4", "a=10.1.2.3:4791:10.1.2.4:4791"} {
		if got := r.Text(text); strings.Contains(got, "10.1.2.3") || strings.Contains(got, "10.1.2.4") {
			t.Errorf("Text(%q) = %q, want no address of the node", text, got)
		}
	}
}
