package bundle

import (
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/nodetree"
	"github.com/rdmakit/rdmakit/internal/sysfs"
)

// identifiers are those of a node that can't be told by their form alone.
type identifiers struct {
	macs     map[[6]byte]bool
	prefixes map[[8]byte]bool // upper halves of GIDs
	plain    map[string]bool  // hexadecimal digits of MAC addresses, GUIDs and GIDs
	// hostPattern matches the node's names as whole words, as its first group; nil without one.
	hostPattern *regexp.Regexp
	memo        map[string]string // replaced tokens
}

// collect finds the identifiers of a recorded node.
func collect(t *nodetree.Tree) identifiers {
	ids := identifiers{macs: map[[6]byte]bool{}, prefixes: map[[8]byte]bool{}, plain: map[string]bool{}, memo: map[string]string{}}
	var hosts []string
	devices := map[string]bool{}
	for e := range t.Entries() {
		if path.Dir(e.Name) == sysfs.ClassInfiniBand || path.Dir(e.Name) == sysfs.ClassNet {
			devices[path.Base(e.Name)] = true
		}
	}
	for e := range t.Entries() {
		if e.Mode != 0 || isVersion(e.Name) {
			continue
		}
		text := string(e.Data)
		for _, token := range addressToken.FindAllString(text, -1) {
			ids.add(token)
		}
		switch path.Base(e.Name) {
		case "hostname":
			hosts = append(hosts, hostNames(strings.TrimSpace(text))...)
		case "node_desc":
			hosts = append(hosts, describedHost(strings.Fields(text), devices)...)
		}
	}
	hosts = slices.DeleteFunc(hosts, func(h string) bool { return devices[h] })
	ids.hostPattern = hostPattern(hosts)
	return ids
}

// add keeps an identifier that has a fixed form.
func (ids *identifiers) add(token string) {
	token, _, _ = strings.Cut(strings.TrimRight(token, ":."), "/")
	b, _, ok := groups(token)
	if !ok {
		b, ok = expanded(token)
	}
	if !ok || allSame(b) {
		return
	}
	switch len(b) {
	case 6:
		ids.macs[[6]byte(b)] = true
	case 16:
		ids.prefixes[[8]byte(b)] = true
	case 20:
		ids.prefixes[[8]byte(b[4:])] = true
		return
	}
	ids.plain[hex.EncodeToString(b)] = true
}

func allSame(b []byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x != b[0] })
}

// hostNames returns a name and its first label, "" and what every node is called left out.
func hostNames(name string) []string {
	if slices.Contains([]string{"", "(none)", "localhost", "localhost.localdomain"}, name) {
		return nil
	}
	short, _, _ := strings.Cut(name, ".")
	return []string{name, short}
}

// describedHost returns the host in a node description such as "gpu-00 mlx5_0" or "gpu-00 HCA-1".
func describedHost(words []string, devices map[string]bool) []string {
	if len(words) == 2 && (devices[words[1]] || strings.HasPrefix(words[1], "HCA-")) {
		return hostNames(words[0])
	}
	return nil
}

// hostPattern matches any of the names as a whole word, the longest first.
func hostPattern(names []string) *regexp.Regexp {
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	names = slices.Compact(slices.DeleteFunc(names, func(n string) bool { return n == "" }))
	if len(names) == 0 {
		return nil
	}
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, regexp.QuoteMeta(n))
	}
	return regexp.MustCompile(`(?i)(?:^|[^0-9A-Za-z_-])(` + strings.Join(quoted, "|") + `)\b`)
}

// Learn makes Text know the identifiers of a node that can't be told by their form:
// host names, and digits without separators.
func (r *Redactor) Learn(t *nodetree.Tree) { r.node = collect(t) }
