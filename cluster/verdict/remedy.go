package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/doctor"
)

// engineDevice is the beginning of the name of a card that is RDMA in software over a network
// device: roce@eth1, or roce@192.0.2.1. Neither lspci nor NCCL shows such a card.
const engineDevice = "roce@"

const eachWithAThird = "measure each of them with a third node; if there is none, swap the cable between them " +
	"and repeat"

// netdevOf returns the network device of the first card of a verdict, or "" if it is unknown or the
// loopback device.
func (v *view) netdevOf(x *Verdict) string {
	if len(x.Where.Ends) == 0 {
		return ""
	}
	c := v.find(x.Where.Ends[0])
	if c < 0 || v.cards[c].facts[result.FactNetdev] == "lo" {
		return ""
	}
	return v.cards[c].facts[result.FactNetdev]
}

// nextOfEngine returns the next step for a card that is RDMA in software, or "" if it is that of
// other cards. Without a network device there is no cable, and only processors can differ.
func nextOfEngine(x *Verdict, netdev string) string {
	if netdev == "" {
		switch x.Cause {
		case CauseSlow, CauseSlowSend, CauseSlowReceive, CauseLoss, CauseLossSend, CauseLossReceive:
			return "compare the load of the node with that of a good one (top)"
		case CauseDeadCard:
			return "look for what keeps UDP port 4791 from passing (nft list ruleset, iptables -L)"
		}
		return ""
	}
	swap := "then reseat the cable of " + netdev + " at both ends and repeat"
	switch x.Cause {
	case CauseSlow, CauseSlowSend, CauseSlowReceive:
		if len(x.Where.Or) > 0 {
			return eachWithAThird
		}
		return "compare ethtool " + netdev + " (speed) and tc -s qdisc show dev " + netdev + " (limits) with those " +
			"of a good node, " + swap
	case CauseLoss, CauseLossSend, CauseLossReceive:
		return "look for drops in ip -s link show " + netdev + ", tc -s qdisc show dev " + netdev +
			" and nft list ruleset, " + swap
	case CauseDeadCard:
		return "look at ip addr show " + netdev + ", and for what keeps UDP port 4791 from passing (nft list " +
			"ruleset, iptables -L, switches), " + swap
	}
	return ""
}

// next returns the next physical step for a verdict.
func (v *view) next(x *Verdict) string {
	device := "the card"
	if len(x.Where.Devices) > 0 {
		device = deviceName(x.Where.Devices[0])
	}
	swap := "reseat the cable of " + device + " at both ends and repeat; then swap it with that of a good card " +
		"of the rail: if the fault moves, replace the cable, else try another port of the leaf"
	if strings.HasPrefix(device, engineDevice) {
		if text := nextOfEngine(x, v.netdevOf(x)); text != "" {
			return text
		}
	}
	switch x.Cause {
	case CauseSlow, CauseSlowSend, CauseSlowReceive:
		if len(x.Where.Or) > 0 {
			return eachWithAThird
		}
		return "compare lspci -vv (LnkSta) of " + device + " with that of a good card, then " + swap
	case CauseSlowNode:
		return "compare the node with a good one: lspci -vv (LnkSta, MaxReadReq), CPU governor, NUMA and IOMMU " +
			"settings; then rdmactl doctor on it"
	case CausePCIe:
		return "look at LnkSta in lspci -vv of " + device + "; power the node off, reseat card and riser, and " +
			"look again"
	case CauseLoss, CauseLossSend, CauseLossReceive, CauseBitErrors:
		return "clean and " + swap
	case CauseFlapping:
		return "look at the light levels in ethtool -m or mlxlink -m, then " + swap
	case CauseDeadCard:
		return "look at the port's lights, at ibstat or ip link and at dmesg; " + swap
	case CauseAbsent:
		return "look at the node's console and management controller (ipmitool sel list); then run rdmactl doctor on it"
	case CauseLost:
		return "if the node still answers, look at what ended its worker (dmesg: out of memory; journalctl), else at " +
			"its console and management controller (ipmitool sel list); then run rdmactl doctor on it"
	case CauseMissingCard:
		return "run rdmactl detect and rdmactl doctor on the node: is the port down, without an address, or not " +
			"there (lspci)?"
	case CauseJitter:
		return "look for what else runs on the node: governor, C-states, interrupts on the job's cores (rdmactl " +
			"doctor, host-jitter)"
	case CausePauses:
		return "look for management interrupts and throttling: dmesg, turbostat (SMI, PkgWatt), ipmitool sel " +
			"list; then exchange the node's role with a good one and repeat"
	case CauseMTU:
		return "set the MTU of the port and of the leaf's port to that of the peers (ip link set … mtu, or the " +
			"subnet manager's partition)"
	case CauseNoGID:
		return "give the interface of " + device + " its address (ip addr), then rdmactl gids"
	case CauseGIDType:
		return "choose the GID index of the same type on all nodes (rdmactl gids; unset a pinned NCCL_IB_GID_INDEX)"
	case CausePKey:
		return "compare the partition of the port's GUID in the subnet manager (partitions.conf) with its peers'"
	}
	return v.nextOfFabric(x)
}

