package kernel

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// filter lists the rules of nf_tables, which those of iptables-nft are, too.
func filter(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindFilter, Source: "nf_tables: NFT_MSG_GETCHAIN, GETRULE, GETSET, GETSETELEM",
		Cost: "lists of all chains, rules and sets", Privilege: "CAP_NET_ADMIN",
		Collect: func(ctx context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Filter = facts.Read(now, func() ([]facts.FilterRule, error) { return readFilter(ctx, f.Files) })
		},
	}
}
