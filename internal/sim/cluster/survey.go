package cluster

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/cluster/result"
)

// Facts of a healthy node.
const (
	kernel        = "6.8.0-60-generic"
	driver        = "mlx5_core 24.10-2.1.8"
	firmware      = "28.43.1014"
	otherFirmware = "28.39.1002"
	board         = "MT_0000000838"
)

// survey makes what the nodes report.
func (m *Model) survey(rng *rand.Rand) {
	m.nodes = make([]result.Node, m.s.Nodes)
	for i := range m.nodes {
		n := &m.nodes[i]
		n.Cards = make([]result.Card, m.s.Rails)
		if m.node[i].absent {
			n.State, n.Cause = result.NodeAbsent, "no answer to survey within 1m10s"
			continue
		}
		n.State = result.NodeReady
		n.Facts = map[string]string{result.FactKernel: kernel}
		// Clocks that NTP keeps are within a millisecond in a data center.
		n.Clock = time.Duration(rng.NormFloat64() * float64(200*time.Microsecond))
		n.Uncertainty = 100*time.Microsecond + time.Duration(rng.ExpFloat64()*float64(50*time.Microsecond))
		for r := range n.Cards {
			n.Cards[r].Facts = m.facts(i, r)
		}
	}
	for i := range m.s.Faults {
		if f := &m.s.Faults[i]; !m.node[f.Node].absent {
			m.report(f)
		}
	}
}

// facts returns those of a healthy card.
func (m *Model) facts(node, rail int) map[string]string {
	subnet := fmt.Sprintf("10.%d.0.0/16", rail)
	if m.s.SubnetPerLeaf {
		leaf := m.t.leaf[node][rail]
		subnet = fmt.Sprintf("10.%d.%d.0/24", leaf/200, leaf%200)
		if !m.s.LeafPerRail {
			subnet = fmt.Sprintf("10.%d.%d.0/24", rail, leaf)
		}
	}
	speed := map[bool]string{true: "32.0 GT/s x16", false: "16.0 GT/s x16"}[m.s.Rate > 200]
	return map[string]string{
		result.FactDriver: driver, result.FactFirmware: firmware, result.FactBoard: board,
		result.FactState: "ACTIVE", result.FactRate: strconv.FormatFloat(m.s.Rate, 'g', -1, 64),
		result.FactMTU: strconv.Itoa(usualMTU), result.FactGIDType: "RoCE v2",
		result.FactGID: fmt.Sprintf("::ffff:10.%d.%d.%d", rail, node/200, node%200+1), result.FactSubnet: subnet,
		result.FactPKey: "0xffff", result.FactPCIe: speed, result.FactClass: "106", result.FactPFC: "3",
	}
}

// report changes what the nodes report of a fault that isn't hidden: facts, failures and findings.
func (m *Model) report(f *Fault) {
	node := &m.nodes[f.Node]
	card := &node.Cards[f.Rail]
	find := func(check, summary string) {
		node.Findings = append(node.Findings, result.Finding{
			Check: check, Object: fmt.Sprintf("mlx5_%d:1", f.Rail), Outcome: "fail", Summary: summary,
		})
	}
	switch {
	case f.Hidden:
	case f.Kind == WrongClock:
		node.Clock += time.Duration(f.Severity * float64(time.Second))
	case f.Kind == DeadCard:
		card.Facts[result.FactState] = "DOWN"
		card.Failure = portDown(int16(f.Rail), result.StepOpen)
		find("port-active", "the port is down")
	case f.Kind == WrongMTU:
		card.Facts[result.FactMTU] = strconv.Itoa(int(f.Severity))
		find("mtu", fmt.Sprintf("the MTU is %d", int(f.Severity)))
	case f.Kind == MissingGID:
		card.Facts[result.FactGID], card.Facts[result.FactGIDType] = "", ""
		find("gid-routable", "the port has no GID with a routable address")
	case f.Kind == OtherGIDType:
		card.Facts[result.FactGIDType] = "RoCE v1"
	case f.Kind == WrongPKey:
		card.Facts[result.FactPKey] = "0x8001"
	case f.Kind == ExchangedRails:
		// Addresses follow the cable; see facts, which already has those of routed leaves.
		if !m.s.SubnetPerLeaf || !m.s.LeafPerRail {
			other := &node.Cards[f.Other]
			a, b := card.Facts[result.FactSubnet], other.Facts[result.FactSubnet]
			card.Facts[result.FactSubnet], other.Facts[result.FactSubnet] = b, a
		}
	case f.Kind == WrongClass:
		card.Facts[result.FactClass] = "0"
	case f.Kind == HalfPCIe:
		speed := card.Facts[result.FactPCIe]
		card.Facts[result.FactPCIe] = speed[:len(speed)-len("16")] + "8"
		find("pcie-link", "the slot has 8 of 16 lanes")
	case f.Kind == OtherFirmware:
		card.Facts[result.FactFirmware] = otherFirmware
	}
}