func (v *view) nextOfFabric(x *Verdict) string {
	switch x.Cause {
	case CauseRails:
		return "follow both cables from " + strings.Join(x.Where.Devices, " and ") + " to their leaves, " +
			"exchange them at the node's end, and repeat"
	case CauseSubnet:
		return "compare the card's address with those of its rail; set the right one, or move the cable to the " +
			"rail of the address"
	case CauseUplinks:
		return "count the uplinks that are up at the leaf (show interface status, iblinkinfo), and reseat the " +
			"transceivers of those that are not"
	case CauseUplink:
		return "compare the error and discard counters of the leaf's uplinks; shut down the one that counts, " +
			"repeat, then replace its cable"
	case CauseOversubscribed:
		return "count uplinks and downlinks of the leaves; check that ECMP or adaptive routing uses all of them"
	case CauseIncast, CausePFC:
		return "compare PFC and ECN of the leaf's ports with those of a good leaf: priority, trust mode, buffers; " +
			"on InfiniBand, look at the switch's discards (perfquery) instead"
	case CauseClass:
		return "set the traffic class as on the other nodes (NCCL_IB_TC, cma_roce_tos), or trust mode and " +
			"mapping of the port"
	case CauseFirmware:
		return "update the firmware to that of the peers (mstflint -d … query, mlxfwmanager), at the next maintenance"
	case CauseClock:
		return "look at chronyc tracking, or ptp4l and phc2sys"
	}
	return "run rdmactl doctor on the node"
}

// takeOut returns what keeps jobs away from the place of a verdict.
func (v *view) takeOut(x *Verdict) []string {
	if x.Where.Scope == ScopeLeaf {
		return v.takeOutNodes(v.nodesOfLeaf(x.Where.Leaf), x)
	}
	if x.Where.Scope == ScopeFabric {
		return nil
	}
	var out []string
	if x.Where.Scope == ScopeCard || x.Cause == CauseRails {
		byDevices := map[string]bool{}
		for _, d := range x.Where.Devices {
			// "=" compares names exactly, so that mlx5_1 doesn't exclude mlx5_10, too.
			if !strings.HasPrefix(d, engineDevice) {
				byDevices[deviceName(d)] = true
			}
		}
		if len(byDevices) > 0 && len(x.Where.Or) == 0 {
			out = append(out, "NCCL_IB_HCA="+doctor.Quote("^="+strings.Join(slices.Sorted(maps.Keys(byDevices)), ",")))
		}
	}
	return append(out, v.takeOutNodes(x.Where.Nodes, x)...)
}

func (v *view) nodesOfLeaf(leaf string) (names []string) {
	for l, name := range v.leaves {
		if name == leaf {
			for _, node := range v.leafNodes[l] {
				names = append(names, v.nodeName(node))
			}
		}
	}
	return names
}

// takeOutNodes returns the commands of Slurm and Kubernetes for nodes.
func (v *view) takeOutNodes(names []string, x *Verdict) []string {
	if len(names) == 0 {
		return nil
	}
	reason := doctor.Quote("rdmactl: " + string(x.Cause) + " " + x.Where.Name)
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = doctor.Quote(n)
	}
	return []string{
		fmt.Sprintf("scontrol update NodeName=%s State=DRAIN Reason=%s", doctor.Quote(strings.Join(names, ",")),
			reason),
		"kubectl cordon " + strings.Join(quoted, " "),
		"kubectl drain --ignore-daemonsets " + strings.Join(quoted, " "),
	}
}

// deviceName returns the device of a card's name: mlx5_0 of mlx5_0:1.
func deviceName(card string) string {
	name, _, _ := strings.Cut(card, ":")
	return name
}

// names reports whether the object of a finding is a device or a part of it.
func names(object, device string) bool {
	return device != "" && (object == device || strings.HasPrefix(object, device+" ") ||
		strings.HasPrefix(object, device+":") || strings.HasPrefix(object, device+"/"))
}

// healthy returns the bus bandwidth in GB/s of a ring of healthy cards: that of the slowest class.
func (v *view) healthy() float64 {
	best := 0.0
	for k := range v.classes {
		base, ok := v.rate.base[[2]int32{int32(k), int32(k)}]
		if !ok {
			continue
		}
		for c := range v.cards {
			if v.cards[c].class != int32(k) {
				continue
			}
			middle := 0.0
			if k < len(v.rate.ref) && !math.IsNaN(v.rate.ref[k].middle) {
				middle = v.rate.ref[k].middle
			}
			if g := v.line(int32(c), int32(c)) * math.Exp(base+middle) / 8; best == 0 || g < best {
				best = g
			}
			break
		}
	}
	return best
}

// stops reports whether a job can't run at all with a fault.
func stops(c Cause) bool {
	return slices.Contains([]Cause{CauseDeadCard, CauseAbsent, CauseLost, CauseNoGID, CausePKey, CauseRails}, c)
}

// impact returns what a fault does to a job.
func impact(x *Verdict, healthy float64) Impact {
	i := Impact{Model: ringModel, Without: healthy, With: healthy * (1 - x.Severity)}
	switch x.Cause {
	case CauseJitter, CausePauses, CauseClock, CauseFirmware, CauseIncast:
		i.With = healthy // no loss of bandwidth of a ring
	}
	if stops(x.Cause) && x.Severity == 1 {
		i.With = 0
	}
	return i
}

func directions() [2]Direction { return [2]Direction{Sends, Receives} }

func gbpsText(g float64) string { return strconv.FormatFloat(g, 'g', 3, 64) + " Gb/s" }

func plural(n float64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " " + word + "s"
}

func times(n float64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " times"
}

// seconds formats a time for people.
func seconds(s float64) string {
	switch {
	case s < 1e-3:
		return strconv.FormatFloat(s*1e6, 'g', 3, 64) + " µs"
	case s < 1:
		return strconv.FormatFloat(s*1e3, 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(s, 'g', 3, 64) + " s"
}
