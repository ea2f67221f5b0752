package checks

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func pfcBuffer() doctor.Check {
	return doctor.Check{
		ID: "pfc-buffer", Title: "receive buffer too small for a lossless priority", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupQoS, Numbers: []int{58}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindDCB},
		Reads: []string{netFiles("mtu"), portFiles("rate")},
		Thresholds: []doctor.Threshold{{
			Name: "cable-length", Value: 0, Unit: "m",
			What:   "length of the cables of RoCE ports, where it is more than the driver assumes (mlx5: 7 m)",
			Source: "site; dcb pfc show: delay",
		}},
		Explanation: prose.Join(`
			After a port has sent a pause, packets that are on the way still arrive: the more, the
			longer the cable, the faster the link, and the larger the packets. If the buffer of the
			lossless priority has no room for them they are dropped, although PFC is on.`),
		Remedy: "Let the driver choose the buffers (it does when only PFC and cable length are set), or make the " +
			"buffer of the lossless priority larger.",
		Sources: []string{
			"mlx5: en/port_buffer.c: xoff = (301 + 2.16 × cable in m) × rate in Gb/s + 2.72 × MTU, and a packet more",
			"IEEE 802.1Q, annex N (buffer requirements for PFC)",
		},
		Run: runPFCBuffer,
	}
}

func runPFCBuffer(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "with room for packets on the way", func(r *qosReport, p qosPort) {
		mask, pfc, err := p.lossless(in)
		switch {
		case err != nil:
		case mask == 0:
			err = facts.Absent("no priority is lossless (check pfc-priority)")
		case p.dcb.Buffer == nil:
			err = cmp.Or(p.dcb.State(), facts.Absent("the driver doesn't tell its receive buffers"))
		case !mellanox(p.dev):
			err = facts.Absent("what a lossless priority needs is known for NVIDIA's cards only")
		case p.port.Rate == nil || p.net.MTU == 0:
			err = facts.Absent("the rate or the MTU is not known")
		}
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		meters := max(int(p.dcb.PFC.Delay), int(in.Threshold("cable-length")))
		need := headroom(p.port.Rate.GbPerSecond, meters, p.net.MTU)
		var good []doctor.Evidence
		for _, prio := range facts.Priorities(mask) {
			index := p.dcb.Buffer.Priority[prio] & 7
			size := int(p.dcb.Buffer.Bytes[index])
			ev := p.kernel(fmt.Sprintf("buffer-size %d", index), fmt.Sprint(size))
			if size >= need {
				good = append(good, ev)
				continue
			}
			r.add(doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: p.object(),
				Evidence: []doctor.Evidence{pfc, p.kernel(fmt.Sprintf("prio-buffer %d", prio), fmt.Sprint(index)), ev},
				Summary: fmt.Sprintf("the buffer of the lossless priority %d on %s has %d bytes; at %s with %d m of "+
					"cable and MTU %d it needs %d", prio, p.net.Name, size, gigabits(p.port.Rate.GbPerSecond), meters,
					p.net.MTU, need),
				Actions: []doctor.Action{
					doctor.Note("the buffers of a port share its memory: enlarge buffer %d and reduce others", index),
					others("dcb buffer set dev %s buffer-size %d:%d", quote(p.net.Name), index, need),
				},
			})
		}
		if len(good) == len(facts.Priorities(mask)) {
			r.pass(p, good...)
		}
	})
}

// headroom returns the bytes that mlx5 needs for a lossless buffer: those that arrive after a
// pause, and one packet.
func headroom(gigabits float64, meters, mtu int) int {
	const slowest = 40
	xoff := int(float64(301+216*meters/100)*max(gigabits, slowest)) + 272*mtu/100
	return xoff + mtu
}
