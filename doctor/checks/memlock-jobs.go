package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// containerDaemons start containers, which can be given the limit or CAP_IPC_LOCK one by one.
var containerDaemons = []string{"containerd", "dockerd", "crio", "k3s-server", "k3s-agent", "rke2", "nomad"}

func memlockJobs() doctor.Check {
	return doctor.Check{
		ID: "memlock-jobs", Title: "daemon whose jobs can lock little memory", Severity: doctor.OutcomeFail,
		Group: doctor.GroupHost, Numbers: []int{86}, Facts: []facts.Kind{facts.KindDaemons},
		Needs: doctor.NeedDevices,
		Explanation: prose.Join(`
			A job inherits the limit of locked memory from the daemon that starts it, not from the shell of a
			login: /etc/security/limits.conf has no effect on services. Below what a job registers, ibv_reg_mr
			fails with "Cannot allocate memory", also in NCCL and UCX, and the job ends.`),
		Remedy:  "Set LimitMEMLOCK=infinity in the unit of the daemon and restart it.",
		Sources: []string{"systemd.exec(5)", "getrlimit(2)", "NVIDIA/nccl-tests#206", "openucx/ucx#8090"},
		Run:     runMemlockJobs,
	}
}

func runMemlockJobs(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	for _, d := range in.Facts.Daemons.Value {
		f, ok := daemonFinding(d)
		if !ok {
			good = append(good, daemonEvidence(d))
			continue
		}
		findings = append(findings, f)
	}
	switch {
	case len(findings)+len(good) == 0 && inContainer(in.Snapshot):
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the host's daemons can't be seen in a container")}
	case len(findings)+len(good) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no daemon that starts jobs or containers runs here")}
	case len(good) > 0:
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode,
			english.Count(len(good), "daemon")+" can start jobs that lock any amount of memory", good...)}, findings...)
	}
	return findings
}

func daemonEvidence(d facts.Daemon) doctor.Evidence {
	return doctor.Evidence{
		Path:  fmt.Sprintf("daemons:%s:%d:Max locked memory", d.Name, d.PID),
		Value: limits(&inventory.Memlock{Soft: d.Memlock.Soft, Hard: d.Memlock.Hard}),
	}
}

func daemonFinding(d facts.Daemon) (doctor.Finding, bool) {
	f := doctor.Finding{Object: d.Name, Kind: doctor.KindOther, Evidence: []doctor.Evidence{daemonEvidence(d)}}
	small := func(l inventory.Limit) bool { return !l.Unlimited && l.Bytes < memlockLeast }
	switch {
	case d.Memlock.Soft.Unlimited:
		return f, false
	case slices.Contains(containerDaemons, d.Name):
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("containers that %s starts can lock %s of memory, unless they are given more", d.Name,
			d.Memlock.Soft)
		f.Explanation = "A container gets this limit unless its options say otherwise: CAP_IPC_LOCK for a process " +
			"that is root, --ulimit memlock=-1 in Docker. In Kubernetes a pod that is not root can't be given more."
	case small(d.Memlock.Hard):
		f.Outcome = doctor.OutcomeFail
		f.Summary = fmt.Sprintf("jobs that %s starts can lock only %s of memory", d.Name, d.Memlock.Hard)
	default:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("jobs that %s starts can lock %s of memory by default, and %s if they ask for it",
			d.Name,
			d.Memlock.Soft, d.Memlock.Hard)
	}
	f.Actions = limitActions(d)
	for _, c := range d.Settings {
		f.Evidence = append(f.Evidence, doctor.Evidence{Path: "daemons:" + c.Path, Value: c.Value})
	}
	return f, true
}

// units are the systemd units of daemons, as their packages name them. Those of Grid Engine, RKE2
// and Ray differ from site to site.
func units() map[string]string {
	return map[string]string{
		"slurmd": "slurmd.service", "pbs_mom": "pbs.service", "condor_startd": "condor.service",
		"sbatchd": "lsfd.service", "flux-broker": "flux.service", "nomad": "nomad.service",
		"containerd": "containerd.service", "dockerd": "docker.service", "crio": "crio.service",
		"k3s-server": "k3s.service", "k3s-agent": "k3s-agent.service",
	}
}

// limitActions set the limit in the unit of a daemon: the one of its cgroup, or else the usual one.
func limitActions(d facts.Daemon) []doctor.Action {
	unit := d.Unit
	if unit == "" {
		unit = units()[d.Name]
	}
	if unit == "" {
		return []doctor.Action{
			doctor.Shell("systemctl status %d   # shows the unit of this process", d.PID),
			doctor.Note("set LimitMEMLOCK=infinity in that unit (systemctl edit YOUR_UNIT) and restart it; without a "+
				"unit, raise the limit where %s is started", printable(d.Name)),
		}
	}
	dir := "/etc/systemd/system/" + unit + ".d"
	actions := []doctor.Action{
		doctor.Shell("mkdir -p %s", quote(dir)),
		doctor.Shell(`printf '[Service]\nLimitMEMLOCK=infinity\n' > %s`, quote(dir+"/memlock.conf")),
	}
	actions = append(actions, doctor.Shell("systemctl daemon-reload"))
	restart := doctor.Note("then, while no job runs: systemctl restart %s", quote(unit))
	if d.Name == "dockerd" {
		restart = doctor.Note("then, while no job runs, because a restart of Docker stops its containers unless "+
			"live-restore is set: systemctl restart %s", quote(unit))
	}
	restart.Risk = doctor.RiskTraffic
	return append(actions, restart)
}
