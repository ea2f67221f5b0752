// Package kernel has the collectors of what the running kernel reports about this machine and no
// file has, for package facts.
//
//	f := facts.New(root)
//	f.Gather(ctx, &snapshot, kernel.Collectors(time.Now), facts.KindRoutes)
//
// A collector asks the edges and stores plain data, so that a bundle replays it. On systems other
// than Linux the data says that it is not supported.
package kernel

import (
	"os"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// Collectors returns all collectors; now gives the times of the data.
func Collectors(now func() time.Time) []facts.Collector {
	return []facts.Collector{
		clock(now),
		devlinkDevices(now),
		ethtoolModules(now),
		ethtoolSettings(now),
		kernelLog(now),
		dcb(now),
		resolver(now),
		pci(now),
		daemons(now),
		shm(now),
		links(now),
		routes(now),
		environment(now, os.Environ),
		filter(now),
	}
}

// Passive returns the kinds that disturb nobody and wait for nothing: those that a recording takes.
func Passive() []facts.Kind {
	var kinds []facts.Kind
	for _, c := range Collectors(time.Now) {
		if !c.Live {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}
