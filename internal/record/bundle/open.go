package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// maxDocument is the largest size of a document at the root, in bytes; the loader limits all files
// to 4 MiB.
const maxDocument = 2 << 20

// Causes of errors for bundles.
var (
	ErrNewer   = errors.New("a newer rdmactl wrote it")  // a higher schema version
	ErrOlder   = errors.New("an older rdmactl wrote it") // a lower one
	ErrDamaged = nodetree.ErrDamaged                     // a part of the archive is missing or wrong
)

// Open reads a bundle: a tar.gz archive, or a tree as text. If it has a manifest, its content must
// match the manifest. Errors name the file, the entry, and the cause; errors about the size match
// [nodetree.ErrTooLarge], and those about an incomplete or changed archive [ErrDamaged].
func Open(name string) (*Bundle, error) {
	tree, err := nodetree.Open(name)
	if err != nil {
		return nil, err
	}
	return named(name, tree)
}

// Read is [Open] for what is open already, such as standard input; name is for errors.
func Read(name string, r io.Reader) (*Bundle, error) {
	tree, err := nodetree.Read(name, r)
	if err != nil {
		return nil, err
	}
	return named(name, tree)
}

func named(name string, tree *nodetree.Tree) (*Bundle, error) {
	b, err := FromTree(tree)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", name, err)
	}
	return b, nil
}

// FromTree returns a bundle for a loaded tree and checks its documents.
func FromTree(tree *nodetree.Tree) (*Bundle, error) {
	b := &Bundle{Tree: tree}
	var m Manifest
	found, err := b.document(ManifestFile, &m)
	if err != nil {
		return nil, err
	}
	if !found && b.fromSnapshot() {
		return nil, fmt.Errorf("%s is missing, so the bundle may be incomplete", ManifestFile)
	}
	if found {
		if err := m.check(tree); err != nil {
			return nil, fmt.Errorf("%s: %w", ManifestFile, err)
		}
		b.Manifest = &m
	}
	// Read all documents once, so that damaged ones are reported now.
	_, liveErr := b.Live()
	_, envErr := b.Environment()
	_, routesErr := b.Answers()
	_, namesErr := b.names()
	_, factsErr := b.Facts()
	if err := errors.Join(liveErr, envErr, routesErr, namesErr, factsErr); err != nil {
		return nil, err
	}
	return b, nil
}

// fromSnapshot reports whether the tree has documents that only Record writes.
func (b *Bundle) fromSnapshot() bool {
	for _, name := range []string{VersionsFile, EnvironmentFile, FindingsDir} {
		if _, err := fs.Stat(b.Tree.FS(), name); err == nil {
			return true
		}
	}
	return false
}

// check validates the manifest and compares it with the tree.
func (m *Manifest) check(t *nodetree.Tree) error {
	version, ok := strings.CutPrefix(m.Schema, "rdmakit.bundle/v")
	n, err := strconv.Atoi(version)
	switch {
	case !ok || err != nil || n < 0 || strconv.Itoa(n) != version: // not "+1" or "01"
		return fmt.Errorf("schema is %.80q, not %q", m.Schema, Schema)
	case n < 1:
		return fmt.Errorf("schema is %q and this program reads %q: %w", m.Schema, Schema, ErrOlder)
	case n > 1:
		return fmt.Errorf("schema is %q and this program reads %q: %w", m.Schema, Schema, ErrNewer)
	}
	entries, size, sum := digest(t)
	switch {
	case entries != m.Entries:
		return fmt.Errorf("it lists %d entries, but the bundle has %d", m.Entries, entries)
	case size != m.Bytes:
		return fmt.Errorf("it lists %d bytes, but the bundle has %d", m.Bytes, size)
	case sum != m.SHA256:
		return fmt.Errorf("the SHA-256 of the entries is %s instead of %.80q: the bundle was changed",
			sum, m.SHA256)
	}
	return nil
}

// document decodes a document at the root; false if it doesn't exist.
func (b *Bundle) document(name string, into any) (bool, error) {
	return Document(b.Tree.FS(), name, into)
}

