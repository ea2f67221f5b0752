package bundle

import (
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// hostNames are the host names in the files of a node.
type hostNames struct {
	names   map[string]bool // in lower case: names of the node and in node descriptions, with and without domain
	domain  string          // domain of the node's name, "" if it has none
	devices map[string]bool // RDMA and network devices
	// pattern matches a host name in any text, in one of its groups; nil if there are no names.
	pattern *regexp.Regexp
}

var (
	cloudHost = regexp.MustCompile(`\bip-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}(\.[-0-9A-Za-z.]+)?`)
	// deviceForm matches names of RDMA devices in node descriptions, including those of other
	// nodes.
	deviceForm = regexp.MustCompile(
		`^(HCA-[0-9]+|[a-z][a-z0-9]*_[a-z0-9_]*[0-9]+|(rocep|ibp|iwp|opap|rxe|siw)[a-z0-9]+)$`)
	// sysfsWord matches words of kernel files and findings that may also be host names.
	sysfsWord = regexp.MustCompile(`(?i)^(roce|rdma|ib|infiniband|iwarp|ethernet|link|phy|port|ports|node|` +
		`numa|cpu|gpu|nic|net|eth|hca|switch|router|device|host|active|armed|` +
		`init|initializing|down|up|polling|sleep|disabled|enabled|linkup|` +
		`linkdown|unknown|on|off|yes|no|true|false|none|null|v1|v2|sdr|ddr|qdr|fdr|edr|hdr|ndr|xdr|` +
		`(cpu|port|eth|ib)[0-9]{1,2})$`)
	furtherLabels  = regexp.MustCompile(`^(\.[A-Za-z][-0-9A-Za-z]*)+`)
	trailingDigits = regexp.MustCompile(`[0-9]+$`)
)

// collectHosts finds the host names in the files of a node.
func collectHosts(t *nodetree.Tree) hostNames {
	h := hostNames{names: map[string]bool{}, devices: map[string]bool{}}
	for e := range t.Entries() {
		if dir := path.Dir(e.Name); dir == sysfs.ClassInfiniBand || dir == sysfs.ClassNet {
			h.devices[path.Base(e.Name)] = true
		}
	}
	for e := range t.Entries() {
		if e.Mode != 0 {
			continue
		}
		switch path.Base(e.Name) {
		case "hostname":
			h.add(strings.TrimSpace(string(e.Data)))
			if _, domain, ok := strings.Cut(strings.TrimSpace(string(e.Data)), "."); ok &&
				strings.HasPrefix(e.Name, "proc/") {
				h.domain = domain
			}
		case "node_desc":
			h.add(describedHost(strings.Fields(string(e.Data)), h.devices))
		}
	}
	h.compile()
	return h
}

// add adds a name and its first label, except "", default names such as localhost, and device
// names.
func (h *hostNames) add(name string) {
	name = strings.ToLower(name)
	if h.devices[name] || slices.Contains([]string{"", "(none)", "localhost", "localhost.localdomain"}, name) {
		return
	}
	short, _, _ := strings.Cut(name, ".")
	h.names[name], h.names[short] = true, true
}

// describedHost returns the host in the words of a node description such as "gpu-00 mlx5_0",
// "gpu-00 HCA-1", "gpu-00".
func describedHost(words []string, devices map[string]bool) string {
	isDevice := func(w string) bool { return devices[w] || deviceForm.MatchString(w) }
	switch {
	case len(words) == 2 && isDevice(words[1]), len(words) == 1 && !isDevice(words[0]) && distinctive(words[0]):
		return words[0]
	}
	return ""
}

// distinctive reports whether a name has a form that no word of a kernel file or finding has.
func distinctive(name string) bool {
	return strings.ContainsAny(name, "0123456789-.") && !sysfsWord.MatchString(name)
}

// compile compiles the pattern. Its alternatives, the most specific first:
//   - any name in the node's domain;
//   - distinctive names, and names that differ only in the digits at the end (gpu-17 for gpu-00),
//     without a letter or digit before or after them;
//   - plain words, as whole words;
//   - words of kernel files, only as the value of a name or description of a document.
func (h *hostNames) compile() {
	var inDomain, forms, plain, words []string
	if h.domain != "" {
		inDomain = append(inDomain, `[0-9A-Za-z][-0-9A-Za-z.]*\.`+regexp.QuoteMeta(h.domain))
	}
	for _, name := range h.sorted() {
		switch {
		case sysfsWord.MatchString(name):
			words = append(words, regexp.QuoteMeta(name))
		case distinctive(name):
			forms = append(forms, h.siblings(name)...)
		default:
			plain = append(plain, regexp.QuoteMeta(name))
		}
	}
	var all []string
	group := func(before string, alternatives []string, after string) {
		if len(alternatives) > 0 {
			all = append(all, before+`(`+strings.Join(alternatives, "|")+`)`+after)
		}
	}
	group(`(?:^|[^-0-9A-Za-z.])`, inDomain, `\b`)
	group(`(?:^|[^0-9A-Za-z])`, forms, `(?:$|[^0-9A-Za-z])`)
	group(`(?:^|[^0-9A-Za-z_-])`, plain, `(?:$|[^0-9A-Za-z_-])`)
	group(`"(?:name|description)": *"`, words, `[ ".]`)
	if len(all) > 0 {
		h.pattern = regexp.MustCompile(`(?i)` + strings.Join(all, "|"))
	}
}

// sorted returns the names, the longest first, so that alternatives match as much as they can.
func (h *hostNames) sorted() []string {
	var names []string
	for n := range h.names {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return names
}

// siblings returns patterns for a name and for names that differ in the digits at the end: the same
// number of digits if they are padded with zeros, else any number.
func (h *hostNames) siblings(name string) []string {
	out := []string{regexp.QuoteMeta(name)}
	digits := trailingDigits.FindString(name)
	stem := strings.TrimSuffix(name, digits)
	ofDevice := func() bool {
		for d := range h.devices {
			if strings.HasPrefix(strings.ToLower(d), stem) {
				return true
			}
		}
		return false
	}
	numbered := digits != "" && digits[0] != '0' && sysfsWord.MatchString(stem) // node7: node0 is a NUMA node
	if digits == "" || len(stem) < 3 || numbered || ofDevice() {
		return out
	}
	count := "+"
	if digits[0] == '0' {
		count = "{" + strconv.Itoa(len(digits)) + "}"
	}
	return append(out, regexp.QuoteMeta(stem)+"[0-9]"+count)
}

// host replaces a host name label by label, so that nodes of one domain stay in one domain.
func (r *Redactor) host(name string) string {
	labels := strings.Split(strings.ToLower(name), ".")
	for i, l := range labels {
		word := "host-"
		if i > 0 {
			word = "domain-"
		}
		labels[i] = word + hex.EncodeToString(r.prf("host", []byte(l))[:4])
	}
	return strings.Join(labels, ".")
}

// hosts replaces the host names in a text, except keys of documents and names of devices.
func (r *Redactor) hosts(s string) string {
	s = cloudHost.ReplaceAllStringFunc(s, r.host)
	h := r.node.hosts
	if h.pattern == nil {
		return s
	}
	var out strings.Builder
	last := 0
	for at := 0; at < len(s); {
		m := h.pattern.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		g := 2
		for m[g] < 0 {
			g += 2
		}
		start, end := at+m[g], at+m[g+1]
		end += len(furtherLabels.FindString(s[end:]))
		at = end // the text after this name may precede the next one
		if strings.HasPrefix(s[end:], `":`) || h.devices[wordAround(s, start, end)] {
			continue
		}
		out.WriteString(s[last:start] + r.host(s[start:end]))
		last = end
	}
	return out.String() + s[last:]
}

// wordAround returns the word of a device's name that s[start:end] is part of.
func wordAround(s string, start, end int) string {
	inName := func(b byte) bool { return wordByte(b) || b == '.' || b == '@' }
	for start > 0 && inName(s[start-1]) {
		start--
	}
	for end < len(s) && inName(s[end]) {
		end++
	}
	return s[start:end]
}

// hostFile redacts a file that contains only a host name or a node description.
func (r *Redactor) hostFile(base, text string) string {
	name := strings.TrimSpace(text)
	if base == "node_desc" {
		name = describedHost(strings.Fields(text), r.node.hosts.devices)
	}
	if name == "" || !r.node.hosts.names[strings.ToLower(name)] {
		return r.Text(text)
	}
	return strings.Replace(text, name, r.host(name), 1)
}
