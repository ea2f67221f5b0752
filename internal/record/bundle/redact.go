package bundle

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// Redactor replaces identifiers by others of the same form: addresses, GUIDs, GIDs, UUIDs, serial
// numbers and host names. Equal identifiers have equal replacements, and relations are kept: two
// addresses share as many leading bits as before, the interface part of a GID corresponds to its
// MAC address or GUID, an IPv4-mapped GID to its address. The kind of an address is kept (private,
// link-local, multicast …), and so are values that identify no node: zero, loopback, broadcast,
// netmasks, the default subnet prefix, and the vendor part of MAC addresses and GUIDs.
//
// Without the key the replacement can't be reversed. But anyone who knows an address and its
// replacement knows the part that it shares with other addresses of its subnet.
type Redactor struct {
	key   []byte
	known string // of Manifest.RedactionKey
	node  identifiers
}

// minKey is the minimum length of a secret, in bytes.
const minKey = 16

// minDistinct is the minimum number of different bytes in a secret; 16 random hexadecimal digits
// have fewer than 5 once in a hundred million times.
const minDistinct = 5

// NewRedactor returns a redactor. Redactors with the same secret use the same replacements, so that
// bundles of several nodes can be compared; nil means a random key for one bundle.
func NewRedactor(secret []byte) (*Redactor, error) {
	if secret == nil {
		key := make([]byte, sha256.Size)
		if _, err := rand.Read(key); err != nil {
			return nil, fmt.Errorf("make redaction key: %w", err)
		}
		return &Redactor{key: key}, nil
	}
	if len(secret) < minKey {
		return nil, fmt.Errorf("redaction key has %d bytes, but needs %d", len(secret), minKey)
	}
	distinct := map[byte]bool{}
	for _, b := range secret {
		distinct[b] = true
	}
	if len(distinct) < minDistinct {
		return nil, fmt.Errorf(
			"redaction key has %d different bytes, but needs %d: anyone who guesses the key can undo the redaction",
			len(distinct), minDistinct)
	}
	sum := sha256.Sum256(append([]byte("rdmakit redaction key\x00"), secret...))
	r := &Redactor{key: sum[:]}
	r.known = hex.EncodeToString(r.prf("name of the key", nil)[:4])
	return r, nil
}

// prf is a keyed hash of a value of a domain.
func (r *Redactor) prf(domain string, value []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	_, _ = h.Write([]byte(domain + "\x00")) // a hash never fails
	_, _ = h.Write(value)
	return h.Sum(nil)
}

// apply redacts a recorded bundle.
func (r *Redactor) apply(b *Bundle) error {
	r.Learn(b.Tree)
	out := nodetree.New()
	for e := range b.Tree.Entries() {
		if e.Name == "." {
			continue
		}
		if err := r.entry(b, out, e); err != nil {
			return fmt.Errorf("/%s: %w", e.Name, err)
		}
	}
	b.Tree = out
	m := b.Manifest
	m.Redacted, m.RedactionKey = true, r.known
	for i := range m.Unreadable {
		m.Unreadable[i].Path = r.Text(m.Unreadable[i].Path)
	}
	for i := range m.Refused {
		m.Refused[i].Path = r.Text(m.Refused[i].Path)
	}
	for i := range m.Altered {
		m.Altered[i].Path, m.Altered[i].Error = r.Text(m.Altered[i].Path), r.Text(m.Altered[i].Error)
	}
	return nil
}

func (r *Redactor) entry(b *Bundle, out *nodetree.Tree, e nodetree.Entry) error {
	name := r.path(e.Name)
	switch e.Mode {
	case fs.ModeDir:
		if err := out.Mkdir(name); err != nil {
			return err
		}
	case fs.ModeSymlink:
		return out.Link(name, r.path(e.Link))
	default:
		data, ok := r.file(e.Name, e.Data)
		if !ok {
			b.Manifest.Refused = append(b.Manifest.Refused, refusedBinary(e.Name))
			return out.SetError(name, syscall.ENODATA)
		}
		if err := out.Set(name, data); err != nil {
			return err
		}
	}
	if e.Errno != 0 {
		return out.SetError(name, e.Errno)
	}
	return nil
}

// path redacts device names that are derived from addresses, element by element.
func (r *Redactor) path(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = r.deviceNames(p)
	}
	return strings.Join(parts, "/")
}

// file redacts the content of a file; false if it is not text.
func (r *Redactor) file(name string, data []byte) (string, bool) {
	if bytes.IndexByte(data, 0) >= 0 || path.Base(name) == "vpd" {
		return "", false
	}
	text := string(data)
	switch base := path.Base(name); {
	case name == sysfs.ProcNetRoute:
		return r.routeTable(text), true
	case strings.HasSuffix(name, "/net/route") && strings.HasPrefix(name, "proc/"):
		return r.routeTable(text), true
	case strings.HasPrefix(name, "proc/") && (base == "ipv6_route" || base == "if_inet6"):
		return r.hexTable(text), true
	case isVersion(name):
		return text, true // 24.10.1.4 is not an address
	case base == "hostname" || base == "node_desc":
		return r.hostFile(base, text), true
	case base == "cmdline":
		return r.commandLine(text), true
	case base == "modules" && strings.HasPrefix(name, "proc/"):
		return kernelPointer.ReplaceAllString(text, "0x0000000000000000"), true
	case base == "serial" || base == "serial_number":
		return r.serial(text), true
	case name == FactsFile:
		return r.facts(text), true
	case base == "srcversion", base == "local_cpus":
		return text, true
	}
	return r.Text(text), true
}

// isVersion reports whether a file contains only versions.
func isVersion(name string) bool {
	base := path.Base(name)
	return base == "version" || base == "fw_ver" || base == "osrelease" || base == "os-release" ||
		base == "bios_version" ||
		name == VersionsFile || name == NamesFile
}
