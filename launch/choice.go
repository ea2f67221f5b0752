package launch

import "github.com/rdmakit/rdmakit/inventory"

// NCCLChoice returns what NCCL 2.30.7 does with a port in an environment: whether it uses the port,
// the GID index, and the fault of that entry, if any.
func NCCLChoice(d *inventory.Device, p *inventory.Port, env map[string]string) AutoChoice {
	return *ncclChoice(d, p, env)
}

// JudgeIndex returns the fault of an entry of a port's GID table for connections ("empty entry:
// connections fail"), "" for none. On InfiniBand it returns "", because every library chooses the
// entry itself.
func JudgeIndex(p *inventory.Port, index int) string { return indexFault(p, index) }

// BestGID returns the entry that connections of a RoCE port should use, regardless of other ports,
// in the order of [Derive]: RoCE v2 over IPv4, v2 over IPv6, then v1. It is nil if the port has no
// routable GID or is not a RoCE port.
func BestGID(snapshot *inventory.Snapshot, p *inventory.Port) *GIDChoice {
	table, _ := usableGIDs(snapshot, p)
	for _, f := range profiles() {
		if choice := table.choose(f); choice != nil {
			return choice
		}
	}
	return nil
}

// GIDFiles returns the paths of the files with an entry of a port's GID table and its type.
func GIDFiles(p *inventory.Port, index int) []string { return gidFiles(p, index) }
