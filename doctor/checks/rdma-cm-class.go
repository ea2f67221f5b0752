package checks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func rdmaCMClass() doctor.Check {
	return doctor.Check{
		ID: "rdma-cm-class", Title: "rdma_cm with another class or RoCE version", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupQoS, Numbers: []int{54}, Needs: doctor.NeedDevices,
		Uses: []facts.Kind{facts.KindDCB, facts.KindEnvironment},
		Reads: append(append([]string{
			"/" + sysfs.ConfigRDMACM + "/*/ports/*/default_roce_tos",
			"/" + sysfs.ConfigRDMACM + "/*/ports/*/default_roce_mode",
		}, mapFiles()...), classFiles()...),
		Thresholds: []doctor.Threshold{roceDSCP()},
		Explanation: prose.Join(`
			Storage (NVMe-oF, NFS, SMB Direct) and some libraries connect through rdma_cm, which gives
			their packets the default type of service and RoCE version of the port. With another
			class than the rest of RoCE they miss the lossless priority; with RoCE v1 they can't
			reach nodes behind a router.`),
		Remedy: "Set the same type of service and RoCE v2 on all nodes.",
		Sources: []string{
			"drivers/infiniband/core/cma_configfs.c (default_roce_tos, default_roce_mode)", "mlnx-tools, cma_roce_tos",
		},
		Run: runRDMACMClass,
	}
}

func runRDMACMClass(_ context.Context, in *doctor.Input) []doctor.Finding {
	return eachQoSPort(in, "with a suitable default of rdma_cm", func(r *qosReport, p qosPort) {
		tos, tosEv, err := p.rdmaCM(in, "default_roce_tos")
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		mode, modeEv, err := p.rdmaCM(in, "default_roce_mode")
		if err != nil {
			r.because(p.portRef, err)
			return
		}
		n, err := strconv.ParseUint(tos, 10, 8)
		if err != nil {
			r.because(p.portRef, fmt.Errorf("%s: %q is not a type of service", tosEv.Path, tos))
			return
		}
		faults := len(r.findings)
		if mode != "RoCE v2" && p.port.Transport == inventory.TransportRoCEv2 {
			r.add(doctor.Finding{
				Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: []doctor.Evidence{modeEv},
				Summary: fmt.Sprintf("rdma_cm connects with %s by default on %s, which has RoCE v2", mode, p.object()),
				Actions: []doctor.Action{{
					Do: doctor.DoWrite, Risk: doctor.RiskTraffic, Object: modeEv.Path, Value: "RoCE v2",
				}},
			})
		}
		p.judgeTOS(in, r, int(n), tosEv)
		if len(r.findings) == faults {
			r.pass(p, tosEv, modeEv)
		}
	})
}

// rdmaCM reads a default of rdma_cm. The folder exists only while somebody keeps it (mkdir), and
// the values stay without it.
func (p qosPort) rdmaCM(in *doctor.Input, file string) (string, doctor.Evidence, error) {
	name := path.Join(sysfs.ConfigRDMACM, p.dev.Name, "ports", strconv.Itoa(p.port.Number), file)
	text, err := in.Facts.Files.Text(name)
	if errors.Is(err, facts.ErrAbsent) {
		err = facts.Absent("the defaults of rdma_cm are visible only while there is a folder for the device in /%s "+
			"(cma_roce_tos creates and removes it)", sysfs.ConfigRDMACM)
	}
	return text, doctor.Evidence{Path: "/" + name, Value: text}, err
}

func (p qosPort) judgeTOS(in *doctor.Input, r *qosReport, tos int, ev doctor.Evidence) {
	f := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: p.object(), Evidence: []doctor.Evidence{ev}}
	c, err := p.class(in)
	if err == nil && c.forced {
		if tos == 0 || tos>>2 == c.dscp() {
			return // the driver's class applies to these queue pairs, too
		}
		f.Evidence = append(f.Evidence, c.ev...)
		f.Summary = fmt.Sprintf("rdma_cm is set to DSCP %d, but the driver forces DSCP %d "+
			"(%s)", tos>>2, c.dscp(), c.where)
		f.Actions = []doctor.Action{doctor.Note("set both to the class of the fabric, on all nodes")}
		r.add(f)
		return
	}
	mask, pfc, errPFC := p.lossless(in)
	prio, errMap := p.dscpMap(in)
	mode, _, errTrust := p.trust(in)
	if errPFC != nil || errMap != nil || errTrust != nil || mask == 0 || mode == "pcp" || mask>>prio[tos>>2]&1 != 0 {
		return
	}
	f.Evidence = append(f.Evidence, pfc)
	f.Summary = fmt.Sprintf("connections of rdma_cm have DSCP %d and priority %d on %s, which is lossy: PFC is on %s",
		tos>>2, prio[tos>>2], p.net.Name, priorityNames(mask))
	f.Actions = []doctor.Action{
		doctor.Note("on all nodes, with the DSCP of the lossless priority (times 4, plus 2 for ECN):"),
		others("cma_roce_tos -d %s -p %d -t YOUR_TOS", quote(p.dev.Name), p.port.Number),
	}
	r.add(f)
}
