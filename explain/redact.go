package explain

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Redact replaces the names of nodes, pods, inputs and users, and gives all other text to replace,
// which hides addresses in it. Nodes become "node-1", "node-2" in the order of the facts, then come
// those that only lines name, and inputs become "input-1.log": relations stay visible.
func (d *Document) Redact(replace func(string) string) {
	names := d.names()
	hide := func(s string) string {
		s = hideAddresses(names.replace(s), replace)
		return users.ReplaceAllString(s, "${1}user")
	}
	walkStrings(reflect.ValueOf(d).Elem(), hide)
}

// names collects the names of a report.
func (d *Document) names() *aliases {
	names := newAliases()
	d.inputNames(names)
	for i := range d.Facts.Nodes {
		names.count[kindNode] = i
		n := &d.Facts.Nodes[i]
		if names.by[n.Name] == "" { // a node without a name has that of its input
			names.add(n.Name, kindNode)
			names.set(n.Name, fmt.Sprintf("node-%d", i+1)) // also one that looks like a device
		}
		if n.Recorded != nil {
			names.set(n.Recorded.Host, fmt.Sprintf("node-%d", i+1))
			names.hosts[n.Recorded.Host] = true
		}
	}
	names.count[kindNode] = len(d.Facts.Nodes)
	for i := range d.Facts.Nodes {
		for _, x := range d.Facts.Nodes[i].Environment {
			for _, v := range x.Values {
				names.learn(x.Name + "=" + v)
			}
		}
	}
	for _, in := range d.Inputs {
		if in.Recording != nil {
			names.add(in.Recording.Node, kindNode)
		}
	}
	keep := func(f func(string)) func(string) string { return func(s string) string { f(s); return s } }
	walkStrings(reflect.ValueOf(d).Elem(), keep(names.learn))
	if more := names.siblings(); more != nil {
		walkStrings(reflect.ValueOf(d).Elem(), keep(func(s string) {
			for _, name := range more.FindAllString(s, -1) {
				names.add(name, kindNode)
			}
		}))
	}
	return names
}

// failedInput matches the name of an input in the message why it could not be read.
var failedInput = regexp.MustCompile(`\b(?:read input|l?stat|open) ([^\s:][^:]*): `)

// inputNames adds the names of inputs, of archives that they are from, and of those that could not
// be opened.
func (d *Document) inputNames(names *aliases) {
	archives := 0
	for i, in := range d.Inputs {
		by := fmt.Sprintf("input-%d", i+1)
		if in.Name != "-" {
			names.set(in.Name, by+kindOf(in.Name))
		}
		if archive, _, inside := strings.Cut(in.Name, ":"); inside && names.by[archive] == "" {
			archives++
			names.set(archive, fmt.Sprintf("archive-%d", archives)+kindOf(archive))
		}
		for _, m := range failedInput.FindAllStringSubmatch(in.Error, -1) {
			names.set(m[1], by+kindOf(m[1]))
		}
	}
}

var (
	// gluedLabel matches words that lines have without a space before an address: NCCL prints
	// "remoteGids::ffff:10.0.0.1", Lustre "MGC10.0.0.1@o2ib".
	gluedLabel = regexp.MustCompile(`(?i:(?:remote|local)gids?)|\bMGC`)
	// plainGUID matches GUIDs without separators. Without 0x they need a letter: decimal numbers
	// of 16 digits are times.
	plainGUID = regexp.MustCompile(`\b(?:0x[0-9a-fA-F]{13,16}|[0-9a-fA-F]{16})\b`)
)

// hideAddresses gives a text to replace so that it finds all addresses.
func hideAddresses(s string, replace func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range gluedLabel.FindAllStringIndex(s, -1) {
		b.WriteString(replace(s[last:m[1]]))
		last = m[1]
	}
	b.WriteString(replace(s[last:]))
	return plainGUID.ReplaceAllStringFunc(b.String(), func(guid string) string {
		digits, prefixed := strings.CutPrefix(guid, "0x")
		if strings.HasPrefix(digits, "ffff") || !prefixed && strings.Trim(digits, "0123456789") == "" {
			return guid // an address in the kernel, a mask, or a time
		}
		full := strings.Repeat("0", 16-len(digits)) + digits
		out := replace(full[:4] + ":" + full[4:8] + ":" + full[8:12] + ":" + full[12:])
		out = strings.ReplaceAll(out, ":", "")
		return guid[:len(guid)-len(digits)] + out[max(0, len(out)-len(digits)):]
	})
}

// kindOf returns the end of a file's name if it says what kind of file it is and nothing else.
func kindOf(name string) string {
	ext := path.Ext(name)
	if slices.Contains([]string{".log", ".txt", ".json", ".gz", ".zst", ".tar", ".zip", ".pcap", ".pcapng"}, ext) {
		return ext
	}
	return ""
}

// users are the beginnings of paths and settings that name a user.
var users = regexp.MustCompile(`(/home/|/Users/|\bUserId=)[^/\s:'"(]+`)

// walkStrings replaces the strings in a value: fields and elements of slices, except fields with
// the tag redact:"-", which come from the rules and not from the inputs.
func walkStrings(v reflect.Value, replace func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(replace(v.String()))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.Tag.Get("redact") != "-" {
				walkStrings(value, replace)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkStrings(v.Index(i), replace)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walkStrings(v.Elem(), replace)
		}
	}
}
