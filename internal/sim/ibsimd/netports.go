package ibsimd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// port reads the line of a cable: [PORT] "NODE"[PORT] w=3 s=7 e=7, or as ibnetdiscover prints it.
func (p *netParser) port(text string, place LineError) error {
	if p.node == nil {
		return errors.New("a port without a node: an empty line ends a node")
	}
	number, rest, found := strings.Cut(text[1:], "]")
	v, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
	if !found || err != nil || v < 1 || int(v) >= len(p.node.Ports) {
		return fmt.Errorf("%s is not a port of %q, which has %d", strconv.Quote(shorten(number)),
			p.node.Name, len(p.node.Ports)-1)
	}
	end := cableEnd{place: place, from: p.node, port: uint8(v), toPort: 1}
	name, rest, err := quoted(rest)
	if err != nil {
		return err
	}
	if strings.ContainsAny(name, "@") {
		return errors.New("aliases of ports (@) are not supported")
	}
	end.to = name
	if p.prefix != "" && !strings.Contains(name, "#") {
		end.to = p.prefix + "#" + name
	}
	if strings.HasPrefix(rest, "[") {
		number, rest, found = strings.Cut(rest[1:], "]")
		v, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
		if !found || err != nil || v < 1 {
			return fmt.Errorf("%s is not a port of %q", strconv.Quote(shorten(number)), end.to)
		}
		end.toPort = uint8(v)
	}
	for i := range p.cables {
		if c := &p.cables[i]; c.from == end.from && c.port == end.port {
			return fmt.Errorf("port %d of %q is defined twice, first at line %d", end.port, end.from.Name, c.place.Line)
		}
	}
	p.cables = append(p.cables, end)
	return p.node.portOptions(&p.node.Settings[end.port], rest)
}

// portOptions reads what follows the other end of a cable.
func (n *Node) portOptions(s *PortSettings, text string) error {
	options, comment, _ := strings.Cut(text, "#")
	if strings.HasPrefix(options, "(") { // the GUID of the other end
		_, options, _ = strings.Cut(options, ")")
	}
	for word := range strings.FieldsSeq(options) {
		name, value, _ := strings.Cut(word, "=")
		limits := map[string]struct{ low, high uint64 }{"w": {1, 31}, "s": {0, 7}, "e": {0, 15}}
		limit, known := limits[name]
		if !known {
			return fmt.Errorf("unknown option %s of a port: w=, s= and e= are known", strconv.Quote(shorten(word)))
		}
		v, err := parseNumber(value, limit.low, limit.high)
		if err != nil {
			return fmt.Errorf("option %s of a port: %w", name, err)
		}
		switch name {
		case "w":
			s.Width = uint8(v)
		case "s":
			if s.Speed = uint8(v); v == 0 {
				s.Speed = 4
			}
		case "e":
			s.Extended = uint8(v)
		}
	}
	if comment == "" {
		return nil
	}
	return n.printedPort(s, comment)
}

// printedPort reads the comment that ibnetdiscover prints at a port, with the LIDs and the link.
func (n *Node) printedPort(s *PortSettings, comment string) error {
	own, link := comment, comment
	if last := strings.LastIndex(comment, `"`); last >= 0 {
		link = comment[last+1:]
		own, _, _ = strings.Cut(comment, `"`)
	}
	if !n.isSwitch() {
		s.lids(own)
	}
	words := strings.Fields(link)
	if len(words) < 3 || words[0] != "lid" {
		return nil
	}
	width, speed, found := strings.Cut(words[2], "x")
	if !found {
		return nil
	}
	widths := map[string]uint8{"1": 1, "4": 3, "8": 4, "12": 11, "2": 16}
	speeds := map[string]PortSettings{
		"SDR": {Speed: 1}, "DDR": {Speed: 3}, "QDR": {Speed: 7}, "FDR10": {Speed: 7, FDR10: true},
		"FDR": {Speed: 7, Extended: 1, FDR10: true}, "EDR": {Speed: 7, Extended: 3, FDR10: true},
		"HDR": {Speed: 7, Extended: 7, FDR10: true}, "NDR": {Speed: 7, Extended: 15, FDR10: true},
	}
	w, known := widths[width]
	if !known {
		return fmt.Errorf("width of the link %q is unknown", words[2])
	}
	v, known := speeds[speed]
	if !known {
		return fmt.Errorf("speed of the link %q is unknown", words[2])
	}
	s.Width, s.Speed, s.Extended, s.FDR10 = w, v.Speed, v.Extended, v.FDR10
	return nil
}

