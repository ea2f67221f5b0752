package bundle

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// identifiers are the identifiers of a node that can't be recognised by their form alone.
type identifiers struct {
	macs     map[[6]byte]bool
	prefixes map[[8]byte]bool // upper halves of GIDs
	plain    map[string]bool  // hexadecimal digits of MAC addresses, GUIDs and GIDs
	hosts    hostNames
	memo     map[string]string // replaced tokens
}

// collect finds the identifiers of a recorded node.
func collect(t *nodetree.Tree) identifiers {
	ids := identifiers{
		macs: map[[6]byte]bool{}, prefixes: map[[8]byte]bool{}, plain: map[string]bool{}, memo: map[string]string{},
		hosts: collectHosts(t),
	}
	for e := range t.Entries() {
		if e.Mode != 0 || isVersion(e.Name) {
			continue
		}
		for _, token := range addressToken.FindAllString(string(e.Data), -1) {
			ids.add(token)
		}
		for _, token := range dashedMAC.FindAllString(string(e.Data), -1) {
			ids.add(strings.ReplaceAll(token, "-", ":"))
		}
	}
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

// Learn collects the identifiers of a node that [Redactor.Text] can't recognise by their form: host
// names, and digits without separators.
func (r *Redactor) Learn(t *nodetree.Tree) { r.node = collect(t) }
