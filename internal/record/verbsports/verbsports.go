// Package verbsports has what libibverbs reports of ports, for package facts: asked on this
// machine, or from the recording in a bundle.
//
//	c := verbsports.Collector(time.Now, ibverbs.Describe)
//	f.Gather(ctx, &snapshot, []facts.Collector{c}, facts.KindVerbs)
//	ports, err := verbsports.Of(&recording)
package verbsports

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// Collector returns the collector of what libibverbs reports of ports; describe opens the devices
// and asks them.
func Collector(
	now func() time.Time, describe func(context.Context, ...string) (recording.Recording, error),
) facts.Collector {
	return facts.Collector{
		Kind: facts.KindVerbs, Source: "ibv_query_port of libibverbs", Cost: "opens each device",
		Privilege: "access to /dev/infiniband/uverbs*",
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Verbs = facts.Read(now, func() ([]facts.VerbsPort, error) {
				if len(s.Devices) == 0 {
					return nil, facts.Absent("the node has no RDMA device")
				}
				rec, _ := describe(ctx) // the recording has the errors
				return Of(&rec)
			})
		},
	}
}

// Of returns what a recording of libibverbs has of ports. A device that could not be opened
// has one entry with its name and the reason. The error is that of the library as a whole; it
// matches [facts.ErrAbsent] if that is not installed.
func Of(rec *recording.Recording) ([]facts.VerbsPort, error) {
	if len(rec.Errors) > 0 {
		e := rec.Errors[0]
		if e.Query == recording.QueryLoad || errors.Is(e, fs.ErrNotExist) {
			return nil, facts.Absent("%s", e.Error())
		}
		return nil, e
	}
	list := []facts.VerbsPort{}
	for i := range rec.Devices {
		d := &rec.Devices[i]
		if d.Attributes == nil {
			list = append(list, failedPort(d.Name, d.Failed(recording.QueryOpen, -1, -1), d.Errors))
			continue
		}
		for _, p := range d.Ports {
			object := d.Name + ":" + strconv.Itoa(p.Number)
			if p.Attributes == nil {
				list = append(list, failedPort(object, d.Failed(recording.QueryPort, p.Number, -1), d.Errors))
				continue
			}
			list = append(list, facts.VerbsPort{
				Object: object, MaxMTU: max(0, int(p.Attributes.MaxMTU)), // negative: an unknown code
				ActiveMTU: max(0, int(p.Attributes.ActiveMTU)),
			})
		}
	}
	return list, nil
}

// failedPort returns the entry of an object that could not be asked, because of the first error
// that is known.
func failedPort(object string, err *recording.QueryError, others []*recording.QueryError) facts.VerbsPort {
	if err == nil && len(others) > 0 {
		err = others[0]
	}
	switch {
	case err == nil:
		return facts.VerbsPort{Object: object, Error: "libibverbs did not report it"}
	case errors.Is(err, fs.ErrPermission):
		return facts.VerbsPort{Object: object, Denied: err.Error()}
	}
	return facts.VerbsPort{Object: object, Error: err.Error()}
}
