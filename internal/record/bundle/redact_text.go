package bundle

import (
	"encoding/hex"
	"math/bits"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
)

func refusedBinary(name string) inventory.Problem {
	return inventory.Problem{Path: "/" + name, Error: "binary file, which can't be redacted"}
}

var (
	addressToken = regexp.MustCompile(`[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]*(/[0-9]{1,3}\b)?`)
	quadToken    = regexp.MustCompile(`\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`)
	uuidToken    = regexp.MustCompile(
		`\b[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{12}\b`)
	longHexToken = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	hexToken     = regexp.MustCompile(
		`\b(0[xX][0-9a-fA-F]{11,16}|(0x)?[0-9a-fA-F]{32}|[0-9a-fA-F]{16}|[0-9a-fA-F]{12})\b`)
	dashedMAC      = regexp.MustCompile(`\b[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){5}\b`)
	quadAndAddress = regexp.MustCompile(`^([0-9]{1,3}(?:\.[0-9]{1,3}){3}):([0-9a-fA-F]*:[0-9a-fA-F:]*)$`)
	gluedQuad      = regexp.MustCompile(`^[a-fA-F]*([0-9]{1,3}(?:\.[0-9]{1,3}){3})$`)
	deviceToken    = regexp.MustCompile(`\b(enx|wlx|wwx|ibx|rocex|iwx|opax|usnicx)([0-9a-f]{16}|[0-9a-f]{12})`)
	hexAddress6    = regexp.MustCompile(`\b([0-9a-f]{32})( [0-9a-f]{2}\b)?`)
	kernelPointer  = regexp.MustCompile(`0xffff[0-9a-f]{12}`)
	serialMember   = regexp.MustCompile(`("serial":\s*")([^"\\]*)"`)
	versionLabel   = regexp.MustCompile(`(?i)(fw_?ver|firmware|version)["']?\s*[:=]?\s*["']?v?$`)
)

// Text redacts everything in a text that has the form of an identifier, and the identifiers of the
// node that was learned last.
func (r *Redactor) Text(s string) string {
	s = uuidToken.ReplaceAllStringFunc(s, r.uuid)
	s = longHexToken.ReplaceAllStringFunc(s,
		func(id string) string { return hex.EncodeToString(r.prf("id", []byte(id))) })
	s = r.hosts(s)
	s = r.deviceNames(s)
	s = r.addresses(s)
	s = dashedMAC.ReplaceAllStringFunc(s, r.dashed)
	return hexToken.ReplaceAllStringFunc(s, r.plainHex)
}

// uuid replaces a UUID and keeps its version and separator.
func (r *Redactor) uuid(s string) string {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	if strings.Trim(plain, "0") == "" {
		return s
	}
	h := hex.EncodeToString(r.prf("uuid", []byte(plain))[:16])
	h = h[:12] + plain[12:13] + h[13:]
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, s[8:9])
}

// facts redacts the document of the kernel's answers: also the serial numbers of modules, which
// have no form of their own.
func (r *Redactor) facts(s string) string {
	s = serialMember.ReplaceAllStringFunc(s, func(m string) string {
		part := serialMember.FindStringSubmatch(m)
		return part[1] + r.serial(part[2]) + `"`
	})
	return r.Text(s)
}

func (r *Redactor) serial(s string) string {
	plain := strings.TrimSpace(s)
	if plain == "" {
		return s
	}
	return strings.Replace(s, plain, "serial-"+hex.EncodeToString(r.prf("serial", []byte(plain))[:6]), 1)
}

// deviceNames replaces the address in device names that udev derives from an address: enx…, ibx…,
// rocex….
func (r *Redactor) deviceNames(s string) string {
	return deviceToken.ReplaceAllStringFunc(s, func(name string) string {
		at := strings.LastIndexByte(name, 'x') + 1
		b, _ := hex.DecodeString(name[at:]) // the pattern has hexadecimal digits only
		if len(b) == 6 {
			m := r.mac([6]byte(b))
			return name[:at] + hex.EncodeToString(m[:])
		}
		g := r.guid([8]byte(b))
		return name[:at] + hex.EncodeToString(g[:])
	})
}

