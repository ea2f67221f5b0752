package checks

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Selectors of entries of the APP table (IEEE 802.1Q, D.2.12.3).
const (
	selectorEtherType = 1
	selectorDSCP      = 5
)

// roceDSCP is the threshold of the DSCP that jobs are assumed to use.
func roceDSCP() doctor.Threshold {
	return doctor.Threshold{
		Name: "roce-dscp", Value: 26, Unit: "", What: "DSCP of RoCE packets, where no setting of this host tells it",
		Source: "UCX's default traffic class 106 and NVIDIA's guides for lossless RoCE; NCCL's default is 0",
	}
}

// classFiles are the files that class reads, for Check.Reads.
func classFiles() []string {
	return []string{
		deviceFiles("tc/*/traffic_class"), broadcomFiles("roce_dscp"), "/" + sysfs.EtcNCCL, "/" + sysfs.EtcUCX,
	}
}

// broadcomFiles returns the pattern of a setting of Broadcom's driver, for Check.Reads.
func broadcomFiles(name string) string { return "/" + sysfs.ConfigBnxtRe + "/*/ports/*/cc/" + name }

// broadcom reads a setting of congestion control of Broadcom's out-of-tree driver: "0x1". The files
// exist while there is a folder for the device, which its setup script makes.
func (p qosPort) broadcom(in *doctor.Input, file string) (int, doctor.Evidence, error) {
	name := path.Join(sysfs.ConfigBnxtRe, p.dev.Name, "ports", strconv.Itoa(p.port.Number), "cc", file)
	text, err := in.Facts.Files.Text(name)
	ev := doctor.Evidence{Path: "/" + name, Value: text}
	if err != nil {
		return 0, ev, err
	}
	n, err := strconv.ParseUint(text, 0, 8)
	if err != nil {
		return 0, ev, fmt.Errorf("/%s: %q is not a number from 0 to 255", name, text)
	}
	return int(n), ev, nil
}

// mapFiles are the files that trust and priorityOf read, for Check.Reads.
func mapFiles() []string { return []string{netFiles("qos/trust"), netFiles("qos/dscp2prio")} }

// trust returns which field of a packet gives its priority: "dscp", "pcp" (of the VLAN's tag), or
// "both".
func (p qosPort) trust(in *doctor.Input) (mode string, ev doctor.Evidence, err error) {
	text, ev, err := p.file(in, "qos/trust")
	switch {
	case err == nil && (text == "dscp" || text == "pcp" || text == "both"):
		return text, ev, nil
	case err == nil:
		return "", ev, fmt.Errorf("%s has an unknown value: %q", ev.Path, text)
	case !errors.Is(err, facts.ErrAbsent):
		return "", ev, err
	}
	if err := p.dcbState(in); err != nil {
		return "", ev, err
	}
	entries := p.dscpEntries()
	if entries == "" {
		return "pcp", p.kernel("app", "no dscp-prio"), nil
	}
	return "dscp", p.kernel("app", "dscp-prio "+entries), nil
}

// dscpEntries prints the APP table's map of DSCPs as dcb does: "26:3 48:6".
func (p qosPort) dscpEntries() string {
	var words []string
	for _, a := range p.dcb.Apps {
		if a.Selector == selectorDSCP {
			words = append(words, fmt.Sprintf("%d:%d", a.Protocol, a.Priority))
		}
	}
	return strings.Join(words, " ")
}

// dscpMap returns the priority of each DSCP.
func (p qosPort) dscpMap(in *doctor.Input) (prio [64]uint8, err error) {
	text, ev, err := p.file(in, "qos/dscp2prio")
	if err == nil {
		return parseDSCPMap(ev.Path, text)
	}
	if !errors.Is(err, facts.ErrAbsent) {
		return prio, err
	}
	if err := p.dcbState(in); err != nil {
		return prio, err
	}
	for _, a := range p.dcb.Apps { // the default, for DSCPs without an entry
		if a.Selector == selectorEtherType && a.Protocol == 0 {
			for i := range prio {
				prio[i] = a.Priority & 7
			}
		}
	}
	found := false
	for _, a := range p.dcb.Apps {
		if a.Selector == selectorDSCP && a.Protocol < 64 {
			prio[a.Protocol], found = a.Priority&7, true
		}
	}
	if !found {
		return prio, facts.Absent("the APP table has no DSCP, so that the driver's map is not known")
	}
	return prio, nil
}

