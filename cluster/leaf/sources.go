package leaf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/fabric"
)

// Sources are files that say to which switches cards are connected. The zero value has none: only
// what workers have reported counts.
type Sources struct {
	sweeps []*sweep
	hosts  []*hostFile
	files  []string
}

// maxLLDP is the largest output of lldpctl in bytes: about 2 KB a neighbour.
const maxLLDP = 16 << 20

// Errors of [Sources].
var (
	// ErrKind is the error for a file that is neither a sweep nor output of lldpctl.
	ErrKind = errors.New("unknown kind of topology")
	// ErrNoCard is the error for files that have no card of the cluster.
	ErrNoCard = errors.New("no card of the cluster is in it")
	// ErrContradiction is the error for files of which one says something else than another.
	ErrContradiction = errors.New("contradictory topologies")
)

// kindError is an [ErrKind] with what the file is.
type kindError struct{ what string }

// Error says what the file is.
func (e *kindError) Error() string { return e.what }

// Is makes the error match [ErrKind].
func (e *kindError) Is(target error) bool { return target == ErrKind }

// Read reads a saved sweep of rdmactl, or what lldpctl -f json printed on a node. The output of
// lldpctl doesn't name its node: unless that of "lldpcli -f json show chassis" is in the file, too,
// the file is named after the node. Errors name the file.
func (s *Sources) Read(file string, r io.Reader) error {
	if err := s.read(file, r); err != nil {
		return fmt.Errorf("read topology: %s: %w", file, err)
	}
	s.files = append(s.files, file)
	return nil
}

func (s *Sources) read(file string, r io.Reader) error {
	in := bufio.NewReader(r)
	const enough = 512
	head, err := in.Peek(enough)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if fabric.IsSaved(head) {
		t, err := fabric.ReadTopology(in)
		if err != nil {
			return err
		}
		s.sweeps = append(s.sweeps, newSweep(file, t))
		return nil
	}
	if what := otherKind(head); what != "" {
		return &kindError{what}
	}
	text, err := io.ReadAll(io.LimitReader(in, maxLLDP+1))
	if err != nil {
		return err
	}
	if len(text) > maxLLDP {
		return fmt.Errorf("longer than %d bytes", maxLLDP)
	}
	h, err := readLLDP(file, text)
	if err != nil {
		return &kindError{err.Error()}
	}
	s.hosts = append(s.hosts, h)
	return nil
}

// otherKind says what a file is that can't be read, by its first bytes.
func otherKind(head []byte) string {
	head = bytes.TrimSpace(head)
	switch {
	case len(head) == 0:
		return "the file is empty"
	case bytes.HasPrefix(head, []byte("# Topology file")), bytes.HasPrefix(head, []byte("#\n# Topology file")):
		return "the output of ibnetdiscover, which is not read: rdmactl fabric topology --save FILE saves a sweep"
	case head[0] == '<':
		return "XML: lldpctl -f json prints JSON"
	case head[0] != '{':
		return errNotLLDP.Error()
	}
	return ""
}

// Empty reports whether there are no files.
func (s *Sources) Empty() bool { return len(s.files) == 0 }

// Leaves are the leaves of a cluster.
type Leaves struct {
	// From is what they are known from, for result.Run.LeavesFrom: "sweep FILE" or "lldp"; "" if no
	// leaf is known.
	From string
	// Nodes are the leaves by index of plan.Cluster.Nodes, "" for those that are unknown.
	Nodes []string
	// Ports are the switch ports by node and card.
	Ports [][][]Port
	// Missing are the cards whose switch is unknown.
	Missing []Remark
	// Odd are the cards on another switch than those of other nodes of their leaf.
	Odd []Remark
	// Mixed are the nodes without a leaf that share switches with one.
	Mixed []Remark
	// Unused are the files that have no node of the cluster.
	Unused []string
}

// Remark is a card, or a node, and what is wrong with it.
type Remark struct {
	Node   string
	Device string // "" for a node
	Why    string
}

// String returns one line.
func (r Remark) String() string { return strings.TrimSpace(r.Node+" "+r.Device) + ": " + r.Why }

// Find returns the leaves of the nodes of a cluster; nodes is what they have reported. What files
// say about a card comes before what its worker has reported. Errors match [ErrNoCard] or
// [ErrContradiction].
func (s *Sources) Find(c plan.Cluster, nodes []result.Node) (*Leaves, error) {
	l := &Leaves{Ports: make([][][]Port, len(c.Nodes))}
	hosts, err := s.hostsOf(c, l)
	if err != nil {
		return nil, fmt.Errorf("find leaves: %w", err)
	}
	usedSweep, usedHosts, inFile := map[int]bool{}, false, false
	for i, n := range c.Nodes {
		l.Ports[i] = make([][]Port, len(n.Rails))
		for j, card := range n.Rails {
			var facts map[string]string
			if i < len(nodes) && j < len(nodes[i].Cards) {
				facts = nodes[i].Cards[j].Facts
			}
			a, err := s.card(card.Device, facts, hosts[i])
			if err != nil {
				return nil, fmt.Errorf("find leaves: %s %s: %w", n.Name, card.Device, err)
			}
			l.Ports[i][j] = a.ports
			inFile = inFile || a.inFile
			usedHosts = usedHosts || len(a.ports) > 0 && a.sweep < 0
			if a.sweep >= 0 {
				usedSweep[a.sweep] = true
			}
			if len(a.ports) == 0 {
				l.Missing = append(l.Missing, Remark{n.Name, card.Device, a.why})
			}
		}
	}
	if !s.Empty() && !inFile {
		return nil, fmt.Errorf("find leaves: %s: %w", strings.Join(s.files, listSeparator), s.noCard(c, nodes))
	}
	l.group(c)
	for i, sweep := range s.sweeps {
		if usedSweep[i] {
			l.from("sweep " + sweep.file)
		}
	}
	if usedHosts {
		l.from("lldp")
	}
	return l, nil
}

