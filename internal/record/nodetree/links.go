package nodetree

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"
)

// walk resolves a path from a directory. It resolves symbolic links inside the root, including
// absolute ones; the last element only with follow. The caller holds mu.
func (t *Tree) walk(from *node, rest string, follow bool) (*node, error) {
	return t.resolve(from, rest, follow, nil)
}

// resolve is like walk. With a budget it works for a loader: it counts its steps, because each link
// may lead through 40 others of 4096 bytes, and it ignores injected errors of directories.
func (t *Tree) resolve(from *node, rest string, follow bool, b *budget) (*node, error) {
	if b != nil {
		if err := b.path(rest); err != nil {
			return nil, err
		}
	}
	cur, links := from, 0
	for rest != "" {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		if elem == "" || elem == "." {
			continue
		}
		if !cur.isDir() {
			return nil, syscall.ENOTDIR
		}
		if b == nil && cur.errno != 0 && failsAtOpen(cur.errno) {
			return nil, cur.errno
		}
		if elem == ".." {
			if cur = cur.parent; cur == nil {
				return nil, ErrEscape
			}
			continue
		}
		next, ok := cur.children[elem]
		if !ok {
			return nil, syscall.ENOENT
		}
		if !next.isLink() || (rest == "" && !follow) {
			cur = next
			continue
		}
		if links++; links > maxLinks || len(rest) > maxPath {
			return nil, syscall.ELOOP
		}
		if strings.HasPrefix(next.link, "/") {
			cur = t.root
		}
		rest = next.link + "/" + rest
		if b != nil {
			if err := b.path(rest); err != nil {
				return nil, err
			}
		}
	}
	return cur, nil
}

// checkLinks rejects links that are absolute or lead out of the root, and a tree whose links take
// more steps than the budget allows. The caller holds mu.
func (t *Tree) checkLinks(b *budget) error { return t.checkLinksOf(t.root, 0, b) }

// checkLinksOf checks below a directory, which is depth directories below the root.
func (t *Tree) checkLinksOf(dir *node, depth int, b *budget) error {
	for _, n := range dir.sorted() {
		var err error
		switch {
		case n.isDir():
			if err := t.checkLinksOf(n, depth+1, b); err != nil {
				return err
			}
		case n.isLink():
			err = t.checkLink(n, depth, b)
		}
		if err != nil {
			return fmt.Errorf("link %.200s -> %.200s: %w", n.path(), n.link, err)
		}
	}
	return nil
}

// checkLink checks the text of a link, because a dangling link may lead out of the root, and
// resolves it, because it may lead out through another link.
func (t *Tree) checkLink(n *node, depth int, b *budget) error {
	if strings.HasPrefix(n.link, "/") || leadsAbove(n.link, depth) {
		return ErrEscape
	}
	_, err := t.resolve(n.parent, n.name, true, b)
	if errors.Is(err, ErrEscape) || errors.Is(err, ErrTooLarge) {
		return err
	}
	return nil // nodes may have dangling links and loops
}

// leadsAbove reports whether a relative path, as text, leads above the root from a directory of
// that depth. It does not need the full path, which may be long.
func leadsAbove(name string, depth int) bool {
	for elem := range strings.SplitSeq(name, "/") {
		switch elem {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

// path returns the path from the root.
func (n *node) path() string {
	name := n.name
	for n = n.parent; n != nil && n.parent != nil; n = n.parent {
		name = path.Join(n.name, name)
	}
	return name
}
