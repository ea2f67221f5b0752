package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func cnpClass() doctor.Check {
	return doctor.Check{
		ID: "cnp-class", Title: "congestion notifications that wait with the data", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupQoS, Numbers: []int{53}, Needs: doctor.NeedDevices,
		Uses: []facts.Kind{facts.KindDCB, facts.KindEnvironment},
		Reads: append(append([]string{
			netFiles("ecn/roce_np/cnp_dscp"), "/" + sysfs.DebugMlx5 + "/*/cc_params/np_cnp_dscp",
			broadcomFiles("cnp_dscp"),
		}, mapFiles()...), classFiles()...),
		Thresholds: []doctor.Threshold{roceDSCP(), {
			Name: "cnp-dscp", Value: 48, Unit: "", What: "DSCP of congestion notifications",
			Source: "default of mlx5 firmware and NVIDIA's guides, for the strict priority 6",
		}},
		Explanation: prose.Join(`
			The receiver tells the sender about congestion with notifications (CNP). They must
			overtake the data: on the data's own priority they stand in the same queue and are paused
			with it, and without a DSCP they are best effort and the first to be dropped. Senders then
			slow down too late.`),
		Remedy: "Give notifications DSCP 48 and their own priority with strict scheduling, on cards and switches.",
		Sources: []string{
			"NVIDIA, RoCE with DCQCN: ecn/roce_np/cnp_dscp", "mlx5: drivers/infiniband/hw/mlx5/cong.c (np_cnp_dscp)",
		},
		Run: runCNPClass,
	}
}

func runCNPClass(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "with congestion notifications apart from the data", func(r *qosReport, p qosPort) {
		dscp, ev, err := p.cnpDSCP(in)
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		if f, ok := p.judgeCNP(in, dscp, ev); ok {
			r.add(f)
			return
		}
		r.pass(p, ev)
	})
}

// cnpDSCP reads the file of Broadcom's or NVIDIA's driver, or that of debugfs.
func (p qosPort) cnpDSCP(in *doctor.Input) (int, doctor.Evidence, error) {
	if n, ev, err := p.broadcom(in, "cnp_dscp"); err == nil && n < 64 {
		return n, ev, nil
	} else if !errors.Is(err, facts.ErrAbsent) {
		return 0, ev, cmp.Or(err, fmt.Errorf("%s: %d is not a DSCP", ev.Path, n))
	}
	text, ev, err := p.file(in, "ecn/roce_np/cnp_dscp")
	if errors.Is(err, facts.ErrAbsent) && p.dev.PCI != nil {
		name := path.Join(sysfs.DebugMlx5, p.dev.PCI.Address, "cc_params/np_cnp_dscp")
		text, err = in.Facts.Files.Text(name)
		ev = doctor.Evidence{Path: "/" + name, Value: text}
	}
	switch {
	case errors.Is(err, facts.ErrAbsent):
		return 0, ev, facts.Absent("no file tells their DSCP (ecn/roce_np/cnp_dscp, cc_params in debugfs)")
	case errors.Is(err, facts.ErrDenied):
		return 0, ev, facts.Denied("%s: root can read the DSCP of congestion notifications", ev.Path)
	case err != nil:
		return 0, ev, err
	}
	n, err := strconv.ParseUint(text, 0, 6)
	if err != nil {
		return 0, ev, fmt.Errorf("%s: %q is not a DSCP", ev.Path, text)
	}
	return int(n), ev, nil
}

func (p qosPort) judgeCNP(in *doctor.Input, dscp int, ev doctor.Evidence) (doctor.Finding, bool) {
	f := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: []doctor.Evidence{ev}}
	usual := int(in.Threshold("cnp-dscp"))
	mask, pfc, errPFC := p.lossless(in)
	prio, errMap := p.dscpMap(in)
	c, errClass := p.class(in)
	switch {
	case errClass == nil && c.sure && c.dscp() == dscp:
		f.Evidence = append(f.Evidence, c.ev...)
		f.Summary = fmt.Sprintf("congestion notifications of %s have the DSCP of the data: %d", p.net.Name, dscp)
	case errPFC == nil && errMap == nil && mask>>prio[dscp]&1 != 0:
		f.Evidence = append(f.Evidence, pfc)
		f.Summary = fmt.Sprintf("congestion notifications of %s (DSCP %d) are on priority %d, which is lossless: "+
			"pauses stop them, too", p.net.Name, dscp, prio[dscp])
	case dscp == 0 && usual != 0:
		f.Summary = fmt.Sprintf("congestion notifications of %s have DSCP 0: they are best effort and may be dropped",
			p.net.Name)
	case dscp != usual:
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("congestion notifications of %s have DSCP %d, not %d: the switches must give that one "+
			"its own queue", p.net.Name, dscp, usual)
		return f, true
	default:
		return doctor.Finding{}, false
	}
	f.Actions = []doctor.Action{
		doctor.Note("on all nodes, with the DSCP for which the switches have a strict priority:"),
		{Do: doctor.DoWrite, Risk: doctor.RiskOthers, Object: ev.Path, Value: strconv.Itoa(usual)},
	}
	return f, true
}
