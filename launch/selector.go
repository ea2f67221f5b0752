package launch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
)

// selector matches ports by one of their names; see Options.Include.
type selector struct {
	text  string
	regex *regexp.Regexp // nil unless between slashes
}

func parseSelectors(option string, texts []string) ([]selector, error) {
	out := make([]selector, 0, len(texts))
	for _, text := range texts {
		s, err := parseSelector(text)
		if err != nil {
			return nil, &OptionError{Option: option, Text: err.Error()}
		}
		out = append(out, s)
	}
	return out, nil
}

func parseSelector(text string) (selector, error) {
	s := selector{text: text}
	switch {
	case text == "":
		return s, fmt.Errorf("empty selector")
	case len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/':
		re, err := regexp.Compile(text[1 : len(text)-1])
		if err != nil {
			return s, fmt.Errorf("selector %q: %w", text, err)
		}
		s.regex = re
		return s, nil
	}
	if _, err := path.Match(text, ""); err != nil {
		return s, fmt.Errorf("selector %q: unclosed [ or trailing backslash", text)
	}
	return s, nil
}

// matches reports whether one of a port's names matches.
func (s selector) matches(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if s.regex != nil {
			return s.regex.MatchString(name)
		}
		if name == s.text {
			return true
		}
		ok, _ := path.Match(s.text, name) // the pattern was checked when it was parsed
		return ok
	})
}

// firstMatch returns the text of the first selector that matches, "" for none.
func firstMatch(list []selector, names []string) string {
	for _, s := range list {
		if s.matches(names) {
			return s.text
		}
	}
	return ""
}

// selectorNames returns the names by which a port can be selected.
func selectorNames(d *inventory.Device, p *inventory.Port) []string {
	names := []string{d.Name, portName(d.Name, p.Number)}
	if d.PCI != nil {
		names = append(names, d.PCI.Address)
		if short, ok := strings.CutPrefix(d.PCI.Address, "0000:"); ok {
			names = append(names, short)
		}
	}
	if p.Netdev != "" {
		names = append(names, p.Netdev)
	}
	return names
}

func portName(device string, port int) string { return device + ":" + strconv.Itoa(port) }

// checkSelectors returns an error for a selector that matches no port of the node. On a node
// without ports every selector is valid, because the outcome reports that case.
func checkSelectors(option string, list []selector, snapshot *inventory.Snapshot) error {
	var existing []string
	unmatched := slices.Clone(list)
	for i := range snapshot.Devices {
		d := &snapshot.Devices[i]
		for j := range d.Ports {
			names := selectorNames(d, &d.Ports[j])
			unmatched = slices.DeleteFunc(unmatched, func(s selector) bool { return s.matches(names) })
			existing = append(existing, describeNames(d, &d.Ports[j]))
		}
	}
	if len(unmatched) == 0 || len(existing) == 0 {
		return nil
	}
	return &OptionError{Option: option, Text: fmt.Sprintf("%q matches no port; the node has %s",
		unmatched[0].text, strings.Join(existing, ", "))}
}

// describeNames formats the names of a port for an error about a mistyped selector.
func describeNames(d *inventory.Device, p *inventory.Port) string {
	var more []string
	if d.PCI != nil {
		more = append(more, d.PCI.Address)
	}
	if p.Netdev != "" {
		more = append(more, p.Netdev)
	}
	name := printableName(portName(d.Name, p.Number))
	if len(more) == 0 {
		return name
	}
	return name + " (" + printableName(strings.Join(more, ", ")) + ")"
}

// printableName quotes a name that contains control characters or other unprintable text.
func printableName(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