// Document decodes a JSON document at the root of a recorded node; false if it doesn't exist. The
// error matches [nodetree.ErrTooLarge] for one that no bundle may have.
func Document(root fs.FS, name string, into any) (bool, error) {
	data, err := fs.ReadFile(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxDocument {
		return false, fmt.Errorf("read %s: %w: %d bytes", name, nodetree.ErrTooLarge, len(data))
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return true, nil
}

// Live returns the recorded data of netlink, nil if there is none.
func (b *Bundle) Live() (*inventory.Live, error) {
	live := &inventory.Live{}
	found, err := b.document(LiveFile, live)
	if !found {
		return nil, err
	}
	return live, nil
}

// Facts returns what was recorded of the node beside its inventory: its files, and the answers of
// the kernel if the recording has them.
func (b *Bundle) Facts() (*facts.Facts, error) {
	f := facts.New(b.Tree.FS())
	_, err := b.document(FactsFile, f)
	return f, err
}

// Environment returns the recorded variables; nil if none were recorded, as in a bundle of a
// directory.
func (b *Bundle) Environment() (map[string]string, error) {
	var env map[string]string
	_, err := b.document(EnvironmentFile, &env)
	return env, err
}

// Answers returns the recorded routes to other nodes.
func (b *Bundle) Answers() ([]RouteAnswer, error) {
	var list []RouteAnswer
	_, err := b.document(RoutesFile, &list)
	return list, err
}

func (b *Bundle) names() (map[string][2]string, error) {
	var names map[string][2]string
	_, err := b.document(NamesFile, &names)
	return names, err
}

// Sources returns the bundle as a source of scans: its files, netlink data, names of PCI functions,
// and the time when the node was read.
func (b *Bundle) Sources() inventory.Sources {
	src := inventory.Sources{Root: b.Tree.FS()}
	if live, err := b.Live(); err == nil && live != nil { // FromTree has reported errors
		src.Live = live
	}
	if names, err := b.names(); err == nil && names != nil {
		src.Names = recordedNames(names)
	}
	if b.Manifest != nil && !b.Manifest.Taken.IsZero() {
		taken := b.Manifest.Taken
		src.Now = func() time.Time { return taken }
	}
	return src
}

// Routes returns the recorded routes, and routes from the snapshot for addresses without a recorded
// route.
func (b *Bundle) Routes(snap inventory.Snapshot) launch.RouteFunc {
	otherwise := launch.RoutesOf(snap)
	answers, err := b.Answers()
	if err != nil {
		return otherwise
	}
	return func(dst, src netip.Addr) (launch.Route, error) {
		i := slices.IndexFunc(answers, func(a RouteAnswer) bool { return a.Peer == dst })
		if i < 0 || src.IsValid() {
			return otherwise(dst, src)
		}
		a := answers[i]
		r := launch.Route{Netdev: a.Netdev, Gateway: a.Gateway, Source: a.Source, Evidence: a.Evidence}
		switch {
		case a.NoRoute:
			return launch.Route{}, fmt.Errorf("find route to %s: %w", dst, launch.ErrNoRoute)
		case a.Error != "":
			return r, errors.New(a.Error)
		}
		return r, nil
	}
}

// recordedNames returns the names of PCI functions that were recorded.
type recordedNames map[string][2]string

// Name implements inventory.PCINames.
func (n recordedNames) Name(vendor, device uint16) (string, string) {
	pair := n[idKey(vendor, device)]
	return pair[0], pair[1]
}

// launchPrefixes are the prefixes of the variables that package launch reads.
var launchPrefixes = []string{"NCCL_", "NVSHMEM_", "UCX_", "GLOO_", "MC_", "KSERVE_INFER_"}

// launchEnvironment returns the variables of an environment that package launch reads; nil stays
// nil. It never keeps values that may contain a password, and in a redacted bundle no values that
// may identify a person or a machine (paths, hosts): no rule of launch reads such values.
func launchEnvironment(env map[string]string, redacted bool) map[string]string {
	if env == nil {
		return nil
	}
	out := map[string]string{}
	for name, value := range env {
		known := slices.ContainsFunc(launchPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if known && keeps(name, value, redacted) {
			out[name] = value
		}
	}
	return out
}

// keeps reports whether a variable of a library may be recorded.
func keeps(name, value string, redacted bool) bool {
	secret := strings.Contains(value, "://") && strings.Contains(value, "@")
	return !secret && !(redacted && names(name, value))
}

// names reports whether a variable may identify a person or a machine.
func names(name, value string) bool {
	if name == "NCCL_HOSTID" || name == "NCCL_COMM_ID" {
		return true
	}
	_, err := netip.ParsePrefix(value)
	return strings.ContainsAny(value, "/@") && err != nil
}