// parseDSCPMap parses the file of NVIDIA's driver: a heading, and lines of DSCP and priority.
func parseDSCPMap(name, text string) (prio [64]uint8, err error) {
	found := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 2 {
			continue
		}
		dscp, err1 := strconv.ParseUint(words[0], 10, 6)
		value, err2 := strconv.ParseUint(words[1], 10, 3)
		if err1 == nil && err2 == nil {
			prio[dscp] = uint8(value)
			found++
		}
	}
	if found == 0 {
		return prio, fmt.Errorf("%s has no line of DSCP and priority", name)
	}
	return prio, nil
}

// class is the traffic class of RoCE packets: DSCP times 4 and two bits of ECN.
type class struct {
	value  int
	where  string // "Global tclass=106", "NCCL_IB_TC in /etc/nccl.conf", "assumed"
	ev     []doctor.Evidence
	sure   bool // a setting of this host, not the default
	forced bool // the driver gives it to queue pairs, whatever the program asks for
}

func (c class) dscp() int { return c.value >> 2 }

// class returns the class of the port's packets: what the driver forces, what a library's setting
// in the environment or its file for all jobs says, or the default.
func (p qosPort) class(in *doctor.Input) (class, error) {
	forced, ev, err := p.forcedClass(in)
	switch {
	case err == nil && forced >= 0:
		return class{forced, ev.Value, []doctor.Evidence{ev}, true, true}, nil
	case err != nil && !errors.Is(err, facts.ErrAbsent):
		return class{}, err
	}
	dscp, ev, err := p.broadcom(in, "roce_dscp")
	switch {
	case err == nil && dscp > 0:
		return class{dscp << 2, fmt.Sprintf("roce_dscp=%d of the driver", dscp), []doctor.Evidence{ev}, true, true}, nil
	case err != nil && !errors.Is(err, facts.ErrAbsent):
		return class{}, err
	}
	settings, err := jobClasses(in)
	if err != nil {
		return class{}, err
	}
	if len(settings) > 0 {
		return settings[0], nil
	}
	return class{value: int(in.Threshold("roce-dscp")) << 2, where: "assumed"}, nil
}

// forcedClass reads the class that NVIDIA's driver gives to all queue pairs of the port that the
// kernel sets up; -1 if it forces none.
func (p qosPort) forcedClass(in *doctor.Input) (int, doctor.Evidence, error) {
	name := path.Join(sysfs.ClassInfiniBand, p.dev.Name, "tc", strconv.Itoa(p.port.Number), "traffic_class")
	text, err := in.Facts.Files.Text(name)
	if err != nil {
		return -1, doctor.Evidence{}, err
	}
	ev := doctor.Evidence{Path: "/" + name, Value: text}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "Global tclass="); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 8)
			if err != nil {
				return -1, ev, fmt.Errorf("/%s: the traffic class %q is not a number from 0 to 255", name, value)
			}
			return int(n), ev, nil
		}
	}
	return -1, ev, nil
}

// jobClasses returns the classes that libraries of jobs ask for: as the environment of this process
// says, or else their file of this host. NCCL and UCX look there in this order: NCCL adds its files
// to the environment without replacing anything (initEnvFunc in src/misc/param.cc). A file of the
// user (~/.nccl.conf) is not known here.
func jobClasses(in *doctor.Input) ([]class, error) {
	var list []class
	for _, f := range []struct{ file, variable string }{
		{sysfs.EtcNCCL, "NCCL_IB_TC"}, {sysfs.EtcUCX, "UCX_IB_TRAFFIC_CLASS"},
	} {
		where, path := "the environment", "environment"
		text, found := "", false
		if in.Facts.Environment.Known() {
			text, found = in.Facts.Environment.Value[f.variable]
		}
		if !found {
			where, path = "/"+f.file, "/"+f.file
			var err error
			if text, err = fileSetting(in, f.file, f.variable); err != nil {
				return nil, err
			}
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 8); err == nil { // else "", "auto", -1
			list = append(list, class{
				value: int(n), where: fmt.Sprintf("%s=%d in %s", f.variable, n, where), sure: true,
				ev: []doctor.Evidence{{Path: path + ":" + f.variable, Value: strconv.FormatUint(n, 10)}},
			})
		}
	}
	return list, nil
}

// fileSetting returns the value of a variable in a file of lines NAME=VALUE, the first one; "" if
// it has none, or there is no such file.
func fileSetting(in *doctor.Input, file, variable string) (string, error) {
	text, err := in.Facts.Files.Text(file)
	if err != nil && !errors.Is(err, facts.ErrAbsent) {
		return "", err
	}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.TrimSpace(name) == variable {
			return value, nil
		}
	}
	return "", nil
}
