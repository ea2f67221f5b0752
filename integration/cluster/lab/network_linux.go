package lab

import (
	"context"
	"fmt"
)

// connect makes the bridges and the cables, and gives the nodes their addresses.
func (l *Lab) connect(ctx context.Context) error {
	var lines []string
	for r := range l.opts.Rails {
		lines = append(lines, fmt.Sprintf("link add br%d mtu %d type bridge", r, l.opts.MTU),
			fmt.Sprintf("link set br%d up", r))
	}
	for _, n := range l.All() {
		for r := range l.opts.Rails {
			c := n.Card(r)
			lines = append(lines,
				fmt.Sprintf("link add %s mtu %d type veth peer name %s mtu %d netns %d", c.Port(), l.opts.MTU,
					c.Netdev(), l.opts.MTU, n.first.Process.Pid),
				fmt.Sprintf("link set %s master br%d up", c.Port(), r))
		}
	}
	if err := l.Switch.ip(ctx, lines...); err != nil {
		return err
	}
	for _, n := range l.All() {
		lines := []string{"link set lo up"}
		for r := range l.opts.Rails {
			c := n.Card(r)
			lines = append(lines, fmt.Sprintf("addr add %v/24 dev %s", c.Addr(), c.Netdev()),
				fmt.Sprintf("link set %s up", c.Netdev()))
		}
		if err := n.ip(ctx, lines...); err != nil {
			return err
		}
		for r := range l.opts.Rails {
			if err := n.noOffload(ctx, n.Card(r).Netdev()); err != nil {
				return err
			}
			if l.opts.Rate > 0 && n != l.Leader {
				if err := l.setRates(ctx, n.Card(r), l.opts.Rate, l.opts.Rate); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noOffload has the system cut what programs send at once into frames before it leaves a network
// device: a switch sees no other ones, and its limits and losses are those of frames.
func (n *Node) noOffload(ctx context.Context, netdev string) error {
	return n.network(ctx, "", "ethtool", "-K", netdev, "tso", "off", "tx-udp-segmentation", "off")
}
