package checks

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func rdmaCgroup() doctor.Check {
	const file = "/" + sysfs.CgroupRoot
	return doctor.Check{
		ID: "rdma-cgroup", Title: "control group that allows few RDMA objects", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{86}, Needs: doctor.NeedDevices,
		Reads: []string{
			"/" + sysfs.ProcSelfCgroup, file + "/rdma.max", file + "/*/rdma.max", file + "/*/*/rdma.max",
			file + "/*/*/*/rdma.max",
		},
		Thresholds: []doctor.Threshold{{
			Name: "rdma-objects-least", Value: 1000, What: "fewer objects of a device that a control group may create",
			Source: "to be calibrated; a rank creates some 10 objects for each connection",
		}},
		Explanation: prose.Join(`
			The rdma controller limits how many queue pairs, memory regions and other objects the processes of
			a control group may create on a device. At the limit ibv_create_qp and ibv_reg_mr fail with "Resource
			temporarily unavailable", usually after hours, when connections are added.`),
		Remedy:  "Raise rdma.max of the control group, or set it to max.",
		Sources: []string{"Documentation/admin-guide/cgroup-v2.rst (RDMA)", "drivers/infiniband/core/cgroup.c"},
		Run:     runRDMACgroup,
	}
}

func runRDMACgroup(_ context.Context, in *doctor.Input) []doctor.Finding {
	name, text, err := ownRDMAMax(in)
	if err != nil {
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, err)}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || in.Snapshot.Device(f[0]) == nil {
			continue
		}
		ev := doctor.Evidence{Path: "/" + name + ":" + f[0], Value: strings.Join(f[1:], " ")}
		low := ""
		for _, setting := range f[1:] {
			_, value, _ := strings.Cut(setting, "=")
			n, err := strconv.ParseUint(value, 10, 64)
			if err == nil && strings.HasPrefix(setting, "hca_object=") &&
				float64(n) < in.Threshold("rdma-objects-least") ||
				err == nil && strings.HasPrefix(setting, "hca_handle=") && n == 0 {
				low = setting
			}
		}
		if low == "" {
			good = append(good, ev)
			continue
		}
		findings = append(findings, doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: f[0], Evidence: []doctor.Evidence{ev},
			Summary: fmt.Sprintf("this control group may use little of %s: %s", f[0], low),
			Actions: []doctor.Action{{
				Do: doctor.DoWrite, Object: "/" + name, Value: f[0] + " hca_handle=max hca_object=max",
			}},
		})
	}
	switch {
	case len(findings) > 0:
		return findings
	case len(good) == 0: // devices without a line have no limit
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "rdma.max limits no device",
			doctor.Evidence{Path: "/" + name, Value: text})}
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "rdma.max leaves enough of "+
		english.Count(len(good), "device"), good...)}
}

// ownRDMAMax returns the file of the process's control group of version 2, or of the nearest one
// above it that has the controller, and its content. The error says why there is none, such as in
// the root group.
func ownRDMAMax(in *doctor.Input) (name, text string, err error) {
	groups, err := in.Facts.Files.Text(sysfs.ProcSelfCgroup)
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(groups) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for dir := path.Clean(own); ; dir = path.Dir(dir) {
			file := path.Join(sysfs.CgroupRoot, dir, "rdma.max")
			if text, err := in.Facts.Files.Text(file); err == nil {
				return file, text, nil
			}
			if dir == "." || dir == "/" || strings.HasPrefix(dir, "..") {
				return "", "", noRDMAMax(in, "/"+own)
			}
		}
	}
	return "", "", facts.Absent("the process is in no control group of version 2")
}

// noRDMAMax says why there is no limit for a control group.
func noRDMAMax(in *doctor.Input, group string) error {
	if !in.Facts.Files.Exists(sysfs.CgroupRoot) {
		return facts.Absent("/%s, where rdma.max of the control group %s would be, was not recorded", sysfs.CgroupRoot,
			printable(group))
	}
	return facts.Absent("no rdma.max of the control group %s or above: the rdma controller is not enabled for it",
		printable(group))
}
