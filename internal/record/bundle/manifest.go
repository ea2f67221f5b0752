package bundle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// Schema is the version of the form of a bundle and of its manifest.
const Schema = "rdmakit.bundle/v1"

// Documents at the top of a bundle that are not files of the node.
const (
	ManifestFile    = "manifest.json"    // Manifest
	LiveFile        = "live.json"        // inventory.Live
	EnvironmentFile = "environment.json" // object: variables of the recording process that launch reads
	RoutesFile      = "routes.json"      // array of RouteAnswer
	NamesFile       = "names.json"       // object: "15b3:1021" to [vendor, product]
	VersionsFile    = "versions.json"    // Versions
	VerbsFile       = "verbs.json"       // recording.Recording: what libibverbs said of the devices
	FindingsDir     = "findings"         // what the commands say of the bundle
)

// Origin tells what was recorded.
type Origin string

// The origins.
const (
	OriginMachine Origin = "machine" // the machine that recorded
	OriginRoot    Origin = "root"    // a folder (--root)
	OriginBundle  Origin = "bundle"  // another bundle or a tree as text (--from)
)

// Manifest says what a bundle is and what is missing in it.
type Manifest struct {
	Schema  string `json:"schema"`
	Version string `json:"version"` // of rdmactl
	// Written is when the bundle was made. Taken is when the node was read; it is
	// absent where the origin had no clock, such as a folder.
	Written  time.Time `json:"written"`
	Taken    time.Time `json:"taken,omitzero"`
	Origin   Origin    `json:"origin"`
	Redacted bool      `json:"redacted"`
	// RedactionKey tells bundles apart that were redacted with different keys: the
	// first bytes of a hash. "" when the key was made for this bundle alone.
	RedactionKey string `json:"redactionKey,omitempty"`
	// Steady tells that a scan of the bundle equals the scan of the node while it
	// was recorded. A node that changes all the time may not hold still for it.
	Steady bool `json:"steady"`
	// Unreadable lists what was there and could not be read, Refused what was
	// left out because of Limits or what it holds. Altered lists links that had to change.
	Unreadable []inventory.Problem `json:"unreadable"`
	Refused    []inventory.Problem `json:"refused"`
	Altered    []inventory.Problem `json:"altered"`
	Limits     Limits              `json:"limits"`
	Findings   []Finding           `json:"findings"`
	// Entries, Bytes and SHA256 are of all entries but the manifest itself.
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// Finding is a command that was run on the bundle.
type Finding struct {
	Command string `json:"command"` // without rdmactl
	File    string `json:"file"`    // what it printed to standard output
	Exit    int    `json:"exit"`
	Notes   string `json:"notes,omitempty"` // what it printed to standard error
}

// Limits bound a recording. The zero value means [DefaultLimits].
type Limits struct {
	FileBytes  int64         `json:"fileBytes"`  // longer files are refused
	TotalBytes int64         `json:"totalBytes"` // of all files together; what goes beyond is read and refused
	Entries    int           `json:"entries"`
	Time       time.Duration `json:"timeNanoseconds"` // for the files beyond those of the commands
}

// DefaultLimits returns bounds that no sound node reaches and that every loader accepts.
func DefaultLimits() Limits {
	return Limits{FileBytes: 1 << 20, TotalBytes: 24 << 20, Entries: 120_000, Time: 20 * time.Second}
}

// seal fills in the totals.
func (m *Manifest) seal(t *nodetree.Tree) {
	m.Entries, m.Bytes, m.SHA256 = digest(t)
}

// digest covers names, kinds, contents, link targets and errors of all entries but the manifest.
func digest(t *nodetree.Tree) (entries int, size int64, sum string) {
	h := sha256.New()
	field := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		_, _ = h.Write(n[:]) // a hash never fails
		_, _ = h.Write(b)
	}
	for e := range t.Entries() {
		if e.Name == ManifestFile || e.Name == "." {
			continue
		}
		entries++
		size += int64(len(e.Data))
		errno, _ := sysfs.ErrnoName(e.Errno)
		kind := "file"
		switch e.Mode {
		case fs.ModeDir:
			kind = "dir"
		case fs.ModeSymlink:
			kind = "link"
		}
		for _, s := range []string{e.Name, kind, e.Link, errno} {
			field([]byte(s))
		}
		field(e.Data)
	}
	return entries, size, hex.EncodeToString(h.Sum(nil))
}