// connect connects the cables. Both ends of each must be in the file.
func (p *netParser) connect() error {
	type end struct {
		node *Node
		port uint8
	}
	ends := make(map[end]*cableEnd, len(p.cables))
	for i := range p.cables {
		c := &p.cables[i]
		ends[end{c.from, c.port}] = c
	}
	for i := range p.cables {
		c := &p.cables[i]
		fail := func(format string, a ...any) error {
			c.place.Err = fmt.Errorf(format, a...)
			return &c.place
		}
		to := p.net.byName[c.to]
		if to == nil {
			return fail("no node %q", c.to)
		}
		if int(c.toPort) >= len(to.Ports) {
			return fail("node %q has no port %d", c.to, c.toPort)
		}
		far := ends[end{to, c.toPort}]
		if far == nil || far.to != c.from.Name || far.toPort != c.port {
			return fail("port %d of %q is not connected to port %d of %q at the other end",
				c.toPort, c.to, c.port, c.from.Name)
		}
		a, b := &c.from.Settings[c.port], &to.Settings[c.toPort]
		if a.Width&b.Width == 0 || a.Speed&b.Speed == 0 {
			return fail("the two ends have no width or speed in common")
		}
		own, other := c.from.Ports[c.port].Counters, to.Ports[c.toPort].Counters
		p.net.Subnet.Connect(c.from.Node, c.port, to.Node, c.toPort)
		c.from.Ports[c.port].Counters, to.Ports[c.toPort].Counters = own, other
	}
	return nil
}

// do executes a command of ibsim's console. Only PerformanceSet is known:
//
//	do PerformanceSet "leaf0"[1] PortCounters.SymbolErrorCounter=321
func (p *netParser) do(text string) error {
	command, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if command != "PerformanceSet" {
		return fmt.Errorf("command %q is not supported: only PerformanceSet is", shorten(command))
	}
	name, rest, err := quoted(rest)
	if err != nil {
		return err
	}
	n := p.net.byName[name]
	if n == nil {
		return fmt.Errorf("no node %q before this line", name)
	}
	number, rest, found := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	v, err := strconv.ParseUint(number, 0, 8)
	if !found || err != nil || int(v) >= len(n.Ports) || v == 0 && !n.isSwitch() {
		return fmt.Errorf("%s is not a port of %q", strconv.Quote(shorten(number)), name)
	}
	setting, value, found := strings.Cut(strings.TrimSpace(rest), "=")
	attribute, counter, _ := strings.Cut(setting, ".")
	isClassic := strings.EqualFold(attribute, "PortCounters")
	if !found || !isClassic && !strings.EqualFold(attribute, "PortCountersExtended") {
		return errors.New("PortCounters.NAME=VALUE is missing")
	}
	most := uint64(1<<64 - 1)
	field, ok := counterField(counter)
	if !ok {
		return fmt.Errorf("no counter %q", shorten(counter))
	}
	if isClassic {
		most = classicMost(field)
	}
	amount, err := parseNumber(value, 0, most)
	if err != nil {
		return fmt.Errorf("%s: %w", counter, err)
	}
	reflect.ValueOf(&n.Ports[v].Counters).Elem().FieldByName(field).SetUint(amount)
	return nil
}

// counterField returns the name of a counter as the specification spells it.
func counterField(name string) (string, bool) {
	for f := range reflect.TypeFor[mad.PortCountersExtended]().Fields() {
		if f.Type.Bits() == 64 && strings.EqualFold(f.Name, name) {
			return f.Name, true
		}
	}
	return "", false
}

// classicMost returns the highest value of a counter of PortCounters.
func classicMost(name string) uint64 {
	most := mad.PortCountersExtended{}
	reflect.ValueOf(&most).Elem().FieldByName(name).SetUint(1<<64 - 1)
	var c mad.PortCounters
	narrow(&c, &most)
	if f := reflect.ValueOf(c).FieldByName(name); f.IsValid() {
		return f.Uint()
	}
	return 1<<64 - 1
}

// guidFrom returns the GUID with that number.
func guidFrom(v uint64) (g ib.GUID) {
	binary.BigEndian.PutUint64(g[:], v)
	return g
}
