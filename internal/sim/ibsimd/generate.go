package ibsimd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// A shape is a kind of topology that can be generated.
type shape struct {
	name     string
	defaults map[string]int // parameters
	build    func(b *builder, p map[string]int)
}

// shapes returns the topologies in the order of the help.
func shapes() []shape {
	return []shape{
		{"fat-tree", map[string]int{
			"pods": 0, "leaves": 4, "spines": 2, "cores": 0, "hosts": 8, "cables": 1,
		}, fatTree},
		{"rail", map[string]int{"groups": 1, "nodes": 8, "rails": 8, "spines": 4, "cables": 1}, railOptimized},
		{"dragonfly", map[string]int{
			"groups": 4, "leaves": 2, "spines": 2, "hosts": 4, "cables": 1, "global": 2,
		}, dragonfly},
	}
}

// Shapes returns the names of the topologies of [Generate].
func Shapes() []string {
	var names []string
	for _, s := range shapes() {
		names = append(names, s.name)
	}
	return names
}

// Parameters of all shapes.
const (
	paramRadix   = "radix"
	paramSpeed   = "speed"
	defaultRadix = 64
	maxRadix     = 254
	maxParameter = 4096
)

// Generate returns a net with a usual topology, described as NAME or NAME:PARAMETER=NUMBER,…
// Equal descriptions give equal nets, GUIDs included. The shapes and their parameters:
//
//	fat-tree   leaves, spines, hosts of each leaf, cables between a leaf and a spine; with pods
//	           and cores three levels: leaves and spines are then those of each pod
//	rail       groups of nodes with rails adapters each, a leaf for each rail of a group, spines
//	dragonfly  groups with leaves, spines and hosts of each leaf; global cables between two groups
//
// All have the radix of the switches and the speed: edr, hdr or ndr.
func Generate(text string) (*Net, error) {
	name, list, _ := strings.Cut(text, ":")
	all := shapes()
	at := slices.IndexFunc(all, func(s shape) bool { return s.name == name })
	if at < 0 {
		return nil, fmt.Errorf("generate net: %w", &UnknownNameError{"topology", name, Shapes()})
	}
	p := maps.Clone(all[at].defaults)
	p[paramRadix] = defaultRadix
	settings := PortSettings{Width: 3, Speed: 7, Extended: speedsToHDR}
	if list != "" {
		for one := range strings.SplitSeq(list, ",") {
			if err := parameter(p, &settings, one); err != nil {
				return nil, fmt.Errorf("generate net %s: %w", name, err)
			}
		}
	}
	b := &builder{net: NewNet(), radix: uint8(p[paramRadix]), settings: settings, free: map[*Node]int{}}
	all[at].build(b, p)
	if b.err != nil {
		return nil, fmt.Errorf("generate net %s: %w", name, b.err)
	}
	return b.net, nil
}

// parameter reads one NAME=NUMBER.
func parameter(p map[string]int, settings *PortSettings, text string) error {
	name, value, found := strings.Cut(text, "=")
	if name == paramSpeed {
		speeds := map[string]uint8{"edr": 3, "hdr": speedsToHDR, "ndr": speedsToHDR | speedNDR}
		extended, known := speeds[strings.ToLower(value)]
		if !known {
			return fmt.Errorf("speed %q is not one of edr, hdr, ndr", shorten(value))
		}
		settings.Extended = extended
		return nil
	}
	if _, known := p[name]; !known {
		return &UnknownNameError{"parameter", name, append(slices.Sorted(maps.Keys(p)), paramSpeed)}
	}
	most := maxParameter
	if name == paramRadix {
		most = maxRadix
	}
	v, err := strconv.Atoi(value)
	if !found || err != nil || v < 1 || v > most {
		return fmt.Errorf("parameter %s: %s is not a number from 1 to %d", name, strconv.Quote(shorten(value)), most)
	}
	p[name] = v
	return nil
}

// builder builds a net. Its methods do nothing after an error.
type builder struct {
	net      *Net
	radix    uint8
	settings PortSettings
	free     map[*Node]int // the last port with a cable
	err      error
}

// Identifiers of the devices that a generated net is made of: Mellanox, a Quantum switch and a
// ConnectX-7 adapter.
const (
	vendorMellanox  = 0x2c9
	deviceQuantum   = 0xd2f0
	deviceConnectX7 = 0x1021
)

func (b *builder) addSwitch(format string, a ...any) *Node {
	name := fmt.Sprintf(format, a...)
	n := b.add(name, mad.NodeTypeSwitch, b.radix)
	if n != nil {
		n.Description, n.DeviceID = "MF0;"+name+":MQM9700/U1", deviceQuantum
	}
	return n
}

