package checks

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

const neighThresh = "/" + sysfs.ProcNeighIPv4 + "/gc_thresh3"

func neighbourTable() doctor.Check {
	return doctor.Check{
		ID: "neighbour-table", Title: "neighbour table too small for the peers", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupAddressing, Numbers: []int{70}, Needs: doctor.NeedDevices,
		Uses: []facts.Kind{facts.KindRoutes}, Reads: []string{portFiles("state"), neighThresh},
		Thresholds: []doctor.Threshold{
			{
				Name: "neighbour-peers", Value: 50, Unit: "", What: "nodes that a job of this cluster connects, " +
					"expected",
				Source: "to be set by the site; 50 with 16 rails fit into the kernel's default of 1024",
			},
			{
				Name: "neighbour-use-warn", Value: 80, Unit: "%", What: "entries of the neighbour table against " +
					"gc_thresh3",
				Source: "to be calibrated",
			},
		},
		Explanation: "The kernel keeps the link-layer address of each peer of each rail in one table. At gc_thresh3 " +
			"entries it refuses more, and connections fail with \"No buffer space available\" or time out; the log " +
			"says \"neighbor table overflow\".",
		Remedy: "Raise gc_thresh3 above the number of peers times the number of rails, and gc_thresh1 and " +
			"gc_thresh2 with it.",
		Sources: []string{
			"Documentation/networking/ip-sysctl.rst (neigh/default/gc_thresh3)", "net/core/neighbour.c (neigh_alloc)",
		},
		Run: runNeighbourTable,
	}
}

func runNeighbourTable(_ context.Context, in *doctor.Input) []doctor.Finding {
	rails := len(ipRails(in.Snapshot))
	if rails == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "no active RoCE rail, so RDMA needs no "+
			"neighbours")}
	}
	text, err := in.Facts.Files.Text(neighThresh[1:])
	if err != nil {
		return []doctor.Finding{doctor.Because(doctor.ObjectNode, err)}
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return []doctor.Finding{doctor.Unknown(doctor.ObjectNode, "%s: %q is not a number", neighThresh,
			printable(text))}
	}
	evidence := []doctor.Evidence{{Path: neighThresh, Value: text}}
	used, known := 0, in.Facts.Routes.Known()
	if known {
		for _, n := range in.Facts.Routes.Value.Neighbours {
			if n.Address.Is4() && n.State != "permanent" && n.State != "noarp" {
				used++
			}
		}
		evidence = append(evidence, doctor.Evidence{Path: "ip -4 neigh", Value: english.Count(used, "entry")})
	}
	peers := in.Threshold("neighbour-peers")
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode, Evidence: evidence,
		Actions: []doctor.Action{doctor.Sysctl("net.ipv4.neigh.default.gc_thresh3", strconv.Itoa(max(4*limit, 16384)))},
	}
	switch {
	case known && float64(used) >= float64(limit)*in.Threshold("neighbour-use-warn")/100:
		f.Summary = fmt.Sprintf("the neighbour table has %d of at most %d entries", used, limit)
	case float64(limit) <= peers*float64(rails):
		f.Summary = fmt.Sprintf("the neighbour table takes %d entries, but %.0f peers on %s need more than %.0f",
			limit, peers, english.Count(rails, "rail"), peers*float64(rails))
	default:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, fmt.Sprintf("the neighbour table takes %d entries; "+
			"%.0f "+
			"peers on %s need %.0f", limit, peers, english.Count(rails, "rail"), peers*float64(rails)), evidence...)}
	}
	return []doctor.Finding{f}
}
