package checks

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// wire is a network device with a connector, and the compute port that uses it.
type wire struct {
	port   portRef
	netdev string
}

// wiresOf returns the network devices of the compute ports, those of a bond one by one. Software
// devices and virtual functions have no connector.
func wiresOf(s *inventory.Snapshot) []wire {
	var all []wire
	for p := range ports(s) {
		n := p.netdev(s)
		if n == nil || p.dev.Software != "" || p.dev.VF != nil || !p.carriesJobs(s) {
			continue
		}
		for _, name := range n.Connectors() {
			all = append(all, wire{p, name})
		}
	}
	return all
}

// up reports whether the network device has a link, or may have one.
func (w wire) up(s *inventory.Snapshot) bool {
	n := s.Netdev(w.netdev)
	return w.port.active() && (n == nil || n.Carrier == nil || *n.Carrier)
}

// ethtoolFor returns ethtool's data of a network device, nil if it was not queried.
func ethtoolFor(in *doctor.Input, netdev string) *facts.Ethtool {
	for i := range in.Facts.Ethtool.Value {
		if e := &in.Facts.Ethtool.Value[i]; e.Netdev == netdev {
			return e
		}
	}
	return nil
}

// ethtoolError returns the finding for a part of a network device that ethtool could not read, and
// whether there is one: the driver may also not have the part.
func ethtoolError(object string, e *facts.Ethtool, part string) (doctor.Finding, bool) {
	if e == nil || e.State(part) == nil {
		return doctor.Finding{}, false
	}
	return doctor.Because(object, e.State(part)), true
}

// wireFindings joins the findings of a check about wires: what was found, one pass for those that
// are well, and the reasons for those that could not be judged, each once.
func wireFindings(
	found []doctor.Finding, pass doctor.Finding, judged int, skipped []string, none string,
) []doctor.Finding {
	if judged > 0 {
		found = append(found, pass)
	}
	seen := map[string]bool{}
	for _, why := range skipped {
		if !seen[why] {
			found = append(found, doctor.NotApplicable(doctor.ObjectNode, "%s", why))
		}
		seen[why] = true
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", none)}
	}
	return found
}
