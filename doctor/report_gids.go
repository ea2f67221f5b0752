package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/rdmakit/rdmakit/inventory"
)

// GIDEntry is the entry of a port's GID table that traffic between subnets should use.
type GIDEntry struct {
	Port  string `json:"port"`  // mlx5_0:1
	Index int    `json:"index"` // into the table
	GID   string `json:"gid"`   // as the kernel prints it
	Path  string `json:"path"`  // of its file
}

// gidIndexID is the check about pinned indices, to which a moved entry belongs.
const gidIndexID = "gid-index"

// gidsOf returns the routable entry of each RoCE port, without those that have none.
func gidsOf(s *inventory.Snapshot) []GIDEntry {
	var list []GIDEntry
	for d, p := range s.Ports() {
		if p.LinkLayer != inventory.LinkLayerEthernet {
			continue
		}
		if g, ok := p.RoutableGID(); ok {
			list = append(list, GIDEntry{
				Port: d.Name + ":" + strconv.Itoa(p.Number), Index: g.Index, GID: g.GID.String(),
				Path: path.Join(p.Path, "gids", strconv.Itoa(g.Index)),
			})
		}
	}
	return list
}

// movedGIDs returns a warning for each entry that is at another index than in an earlier report.
// There is none if one of the reports does not have the check of indices, or a finding of it about
// the port is suppressed.
func (r *Report) movedGIDs(before Report) []Finding {
	if !r.hasCheck(gidIndexID) || !before.hasCheck(gidIndexID) {
		return nil
	}
	var moved []Finding
	for _, was := range before.GIDs {
		i := slices.IndexFunc(r.GIDs, func(g GIDEntry) bool { return g.Port == was.Port && g.GID == was.GID })
		if i < 0 || r.GIDs[i].Index == was.Index || r.silences(was.Port) {
			continue
		}
		now := r.GIDs[i]
		f := Finding{
			CheckID: gidIndexID, Outcome: OutcomeWarn, Object: now.Port, Kind: KindPort,
			Summary: fmt.Sprintf("the GID that routes has moved from index %d to %d since the earlier report",
				was.Index, now.Index),
			Evidence: []Evidence{
				{Path: was.Path, Value: was.GID + " (earlier report)"}, {Path: now.Path, Value: now.GID},
			},
			Explanation: "Indices move when addresses, VLANs or containers are added, or when the link was down. A " +
				"job that pins the index (NCCL_IB_GID_INDEX) now uses another entry, or an empty one (NVIDIA/nccl " +
				"issues 1333 and 2157).",
			Actions: []Action{
				Shell("unset NCCL_IB_GID_INDEX NVSHMEM_IB_GID_INDEX UCX_IB_GID_INDEX MC_GID_INDEX"),
				Note("then: rdmactl env"),
			},
		}
		f.completeRemedy()
		moved = append(moved, f)
	}
	return moved
}

// silences reports whether a finding of the check of indices about the port is suppressed.
func (r *Report) silences(port string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.CheckID == gidIndexID && f.Object == port && !f.Counts()
	})
}
