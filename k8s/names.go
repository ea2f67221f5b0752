package k8s

import "strings"

// The longest names that the API server takes, in characters (RFC 1123; Kubernetes,
// apimachinery/pkg/util/validation).
const (
	LongestLabel     = 63  // a namespace, and a part of a name
	LongestSubdomain = 253 // an object
)

// IsLabel reports a name of one part: lower case letters, digits and -, with a letter or digit at
// both ends. Its length is not judged.
func IsLabel(s string) bool {
	for i, r := range s {
		end := i == 0 || i == len(s)-1
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && (r != '-' || end) {
			return false
		}
	}
	return s != ""
}

// IsSubdomain reports labels with dots between. Its length is not judged.
func IsSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !IsLabel(part) {
			return false
		}
	}
	return true
}
