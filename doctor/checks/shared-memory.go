package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func sharedMemory() doctor.Check {
	return doctor.Check{
		ID: "shared-memory", Title: "too little shared memory or too few open files", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{87}, Uses: []facts.Kind{facts.KindShm}, Needs: doctor.NeedDevices,
		Reads: []string{"/" + sysfs.ProcSelfLimits, "/" + sysfs.HugePageMode},
		Thresholds: []doctor.Threshold{
			{
				Name: "shm-least", Value: 1 << 30, Unit: "bytes", What: "smaller /dev/shm",
				Source: "NCCL user guide, troubleshooting (shared memory): --shm-size=1g",
			},
			{
				Name: "open-files-least", Value: 8192, What: "fewer open files that a process may have",
				Source: "to be calibrated; rank 0 of NCCL has a socket for each rank, twice",
			},
		},
		Explanation: prose.Join(`
			Ranks of one node exchange data through /dev/shm. If it is full, NCCL ends with "unable to allocate
			shared memory", or a worker dies of SIGBUS. Containers get 64 MiB unless told otherwise. Each connection
			needs an open file; NCCL raises the limit as far as it may.`),
		Remedy: "Docker: --shm-size=16g --ulimit nofile=1048576; Kubernetes: an emptyDir of medium Memory at /dev/shm.",
		Sources: []string{
			"NCCL user guide, troubleshooting; NCCL src/bootstrap.cc (setFilesLimit)", "tmpfs(5)",
			"Documentation/admin-guide/mm/transhuge.rst",
		},
		Run: runSharedMemory,
	}
}

func runSharedMemory(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	judge := func(f doctor.Finding, known bool) {
		switch {
		case !known:
		case f.Outcome == doctor.OutcomePass:
			good = append(good, f.Evidence...)
		default:
			findings = append(findings, f)
		}
	}
	judge(shmFinding(in))
	judge(filesFinding(in))
	judge(hugeFinding(in))
	if len(good) == 0 && len(findings) == 0 {
		err := in.Facts.State(facts.KindShm)
		if err == nil {
			err = facts.Absent("no limit of open files was recorded")
		}
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, err)}
	}
	if err := in.Facts.State(facts.KindShm); err != nil { // the rest is no reason to pass
		f := doctor.Because("/dev/shm", fmt.Errorf("%s: %w", facts.KindShm.What(), err))
		f.Evidence = good
		return append(findings, f)
	}
	if len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0 {
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode,
			enough(good), good...)}, findings...)
	}
	return findings
}

// enough names what suffices, by its evidence.
func enough(good []doctor.Evidence) string {
	var names []string
	for _, what := range []struct{ path, name string }{
		{"statfs:/dev/shm", "shared memory"}, {"/" + sysfs.ProcSelfLimits, "open files"},
	} {
		if slices.ContainsFunc(good, func(e doctor.Evidence) bool { return strings.HasPrefix(e.Path, what.path) }) {
			names = append(names, what.name)
		}
	}
	if len(names) == 0 {
		return "transparent huge pages are not off"
	}
	if len(names) == 1 && names[0] == "shared memory" {
		return "shared memory suffices"
	}
	return strings.Join(names, " and ") + " suffice"
}

func shmFinding(in *doctor.Input) (doctor.Finding, bool) {
	if !in.Facts.Shm.Known() {
		return doctor.Finding{}, false
	}
	s := in.Facts.Shm.Value
	size, free := inventory.Limit{Bytes: s.Size}, inventory.Limit{Bytes: s.Free}
	if s.Unlimited {
		ev := doctor.Evidence{Path: "statfs:/dev/shm", Value: "no limit"}
		return doctor.Finding{Outcome: doctor.OutcomePass, Evidence: []doctor.Evidence{ev}}, true
	}
	if s.Size == 0 { // recorded without the type of the file system
		return doctor.Unknown("/dev/shm", "the size of /dev/shm is not known"), true
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomePass, Object: "/dev/shm", Kind: doctor.KindOther,
		Evidence: []doctor.Evidence{{Path: "statfs:/dev/shm", Value: fmt.Sprintf("%s, %s free", size, free)}},
		Actions: []doctor.Action{
			doctor.Shell("mount -o remount,size=50%% /dev/shm"),
			doctor.Note("look for segments that nobody uses any more: ls -lt /dev/shm"),
		},
	}
	if inContainer(in.Snapshot) {
		f.Actions = []doctor.Action{
			doctor.Note("Docker: --shm-size=16g, or --ipc=host"),
			doctor.Note("Kubernetes: volumes: [{name: shm, emptyDir: {medium: Memory}}], mounted at /dev/shm"),
		}
	}
	least := in.Threshold("shm-least")
	switch {
	case float64(s.Size) < least:
		f.Outcome, f.Summary = doctor.OutcomeWarn, "/dev/shm has only "+size.String()
	case float64(s.Free) < least/10:
		f.Outcome, f.Summary = doctor.OutcomeWarn, fmt.Sprintf("/dev/shm is nearly full: %s of %s are free", free, size)
	}
	return f, true
}

func filesFinding(in *doctor.Input) (doctor.Finding, bool) {
	text, err := in.Facts.Files.Text(sysfs.ProcSelfLimits)
	if err != nil {
		return doctor.Finding{}, false
	}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "Max open files")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 {
			continue
		}
		hard, err := inventory.ParseLimit(fields[1])
		if err != nil {
			return doctor.Finding{}, false
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomePass, Object: doctor.ObjectNode,
			Evidence: []doctor.Evidence{{
				Path: "/" + sysfs.ProcSelfLimits + ":Max open files", Value: fields[0] + ", at most " + fields[1],
			}},
			Actions: []doctor.Action{
				doctor.Shell("systemctl edit YOUR_UNIT   # [Service] LimitNOFILE=1048576"),
				doctor.Note("for logins: * hard nofile 1048576 in /etc/security/limits.conf"),
			},
		}
		if !hard.Unlimited && float64(hard.Bytes) < in.Threshold("open-files-least") {
			f.Outcome, f.Summary = doctor.OutcomeWarn, "a process can open only "+fields[1]+" files"
		}
		return f, true
	}
	return doctor.Finding{}, false
}

func hugeFinding(in *doctor.Input) (doctor.Finding, bool) {
	text, err := in.Facts.Files.Text(sysfs.HugePageMode)
	if err != nil {
		return doctor.Finding{}, false
	}
	ev := fileEvidence(sysfs.HugePageMode, text)
	if !strings.Contains(text, "[never]") {
		return doctor.Finding{Outcome: doctor.OutcomePass, Evidence: []doctor.Evidence{ev}}, true
	}
	return doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode, Evidence: []doctor.Evidence{ev},
		Summary: "transparent huge pages are off",
		Explanation: "Registering memory of 4 KiB pages takes longer and uses more of the card's translation cache. " +
			"With madvise only programs that ask for huge pages get them.",
		Actions: []doctor.Action{{Do: doctor.DoWrite, Object: "/" + sysfs.HugePageMode, Value: "madvise"}},
	}, true
}
