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

// The rules about traffic classes.
func qosRules() []Rule {
	return []Rule{
		{
			ID: "tc-differs", Title: "libraries send in different traffic classes", Severity: SeverityWarn,
			Variables: append(classVariables(), levelVariables()...), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_TC=106", "UCX_IB_TRAFFIC_CLASS=104"},
			Right: []string{"NCCL_IB_TC=106", "UCX_IB_TRAFFIC_CLASS=106"},
			Explanation: prose.Join(`
				Switches and cards give a traffic class (on InfiniBand a service level) its own
				queue, and only one is set up without loss (PFC, ECN). Libraries of one job with
				different values send part of the traffic in a queue that drops packets.`),
			Remedy:  "set the same value for all libraries",
			Sources: []string{srcNCCL, srcUCXIB, srcNVSHMEM, srcMooncake}, check: checkClassDiffers,
		},
		{
			ID: "tc-ecn", Title: "traffic class that sets bits of ECN", Severity: SeverityWarn,
			Variables: classVariables(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_TC=107"}, Right: []string{"NCCL_IB_TC=106"},
			Explanation: prose.Join(`
				The traffic class is DSCP times 4, plus two bits of ECN: 0 is not capable, 1 and 2
				are capable, 3 says that a switch has met congestion. With 3 every packet claims
				congestion, and the receiver slows its sender down all the time.`),
			Remedy:  "take DSCP times 4, or plus 2 as UCX's own 106 (DSCP 26) does",
			Sources: []string{"RFC 3168 section 5", srcUCXIB}, check: checkClassECN,
		},
		{
			ID: "tc-host", Title: "traffic class other than the host's", Severity: SeverityWarn,
			Variables: classVariables(), On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_TC=96"}, Right: []string{"NCCL_IB_TC=106"},
			Explanation: prose.Join(`
				The host sets a traffic class for all RDMA traffic of the port, most likely the one
				that its switches have a lossless queue for. The file exists with the drivers of
				MLNX_OFED only, and the card's own setting wins over the library's.`),
			Remedy:  "use the host's value, or leave the variable away",
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
				continue // -1 and auto leave it to the library; other values have a rule
			}
			if first == nil {
				first = s
				continue
			}
			if was, _ := integer(first.Value); was != value {
				l.report(s, SeverityWarn, "%s is %d, %s is %d: their traffic goes different ways through the network",
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
			l.report(s, SeverityWarn, "%d is DSCP %d with ECN bits 3: every packet claims congestion",
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
			l.report(s, SeverityWarn, "%d (DSCP %d), where the host has %d (DSCP %d) on %s",
				value, value>>2, want, want>>2, join(ports)).
				evidence(ev...).set(name, fmt.Sprint(want))
		}
	}
}

// hostClass reads the traffic class that the host has set for a port: "Global tclass=106".
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
