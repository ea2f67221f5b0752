package leaf

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/result"
)

// Port is a port of a switch, at the other end of a card's cable.
type Port struct {
	Switch string // ID of the switch, equal for all of its ports
	Name   string // of the switch, for people
	Port   string // name or number of the port
}

// listSeparator is between the ports of a card with several, such as a bond.
const listSeparator = ", "

// Facts returns the facts of a card with these ports: [result.FactSwitchID], [result.FactSwitch]
// and [result.FactSwitchPort]. It is nil for a card without any.
func Facts(ports []Port) map[string]string {
	if len(ports) == 0 {
		return nil
	}
	var ids, names, numbers []string
	for _, p := range sorted(ports) {
		ids, names, numbers = append(ids, p.Switch), append(names, p.Name), append(numbers, p.Port)
	}
	return map[string]string{
		result.FactSwitchID:   strings.Join(ids, listSeparator),
		result.FactSwitch:     strings.Join(names, listSeparator),
		result.FactSwitchPort: strings.Join(numbers, listSeparator),
	}
}

// portsOf is the inverse of Facts. Without names, IDs stand for them.
func portsOf(facts map[string]string) []Port {
	if facts[result.FactSwitchID] == "" {
		return nil
	}
	ids := strings.Split(facts[result.FactSwitchID], listSeparator)
	names := strings.Split(facts[result.FactSwitch], listSeparator)
	numbers := strings.Split(facts[result.FactSwitchPort], listSeparator)
	out := make([]Port, len(ids))
	for i, id := range ids {
		out[i] = Port{Switch: id, Name: id}
		if len(names) == len(ids) && names[i] != "" {
			out[i].Name = names[i]
		}
		if len(numbers) == len(ids) {
			out[i].Port = numbers[i]
		}
	}
	return sorted(out)
}

// sorted returns the ports in order, each once.
func sorted(ports []Port) []Port {
	out := slices.Clone(ports)
	slices.SortFunc(out, func(a, b Port) int {
		return cmp.Or(strings.Compare(a.Switch, b.Switch), strings.Compare(a.Port, b.Port),
			strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

// samePorts reports whether two cards are connected to the same ports, whatever these are called.
func samePorts(a, b []Port) bool {
	return slices.EqualFunc(a, b, func(x, y Port) bool { return x.Switch == y.Switch && x.Port == y.Port })
}

// text returns ports for people: leaf0 port 7.
func text(ports []Port) string {
	list := make([]string, len(ports))
	for i, p := range ports {
		list[i] = cmp.Or(p.Name, p.Switch)
		if p.Port != "" {
			list[i] += " port " + p.Port
		}
	}
	return strings.Join(list, " and ")
}
