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

// Schema is the version of the bundle format and its manifest.
const Schema = "rdmakit.bundle/v1"

// Documents at the root of a bundle that are not files of the node.
const (
	ManifestFile    = "manifest.json"    // Manifest
	LiveFile        = "live.json"        // inventory.Live
	EnvironmentFile = "environment.json" // object: variables of the recording process that launch reads
	RoutesFile      = "routes.json"      // array of RouteAnswer
	NamesFile       = "names.json"       // object: "15b3:1021" to [vendor, product]
	VersionsFile    = "versions.json"    // Versions
	FactsFile       = "facts.json"       // facts.Facts: what the kernel reported beside its files
	VerbsFile       = "verbs.json"       // recording.Recording: libibverbs' data about the devices
	FindingsDir     = "findings"         // output of the commands for the bundle
)

// Origin is the kind of source that was recorded.
type Origin string

// The origins.
const (
	OriginMachine Origin = "machine" // the machine on which the snapshot command ran
	OriginRoot    Origin = "root"    // a directory (--root)
	OriginBundle  Origin = "bundle"  // another bundle or a tree as text (--from)
)

// Manifest describes a bundle and lists what is missing in it.
type Manifest struct {
	Schema  string `json:"schema"`
	Version string `json:"version"` // of rdmactl
	// Written is the time when the bundle was written. Taken is the time when the node was read; it
	// is absent if the origin has no clock, such as a directory.
	Written  time.Time `json:"written"`
	Taken    time.Time `json:"taken,omitzero"`
	Origin   Origin    `json:"origin"`
	Redacted bool      `json:"redacted"`
	// RedactionKey identifies the key of the redaction: the first bytes of a hash. It is "" for a
	// random key that was used only for this bundle.
	RedactionKey string `json:"redactionKey,omitempty"`
	// Steady reports that a scan of the bundle equals the scan of the node while it was recorded.
	// It is false if the node changed in every attempt.
	Steady bool `json:"steady"`
	// Unreadable lists files that exist but could not be read, Refused files that were left out
	// because of Limits or their content. Altered lists links that were changed.
	Unreadable []inventory.Problem `json:"unreadable"`
	Refused    []inventory.Problem `json:"refused"`
	Altered    []inventory.Problem `json:"altered"`
	Limits     Limits              `json:"limits"`
	Findings   []Finding           `json:"findings"`
	// Entries, Bytes and SHA256 cover all entries except the manifest.
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// Finding is a command that was run on the bundle.
type Finding struct {
	Command string `json:"command"` // without rdmactl
	File    string `json:"file"`    // its standard output
	Exit    int    `json:"exit"`
	Notes   string `json:"notes,omitempty"` // its standard error
}

// Limits are the limits of a recording. The zero value means [DefaultLimits].
type Limits struct {
	FileBytes  int64         `json:"fileBytes"`  // longer files are left out
	TotalBytes int64         `json:"totalBytes"` // of all files together; further files are left out
	Entries    int           `json:"entries"`
	Time       time.Duration `json:"timeNanoseconds"` // for files that the commands don't read
}

// DefaultLimits returns limits that a normal node does not reach and that every loader accepts.
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
