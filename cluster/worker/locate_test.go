package worker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/sim/engines"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// withGUIDs opens engines that report GUIDs, and whose port is of the given link layer.
type withGUIDs struct {
	engines.Provider
	layer provider.LinkLayer
}

func (p withGUIDs) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := p.Provider.Open(ctx, name)
	return deviceWithGUIDs{d, p.layer}, err
}

type deviceWithGUIDs struct {
	provider.Device
	layer provider.LinkLayer
}

func (d deviceWithGUIDs) Attributes() provider.DeviceAttributes {
	a := d.Device.Attributes()
	a.NodeGUID = ib.GUID{0, 2, 0xc9, 3, 0, 0, 0, 1}
	return a
}

func (d deviceWithGUIDs) Port(ctx context.Context, number int) (provider.PortAttributes, error) {
	p, err := d.Device.Port(ctx, number)
	p.LinkLayer = d.layer
	return p, err
}

func (d deviceWithGUIDs) GIDs(context.Context, int) ([]provider.GIDEntry, error) {
	return []provider.GIDEntry{{Index: 0, GID: ib.GID{0: 0xfe, 1: 0x80, 9: 2, 10: 0xc9, 11: 3, 15: 2}}}, nil
}

// TestGUIDs checks that the survey has the GUIDs and MTUs of opened devices, and keeps those that
// are known.
func TestGUIDs(t *testing.T) {
	net := packetnet.New(packetnet.Faults{})
	node := worker.Node{Name: "node"}
	for i, c := range []struct {
		layer provider.LinkLayer
		facts map[string]string
	}{
		{provider.LinkLayerInfiniBand, nil},
		{provider.LinkLayerEthernet, map[string]string{result.FactMTU: "4096"}},
		{provider.LinkLayerInfiniBand, map[string]string{result.FactNodeGUID: "known", result.FactPortGUID: "too"}},
	} {
		name := roce.Prefix + string(rune('1'+i)) + ".0.0.1"
		node.Cards = append(node.Cards, worker.Card{
			Rail: i, Name: name, Port: 1, Facts: c.facts,
			Open: func(ctx context.Context) (*verbs.Device, error) {
				return verbs.Open(ctx, name, withGUIDs{engines.Provider{Network: net, MTU: ib.MTU1024}, c.layer})
			},
		})
	}
	node.Cards = append(node.Cards, worker.Card{
		Rail: 3, Facts: map[string]string{result.FactNetdev: "eth0"},
		Open: func(context.Context) (*verbs.Device, error) { return nil, errors.New("no device") },
	})
	w := worker.New(worker.Config{Node: node})
	defer w.Close()
	r := w.Do(t.Context(), protocol.Command{Kind: protocol.KindSurvey})
	var got []map[string]string
	for _, c := range r.Node.Cards {
		got = append(got, c.Facts)
	}
	const nodeGUID = "0002:c903:0000:0001"
	want := []map[string]string{
		{result.FactNodeGUID: nodeGUID, result.FactPortGUID: "0002:c903:0000:0002", result.FactMTU: "1024"},
		{result.FactNodeGUID: nodeGUID, result.FactMTU: "4096"},
		{result.FactNodeGUID: "known", result.FactPortGUID: "too", result.FactMTU: "1024"},
		{result.FactNetdev: "eth0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}
