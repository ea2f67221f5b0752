package logcases

import (
	"fmt"
	"slices"
	"strings"
)

// The stages of a start, in order. @init upto=STAGE ends with the lines of that stage.
var stages = []string{"bootstrap", "network", "start", "graph", "channels", "connected", "complete"}

// initLines returns what the ranks of the given nodes print while they start, stage by stage, the
// ranks in turn.
func (s *session) initLines(nodes []int, from, upto string) ([]string, error) {
	first, last := slices.Index(stages, from), slices.Index(stages, upto)
	if first < 0 || last < first {
		return nil, fmt.Errorf("@init: unknown stage in from=%s upto=%s", from, upto)
	}
	var lines []string
	for _, stage := range stages[first : last+1] {
		for rank := range s.ranks() {
			if i, _ := s.nodeOf(rank); slices.Contains(nodes, i) {
				lines = append(lines, s.stage(rank, stage)...)
			}
		}
	}
	return lines, nil
}

func (s *session) stage(rank int, stage string) []string {
	switch stage {
	case "bootstrap":
		return s.bootstrapLines(rank)
	case "network":
		return s.networkLines(rank)
	case "start":
		return s.startLines(rank)
	case "graph":
		return s.graphLines(rank)
	case "channels":
		return s.channelLines(rank)
	case "connected":
		return s.connectedLines(rank)
	}
	return s.completeLines(rank)
}

func (s *session) bootstrapLines(rank int) (lines []string) {
	_, n := s.nodeOf(rank)
	v := n.version
	if v.since(13) && s.library == "NCCL" {
		lines = append(lines, s.info(rank, "cudaDriverVersion %s", s.driver))
	}
	for _, e := range s.env {
		if envLine(e) != "" && bootstrapVariable(e) {
			lines = append(lines, s.info(rank, "%s", envLine(e)))
		}
	}
	addr := fmt.Sprintf("%s:%s<0>", s.oob, n.ip)
	switch {
	case v.since(24):
		lines = append(lines, s.info(rank, "Bootstrap: Using %s", addr))
	case v.since(8):
		lines = append(lines, s.info(rank, "Bootstrap : Using %s", addr))
	default:
		lines = append(lines, s.info(rank, "Bootstrap : Using [0]%s", addr))
	}
	if line, ok := s.versionLine(rank); ok {
		lines = append(lines, line)
	}
	return lines
}

// bootstrapVariable reports whether a variable is read before the network is chosen.
func bootstrapVariable(assignment string) bool {
	return len(assignment) > 11 && (assignment[:11] == "NCCL_SOCKET" || assignment[:11] == "NCCL_COMM_I")
}

func (s *session) networkLines(rank int) (lines []string) {
	_, n := s.nodeOf(rank)
	lines = append(lines, s.pluginLines(rank)...)
	for _, e := range s.env {
		if !bootstrapVariable(e) {
			lines = append(lines, s.info(rank, "%s", envLine(e)))
		}
	}
	lines = append(lines, s.deviceLines(rank)...)
	if s.direct && n.net != "Socket" && n.version.since(14) && s.library == "NCCL" {
		lines = append(lines, s.info(rank, "DMA-BUF is available on GPU device %d", rank%s.gpus))
	}
	return lines
}

func (s *session) startLines(rank int) []string {
	if _, n := s.nodeOf(rank); !n.version.since(18) {
		return nil
	}
	return []string{s.commLine(rank, "START")}
}

func (s *session) graphLines(rank int) (lines []string) {
	_, n := s.nodeOf(rank)
	if s.shows("NET") && n.net != "Socket" {
		state := "Disabled"
		if s.direct {
			state = "Enabled"
		}
		for i, h := range n.hcas {
			switch {
			case n.version.since(13):
				lines = append(lines, s.info(rank, "NET/%s : GPU Direct RDMA %s for HCA %d '%s'", n.net, state,
					i, h))
			case !s.direct:
				lines = append(lines, s.info(rank, "NET/IB : GPU Direct RDMA Disabled for HCA %d '%s' (no module)",
					i, h))
			}
		}
	}
	if s.shows("GRAPH") {
		lines = append(lines, s.topologyLines(rank)...)
	}
	lines = append(lines, s.info(rank, "Setting affinity for GPU %d to ffff,ffffffff", rank%s.gpus))
	if n.version.since(20) {
		lines = append(lines, s.info(rank, "comm %s rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
			s.comm(rank), rank, s.ranks(), len(s.nodes), s.gpus, rank%s.gpus))
	}
	if rank == 0 {
		for c := range 2 {
			var order strings.Builder
			for r := range s.ranks() {
				fmt.Fprintf(&order, " %d", r)
			}
			lines = append(lines, s.info(rank, "Channel %02d/02 : %s", c, order.String()))
		}
	}
	up, down := rank-1, rank+1
	if rank == s.ranks()-1 {
		down = -1
	}
	tree := fmt.Sprintf("%d/-1/-1->%d->%d", down, rank, up)
	lines = append(lines, s.info(rank, "Trees [0] %s [1] %s", tree, tree))
	if n.version.since(17) {
		lines = append(lines, s.info(rank, "P2P Chunksize set to 131072"))
	}
	return lines
}

// topologyLines are the GRAPH lines of a rank; the first of a node prints the whole system.
func (s *session) topologyLines(rank int) []string {
	_, n := s.nodeOf(rank)
	lines := []string{s.info(rank, "=== System : maxBw 24.0 totalBw 240.0 ==="), s.info(rank, "CPU/0 (1/1/2)")}
	for i, h := range n.hcas {
		lines = append(lines, s.info(rank, "+ PCI[24.0] - NIC/%d000", i+2),
			s.info(rank, "              + NET[25.0] - NET/%d (%x/1/25.000000) %s", i, s.seed, h))
	}
	return append(lines, s.info(rank, "=========================================="),
		s.info(rank, "GPU/%s :GPU/%s (0/5000.000000/LOC) CPU/0 (2/24.000000/PHB) NET/0 (4/24.000000/PXB)",
			s.busID(rank), s.busID(rank)))
}

// device returns how a channel line names a rank: by bus ID until 2.18.1, then by number.
func (s *session) device(rank int) string {
	_, n := s.nodeOf(rank)
	if !n.version.since(18, 3) {
		return fmt.Sprintf("%d[%s]", rank, s.busID(rank))
	}
	return fmt.Sprintf("%d[%d]", rank, rank%s.gpus)
}

func (s *session) channelLines(rank int) (lines []string) {
	i, n := s.nodeOf(rank)
	next, prev := (rank+1)%s.ranks(), (rank+s.ranks()-1)%s.ranks()
	for c := range 2 {
		head := fmt.Sprintf("Channel %02d/0", c)
		if !n.version.since(12) {
			head = fmt.Sprintf("Channel %02d", c)
		}
		if j, _ := s.nodeOf(prev); j != i {
			lines = append(lines, s.info(rank, "%s : %s -> %s [receive] via %s", head, s.device(prev), s.device(rank),
				s.path(n, c)))
		}
		if j, _ := s.nodeOf(next); j != i {
			lines = append(lines, s.info(rank, "%s : %s -> %s [send] via %s", head, s.device(rank), s.device(next),
				s.path(n, c)))
			lines = append(lines, s.connectionLines(rank, c)...)
		} else if next != rank {
			lines = append(lines, s.info(rank, "%s : %s -> %s via %s", head, s.device(rank), s.device(next), local(n)))
		}
	}
	return lines
}

func local(n *node) string {
	if n.version.since(20) {
		return "P2P/CUMEM"
	}
	return "P2P/IPC"
}

// path names the transport of a channel between nodes.
func (s *session) path(n *node, channel int) string {
	index := 0
	if len(n.hcas) > 0 {
		index = channel % len(n.hcas)
	}
	p := fmt.Sprintf("NET/%s/%d", n.net, index)
	if s.direct && n.net != "Socket" {
		p += "/GDRDMA"
	}
	return p
}

func (s *session) connectionLines(rank, channel int) []string {
	_, n := s.nodeOf(rank)
	if !s.shows("NET") || n.net != "IB" || channel > 0 {
		return nil
	}
	var lines []string
	for d := range n.hcas {
		lines = append(lines, s.info(rank, "%s", s.qpLine(rank, d)))
	}
	return lines
}

func (s *session) connectedLines(rank int) []string {
	_, n := s.nodeOf(rank)
	rings := "Connected all rings"
	if n.version.since(24) {
		gdr := 0
		if s.direct && n.net != "Socket" {
			gdr = 1
		}
		rings += fmt.Sprintf(", use ring PXN 0 GDR %d", gdr)
	}
	lines := []string{s.info(rank, "%s", rings), s.info(rank, "Connected all trees")}
	if n.version.since(10) {
		lines = append(lines, s.info(rank, "threadThresholds 8/8/64 | %d/8/64 | 512 | 512", 8*s.ranks()))
	}
	switch {
	case n.version.since(20):
		lines = append(lines, s.info(rank, "2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, "+
			"2 p2p channels per peer"))
	case n.version.since(17):
		lines = append(lines, s.info(rank, "2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer"))
	default:
		lines = append(lines, s.info(rank, "2 coll channels, 2 p2p channels, 2 p2p channels per peer"))
	}
	return lines
}

func (s *session) completeLines(rank int) []string {
	_, n := s.nodeOf(rank)
	lines := []string{s.commLine(rank, "COMPLETE")}
	if n.version.since(23) {
		lines = append(lines, s.info(rank, "Init timings - ncclCommInitRank: rank %d nranks %d total 1.%02d "+
			"(kernels 0.21, alloc 0.33, bootstrap 0.12, allgathers 0.01, topo 0.09, graphs 0.00, connections 0.31, "+
			"rest 0.03)", rank, s.ranks(), 10+rank))
	}
	return lines
}