func (b *builder) addHost(name, device string) *Node {
	id := name
	if device != "mlx5_0" {
		id += "-" + device
	}
	n := b.add(id, mad.NodeTypeCA, 1)
	if n != nil {
		n.Description, n.DeviceID = name+" "+device, deviceConnectX7
	}
	return n
}

func (b *builder) add(name string, kind mad.NodeType, ports uint8) *Node {
	if b.err != nil {
		return nil
	}
	n, err := b.net.Add(name, kind, ports, b.settings)
	if err != nil {
		b.err = err
		return nil
	}
	n.VendorID = vendorMellanox
	return n
}

// connect connects the lowest free ports of two nodes with cables.
func (b *builder) connect(x, y *Node, cables int) {
	for range cables {
		if b.err != nil {
			return
		}
		b.free[x]++
		b.free[y]++
		for _, n := range []*Node{x, y} {
			if b.free[n] >= len(n.Ports) {
				b.err = fmt.Errorf("%s needs more than %d ports: radix=NUMBER sets up to %d",
					n.Name, len(n.Ports)-1, maxRadix)
				return
			}
		}
		b.net.Subnet.Connect(x.Node, uint8(b.free[x]), y.Node, uint8(b.free[y]))
	}
}

// fatTree builds two levels, or three if there are pods.
func fatTree(b *builder, p map[string]int) {
	pods, spines, cores := p["pods"], p["spines"], p["cores"]
	if pods == 0 && cores == 0 {
		b.leafSpine("", p["leaves"], spines, p["hosts"], p["cables"], 0)
		return
	}
	if pods == 0 || cores == 0 || cores%spines != 0 {
		b.err = fmt.Errorf("three levels need pods, and cores that are a multiple of the %d spines of a pod", spines)
		return
	}
	var top []*Node
	for c := range cores {
		top = append(top, b.addSwitch("core%d", c))
	}
	for pod := range pods {
		hosts := p["leaves"] * p["hosts"]
		each := cores / spines
		prefix := fmt.Sprintf("pod%d-", pod)
		for s, spine := range b.leafSpine(prefix, p["leaves"], spines, p["hosts"], p["cables"], pod*hosts) {
			for c := range each {
				b.connect(spine, top[s*each+c], 1)
			}
		}
	}
}

// leafSpine builds leaves with hosts, numbered from first on, each connected to all spines, and
// returns the spines.
func (b *builder) leafSpine(prefix string, leaves, spines, hosts, cables, first int) (top []*Node) {
	for s := range spines {
		top = append(top, b.addSwitch("%sspine%d", prefix, s))
	}
	for l := range leaves {
		leaf := b.addSwitch("%sleaf%d", prefix, l)
		for h := range hosts {
			b.connect(leaf, b.addHost(fmt.Sprintf("host%d", first+l*hosts+h), "mlx5_0"), 1)
		}
		for _, spine := range top {
			b.connect(leaf, spine, cables)
		}
	}
	return top
}

// railOptimized builds groups of nodes: adapter r of each node is at leaf r of its group.
func railOptimized(b *builder, p map[string]int) {
	var top []*Node
	for s := range p["spines"] {
		top = append(top, b.addSwitch("spine%d", s))
	}
	for g := range p["groups"] {
		for r := range p["rails"] {
			leaf := b.addSwitch("group%d-rail%d", g, r)
			for n := range p["nodes"] {
				name := fmt.Sprintf("node%d", g*p["nodes"]+n)
				b.connect(leaf, b.addHost(name, fmt.Sprintf("mlx5_%d", r)), 1)
			}
			for _, spine := range top {
				b.connect(leaf, spine, p["cables"])
			}
		}
	}
}

// dragonfly builds a dragonfly+: each group is a fat tree of two levels, and the spines of each two
// groups are connected with cables that take turns.
func dragonfly(b *builder, p map[string]int) {
	groups := make([][]*Node, p["groups"])
	for g := range groups {
		first := g * p["leaves"] * p["hosts"]
		groups[g] = b.leafSpine(fmt.Sprintf("group%d-", g), p["leaves"], p["spines"], p["hosts"], p["cables"], first)
	}
	turn := make([]int, len(groups))
	next := func(g int) *Node {
		turn[g]++
		return groups[g][(turn[g]-1)%len(groups[g])]
	}
	for x := range groups {
		for y := x + 1; y < len(groups); y++ {
			for range p["global"] {
				b.connect(next(x), next(y), 1)
			}
		}
	}
}