// addresses replaces addresses, GIDs and GUIDs with separators in them.
func (r *Redactor) addresses(s string) string {
	var out strings.Builder
	last, lastAddress := 0, -1
	for _, m := range addressToken.FindAllStringIndex(s, -1) {
		start, end := m[0], m[1]
		token := strings.TrimRight(s[start:end], ":.")
		end = start + len(token)
		// IPv4 addresses after or before a colon: "via:10.0.0.1", "10.0.0.1:4791",
		// "10.0.0.1:10.0.0.2".
		if _, err := netip.ParseAddr(token); err != nil && strings.Contains(token, ":") {
			if replaced := r.quads(token); replaced != token {
				out.WriteString(s[last:start] + replaced)
				last, lastAddress = end, end
				continue
			}
		}
		if start > 0 && wordByte(s[start-1]) && (s[start-1] != '-' || lastAddress != start-1) {
			if at, done, ok := r.glued(s[start-1], token); ok {
				out.WriteString(s[last:start+at] + done)
				last, lastAddress = end, end
			}
			continue // part of a name or a version
		}
		if end < len(s) && wordByte(s[end]) && s[end] != '-' {
			continue
		}
		if !strings.Contains(token, ":") && versionLabel.MatchString(s[max(0, start-24):start]) {
			continue
		}
		replaced, ok := r.token(token)
		if !ok {
			continue
		}
		out.WriteString(s[last:start] + replaced)
		last, lastAddress = end, end
	}
	return out.String() + s[last:]
}

// quads replaces all IPv4 addresses of a token, and the IPv6 address after the first.
func (r *Redactor) quads(token string) string {
	if m := quadAndAddress.FindStringSubmatch(token); m != nil {
		if a, err := netip.ParseAddr(m[2]); err == nil {
			return r.quads(m[1]) + ":" + r.addr(a, -1).String()
		}
	}
	return quadToken.ReplaceAllStringFunc(token, func(quad string) string {
		a, err := netip.ParseAddr(quad)
		if err != nil {
			return quad
		}
		return r.addr(a, -1).String()
	})
}

// glued replaces a private IPv4 address at the end of a name, such as peer10.0.0.1; at is where it
// begins in token.
func (r *Redactor) glued(before byte, token string) (at int, done string, ok bool) {
	m := gluedQuad.FindStringSubmatchIndex(token)
	if m == nil || before == 'v' || before == 'V' || before >= '0' && before <= '9' {
		return 0, "", false
	}
	a, err := netip.ParseAddr(token[m[2]:])
	if err != nil || !a.IsPrivate() {
		return 0, "", false
	}
	return m[2], r.addr(a, -1).String(), true
}

// dashed replaces a MAC address in the form of firmware and other systems, AA-BB-CC-DD-EE-FF.
func (r *Redactor) dashed(s string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil {
		return s
	}
	m := r.mac([6]byte(b))
	return strings.ReplaceAll(joinGroups(m[:], 2), ":", "-")
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == '-'
}

// token replaces an address with an optional prefix length; false if s is not an address.
func (r *Redactor) token(s string) (string, bool) {
	if done, ok := r.node.memo[s]; ok {
		return done, done != s
	}
	done, ok := r.newToken(s)
	if !ok {
		done = s
	}
	if r.node.memo != nil {
		r.node.memo[s] = done
	}
	return done, ok
}

func (r *Redactor) newToken(s string) (string, bool) {
	body, length, hasLength := strings.Cut(s, "/")
	if b, width, ok := groups(body); ok {
		out, ok := r.bytes(b)
		return joinGroups(out, width) + s[len(body):], ok && !hasLength
	}
	a, err := netip.ParseAddr(body)
	if err != nil {
		return "", false
	}
	n := -1
	if hasLength {
		if n, err = strconv.Atoi(length); err != nil || n > a.BitLen() {
			return "", false
		}
	}
	out := r.addr(a, n).String()
	if b, ok := expanded(body); ok { // the form of sysfs with all zeros
		g := r.addr(netip.AddrFrom16([16]byte(b)), n).As16()
		out = joinGroups(g[:], 4)
	}
	return out + s[len(body):], true
}

// bytes replaces an identifier whose length determines its kind.
func (r *Redactor) bytes(b []byte) ([]byte, bool) {
	switch len(b) {
	case 6:
		m := r.mac([6]byte(b))
		return m[:], true
	case 8:
		if r.node.prefixes[[8]byte(b)] || [8]byte(b) == [8]byte{0xfe, 0x80} {
			p := r.prefix6([8]byte(b))
			return p[:], true
		}
		g := r.guid([8]byte(b))
		return g[:], true
	case 20: // IPoIB: flags and queue pair, then the port's GID
		g := r.gid([16]byte(b[4:]))
		return append(slices.Clone(b[:4]), g[:]...), true
	}
	return nil, false
}

