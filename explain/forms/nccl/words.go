package nccl

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// later returns the later of two releases; "" is earlier than all.
func later(a, b string) string {
	if CompareVersions(a, b) < 0 {
		return b
	}
	return a
}

// CompareVersions compares releases such as "2.9" and "2.21.5" number by number; what follows the
// numbers is ignored. "" is less than all others.
func CompareVersions(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(a), len(b))
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := cmp.Compare(partOf(as, i), partOf(bs, i)); c != 0 {
			return c
		}
	}
	return 0
}

func partOf(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	s := parts[i]
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}

// pairs reads "name value name value" for the names wanted, which become the given fields.
func pairs(s string, f evidence.Fields, names map[string]string) {
	words := strings.Fields(s)
	for i := 0; i+1 < len(words); i++ {
		if field, ok := names[words[i]]; ok && f[field] == "" {
			f[field] = strings.TrimRight(words[i+1], ",")
		}
	}
}

// between returns the text between two marks, and to the end if the second is missing.
func between(s, before, after string) (string, bool) {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return "", false
	}
	if after != "" {
		rest, _, _ = strings.Cut(rest, after)
	}
	return rest, true
}

// socketAddress reads "10.0.0.1<40000>" or "fe80::1%eth0<40000>" at the beginning of s, and the
// form of older releases "10.0.0.1:40000".
func socketAddress(s string) (address, port string, ok bool) {
	s, _, _ = strings.Cut(strings.TrimLeft(s, " "), " ")
	if a, p, cut := strings.Cut(s, "<"); cut {
		p, _, _ = strings.Cut(p, ">")
		return a, p, a != ""
	}
	if ap, err := netip.ParseAddrPort(strings.TrimRight(s, ",")); err == nil {
		return ap.Addr().String(), strconv.Itoa(int(ap.Port())), true
	}
	return strings.TrimRight(s, ","), "", s != ""
}

// interfaces reads "[0]eth0:10.0.0.1<0> [1]eth1:fe80::1%eth1<0>" and returns "eth0:10.0.0.1
// eth1:fe80::1%eth1".
func interfaces(s string) []string {
	var list []string
	for word := range strings.FieldsSeq(s) {
		if i := strings.IndexByte(word, ']'); i >= 0 && word[0] == '[' {
			word = word[i+1:]
		}
		word, _, bracket := strings.Cut(word, "<")
		if bracket && word != "" {
			list = append(list, word)
		}
	}
	return list
}

// firstWord returns the digits or letters at the beginning of s.
func firstWord(s string) string {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] >= 'a' && s[end] <= 'z' ||
		s[end] >= 'A' && s[end] <= 'Z' || s[end] == '_') {
		end++
	}
	return s[:end]
}

// portOf splits "mlx5_0:1" into device and port.
func portOf(s string, f evidence.Fields) bool {
	device, port, ok := strings.Cut(s, ":")
	if !ok || device == "" || !digits(port) {
		return false
	}
	f["device"], f["port"] = device, port
	return true
}

// gid returns the canonical text of a GID that is printed as an IPv6 address; "" if it isn't one.
func gid(s string) string {
	a, err := netip.ParseAddr(strings.TrimRight(s, ",.;)"))
	if err != nil {
		return ""
	}
	return netip.AddrFrom16(a.As16()).String()
}

// gidHalves returns the GID that NCCL prints as two numbers: the halves of the GID in network order
// as a little-endian machine reads them, without leading zeros (net_ib.cc).
func gidHalves(high, low string) string {
	var b [16]byte
	for i, half := range [...]string{high, low} {
		n, err := strconv.ParseUint(half, 16, 64)
		if err != nil {
			return ""
		}
		for j := range 8 {
			b[8*i+j] = byte(n >> (8 * j))
		}
	}
	return netip.AddrFrom16(b).String()
}

// mtuBytes returns the bytes of an MTU code of verbs.
func mtuBytes(code string) string {
	n, err := strconv.Atoi(code)
	if err != nil || n < 1 || n > 5 {
		return ""
	}
	return fmt.Sprint(128 << n)
}
