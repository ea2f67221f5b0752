package lint

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// classVariables set the traffic class (8 bits: DSCP and two bits of ECN), levelVariables the
// service level.
func classVariables() []string {
	return []string{"NCCL_IB_TC", "NVSHMEM_IB_TRAFFIC_CLASS", "UCX_IB_TRAFFIC_CLASS", "MC_IB_TC"}
}

func levelVariables() []string {
	return []string{"NCCL_IB_SL", "NVSHMEM_IB_SL", "UCX_IB_SL", "MC_IB_SL"}
}

// qosRules returns the rules about traffic classes.
func qosRules() []Rule {
	return []Rule{
		{
			ID: "tc-differs", Title: "libraries use different traffic classes", Severity: SeverityWarn,
			Variables: append(classVariables(), levelVariables()...), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_TC=106", "UCX_IB_TRAFFIC_CLASS=104"},
			Right: []string{"NCCL_IB_TC=106", "UCX_IB_TRAFFIC_CLASS=106"},
			Explanation: prose.Join(`
				Switches and cards map a traffic class (on InfiniBand a service level) to a queue,
				and usually only one queue is lossless (PFC, ECN). If the libraries of a job use
				different values, part of the traffic is in a queue that drops packets.`),
			Remedy:  "set the same value for all libraries",
			Sources: []string{srcNCCL, srcUCXIB, srcNVSHMEM, srcMooncake}, check: checkClassDiffers,
		},
		{
			ID: "tc-ecn", Title: "traffic class that sets the ECN bits", Severity: SeverityWarn,
			Variables: classVariables(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_TC=107"}, Right: []string{"NCCL_IB_TC=106"},
			Explanation: prose.Join(`
				The traffic class is DSCP times 4 plus two ECN bits: 0 means not ECN-capable, 1 and
				2 mean ECN-capable, 3 means that a switch experienced congestion. With 3 every
				packet signals congestion, and the receiver slows its sender down all the time.`),
			Remedy:  "use DSCP times 4, or that plus 2 like UCX's default 106 (DSCP 26)",
			Sources: []string{"RFC 3168 section 5", srcUCXIB}, check: checkClassECN,
		},
		{
			ID: "tc-host", Title: "traffic class other than the host's", Severity: SeverityWarn,
			Variables: classVariables(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_TC=96"}, Right: []string{"NCCL_IB_TC=106"},
			Explanation: prose.Join(`
				The host sets a traffic class for all RDMA traffic of the port, probably the one for
				which the switches have a lossless queue. It overrides the value that the library
				sets. Only the MLNX_OFED drivers have this setting (the file tc/PORT/traffic_class
				of the device).`),
			Remedy:  "use the host's value, or remove the variable",
			Sources: []string{srcUCXIB, "MLNX_OFED, /sys/class/infiniband/DEVICE/tc/PORT/traffic_class"},
			check:   checkClassHost,
		},
	}
}

func checkClassDiffers(l *linter) {
	for _, group := range [][]string{classVariables(), levelVariables()} {
		var first *Setting
		for _, name := range group {
			s := l.get(name)
			if s == nil {
				continue
			}
			value, ok := integer(s.Value)
			if !ok || value < 0 || value > 255 {
				continue // -1 and auto mean the library's default; other rules check other values
			}
			if first == nil {
				first = s
				continue
			}
			if was, _ := integer(first.Value); was != value {
				l.report(s, SeverityWarn, "%s is %d, %s is %d: their traffic may use different queues in the network",
					s.Name, value, first.Name, was).set(s.Name, first.Value)
			}
		}
	}
}

func checkClassECN(l *linter) {
	for _, name := range classVariables() {
		s := l.get(name)
		if s == nil {
			continue
		}
		if value, ok := integer(s.Value); ok && value >= 0 && value <= 255 && value&3 == 3 {
			l.report(s, SeverityWarn, "%d is DSCP %d with ECN bits 3: every packet signals congestion",
				value, value>>2).set(name, fmt.Sprint(value&^3|2))
		}
	}
}

func checkClassHost(l *linter) {
	for _, name := range classVariables() {
		s := l.get(name)
		if s == nil {
			continue
		}
		value, ok := integer(s.Value)
		if !ok || value < 0 {
			continue
		}
		var ports []string
		var ev []Evidence
		want := int64(-1)
		for _, p := range l.usablePorts() {
			host, evidence, ok := l.hostClass(p)
			if p.roce() && ok && host != value {
				ports, ev, want = append(ports, p.name()), append(ev, evidence), host
			}
		}
		if len(ports) > 0 {
			l.report(s, SeverityWarn, "%d (DSCP %d), but the host has %d (DSCP %d) on %s",
				value, value>>2, want, want>>2, join(ports)).
				evidence(ev...).set(name, fmt.Sprint(want))
		}
	}
}

// hostClass reads the traffic class that the host sets for a port: "Global tclass=106".
func (l *linter) hostClass(p portRef) (class int64, ev Evidence, ok bool) {
	if l.root == nil {
		return 0, ev, false
	}
	name := path.Join(sysfs.ClassInfiniBand, p.dev.Name, "tc", fmt.Sprint(p.port.Number), "traffic_class")
	b, err := fs.ReadFile(l.root, name)
	if err != nil {
		return 0, ev, false
	}
	for line := range strings.Lines(string(b)) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "Global tclass="); found {
			class, ok = integer(strings.TrimSpace(text))
			return class, Evidence{Path: "/" + name, Value: strings.TrimSpace(line)}, ok && class >= 0
		}
	}
	return 0, ev, false
}