// groups decodes MAC addresses, IPoIB addresses and GUIDs: groups of two or four digits.
func groups(s string) (b []byte, width int, ok bool) {
	parts := strings.Split(s, ":")
	width = len(parts[0])
	fits := width == 2 && slices.Contains([]int{6, 8, 20}, len(parts)) || width == 4 && len(parts) == 4
	if !fits || slices.ContainsFunc(parts, func(p string) bool { return len(p) != width }) {
		return nil, 0, false
	}
	b, err := hex.DecodeString(strings.Join(parts, ""))
	return b, width, err == nil
}

// expanded decodes the eight groups of four digits of a GID.
func expanded(s string) (b []byte, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 8 || slices.ContainsFunc(parts, func(p string) bool { return len(p) != 4 }) {
		return nil, false
	}
	b, err := hex.DecodeString(strings.Join(parts, ""))
	return b, err == nil
}

func joinGroups(b []byte, width int) string {
	text := hex.EncodeToString(b)
	var parts []string
	for ; len(text) >= width && width > 0; text = text[width:] {
		parts = append(parts, text[:width])
	}
	return strings.Join(parts, ":")
}

// plainHex replaces digits without separators if they are an identifier of the node; after 0x the
// leading zeros of a GUID may be missing.
func (r *Redactor) plainHex(s string) string {
	digits := strings.ToLower(s)
	prefix := ""
	if after, ok := strings.CutPrefix(digits, "0x"); ok {
		prefix, digits = s[:2], after
	}
	full := digits
	if !r.node.plain[full] && prefix != "" && len(digits) < 16 {
		full = strings.Repeat("0", 16-len(digits)) + digits
	}
	b, err := hex.DecodeString(full)
	if err != nil || !r.node.plain[full] {
		return s
	}
	var out []byte
	if len(b) == 16 {
		g := r.gid([16]byte(b))
		out = g[:]
	} else {
		out, _ = r.bytes(b)
	}
	return prefix + hex.EncodeToString(out)[len(full)-len(digits):]
}

// routeTable redacts /proc/net/route: addresses are words in host byte order.
func (r *Redactor) routeTable(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		f := strings.Split(line, "\t")
		if len(f) > 7 && f[1] != "Destination" {
			mask, err := strconv.ParseUint(strings.TrimSpace(f[7]), 16, 32)
			n := bits.OnesCount64(mask)
			if err != nil {
				n = -1
			}
			f[1], f[2] = r.word(f[1], n), r.word(f[2], -1)
			f[0] = r.deviceNames(f[0])
		}
		out.WriteString(strings.Join(f, "\t"))
	}
	return out.String()
}

func (r *Redactor) word(s string, length int) string {
	v, err := strconv.ParseUint(strings.TrimSpace(s), 16, 32)
	if err != nil {
		return s
	}
	a := netip.AddrFrom4([4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	b := r.addr(a, length).As4()
	const digits = "0123456789ABCDEF"
	var out []byte
	for _, x := range slices.Backward(b[:]) {
		out = append(out, digits[x>>4], digits[x&15])
	}
	return string(out)
}

// hexTable redacts /proc/net/ipv6_route and if_inet6: addresses of 32 digits, optionally followed
// by a prefix length of two digits.
func (r *Redactor) hexTable(s string) string {
	s = hexAddress6.ReplaceAllStringFunc(s, func(m string) string {
		b, err := hex.DecodeString(m[:32])
		if err != nil {
			return m
		}
		n := -1
		if v, err := strconv.ParseUint(strings.TrimSpace(m[32:]), 16, 8); err == nil {
			n = int(v)
		}
		g := r.addr(netip.AddrFrom16([16]byte(b)), n).As16()
		return hex.EncodeToString(g[:]) + m[32:]
	})
	return r.deviceNames(s)
}

// plainParameters are parameters of the kernel's command line that contain no identifiers.
var plainParameters = []string{
	"quiet", "ro", "rw", "iommu", "intel_iommu", "amd_iommu", "pci", "pcie_aspm", "default_hugepagesz", "hugepages",
	"hugepagesz", "isolcpus", "nohz_full", "rcu_nocbs", "numa_balancing", "transparent_hugepage", "mitigations",
	"console", "nosmt", "intel_idle.max_cstate", "processor.max_cstate", "idle", "nokaslr", "net.ifnames",
	"biosdevname", "systemd.unified_cgroup_hierarchy", "cgroup_no_v1", "memmap", "crashkernel", "panic",
}

// commandLine keeps only parameters that are known to be harmless.
func (r *Redactor) commandLine(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		name, _, hasValue := strings.Cut(w, "=")
		switch {
		case slices.Contains(plainParameters, name):
		case hasValue:
			words[i] = name + "=redacted"
		default:
			words[i] = "redacted"
		}
	}
	return strings.Join(words, " ") + "\n"
}
