package ibdiags

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// nodeNameMapFile is the default of --node-name-map.
const nodeNameMapFile = "/etc/rdma/ib-node-name-map"

// nodeNameMapOption is the option that names such a file; the letter is C's for an option without a
// short form.
//
//nolint:unparam // letters belong to the programs: no two options of one may share it
func nodeNameMapOption(letter byte) Option {
	return valueOption("node-name-map", letter, "<file>", "node name map file")
}

// nodeNames maps node GUIDs to names that an administrator chose. A nil map is valid.
type nodeNames map[uint64]string

// readNodeNames reads a file of names; "" means the default file, which need not exist. A file that
// can't be read or has an invalid line gives no names, and a warning on standard error (C twin:
// open_node_name_map).
func (r *run) readNodeNames(file string) nodeNames {
	usual := file == ""
	if usual {
		file = nodeNameMapFile
	}
	if r.ReadFile == nil {
		return nil
	}
	text, err := r.ReadFile(file)
	switch {
	case usual && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		r.errorf("WARNING failed to open node name map \"%s\" (%s)\n", file, reasonOf(err))
		return nil
	}
	names, wrong := parseNodeNames(string(text))
	if wrong != "" {
		r.errorf("WARNING failed to parse node name map \"%s\"\n", file)
		r.errorf("WARNING failed line: \"%s\"\n", wrong)
	}
	return names
}

// parseNodeNames parses lines such as `0x0002c90300000001 "leaf 1" # rack 4`. Of two names for a
// GUID the first is used. A line that doesn't begin with a GUID makes the whole file invalid, and
// is returned.
func parseNodeNames(text string) (names nodeNames, wrong string) {
	const space = " \t\n\v\f\r"
	names = nodeNames{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		entry := strings.TrimLeft(line, space)
		if entry == "" || entry[0] == '#' {
			continue
		}
		guid, rest := leadingNumber(entry)
		if rest == entry || rest != "" && !strings.ContainsAny(rest[:1], space+"#") {
			return nil, line
		}
		name := strings.TrimLeft(strings.TrimLeft(rest, space), `"#`)
		if end := strings.IndexAny(name, `"#`); end >= 0 {
			name = name[:end]
		}
		if _, ok := names[guid]; !ok && name != "" {
			names[guid] = name
		}
	}
	return names, ""
}

// name returns the administrator's name for a node, or else the node description.
func (n nodeNames) name(guid ib.GUID, description mad.NodeDescription) string {
	if name, ok := n[guid64(guid)]; ok {
		return name
	}
	return description.String()
}
