package kserve

import (
	"slices"
)

// bashBuckets is the number of buckets of a bash associative array (ASSOC_HASH_BUCKETS
// in assoc.h, bash 5). The table grows only at twice as many keys, which indices below
// 256 can't reach.
const bashBuckets = 1024

// bashHash is the hash of bash's tables (hash_string in hashlib.c: 32-bit FNV-1).
func bashHash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h *= 16777619
		h ^= uint32(int32(int8(s[i]))) // bash treats bytes as signed numbers
	}
	return h
}

// bashKeyOrder returns the order of "${!a[@]}" in bash after the keys, all different, were added in
// the given order: by bucket, and within a bucket the last added key first.
func bashKeyOrder(keys []string) []string {
	out := slices.Clone(keys)
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b string) int {
		return int(bashHash(a)%bashBuckets) - int(bashHash(b)%bashBuckets)
	})
	return out
}
