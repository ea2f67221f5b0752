package worker

import (
	"context"
	"maps"
	"strconv"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// located returns the facts of an opened card with the MTU of its port and its GUIDs, by which a
// sweep of the subnet identifies it. Those that the card has are kept.
func located(ctx context.Context, card *Card, d *verbs.Device) map[string]string {
	facts := maps.Clone(card.Facts)
	if facts == nil {
		facts = map[string]string{}
	}
	add := func(name string, guid ib.GUID) {
		if facts[name] == "" && !guid.IsZero() {
			facts[name] = guid.String()
		}
	}
	add(result.FactNodeGUID, d.Attributes().NodeGUID)
	port, err := d.Port(ctx, card.Port)
	if err != nil {
		return facts
	}
	if facts[result.FactMTU] == "" && port.ActiveMTU != 0 {
		facts[result.FactMTU] = strconv.Itoa(int(port.ActiveMTU))
	}
	if port.LinkLayer != provider.LinkLayerInfiniBand {
		return facts
	}
	if gid, err := d.GID(ctx, card.Port, 0); err == nil {
		add(result.FactPortGUID, gid.PortGUID())
	}
	return facts
}
