package k8s

import "strings"

// Maximum lengths of names in the API server, in characters (RFC 1123; Kubernetes,
// apimachinery/pkg/util/validation).
const (
	LongestLabel     = 63  // a namespace, and a part of a name
	LongestSubdomain = 253 // an object
)

// IsLabel reports whether s is a DNS label: lower case letters, digits and -, with a letter or
// digit at both ends. It doesn't check the length.
func IsLabel(s string) bool {
	for i, r := range s {
		end := i == 0 || i == len(s)-1
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && (r != '-' || end) {
			return false
		}
	}
	return s != ""
}

// IsSubdomain reports whether s consists of DNS labels separated by dots. It doesn't check the
// length.
func IsSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !IsLabel(part) {
			return false
		}
	}
	return true
}
