package checks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// gidIndexVariables pin the GID index of all RoCE ports to a number.
var gidIndexVariables = []string{"NCCL_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX", "UCX_IB_GID_INDEX", "MC_GID_INDEX"}

func gidIndex() doctor.Check {
	return doctor.Check{
		ID: "gid-index", Title: "pinned GID index that does not fit a port", Severity: doctor.OutcomeFail,
		Group: doctor.GroupAddressing, Numbers: []int{62}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindEnvironment},
		Reads: []string{portFiles("gids"), portFiles("gids/*"), portFiles("gid_attrs/types/*")},
		Explanation: prose.Join(`
			A variable such as NCCL_IB_GID_INDEX makes a library use that entry of the GID table on
			every RoCE port of the node. Indices depend on the order in which addresses and VLANs
			were added: they differ between ports and nodes, and move when a link flaps. An entry
			that is empty, link-local or of RoCE v1 makes connections fail or time out. Without the
			variable libraries choose the entry of each port themselves.`),
		Remedy: "Unset the variable; `rdmactl env` prints settings that don't depend on the index.",
		Sources: []string{
			"NCCL src/transport/net_ib (ncclIbGetGidIndex)",
			"reports: NVIDIA/nccl issues 1333 and 2157 (the index moved), 890 (one index for many ports)",
		},
		Run: runGIDIndex,
	}
}

func runGIDIndex(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	var rails, bare []portRef // with an address, and without
	for p := range ownPorts(s) {
		if !p.roce() || !p.active() || !p.carriesJobs(s) || p.port.GIDTableSize == 0 || p.port.FirstGIDOnly() {
			continue
		}
		if _, class := bestGID(p); class <= gidLinkLocal && !unreadGIDs(in, p) {
			bare = append(bare, p)
			continue
		}
		rails = append(rails, p)
	}
	if len(rails) == 0 && len(bare) > 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no network device of the RoCE ports for jobs has an IP address, so no index fits (see gid-routable)")}
	}
	if len(rails) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(s, "no active RoCE port for jobs whose GID table is known"))}
	}
	except := ""
	if len(bare) > 0 {
		except = " with an address (without one, see gid-routable: " + objects(bare, 4) + ")"
	}
	var findings []doctor.Finding
	pinned := 0
	for _, name := range gidIndexVariables {
		value, set := in.Facts.Environment.Value[name]
		index, err := strconv.Atoi(strings.TrimSpace(value))
		if !set || err != nil || index < 0 {
			continue // not set, or "auto" or -1
		}
		pinned++
		fits := 0
		for _, p := range rails {
			if f, ok := pinnedGID(in, p, name, index); ok {
				fits++
			} else {
				findings = append(findings, f)
			}
		}
		if fits == len(rails) {
			findings = append(findings, doctor.Finding{
				Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
				Summary: fmt.Sprintf("%s=%d fits all %s%s today", name, index, english.Count(len(rails), "RoCE port"),
					except),
				Evidence: []doctor.Evidence{
					{Path: "environment:" + name, Value: value},
					rails[0].evidence("gids/"+strconv.Itoa(index), gidAt(rails[0], index).GID.String()),
				},
				Actions: []doctor.Action{doctor.Shell("unset %s", name)},
			})
		}
	}
	if pinned == 0 {
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "no variable pins the GID index",
			doctor.Evidence{Path: "environment:NCCL_IB_GID_INDEX", Value: "not set"})}
	}
	return findings
}

func gidAt(p portRef, index int) inventory.GIDEntry {
	i := slices.IndexFunc(p.port.GIDs, func(g inventory.GIDEntry) bool { return g.Index == index })
	if i < 0 {
		return inventory.GIDEntry{}
	}
	return p.port.GIDs[i]
}

// pinnedGID reports whether the entry can be used across routers, and otherwise the finding.
func pinnedGID(in *doctor.Input, p portRef, name string, index int) (doctor.Finding, bool) {
	g := gidAt(p, index)
	class := classify(g)
	best, bestClass := bestGID(p)
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: p.object(),
		Evidence: []doctor.Evidence{
			{Path: "environment:" + name, Value: in.Facts.Environment.Value[name]},
			p.evidence("gids/"+strconv.Itoa(index), g.GID.String()),
		},
		Actions: []doctor.Action{doctor.Shell("unset %s", name), doctor.Note("then: rdmactl env")},
	}
	state := map[gidClass]string{
		gidNone: "is empty", gidLinkLocal: "is link-local", gidV1: "is of RoCE v1", gidAutoIP: "is self-assigned",
	}[class]
	if state == "" || class == bestClass {
		return f, true // as good as any: what all entries lack, gid-routable reports
	}
	if class == gidNone {
		f.Evidence = f.Evidence[:1]
		if unreadGIDs(in, p) {
			return doctor.Unknown(p.object(), "the GID table could not be read"), false
		}
	}
	f.Summary = fmt.Sprintf("%s=%d, but that entry %s", name, index, state)
	if bestClass > class && bestClass >= gidULA {
		f.Summary += fmt.Sprintf("; %d fits (%v)", best.Index, best.GID.Addr())
		f.Evidence = append(f.Evidence, p.evidence("gids/"+strconv.Itoa(best.Index), best.GID.String()))
	}
	return f, false
}
