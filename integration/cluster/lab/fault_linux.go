package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Undo takes back a fault.
type Undo func(context.Context) error

// Direction is a direction of traffic, seen from a card.
type Direction int

// The directions.
const (
	Sends Direction = iota
	Receives
	Both
)

// The parameters of tbf(8): of burst and limit in bytes. The limit has room for the windows of all
// queue pairs of a card, so that what is slow doesn't lose anything.
const (
	tbfBurst = 20_000
	tbfLimit = 32 << 20
)

// Rate limits the rate of a card in a direction to a number of Mbit/s, by a token bucket at the end
// of the cable that sends.
func (l *Lab) Rate(ctx context.Context, c Card, d Direction, mbit int) (Undo, error) {
	send, receive := mbit, mbit
	switch d {
	case Sends:
		receive = l.opts.Rate
	case Receives:
		send = l.opts.Rate
	case Both:
	}
	undo := func(ctx context.Context) error { return l.setRates(ctx, c, l.opts.Rate, l.opts.Rate) }
	return undo, l.setRates(ctx, c, send, receive)
}

// setRates sets the rates of both ends of a cable; 0 is unlimited.
func (l *Lab) setRates(ctx context.Context, c Card, send, receive int) error {
	if err := c.Node.setRate(ctx, c.Netdev(), send); err != nil {
		return err
	}
	return l.Switch.setRate(ctx, c.Port(), receive)
}

func (n *Node) setRate(ctx context.Context, netdev string, mbit int) error {
	args := []string{
		"qdisc", "replace", "dev", netdev, "root", "tbf", "rate", strconv.Itoa(mbit) + "mbit", "burst",
		strconv.Itoa(tbfBurst), "limit", strconv.Itoa(tbfLimit),
	}
	if mbit == 0 {
		args = []string{"qdisc", "replace", "dev", netdev, "root", "pfifo", "limit", "10000"}
	}
	return n.network(ctx, "", "tc", args...)
}

// rocePort is the UDP port of RoCE v2.
const rocePort = 4791

// Loss drops a share of the RoCE packets of a card in a direction, in the switch, at random.
func (l *Lab) Loss(ctx context.Context, c Card, d Direction, share float64) (Undo, error) {
	const of = 1_000_000
	var rules strings.Builder
	for _, match := range map[Direction][]string{
		Sends: {"iifname"}, Receives: {"oifname"}, Both: {"iifname", "oifname"},
	}[d] {
		fmt.Fprintf(&rules, "    %s %q udp dport %d numgen random mod %d < %d counter drop\n", match, c.Port(),
			rocePort, of, int(share*of))
	}
	table := "loss_" + c.Port()
	text := fmt.Sprintf("table bridge %s {\n  chain forward {\n    type filter hook forward priority 0;\n%s  }\n}\n",
		table, rules.String())
	return l.Switch.filter(ctx, "bridge "+table, text)
}

// Firewall drops all RoCE packets that arrive at a card, by the packet filter of its node.
func (l *Lab) Firewall(ctx context.Context, c Card) (Undo, error) {
	table := "firewall_" + c.Netdev()
	text := fmt.Sprintf("table inet %s {\n  chain input {\n    type filter hook input priority 0;\n"+
		"    iifname %q udp dport %d counter drop\n  }\n}\n", table, c.Netdev(), rocePort)
	return c.Node.filter(ctx, "inet "+table, text)
}

// filter adds a table of nft(8).
func (n *Node) filter(ctx context.Context, table, text string) (Undo, error) {
	return func(ctx context.Context) error { return n.network(ctx, "", "nft", "delete table "+table) },
		n.network(ctx, text, "nft", "-f", "-")
}

// LossByIptables drops a share of the RoCE packets that arrive at a card, by the node's iptables.
func (l *Lab) LossByIptables(ctx context.Context, c Card, share float64) (Undo, error) {
	rule := func(action string) []string {
		return []string{
			action, "INPUT", "-i", c.Netdev(), "-p", "udp", "--dport", strconv.Itoa(rocePort), "-m", "statistic",
			"--mode", "random", "--probability", strconv.FormatFloat(share, 'f', -1, 64), "-j", "DROP",
		}
	}
	return func(ctx context.Context) error { return c.Node.network(ctx, "", "iptables", rule("-D")...) },
		c.Node.network(ctx, "", "iptables", rule("-A")...)
}

// CardMTU sets the MTU of a card; that of the switch stays.
func (l *Lab) CardMTU(ctx context.Context, c Card, mtu int) (Undo, error) {
	set := func(mtu int) string { return fmt.Sprintf("link set %s mtu %d", c.Netdev(), mtu) }
	return func(ctx context.Context) error { return c.Node.ip(ctx, set(l.opts.MTU)) }, c.Node.ip(ctx, set(mtu))
}

// PortMTU sets the MTU of the port of the switch that a card is connected to; that of the card
// stays.
func (l *Lab) PortMTU(ctx context.Context, c Card, mtu int) (Undo, error) {
	set := func(mtu int) string { return fmt.Sprintf("link set %s mtu %d", c.Port(), mtu) }
	return func(ctx context.Context) error { return l.Switch.ip(ctx, set(l.opts.MTU)) }, l.Switch.ip(ctx, set(mtu))
}

// ForeignRoute gives a card, beside its address, one of another rail's subnet, and makes the node
// send to that subnet through this card, as if it had got the address first.
func (l *Lab) ForeignRoute(ctx context.Context, c Card, rail int) (Undo, error) {
	own := c.Node.Card(rail)
	addr := fmt.Sprintf("10.77.%d.%d/24 dev %s", rail, c.Node.Number+leaderNode, c.Netdev())
	prefix := fmt.Sprintf("10.77.%d.0/24 dev %s src %v", rail, own.Netdev(), own.Addr())
	err := c.Node.ip(ctx, "route del "+prefix, "addr add "+addr, "route append "+prefix+" proto kernel scope link")
	return func(ctx context.Context) error {
		return c.Node.ip(ctx, "addr del "+addr)
	}, err
}

// SetAddress replaces the address of a card.
func (l *Lab) SetAddress(ctx context.Context, c Card, addr string) (Undo, error) {
	set := func(ctx context.Context, addr string) error {
		return c.Node.ip(ctx, "addr flush dev "+c.Netdev()+" scope global",
			fmt.Sprintf("addr add %s/24 dev %s", addr, c.Netdev()))
	}
	return func(ctx context.Context) error { return set(ctx, c.Addr().String()) }, set(ctx, addr)
}
