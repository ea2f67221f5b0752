package doctor

import (
	"encoding/json"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// Need is the set of data that a check requires in its [Input].
type Need uint

// The needs. A snapshot is always needed.
const (
	NeedDevices Need = 1 << iota // at least one RDMA device
	NeedLimits                   // the limit of locked memory
)

// need is one member of the set. unmet returns the reason why the input does not meet it, or "".
type need struct {
	bit   Need
	name  string // in the JSON
	text  string // what a node must have
	unmet func(*Input) (Outcome, string)
}

func needs() []need {
	return []need{
		{NeedDevices, "RDMA devices", "RDMA devices", unmetDevices},
		{NeedLimits, "limits", "a known locked memory limit", unmetLimits},
	}
}

// Names returns the names of the members: "snapshot", "RDMA devices".
func (n Need) Names() []string {
	words := []string{"snapshot"}
	for _, d := range needs() {
		if n&d.bit != 0 {
			words = append(words, d.name)
		}
	}
	return words
}

// String describes the nodes that the check applies to: "any node", "a node with RDMA devices".
func (n Need) String() string {
	var texts []string
	for _, d := range needs() {
		if n&d.bit != 0 {
			texts = append(texts, d.text)
		}
	}
	if len(texts) == 0 {
		return "any node"
	}
	return "a node with " + strings.Join(texts, " and ")
}

// MarshalJSON implements [json.Marshaler] with the list of names.
func (n Need) MarshalJSON() ([]byte, error) { return json.Marshal(n.Names()) }

// unmet returns the finding for the first need that the input doesn't meet.
func (n Need) unmet(in *Input) (Finding, bool) {
	if in.Snapshot == nil {
		return NotApplicable(ObjectNode, "no snapshot of a node was given"), true
	}
	for _, d := range needs() {
		if n&d.bit == 0 {
			continue
		}
		if o, why := d.unmet(in); why != "" {
			return Finding{Outcome: o, Object: ObjectNode, Summary: why}, true
		}
	}
	return Finding{}, false
}

func unmetDevices(in *Input) (Outcome, string) {
	if len(in.Snapshot.Devices) > 0 {
		return "", ""
	}
	if p, ok := unreadAround(in, "/"+sysfs.ClassInfiniBand); ok {
		return OutcomeUnknown, "no usable value in " + p.Path + ": " + p.Error
	}
	return OutcomeNotApplicable, NoDeviceReason(in.Snapshot)
}

// NoDeviceReason returns why checks of RDMA devices don't apply to a node without any: "no RDMA
// device on this node", with the cause if that is known.
func NoDeviceReason(s *inventory.Snapshot) string {
	why := "no RDMA device on this node"
	if obstacles := s.Obstacles(); len(obstacles) > 0 {
		why += ": " + obstacles[0].Text
	}
	return why
}

func unmetLimits(in *Input) (Outcome, string) {
	if in.Snapshot.Host.Memlock != nil {
		return "", ""
	}
	if p, ok := in.ProblemAt("/proc/self/limits"); ok {
		return OutcomeUnknown, "no usable value in " + p.Path + ": " + p.Error
	}
	return OutcomeNotApplicable, "no /proc/self/limits was recorded"
}

// unreadAround returns the first problem at the path, above it or below it.
func unreadAround(in *Input, path string) (inventory.Problem, bool) {
	for _, p := range in.Snapshot.Problems {
		if p.Path == path || isBelow(p.Path, path) || isBelow(path, p.Path) {
			return p, true
		}
	}
	return inventory.Problem{}, false
}

func isBelow(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }
