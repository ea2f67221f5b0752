package cluster

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// The largest local cluster: addresses are 127.RAIL.1.NODE.
const (
	maxLocalNodes = 64
	maxLocalRails = 8
)

// software is the scale of engines in user space.
func software() *result.Scale { return &result.Scale{Label: result.LabelSoftware, Rate: 1, Time: 1} }

// localNode is a node with engines on loopback addresses.
func localNode(n, rails int) worker.Node {
	node := worker.Node{Name: fmt.Sprintf("local-%02d", n+1), Scale: software()}
	for rail := range rails {
		addr := netip.AddrFrom4([4]byte{127, byte(rail + 1), 1, byte(n + 1)})
		node.Cards = append(node.Cards, engineCard(rail, roce.Prefix+addr.String()))
	}
	return node
}

// engineCard is a card in user space.
func engineCard(rail int, name string) worker.Card {
	facts := map[string]string{result.FactGIDType: "RoCE v2"}
	if netdev := engineNetdev(name); netdev != "" {
		facts[result.FactNetdev] = netdev
		if rate := netdevRate(hostRoot(), netdev); rate != "" {
			facts[result.FactNetdevRate] = rate
		}
	}
	if subnet, err := roce.Subnet(name); err == nil && subnet.IsValid() {
		facts[result.FactSubnet] = subnet.String()
	}
	return worker.Card{
		Rail: rail, Name: name, Port: 1, Facts: facts,
		Open: func(ctx context.Context) (*verbs.Device, error) {
			d, _, err := cli.OpenVerbs(ctx, name, cli.Toward{})
			return d, err
		},
	}
}
