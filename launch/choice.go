package launch

import "github.com/rdmakit/rdmakit/inventory"

// NCCLChoice returns what NCCL 2.30.7 does with a port under an environment: whether
// it uses the port, which GID index it takes, and what is wrong with that entry.
func NCCLChoice(d *inventory.Device, p *inventory.Port, env map[string]string) AutoChoice {
	return *ncclChoice(d, p, env)
}

// JudgeIndex says what is wrong with connecting through an entry of a port's GID
// table ("empty entry: connecting fails"), "" for nothing. On InfiniBand every
// library chooses the entry itself, so nothing is wrong there.
func JudgeIndex(p *inventory.Port, index int) string { return judgeIndex(p, index) }

// BestGID returns the entry that connections of a RoCE port should use when the port
// is looked at alone, by the order of [Derive]: RoCE v2 over IPv4, v2 over IPv6, then v1.
// It is nil where the port has no routable GID, or is none of RoCE.
func BestGID(snapshot *inventory.Snapshot, p *inventory.Port) *GIDChoice {
	table, _ := usableGIDs(snapshot, p)
	for _, f := range profiles() {
		if choice := table.choose(f); choice != nil {
			return choice
		}
	}
	return nil
}

// GIDFiles returns the paths of the files that hold an entry of a port's GID table
// and its type.
func GIDFiles(p *inventory.Port, index int) []string { return gidFiles(p, index) }
