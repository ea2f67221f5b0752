package nodetree

import (
	"cmp"
	"strings"
)

// compareNatural orders names so that numbers in them count as numbers:
// mlx5_2 < mlx5_10. PCI addresses, whose numbers are hexadecimal with a fixed
// width, keep the plain order. Names that differ only in leading zeros fall
// back to it too, so that the order is total.
func compareNatural(a, b string) int {
	if isAddress(a) || isAddress(b) {
		return cmp.Compare(a, b)
	}
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			m, n := digits(x), digits(y)
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// comparePath orders paths component by component, so that a directory's
// entries stay together.
func comparePath(a, b string) int {
	for a != "" && b != "" {
		x, restA, _ := strings.Cut(a, "/")
		y, restB, _ := strings.Cut(b, "/")
		if c := compareNatural(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

// isAddress tells whether a name looks like one of a PCI device or bus: 0000:18:00.0, pci0000:10.
func isAddress(name string) bool {
	domain, _, ok := strings.Cut(strings.TrimPrefix(name, "pci"), ":")
	return ok && len(domain) >= 4 && strings.Trim(domain, "0123456789abcdef") == ""
}

// digits returns the length of the run of digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
