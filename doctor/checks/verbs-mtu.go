package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func verbsMTU() doctor.Check {
	return doctor.Check{
		ID: "verbs-mtu", Title: "port whose active MTU is not the one that it can have", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupAddressing, Numbers: []int{64}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindVerbs}, Reads: []string{netFiles("mtu"), portFiles("state")},
		Explanation: prose.Join(`
			Programs take the active MTU from libibverbs (ibv_query_port). On InfiniBand it is that of the
			link, which the subnet manager sets to what both of its ports can have; it is 4096 on all
			cards and switches since QDR, and anything less costs packets and bandwidth. On RoCE the driver
			derives it from the MTU of the network device. If it kept an older one, packets are smaller than
			they could be; if it has a larger one, the network device drops every full packet.`),
		Remedy: "InfiniBand: look at the MTU of the switch port and of the partition in the subnet manager. RoCE: " +
			"set the MTU of the network device again, so that the driver takes it over.",
		Sources: []string{
			"InfiniBand specification volume 1, PortInfo.NeighborMTU", "include/rdma/ib_addr.h (iboe_get_mtu)",
		},
		Run: runVerbsMTU,
	}
}

func runVerbsMTU(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	seen := 0
	for p := range ownPorts(in.Snapshot) {
		infiniband := p.port.LinkLayer == inventory.LinkLayerInfiniBand
		if !p.active() || !p.carriesJobs(in.Snapshot) || !infiniband && !p.roce() {
			continue
		}
		seen++
		if n := p.netdev(in.Snapshot); !infiniband && (n == nil || n.MTU == 0) {
			findings = append(findings, doctor.NotApplicable(p.object(),
				"the MTU of its network device is not visible here"))
			continue
		}
		v, err := p.verbs(in)
		if err != nil {
			findings = append(findings, doctor.Because(p.object(), err))
			continue
		}
		ev := []doctor.Evidence{p.mtuEvidence("active_mtu", v.ActiveMTU)}
		f, ok := p.judgeVerbsMTU(in, v)
		if ok {
			good = append(good, ev...)
			continue
		}
		f.Object, f.Evidence = p.object(), append(ev, f.Evidence...)
		findings = append(findings, f)
	}
	switch {
	case seen == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "no InfiniBand or RoCE port for jobs is active"))}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		text := english.Count(len(good), "port") + " with the active MTU that it can have"
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode, text, good...)}, findings...)
	}
	return findings
}

// verbs returns what libibverbs reports of the port.
func (p portRef) verbs(in *doctor.Input) (facts.VerbsPort, error) {
	list := in.Facts.Verbs.Value
	i := slices.IndexFunc(list, func(v facts.VerbsPort) bool { return v.Object == p.object() })
	if i < 0 { // a device that could not be opened
		i = slices.IndexFunc(list, func(v facts.VerbsPort) bool { return v.Object == p.dev.Name })
	}
	switch {
	case i < 0:
		return facts.VerbsPort{}, facts.Absent("libibverbs does not list the device")
	case list[i].Denied != "":
		return list[i], facts.Denied("%s", list[i].Denied)
	case list[i].Error != "":
		return list[i], errors.New(list[i].Error)
	case list[i].ActiveMTU == 0:
		return list[i], facts.Absent("libibverbs reports no MTU that InfiniBand knows")
	}
	return list[i], nil
}

func (p portRef) mtuEvidence(field string, value int) doctor.Evidence {
	return doctor.Evidence{Path: "ibv_query_port:" + p.object() + ":" + field, Value: strconv.Itoa(value)}
}

// judgeVerbsMTU returns true if the active MTU is what the port can have, and otherwise the finding
// without its object.
func (p portRef) judgeVerbsMTU(in *doctor.Input, v facts.VerbsPort) (doctor.Finding, bool) {
	f := doctor.Finding{Outcome: doctor.OutcomeWarn}
	most := p.mtuEvidence("max_mtu", v.MaxMTU)
	if p.port.LinkLayer == inventory.LinkLayerInfiniBand {
		f.Evidence = []doctor.Evidence{most}
		f.Summary = fmt.Sprintf("active MTU %d, though the port can have %d: the port at the other end or the subnet "+
			"manager limits it", v.ActiveMTU, v.MaxMTU)
		f.Actions = []doctor.Action{
			doctor.Shell("iblinkinfo -D 0 -C %s -P %d   # the switch port at the other end", quote(p.dev.Name),
				p.port.Number),
			doctor.Note("look at MtuCap and NeighborMTU of both ports: smpquery portinfo"),
		}
		return f, v.ActiveMTU >= v.MaxMTU
	}
	n := p.netdev(in.Snapshot)
	f.Evidence = []doctor.Evidence{most, netEvidence(n, "mtu", strconv.Itoa(n.MTU))}
	fits := int(ib.MTUFromNetdev(n.MTU))
	switch {
	case v.ActiveMTU > n.MTU:
		f.Summary = fmt.Sprintf("active MTU %d, but the network device %s has %d: full packets are lost", v.ActiveMTU,
			n.Name, n.MTU)
	case v.ActiveMTU < min(fits, v.MaxMTU):
		f.Summary = fmt.Sprintf("active MTU %d, though the network device %s with MTU %d allows %d: the driver has "+
			"not followed it", v.ActiveMTU, n.Name, n.MTU, min(fits, v.MaxMTU))
	default:
		return f, true
	}
	f.Actions = []doctor.Action{
		{Do: doctor.DoMTU, Object: n.Name, Value: strconv.Itoa(n.MTU)},
		doctor.Note("and if the value stays: load the driver again"),
	}
	return f, false
}
