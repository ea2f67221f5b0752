package kernel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// environmentPrefixes are those of variables that say how collective libraries use the network.
// Nothing else of the environment is taken, because it may hold secrets.
var environmentPrefixes = []string{
	"NCCL_", "RCCL_", "NVSHMEM_", "ROCSHMEM_", "UCX_", "GLOO_SOCKET_", "TP_SOCKET_", "MC_GID_INDEX", "MC_IB_PORT",
}

// environment takes the variables of collective libraries of this process: those of a job, if the
// program runs where the job would.
func environment(now func() time.Time, environ func() []string) facts.Collector {
	return facts.Collector{
		Kind: facts.KindEnvironment, Source: "environment of this process", Cost: "none",
		Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Environment = facts.Read(now, func() (map[string]string, error) {
				vars := map[string]string{}
				for _, entry := range environ() {
					name, value, _ := strings.Cut(entry, "=")
					if slices.ContainsFunc(environmentPrefixes, func(p string) bool {
						return strings.HasPrefix(name,
							p)
					}) {
						vars[name] = value
					}
				}
				return vars, nil
			})
		},
	}
}
