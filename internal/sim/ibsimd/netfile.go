package ibsimd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Limits of net files.
const (
	maxIncludes = 9
	maxLine     = 4096
	maxName     = 64
)

// LineError is an error in a net file.
type LineError struct {
	File string
	Line int
	Err  error
}

// Error names the file and the line.
func (e *LineError) Error() string { return fmt.Sprintf("%s: line %d: %v", e.File, e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// ReadNet reads a net file: the format of ibsim, or the output of ibnetdiscover. An error in the
// text is a [LineError]. Unlike ibsim it reports lines that it doesn't know.
func ReadNet(name string) (*Net, error) {
	f, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return nil, fmt.Errorf("read net: %w", err)
	}
	defer f.Close()
	return ParseNet(name, f)
}

// ParseNet reads a net file from r. Files that it includes are read relative to its folder.
func ParseNet(name string, r io.Reader) (*Net, error) {
	p := newNetParser()
	if err := p.file(name, r, 0); err != nil {
		return nil, fmt.Errorf("read net: %w", err)
	}
	if err := p.connect(); err != nil {
		return nil, fmt.Errorf("read net: %w", err)
	}
	if len(p.net.Nodes) == 0 {
		return nil, fmt.Errorf("read net: %s: no node is defined", name)
	}
	return p.net, nil
}

// netParser is the state of reading net files.
type netParser struct {
	net      *Net
	cables   []cableEnd
	node     *Node // whose ports follow; nil: none
	settings PortSettings
	prefix   string
	next     map[mad.NodeType]uint64 // the next GUID
	base     map[mad.NodeType]uint64 // the last GUID that the file has named
	byGUID   map[ib.GUID]string
	vendor   uint32
	device   uint16
	system   ib.GUID
}

// cableEnd is a line with one end of a cable.
type cableEnd struct {
	place  LineError
	from   *Node
	port   uint8
	to     string
	toPort uint8
}

func newNetParser() *netParser {
	const firstAdapter, firstSwitch, firstRouter = 0x100000, 0x200000, 0x300000
	guids := func() map[mad.NodeType]uint64 {
		return map[mad.NodeType]uint64{
			mad.NodeTypeCA: firstAdapter, mad.NodeTypeSwitch: firstSwitch, mad.NodeTypeRouter: firstRouter,
		}
	}
	return &netParser{
		net: NewNet(), next: guids(), base: guids(), byGUID: map[ib.GUID]string{},
		settings: PortSettings{Width: uint8(mad.LinkWidth4X), Speed: 1},
	}
}

// file reads one file.
func (p *netParser) file(name string, r io.Reader, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: more than %d files include each other", name, maxIncludes)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		place := LineError{File: name, Line: number}
		if err := p.line(strings.TrimRight(lines.Text(), " \t\r"), place, depth); err != nil {
			if _, placed := errors.AsType[*LineError](err); placed {
				return err
			}
			place.Err = err
			return &place
		}
	}
	p.node = nil
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return &LineError{name, number + 1, fmt.Errorf("longer than %d bytes", maxLine)}
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// line reads one line.
func (p *netParser) line(text string, place LineError, depth int) error {
	switch {
	case text == "":
		p.node = nil
		return nil
	case text[0] == '#':
		return nil
	case text[0] == '[':
		return p.port(text, place)
	case text[0] == '@':
		return errors.New("aliases of ports (@) are not supported")
	}
	p.node = nil
	word := text
	if end := strings.IndexFunc(text, func(r rune) bool { return r < 'A' || r > 'z' }); end >= 0 {
		word = text[:end]
	}
	rest := text[len(word):]
	switch word {
	case "Switch":
		return p.begin(mad.NodeTypeSwitch, rest)
	case "Hca", "Ca":
		return p.begin(mad.NodeTypeCA, rest)
	case "Rt":
		return p.begin(mad.NodeTypeRouter, rest)
	case "include":
		return p.include(rest, place, depth)
	case "do":
		return p.do(rest)
	}
	return p.assign(word, rest)
}

// assign reads NAME=VALUE, or NAME+VALUE for GUIDs relative to the last ones.
func (p *netParser) assign(word, rest string) error {
	sign := strings.IndexAny(rest, "=+")
	if sign < 0 {
		return fmt.Errorf("unknown line %s", strconv.Quote(shorten(word+rest)))
	}
	value := strings.TrimSpace(rest[sign+1:])
	switch word {
	case "switchguid", "switchguids":
		return p.guids(mad.NodeTypeSwitch, rest[sign] == '+', value)
	case "hcaguid", "hcaguids", "caguid", "caguids":
		return p.guids(mad.NodeTypeCA, rest[sign] == '+', value)
	case "rtguid", "rtguids":
		return p.guids(mad.NodeTypeRouter, rest[sign] == '+', value)
	case "module":
		name, _, err := quoted(value)
		p.prefix = name
		return err
	}
	limits := map[string]struct{ low, high uint64 }{
		"vendid": {0, 1<<24 - 1}, "devid": {0, 1<<16 - 1}, "sysimgguid": {0, 1<<64 - 1},
		"width": {1, 31}, "speed": {1, 7}, "extspeed": {0, 15}, "pdebug": {0, 1<<31 - 1},
	}
	limit, known := limits[word]
	if !known {
		return fmt.Errorf("unknown setting %q", word)
	}
	v, err := parseNumber(value, limit.low, limit.high)
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	switch word {
	case "vendid":
		p.vendor = uint32(v)
	case "devid":
		p.device = uint16(v)
	case "sysimgguid":
		p.system = guidFrom(v)
	case "width":
		p.settings.Width = uint8(v)
	case "speed":
		p.settings.Speed = uint8(v)
	case "extspeed":
		p.settings.Extended = uint8(v)
	}
	return nil
}

// guids sets the GUID of the next node of a type.
func (p *netParser) guids(kind mad.NodeType, relative bool, value string) error {
	v, err := parseNumber(value, 0, 1<<64-1)
	if err != nil {
		return fmt.Errorf("GUID: %w", err)
	}
	if relative {
		p.next[kind] = p.base[kind] + v
		return nil
	}
	p.base[kind], p.next[kind] = v, v
	return nil
}

// begin reads the first line of a node.
func (p *netParser) begin(kind mad.NodeType, text string) error {
	number, text, found := strings.Cut(strings.TrimSpace(text), `"`)
	ports, err := parseNumber(strings.TrimSpace(number), 1, 254)
	if err != nil {
		return fmt.Errorf("number of ports: %w", err)
	}
	if !found {
		return errors.New(`the name of the node is missing: TYPE PORTS "NAME"`)
	}
	name, text, found := strings.Cut(text, `"`)
	if !found {
		return errors.New("the name of the node has no closing quote")
	}
	if name, err = p.name(name); err != nil {
		return err
	}
	n, err := p.net.Add(name, kind, uint8(ports), p.settings)
	if err != nil {
		return err
	}
	n.GUID = guidFrom(p.next[kind])
	if other, taken := p.byGUID[n.GUID]; taken {
		return fmt.Errorf("node %q has the GUID 0x%x of node %q", name, n.GUID[:], other)
	}
	p.byGUID[n.GUID] = name
	p.next[kind]++
	if kind != mad.NodeTypeSwitch {
		p.next[kind] += ports
	}
	n.VendorID, n.DeviceID, n.SystemGUID = p.vendor, p.device, p.system
	p.vendor, p.system = 0, ib.GUID{}
	n.describe(text)
	p.node = n
	return nil
}

// describe reads what follows a node's name: # "DESCRIPTION" base port 0 lid 5 lmc 0.
func (n *Node) describe(text string) {
	_, text, found := strings.Cut(text, "#")
	if !found {
		return
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, `"`) {
		n.Description, text, _ = strings.Cut(text[1:], `"`)
	} else {
		end := len(text)
		for _, word := range []string{" enhanced port ", " base port ", " lid ", " lmc "} {
			if at := strings.Index(text, word); at >= 0 {
				end = min(end, at)
			}
		}
		n.Description, text = text[:end], text[end:]
	}
	if n.isSwitch() {
		n.EnhancedPort0 = strings.Contains(text, "enhanced port 0")
		n.Settings[0].lids(text)
	}
}

// lids reads "lid 5 lmc 0".
func (s *PortSettings) lids(text string) {
	words := strings.Fields(text)
	for i := range len(words) - 1 {
		v, err := strconv.ParseUint(words[i+1], 0, 16)
		switch {
		case err != nil:
		case words[i] == "lid" && v < uint64(mad.MulticastLIDBase):
			s.LID = ib.LID(v)
		case words[i] == "lmc" && v < 8:
			s.LMC = uint8(v)
		}
	}
}

// name adds the prefix of the module.
func (p *netParser) name(base string) (string, error) {
	if base == "" || strings.ContainsAny(base, "#@") {
		return "", fmt.Errorf("name %q of a node is empty or has # or @", base)
	}
	if p.prefix != "" {
		base = p.prefix + "#" + base
	}
	if len(base) > maxName {
		return "", fmt.Errorf("name %q of a node is longer than %d bytes", shorten(base), maxName)
	}
	return base, nil
}

// include reads another file.
func (p *netParser) include(rest string, place LineError, depth int) error {
	name, _, err := quoted(rest)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(place.File), name)
	}
	f, err := os.Open(name) //nolint:gosec // the user's file names it
	if err != nil {
		return err
	}
	defer f.Close()
	return p.file(name, f, depth+1)
}

// quoted cuts a text in double quotes.
func quoted(text string) (inner, rest string, err error) {
	_, text, opened := strings.Cut(text, `"`)
	inner, rest, closed := strings.Cut(text, `"`)
	if !opened || !closed {
		return "", "", errors.New("a name in double quotes is missing")
	}
	return inner, rest, nil
}

func parseNumber(text string, low, high uint64) (uint64, error) {
	digits := text
	if end := strings.IndexAny(text, " \t(#"); end >= 0 { // ibnetdiscover repeats GUIDs in parentheses
		digits = text[:end]
	}
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || v < low || v > high {
		return 0, fmt.Errorf("%s is not a number from %d to %d", strconv.Quote(shorten(text)), low, high)
	}
	return v, nil
}

// shorten limits a text for errors.
func shorten(s string) string {
	const limit = 40
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
