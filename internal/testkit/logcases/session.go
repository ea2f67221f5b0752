package logcases

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// session describes one job with NCCL or RCCL. What its ranks print when they start follows from
// it.
type session struct {
	library string // "NCCL" or "RCCL"
	cuda    string // "12.4"
	driver  string // "12040"
	nodes   []node
	gpus    int // per node
	subsys  []string
	env     []string // NAME=VALUE, as printed by NCCL
	oob     string   // interface of the out-of-band network
	direct  bool     // GPU Direct RDMA
	plugin  string   // external plugin: "IBext_v8", "AWS Libfabric"
	ro      bool     // relaxed ordering
	start   time.Time
	seed    uint32 // makes addresses and process IDs differ between cases
}

// node is one host of a session.
type node struct {
	name     string
	ip       string // out-of-band
	version  version
	net      string // "IB", "Socket", "IBext_v8", …
	link     string // "IB" or "RoCE"
	hcas     []string
	mtu      int    // enum of verbs
	gid      string // "v4", "ll", "zero" or an address
	gidIndex string
}

// version is a release of NCCL: major, minor, patch.
type version struct{ major, minor, patch int }

func parseVersion(s string) (v version, err error) {
	if _, err := fmt.Sscanf(s, "%d.%d.%d", &v.major, &v.minor, &v.patch); err != nil {
		return v, fmt.Errorf("version %q: %w", s, err)
	}
	return v, nil
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

// since reports whether v is 2.MINOR or later; a patch can follow.
func (v version) since(minor int, patch ...int) bool {
	if v.minor != minor {
		return v.minor > minor
	}
	return len(patch) == 0 || v.patch >= patch[0]
}

func newSession(id string, h header) (*session, error) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
	s := &session{
		library: "NCCL", cuda: "12.4", driver: "12040", gpus: 2, oob: "eth0", direct: h["direct"] != "off",
		plugin: h["plugin"], ro: h["ro"] != "off", seed: hash.Sum32(), env: h.list("env"),
		subsys: strings.Split("INIT,ENV", ","),
	}
	s.set(&s.library, h, "library")
	s.set(&s.cuda, h, "cuda")
	s.set(&s.driver, h, "driver")
	s.set(&s.oob, h, "oob")
	if v, ok := h["subsys"]; ok {
		s.subsys = strings.Split(v, ",")
	}
	if v, ok := h["gpus"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("header gpus: %q isn't a positive number", v)
		}
		s.gpus = n
	}
	s.start = time.Date(2025, 6, 3, 8, 0, 0, 0, time.UTC)
	if v, ok := h["start"]; ok {
		t, err := time.Parse("2006-01-02T15:04:05", v)
		if err != nil {
			return nil, fmt.Errorf("header start: %w", err)
		}
		s.start = t
	}
	if err := s.readNodes(h); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *session) set(field *string, h header, key string) {
	if v, ok := h[key]; ok {
		*field = v
	}
}

// readNodes reads "nodes: NAME@IP NAME@IP" and the values that can differ between nodes.
func (s *session) readNodes(h header) error {
	var names []string
	for _, word := range h.list("nodes") {
		name, ip, ok := strings.Cut(word, "@")
		if _, err := netip.ParseAddr(ip); !ok || err != nil {
			return fmt.Errorf("header nodes: %q isn't NAME@IP", word)
		}
		names = append(names, name)
		s.nodes = append(s.nodes, node{name: name, ip: ip})
	}
	for key, fallback := range map[string]string{
		"nccl": "2.21.5", "net": "IB", "link": "IB", "hcas": "mlx5_0", "mtu": "5", "gid": "v4", "gid-index": "",
	} {
		values, err := h.perNode(key, fallback, names)
		if err != nil {
			return err
		}
		for i := range s.nodes {
			if err := s.nodes[i].set(key, values[s.nodes[i].name]); err != nil {
				return err
			}
		}
	}
	for i := range s.nodes {
		s.nodes[i].defaults()
	}
	return nil
}

func (n *node) set(key, value string) (err error) {
	switch key {
	case "nccl":
		n.version, err = parseVersion(value)
	case "net":
		n.net = value
	case "link":
		n.link = value
	case "hcas":
		if value != "none" {
			n.hcas = strings.Split(value, ",")
		}
	case "mtu":
		n.mtu, err = strconv.Atoi(value)
	case "gid":
		n.gid = value
	case "gid-index":
		n.gidIndex = value
	}
	return err
}

// defaults fills the GID index: 0 until 2.20, then the index of the RoCE v2 address.
func (n *node) defaults() {
	if n.gidIndex != "" {
		return
	}
	n.gidIndex = "0"
	if n.version.since(21) {
		n.gidIndex = "3"
	}
}

// shows reports whether lines of an NCCL subsystem are printed.
func (s *session) shows(subsystem string) bool {
	return slices.Contains(s.subsys, subsystem) || slices.Contains(s.subsys, "ALL")
}

func (s *session) ranks() int { return s.gpus * len(s.nodes) }

// nodeOf returns the node of a rank; its index counts from 0.
func (s *session) nodeOf(rank int) (int, *node) {
	i := rank / s.gpus
	return i, &s.nodes[i]
}

// pid and tid are the process and thread IDs of a rank, different for each case.
func (s *session) pid(rank int) int {
	i, _ := s.nodeOf(rank)
	return 2000 + int(s.seed%30000) + 1013*i + rank%s.gpus
}

func (s *session) tid(rank int) int { return s.pid(rank) + 120 + 3*(rank%s.gpus) }

// gidOf returns the GID of a node's device: on RoCE the address of its rail.
func (s *session) gidOf(nodeIndex, device int) netip.Addr {
	n := &s.nodes[nodeIndex]
	mac := [6]byte{0x5c, 0x25, byte(s.seed), byte(s.seed >> 8), byte(nodeIndex*16 + 1), byte(device + 2)}
	switch n.gid {
	case "ll":
		return netip.AddrFrom16([16]byte{
			0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5],
		})
	case "zero":
		return netip.IPv6Unspecified()
	case "v4":
		v4 := [4]byte{10, byte(64 + s.seed%64), byte(device + 1), byte(nodeIndex + 11)}
		return netip.AddrFrom16(netip.AddrFrom4(v4).As16())
	}
	return netip.MustParseAddr(n.gid)
}

// facts returns what a complete start of all ranks shows.
func (s *session) facts() Facts {
	f := Facts{Networks: map[string]string{}, NICs: map[string][]string{}, Ranks: s.ranks()}
	for i, n := range s.nodes {
		if v := s.library + " " + n.version.String(); !slices.Contains(f.Versions, v) {
			f.Versions = append(f.Versions, v)
		}
		f.Hosts = append(f.Hosts, n.name)
		f.Networks[n.name] = n.net
		if len(n.hcas) > 0 {
			f.NICs[n.name] = n.hcas
		}
		if n.link == "RoCE" && s.shows("NET") && n.net == "IB" && n.gid != "zero" {
			for d := range n.hcas {
				f.GIDs = append(f.GIDs, s.gidOf(i, d).String())
			}
		}
	}
	if s.nodes[0].net != "Socket" {
		f.GDR = "off"
		if s.direct {
			f.GDR = "on"
		}
	}
	return f
}
