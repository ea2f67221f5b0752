package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Kind is the kind of a contradiction.
type Kind string

// The kinds.
const (
	// KindDuplicateGUID: several hosts have the same port.
	KindDuplicateGUID Kind = "duplicate-guid"
	// KindOtherHost: the node description names another host that was read.
	KindOtherHost Kind = "other-host"
	// KindOtherName: the node description names a host that was not read.
	KindOtherName Kind = "other-name"
	// KindNoHostName: the node description names no host, as before rdma-ndd has set it.
	KindNoHostName Kind = "no-host-name"
	// KindOtherDevice: the node description names another device of the same host.
	KindOtherDevice Kind = "other-device"
)

// Contradiction is what hosts and the sweep say differently.
type Contradiction struct {
	Kind   Kind            `json:"kind"`
	Host   string          `json:"host"`   // as its recording says
	Ports  []fabric.PortID `json:"ports"`  // ports of the sweep
	Detail string          `json:"detail"` // a description with the values
}

// contradict compares the hosts with each other and with the node descriptions.
func (j *joiner) contradict() {
	ids := slices.SortedFunc(maps.Keys(j.claims), j.t.ComparePorts)
	for _, id := range ids {
		if keys := j.claims[id]; len(keys) > 1 {
			j.report.Contradictions = append(j.report.Contradictions, j.claimed(id, keys))
		}
	}
	j.compareDescriptions(ids)
}

// claimed returns the contradiction about a port that several hosts have.
func (j *joiner) claimed(id fabric.PortID, keys []portKey) Contradiction {
	var list []string
	for _, k := range keys {
		h := j.hosts[k.host]
		list = append(list, fmt.Sprintf("%s %s (%s)", h.Name, j.port(k).Device, h.Source))
	}
	guid := j.t.Port(id).GUID
	detail := fmt.Sprintf("port GUID 0x%x is of %s: no host is shown", guid[:], strings.Join(list, " and "))
	if j.sameName(keys) {
		detail = fmt.Sprintf("port GUID 0x%x is in several recordings of the host, the first is used: %s",
			guid[:], strings.Join(list, " and "))
	}
	return Contradiction{KindDuplicateGUID, j.hosts[keys[0].host].Name, []fabric.PortID{id}, detail}
}

// described is what a node description says of a host's ports.
type described struct {
	kind       Kind
	host, says string
}

// compareDescriptions compares node descriptions with host names, and combines the ports of a host
// of which they say the same.
func (j *joiner) compareDescriptions(ids []fabric.PortID) {
	names := map[string]bool{}
	for _, h := range j.hosts {
		names[shortName(h.Name)] = true
	}
	found := map[described][]portKey{}
	for _, id := range ids {
		key := j.claims[id][0]
		if len(j.claims[id]) > 1 || j.hosts[key.host].unnamed {
			continue
		}
		if d, ok := j.describe(id, key, names); ok {
			found[d] = append(found[d], key)
		}
	}
	list := slices.SortedFunc(maps.Keys(found), func(a, b described) int {
		if c := sysfs.NaturalCompare(a.host, b.host); c != 0 {
			return c
		}
		return strings.Compare(string(a.kind)+a.says, string(b.kind)+b.says)
	})
	for _, d := range list {
		j.report.Contradictions = append(j.report.Contradictions, j.misdescribed(d, found[d]))
	}
}

// describe returns what is wrong with the description of a port's node.
func (j *joiner) describe(id fabric.PortID, key portKey, names map[string]bool) (described, bool) {
	text := j.t.Node(id.Node).Description.String()
	d := described{host: j.hosts[key.host].Name, says: text}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ;'\"", r) })
	p := j.port(key)
	switch {
	case len(words) == 0 || isGeneric(text):
		d.kind = KindNoHostName
	case shortName(words[0]) != shortName(d.host) && names[shortName(words[0])]:
		d.kind, d.says = KindOtherHost, words[0]
	case shortName(words[0]) != shortName(d.host):
		d.kind, d.says = KindOtherName, words[0]
	case len(words) > 1 && words[1] != p.Device && j.hosts[key.host].has(words[1]):
		d.kind = KindOtherDevice
	default:
		return d, false
	}
	return d, true
}

func (h *Host) has(device string) bool {
	return slices.ContainsFunc(h.Ports, func(p Port) bool { return p.Device == device })
}

// isGeneric reports whether a node description is one of those that cards have before rdma-ndd sets
// it: "MT4129 ConnectX7   Mellanox Technologies" (mlx5), "localhost mlx5_0" before the host has its
// name.
func isGeneric(text string) bool {
	text = strings.ToLower(text)
	return strings.HasPrefix(text, "localhost") || strings.HasPrefix(text, "mt4") && strings.Contains(text, " ") ||
		strings.Contains(text, "mellanox technologies") || strings.Contains(text, "connectx")
}

// shortName returns a host name without domain, in lower case.
func shortName(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return strings.ToLower(name)
}

func (j *joiner) misdescribed(d described, keys []portKey) Contradiction {
	c := Contradiction{Kind: d.kind, Host: d.host}
	var devices []string
	for _, k := range keys {
		c.Ports = append(c.Ports, j.at[k])
		devices = append(devices, j.port(k).Device)
	}
	who := fmt.Sprintf("%s %s", d.host, strings.Join(devices, ", "))
	switch d.kind {
	case KindOtherHost:
		c.Detail = fmt.Sprintf("the node description of %s names %s: the card was moved, or the description is stale "+
			"(rdma-ndd sets it)", who, d.says)
	case KindOtherName:
		c.Detail = fmt.Sprintf("the node description of %s names %s, of which there is no recording: the host was "+
			"renamed, or the description is stale", who, d.says)
	case KindOtherDevice:
		c.Detail = fmt.Sprintf("the node description of %s is %q: the devices were renamed since it was set",
			who, d.says)
	default:
		c.Detail = fmt.Sprintf("the node description of %s is %q, which names no host: rdma-ndd hasn't set it",
			who, d.says)
	}
	return c
}
