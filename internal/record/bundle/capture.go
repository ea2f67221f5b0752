package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/kserve"
)

// Options are the options of [Record]. Sources.Root is required.
type Options struct {
	Sources inventory.Sources
	Origin  Origin
	Version string // of rdmactl
	// Now returns the time of writing; nil means time.Now.
	Now func() time.Time
	// Taken is the time when the node was read, if the origin is a bundle.
	Taken time.Time
	// Redacted and RedactionKey are those of the original bundle.
	Redacted     bool
	RedactionKey string
	// Environment is the environment of the process; only variables that package launch reads are
	// recorded.
	Environment map[string]string
	// Peers are addresses whose routes are recorded with Routes.
	Peers  []netip.Addr
	Routes func(inventory.Snapshot) launch.RouteFunc
	// Answers are the recorded routes of the original bundle.
	Answers []RouteAnswer
	// Patterns name further files that checks read: patterns of [path.Match] over absolute paths.
	Patterns []string
	// Facts returns what the kernel reports about the node beside its files; nil for nothing.
	Facts func(context.Context, *inventory.Snapshot) *facts.Facts
	// Extra are further files at the root, such as the data of libibverbs, by name.
	Extra  map[string][]byte
	Limits Limits // the zero value: DefaultLimits
	// Redact replaces identifiers in all recorded data; nil keeps them.
	Redact *Redactor
	// Noted, if it is not nil, is called with each entry of the recording that is new. A node that
	// doesn't hold still is recorded again. Calls don't overlap.
	Noted func()
}

// RouteAnswer is the kernel's route to an address.
type RouteAnswer struct {
	Peer     netip.Addr `json:"peer"`
	Netdev   string     `json:"netdev,omitempty"`
	Gateway  netip.Addr `json:"gateway,omitzero"`
	Source   netip.Addr `json:"source,omitzero"`
	Evidence string     `json:"evidence,omitempty"`
	NoRoute  bool       `json:"noRoute,omitempty"` // the error was launch.ErrNoRoute
	Error    string     `json:"error,omitempty"`
}

// Bundle is a recorded node. A tree as text is also a bundle, without a manifest.
type Bundle struct {
	Tree     *nodetree.Tree
	Manifest *Manifest // nil unless the snapshot command wrote the bundle
}

// attempts is the largest number of recordings of a node that changes while it is recorded.
const attempts = 3

// Record records a node. It returns an error only if nothing could be recorded or ctx ended; the
// manifest lists files that could not be read.
func Record(ctx context.Context, o Options) (*Bundle, error) {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	var b *Bundle
	for range attempts {
		var err error
		if b, err = o.once(ctx); err != nil {
			return nil, fmt.Errorf("record node: %w", err)
		}
		if b.Manifest.Steady {
			break
		}
	}
	if o.Redact != nil {
		if err := o.Redact.apply(b); err != nil {
			return nil, fmt.Errorf("redact bundle: %w", err)
		}
	}
	return b, nil
}

// once records the node and reports in the manifest whether the node changed in the meantime.
func (o *Options) once(ctx context.Context) (*Bundle, error) {
	r := newRecorder(o.Sources.Root, o.Limits)
	r.noted = o.Noted
	live := &liveRecorder{from: o.Sources.Live}
	names := &nameRecorder{from: o.Sources.Names, seen: map[string][2]string{}}
	src := inventory.Sources{Root: r.FS(), Now: o.Sources.Now}
	if o.Sources.Live != nil {
		src.Live = live
	}
	if o.Sources.Names != nil {
		src.Names = names
	}
	snap, _ := inventory.Scan(ctx, src) // the recording has its errors
	taken := snap.Taken
	if taken.IsZero() {
		taken = o.Taken
	}
	o.readLikeCommands(ctx, src.Root, &snap)
	limited, cancel := context.WithTimeout(ctx, o.Limits.Time)
	defer cancel()
	readExtras(limited, src.Root)
	r.readPatterns(limited, src.Root, o.patterns())
	o.readOwnGroup(src.Root)
	versions := readVersions(limited, o.Sources.Root)
	r.complete(ctx)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if limited.Err() != nil {
		r.refused["/"] = "the time limit for further files was reached after " + o.Limits.Time.String()
	}
	tree, err := r.tree()
	if err != nil {
		return nil, err
	}
	b := &Bundle{Tree: tree, Manifest: &Manifest{
		Schema: Schema, Version: o.Version, Written: o.Now().UTC(), Taken: taken, Origin: o.Origin, Limits: o.Limits,
		Redacted: o.Redacted, RedactionKey: o.RedactionKey,
		Unreadable: r.unreadable(), Refused: problems(r.refused), Altered: problems(r.altered), Findings: []Finding{},
	}}
	if err := o.addFacts(ctx, b, &snap); err != nil {
		return nil, err
	}
	if err := o.documents(b, live, names, &snap, versions); err != nil {
		return nil, err
	}
	b.Manifest.Steady = sameScan(ctx, b, src, snap)
	return b, nil
}

// readLikeCommands reads the files that commands read in addition to a scan.
func (o *Options) readLikeCommands(ctx context.Context, root fs.FS, snap *inventory.Snapshot) {
	for d, p := range snap.Ports() {
		_, _ = inventory.ReadCounters(ctx, root, d.Name, p.Number) // noted
	}
	env := maps.Clone(o.Environment)
	if env == nil {
		env = map[string]string{}
	}
	env["KSERVE_INFER_ROCE"] = "true"
	_, _ = kserve.Derive(root, env) // noted
	for _, name := range []string{"sys", "proc", "dev"} {
		_, _ = fs.Stat(root, name)
	}
}

// documents adds the documents at the root.
func (o *Options) documents(
	b *Bundle, live *liveRecorder, names *nameRecorder, snap *inventory.Snapshot, v Versions,
) error {
	docs := map[string]any{VersionsFile: v}
	if l := live.recorded(); l != nil {
		docs[LiveFile] = l
	}
	if len(names.seen) > 0 {
		docs[NamesFile] = names.seen
	}
	if env := launchEnvironment(o.Environment, o.Redact != nil); env != nil {
		docs[EnvironmentFile] = env
	}
	if answers := o.routes(snap); len(answers) > 0 {
		docs[RoutesFile] = answers
	}
	for name, doc := range docs {
		if err := b.AddJSON(name, doc); err != nil {
			return err
		}
	}
	for name, data := range o.Extra {
		if err := b.Add(name, data); err != nil {
			return err
		}
	}
	return nil
}

// routes returns the route to each peer.
func (o *Options) routes(snap *inventory.Snapshot) []RouteAnswer {
	answers := slices.Clone(o.Answers)
	if o.Routes == nil {
		return answers
	}
	ask := o.Routes(*snap)
	for _, peer := range o.Peers {
		r, err := ask(peer, netip.Addr{})
		a := RouteAnswer{
			Peer: peer, Netdev: r.Netdev, Gateway: r.Gateway, Source: r.Source, Evidence: r.Evidence,
			NoRoute: errors.Is(err, launch.ErrNoRoute),
		}
		if err != nil {
			a.Error = err.Error()
		}
		answers = append(answers, a)
	}
	return answers
}

// sameScan reports whether a scan of the bundle equals the snapshot of the node.
func sameScan(ctx context.Context, b *Bundle, src inventory.Sources, snap inventory.Snapshot) bool {
	again := b.Sources()
	again.Names, again.Now = src.Names, nil
	got, _ := inventory.Scan(ctx, again)
	got.Taken = snap.Taken
	return reflect.DeepEqual(got, snap) || sameJSON(got, snap)
}

// sameJSON compares the JSON forms of two values, in which empty and absent lists are equal.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Add adds a document to the bundle.
func (b *Bundle) Add(name string, data []byte) error {
	if err := b.Tree.Set(name, string(data)); err != nil {
		return fmt.Errorf("add to bundle: %w", err)
	}
	return nil
}

// AddJSON adds a document in JSON to the bundle.
func (b *Bundle) AddJSON(name string, doc any) error {
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return fmt.Errorf("add %s to bundle: %w", name, err)
	}
	if len(text) >= maxDocument {
		return fmt.Errorf("add %s to bundle: %w: %d bytes, which no program could open",
			name, nodetree.ErrTooLarge, len(text))
	}
	return b.Add(name, append(text, '\n'))
}

// Encode completes the manifest and writes the bundle.
func (b *Bundle) Encode(w io.Writer) error {
	if b.Manifest == nil {
		return errors.New("write bundle: no manifest")
	}
	b.Manifest.seal(b.Tree)
	if err := b.AddJSON(ManifestFile, b.Manifest); err != nil {
		return err
	}
	if err := b.Tree.WriteTarGz(w, b.Manifest.Written, ManifestFile); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// liveRecorder requests the data from the kernel once and keeps it.
type liveRecorder struct {
	from inventory.LiveSource
	once sync.Once
	live *inventory.Live
	err  error
}

// Live implements inventory.LiveSource.
func (l *liveRecorder) Live(ctx context.Context) (*inventory.Live, error) {
	l.once.Do(func() { l.live, l.err = l.from.Live(ctx) })
	return l.live, l.err
}

// recorded returns the data, including the error; nil if it was not requested.
func (l *liveRecorder) recorded() *inventory.Live {
	if l.live == nil {
		return nil
	}
	out := *l.live
	if l.err != nil {
		out.Error = l.err.Error()
	}
	return &out
}

// nameRecorder records the names of PCI functions that were looked up.
type nameRecorder struct {
	from inventory.PCINames
	seen map[string][2]string
}

// Name implements inventory.PCINames.
func (n *nameRecorder) Name(vendor, device uint16) (string, string) {
	v, p := n.from.Name(vendor, device)
	n.seen[idKey(vendor, device)] = [2]string{v, p}
	return v, p
}

func idKey(vendor, device uint16) string { return fmt.Sprintf("%04x:%04x", vendor, device) }
