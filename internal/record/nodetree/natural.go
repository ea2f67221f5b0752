package nodetree

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// compareNatural orders names so that numbers in them count as numbers:
// mlx5_2 < mlx5_10. PCI addresses, whose numbers are hexadecimal with a fixed
// width, keep the plain order.
func compareNatural(a, b string) int {
	if isAddress(a) || isAddress(b) {
		return cmp.Compare(a, b)
	}
	return sysfs.NaturalCompare(a, b)
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
