package checks

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func trafficClass() doctor.Check {
	return doctor.Check{
		ID: "traffic-class", Title: "traffic class other than the one of jobs", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupQoS, Numbers: []int{55}, Needs: doctor.NeedDevices,
		Reads: classFiles(), Uses: []facts.Kind{facts.KindEnvironment},
		Explanation: prose.Join(`
			NVIDIA's out-of-tree driver can give all queue pairs of a port one traffic class, whatever
			the program asks for. Queue pairs that a program or a GPU sets up without the kernel
			(NCCL's GIN with GDAKI, NVSHMEM's IBGDA, DOCA) don't get it: without a class of their own
			they send with DSCP 0, on the lossy priority, and fail with exceeded retries under load.`),
		Remedy: "Set the same class for jobs: NCCL_IB_TC, NVSHMEM_IB_TRAFFIC_CLASS and UCX_IB_TRAFFIC_CLASS, in " +
			"their environment or in /etc/nccl.conf and /etc/ucx/ucx.conf. `rdmactl env lint` compares the " +
			"environment of a job.",
		Sources: []string{
			"NVIDIA DOCA-OFED: tc/PORT/traffic_class", "NCCL: NCCL_IB_TC, /etc/nccl.conf",
			"UCX: IB_TRAFFIC_CLASS, ucx.conf",
		},
		Run: runTrafficClass,
	}
}

// forcedPort is a port and the class that its driver forces; -1 for none.
type forcedPort struct {
	qosPort
	class int
	ev    doctor.Evidence
}

func runTrafficClass(_ context.Context, in *doctor.Input) []doctor.Finding {
	list, why := qosPorts(in)
	if len(list) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	r := &qosReport{}
	settings, err := jobClasses(in)
	if err != nil {
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, err)}
	}
	var known []forcedPort
	for _, p := range list {
		n, ev, err := p.forcedClass(in)
		if errors.Is(err, facts.ErrAbsent) {
			err = facts.Absent("the driver has no file tc/%d/traffic_class, which only NVIDIA's DOCA-OFED "+
				"has", p.port.Number)
		}
		if err != nil {
			r.because(p.portRef, err)
			continue
		}
		known = append(known, forcedPort{p, n, ev})
	}
	groups := groupBy(known, func(p forcedPort) int { return p.class })
	for i, g := range groups {
		for _, p := range g.members {
			switch f, ok := p.judgeClass(settings); {
			case i > 0 && majority(groups):
				r.add(p.differs(groups[0]))
			case ok:
				r.add(f)
			default:
				r.pass(p.qosPort, p.ev)
			}
		}
	}
	if f, ok := onlyForced(known, settings); ok {
		r.add(f)
	}
	return r.done("whose traffic class no setting contradicts")
}

func (p forcedPort) text() string {
	if p.class < 0 {
		return "no class"
	}
	return fmt.Sprintf("class %d (DSCP %d)", p.class, p.class>>2)
}

func (p forcedPort) differs(usual group[int, forcedPort]) doctor.Finding {
	return doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: p.object(),
		Evidence: []doctor.Evidence{p.ev, usual.members[0].ev},
		Summary: fmt.Sprintf("the driver forces %s on %s, but %s on %s of this node", p.text(), p.object(),
			usual.members[0].text(), english.Count(len(usual.members), "other compute port")),
		Actions: []doctor.Action{
			doctor.Note("after comparing with the switches, write the same class to %s", p.ev.Path),
		},
	}
}

// judgeClass compares the forced class with the settings of libraries, and looks at its ECN bits.
func (p forcedPort) judgeClass(settings []class) (doctor.Finding, bool) {
	f := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: []doctor.Evidence{p.ev}}
	if p.class < 0 {
		return f, false
	}
	if p.class&3 == 3 {
		f.Summary = fmt.Sprintf("the driver forces class %d, whose ECN bits say that every packet met "+
			"congestion", p.class)
		f.Actions = []doctor.Action{doctor.Note("write %d to %s", p.class&^3|2, p.ev.Path)}
		return f, true
	}
	for _, c := range settings {
		if c.dscp() != p.class>>2 {
			f.Evidence = append(f.Evidence, c.ev...)
			f.Summary = fmt.Sprintf("the driver forces %s, and %s asks for DSCP %d: queue pairs that the kernel "+
				"doesn't "+
				"set up use another priority than the others", p.text(), c.where, c.dscp())
			f.Actions = []doctor.Action{doctor.Note("use the same class in both, that of the switches' lossless " +
				"priority")}
			return f, true
		}
	}
	return f, false
}

// onlyForced says that jobs depend on the driver for their class.
func onlyForced(known []forcedPort, settings []class) (doctor.Finding, bool) {
	f := doctor.Finding{Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode}
	for _, p := range known {
		if p.class > 3 {
			f.Evidence = append(f.Evidence, p.ev)
			f.Summary = fmt.Sprintf("only the driver gives RoCE packets DSCP %d (%s); no file of this host sets "+
				"it for "+
				"libraries, so that queue pairs of GPUs (NCCL GIN, NVSHMEM IBGDA) send with DSCP "+
				"0", p.class>>2, p.object())
			f.Actions = []doctor.Action{doctor.Note("for jobs, unless their environment has it: NCCL_IB_TC=%d "+
				"NVSHMEM_IB_TRAFFIC_CLASS=%d", p.class, p.class)}
		}
	}
	return f, len(f.Evidence) > 0 && len(settings) == 0
}
