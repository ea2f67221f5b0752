package worker

import (
	"context"
	"maps"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// located returns the facts of an opened card with its GUIDs, by which a sweep of the subnet knows
// it. Those that the card has are kept.
func located(ctx context.Context, card *Card, d *verbs.Device) map[string]string {
	facts := maps.Clone(card.Facts)
	add := func(name string, guid ib.GUID) {
		if facts[name] == "" && !guid.IsZero() {
			if facts == nil {
				facts = map[string]string{}
			}
			facts[name] = guid.String()
		}
	}
	add(result.FactNodeGUID, d.Attributes().NodeGUID)
	if port, err := d.Port(ctx, card.Port); err != nil || port.LinkLayer != provider.LinkLayerInfiniBand {
		return facts
	}
	if gid, err := d.GID(ctx, card.Port, 0); err == nil {
		add(result.FactPortGUID, gid.PortGUID())
	}
	return facts
}
