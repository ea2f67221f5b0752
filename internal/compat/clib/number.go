package clib

import (
	"math"
	"math/bits"
	"strings"
	"syscall"
)

// Strerror returns glibc's message for an error, which differs from Go's in the case of the first
// letter.
func Strerror(errno syscall.Errno) string {
	if errno == 0 {
		return "Success"
	}
	text := errno.Error()
	if number, ok := strings.CutPrefix(text, "errno "); ok {
		return "Unknown error " + number
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Strtoul is strtoul(3): it parses white space, a sign, a prefix, then all following digits.
func Strtoul(s string, base int) (v uint64, overflow bool) {
	negative, digits, base := number(s, base)
	v, overflow = magnitude(digits, base)
	if negative && !overflow {
		v = -v
	}
	return v, overflow
}

// Strtol is strtol(3), truncated to an int as by C's assignment.
func Strtol(s string, base int) int32 {
	negative, digits, base := number(s, base)
	v, _ := magnitude(digits, base)
	switch {
	case negative:
		v = -min(v, 1<<63)
	default:
		v = min(v, math.MaxInt64)
	}
	return int32(uint32(v)) //nolint:gosec // C cuts it too
}

// magnitude reads digits up to the first other character; overflow gives the largest number.
func magnitude(digits string, base int) (v uint64, overflow bool) {
	for _, c := range []byte(digits) {
		d, ok := digit(c, base)
		if !ok {
			break
		}
		hi, lo := bits.Mul64(v, uint64(base)) //nolint:gosec // 8, 10 or 16
		sum, carry := bits.Add64(lo, d, 0)
		if hi != 0 || carry != 0 {
			return math.MaxUint64, true
		}
		v = sum
	}
	return v, false
}

// number strips white space, sign and prefix from a number.
func number(s string, base int) (negative bool, digits string, base2 int) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	if (base == 0 || base == 16) && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		if _, ok := digit(s[2], 16); ok {
			return negative, s[2:], 16
		}
	}
	switch {
	case base != 0:
	case strings.HasPrefix(s, "0"):
		base = 8
	default:
		base = 10
	}
	return negative, s, base
}

func digit(c byte, base int) (uint64, bool) {
	var d byte
	switch {
	case c >= '0' && c <= '9':
		d = c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		d = c | 0x20 - 'a' + 10
	default:
		return 0, false
	}
	return uint64(d), int(d) < base
}
