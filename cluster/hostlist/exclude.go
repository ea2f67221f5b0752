package hostlist

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// exclude removes the excluded hosts. An exclusion of no host of the list is an error: a misspelt
// one would leave a host in the list that must not be touched.
func (p *parser) exclude() error {
	if len(p.excluded) == 0 {
		return nil
	}
	listed := make(map[string]bool, len(p.hosts))
	for _, h := range p.hosts {
		listed[h.key()] = true
	}
	excluded := make(map[string]bool, len(p.excluded))
	for _, x := range p.excluded {
		if !listed[x.key()] {
			return p.fail(x.line, x.offset, "-"+x.name, p.unlisted(x.key()))
		}
		excluded[x.key()] = true
	}
	p.hosts = slices.DeleteFunc(p.hosts, func(h host) bool { return excluded[h.key()] })
	return nil
}

// unlisted is the cause if an excluded host is not in the list. It proposes a host of which letters
// were misspelt; of hosts with other numbers, none is more likely than the others.
func (p *parser) unlisted(name string) error {
	keys := make([]string, len(p.hosts))
	for i, h := range p.hosts {
		keys[i] = h.key()
	}
	near := spelling.Nearest(name, keys, spelling.Strict)
	if near != "" && letters(near) != letters(name) {
		return fmt.Errorf("excludes a host that is not in the list (%s?)", near)
	}
	return errors.New("excludes a host that is not in the list")
}

// letters returns a name without its digits.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, name)
}
