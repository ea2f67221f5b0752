package nodetree

import (
	"cmp"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// compareNatural compares names, with numbers in them in numerical order: mlx5_2 < mlx5_10. PCI
// addresses, whose numbers are hexadecimal with a fixed width, are compared as text.
func compareNatural(a, b string) int {
	if isAddress(a) || isAddress(b) {
		return cmp.Compare(a, b)
	}
	return sysfs.NaturalCompare(a, b)
}

// isAddress reports whether a name has the form of a PCI device or bus: 0000:18:00.0, pci0000:10.
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
