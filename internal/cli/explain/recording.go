package explain

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// maxPorts is how many ports of a recorded node the text has.
const maxPorts = 4

// recordedText says what a recording of a node has.
func recordedText(r *explain.RecordedDocument) string {
	var ports []string
	for _, p := range r.Ports {
		s := fmt.Sprintf("%s:%d %s %s", p.Device, p.Port, p.State, p.Link)
		if p.Best != "" {
			index, address, _ := strings.Cut(p.Best, " ")
			s += fmt.Sprintf(" (GID index %s: %s)", index, address)
		}
		ports = append(ports, s)
	}
	if more := len(ports) - maxPorts; more > 0 {
		ports = append(ports[:maxPorts], fmt.Sprintf("and %d more", more))
	}
	if len(ports) == 0 {
		ports = []string{"no RDMA port"}
	}
	return "recorded in " + r.File + ": " + strings.Join(ports, ", ")
}

// recordingText says what was read of a recorded node.
func recordingText(in *explain.InputDocument) string {
	r := in.Recording
	parts := []string{strings.TrimSpace("recorded node " + r.Node)}
	if r.Taken != "" {
		parts[0] += " of " + r.Taken
	}
	if r.Checks > 0 {
		warned := ""
		if len(r.Warnings) > 0 {
			warned = " (" + strings.Join(r.Warnings, ", ") + ")"
		}
		parts = append(parts, fmt.Sprintf("%s of doctor: %d failed, %d warned%s, %d without a result",
			english.Count(r.Checks, "check"), r.Failed, r.Warned, warned, r.NoResult))
	}
	if r.KernelLog > 0 {
		parts = append(parts, english.Count(r.KernelLog, "line")+" of the kernel's log about cards")
	}
	parts = append(parts, r.Notes...)
	if in.Error != "" {
		parts = append(parts, in.Error)
	}
	return in.Name + ": " + strings.Join(parts, "; ")
}