// from adds a source.
func (l *Leaves) from(source string) {
	if l.From != "" {
		l.From += listSeparator
	}
	l.From += source
}

// noCard says why files that can be read have no card of the cluster.
func (s *Sources) noCard(c plan.Cluster, nodes []result.Node) error {
	if len(s.sweeps) > 0 {
		for i := range nodes {
			for j := range nodes[i].Cards {
				if hasGUID(nodes[i].Cards[j].Facts) {
					return ErrNoCard
				}
			}
		}
		return fmt.Errorf("%w: no card has reported a GUID", ErrNoCard)
	}
	if len(c.Nodes) == 0 {
		return ErrNoCard
	}
	return fmt.Errorf("%w: the output of lldpctl is in a file named after its node, such as %s.json", ErrNoCard,
		c.Nodes[0].Name)
}

// answer is what the sources say about a card.
type answer struct {
	ports  []Port
	sweep  int  // index of the sweep that has it, -1 for LLDP
	inFile bool // a file has it, with a switch or without
	why    string
}

// card looks for a card in all sources.
func (s *Sources) card(device string, facts map[string]string, host *hostFile) (answer, error) {
	a := answer{sweep: -1}
	file := ""
	found := func(in string, ports []Port) error {
		if a.ports != nil && !samePorts(a.ports, ports) {
			return fmt.Errorf("%w: it is connected to %s by %s, and to %s by %s", ErrContradiction, text(a.ports), file,
				text(ports), in)
		}
		a.ports, a.inFile, file = ports, true, in
		return nil
	}
	if len(s.sweeps) > 0 {
		a.why = "it is not in the sweep"
		if !hasGUID(facts) {
			a.why = "it has reported no GUID"
		}
	}
	for i, sweep := range s.sweeps {
		p := sweep.find(device, facts)
		switch {
		case p == nil:
		case p.why != "":
			a.inFile, a.why = true, p.why
		default:
			if err := found(sweep.file, []Port{p.to}); err != nil {
				return a, err
			}
			a.sweep = i
		}
	}
	if host != nil {
		ports, err := host.all(Netdevs(facts))
		if err != nil {
			a.why = err.Error()
		}
		for _, d := range Netdevs(facts) {
			a.inFile = a.inFile || len(host.neighbours[d]) > 0
		}
		if len(ports) > 0 {
			if err := found(host.file, ports); err != nil {
				return a, err
			}
		}
	}
	if a.ports == nil {
		a.ports = portsOf(facts)
	}
	if a.why == "" {
		a.why = "no file has its node, and its worker has reported no LLDP neighbour"
	}
	return a, nil
}

// Netdevs returns the network devices of a card by its facts.
func Netdevs(facts map[string]string) []string {
	if facts[result.FactNetdev] == "" {
		return nil
	}
	return strings.Split(facts[result.FactNetdev], listSeparator)
}

// hostsOf returns the files of nodes, by index of the cluster.
func (s *Sources) hostsOf(c plan.Cluster, l *Leaves) ([]*hostFile, error) {
	out := make([]*hostFile, len(c.Nodes))
	for _, h := range s.hosts {
		node, err := h.node(c)
		if err != nil {
			return nil, err
		}
		switch {
		case node < 0:
			l.Unused = append(l.Unused, h.file)
		case out[node] != nil:
			return nil, fmt.Errorf("%w: %s and %s are both of node %s", ErrContradiction, out[node].file, h.file,
				c.Nodes[node].Name)
		default:
			out[node] = h
		}
	}
	return out, nil
}

// node returns the index of the node of a file, -1 for none.
func (h *hostFile) node(c plan.Cluster) (int, error) {
	byFile := nodeNamed(c, hostOf(h.file))
	if h.host == "" {
		return byFile, nil
	}
	byChassis := nodeNamed(c, h.host)
	if byFile >= 0 && byChassis != byFile {
		return -1, fmt.Errorf("%w: %s is named after node %s, and the local chassis in it is %s", ErrContradiction,
			h.file, c.Nodes[byFile].Name, h.host)
	}
	return byChassis, nil
}

// nodeNamed returns the index of the node with a name, or else of the only one whose name is the
// same up to the domain; -1 for none.
func nodeNamed(c plan.Cluster, name string) int {
	short := func(s string) string {
		s, _, _ = strings.Cut(s, ".")
		return strings.ToLower(s)
	}
	at := slices.IndexFunc(c.Nodes, func(n plan.Node) bool { return n.Name == name })
	if _, err := netip.ParseAddr(name); at >= 0 || err == nil { // an address has no domain
		return at
	}
	for i, n := range c.Nodes {
		switch {
		case short(n.Name) != short(name):
		case at >= 0:
			return -1
		default:
			at = i
		}
	}
	return at
}
