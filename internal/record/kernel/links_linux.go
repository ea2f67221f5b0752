package kernel

import (
	"context"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
)

func readLinks(ctx context.Context) ([]facts.Link, error) {
	return linksOf(rdmanl.Client{}.Links(ctx))
}

// linksOf converts a list. An overlong list of virtual functions is an error, but leaves the links
// valid.
func linksOf(list []rdmanl.Link, err error) ([]facts.Link, error) {
	if len(list) == 0 {
		return nil, err
	}
	names := namesOf(list)
	out := make([]facts.Link, 0, len(list))
	for _, l := range list {
		link := facts.Link{
			Name: l.Name, CarrierUp: deref(l.CarrierUps), CarrierDown: deref(l.CarrierDowns), Up: l.Up(),
			Running: l.Flags&0x40 != 0, Address: l.Address.String(), MTU: deref(l.MTU), MaxMTU: deref(l.MaxMTU),
			Kind: l.Kind,
		}
		if l.MasterIndex != nil {
			link.Master = names[*l.MasterIndex]
		}
		out = append(out, link)
	}
	return out, nil
}
