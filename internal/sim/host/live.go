package host

import (
	"encoding/json"
	"fmt"
	"strings"
)

// LiveFile is the file of a tree with the results of netlink queries: the JSON form of
// inventory.Live.
const LiveFile = "live.json"

// The types below mirror inventory.Live. This package can't import inventory, whose
// tests use emulated nodes; a test checks that the types agree.
type (
	live struct {
		NetnsMode string
		Devices   []liveDevice
		Links     []liveLink
		Chars     []liveChar
	}
	liveDevice struct {
		Index    int        `json:"index"`
		Name     string     `json:"name"`
		Protocol string     `json:"protocol"`
		Ports    []livePort `json:"ports"`
	}
	livePort struct {
		Number int    `json:"number"`
		Netdev string `json:"netdev,omitempty"`
	}
	liveLink struct {
		Index     int      `json:"index"`
		Name      string   `json:"name"`
		Addresses []string `json:"addresses,omitempty"`
		VFs       []liveVF `json:"vfs,omitempty"`
	}
	liveVF struct {
		Index      int    `json:"index"`
		MAC        string `json:"mac"`
		LinkState  string `json:"linkState"`
		Trust      bool   `json:"trust"`
		SpoofCheck bool   `json:"spoofCheck"`
	}
	liveChar struct {
		Name string `json:"name"`
	}
)

func (b *builder) addLive() {
	out := live{
		NetnsMode: "shared", Links: []liveLink{{Index: 1, Name: "lo", Addresses: []string{"127.0.0.1/8", "::1/128"}}},
	}
	for i := range b.ports {
		p := &b.ports[i]
		out.Links = append(out.Links, b.liveLink(p))
		if p.device == "" {
			continue
		}
		protocol := "roce"
		if p.layer == InfiniBand {
			protocol = "ib"
		}
		d := liveDevice{
			Index: p.number, Name: p.device, Protocol: protocol, Ports: []livePort{{Number: 1, Netdev: p.netdev}},
		}
		if p.layer == InfiniBand {
			d.Ports[0].Netdev = "" // nldev reports it for RoCE only
		}
		out.Devices = append(out.Devices, d)
		if p.rail < 0 || !b.has(NoCharNode, p.rail) {
			out.Chars = append(out.Chars, liveChar{fmt.Sprint("uverbs", p.number)})
		}
		out.Chars = append(out.Chars, liveChar{fmt.Sprint("umad", p.number)})
	}
	if b.rdma() {
		out.Chars = append(out.Chars, liveChar{"rdma_cm"})
	}
	b.text(LiveFile, fmt.Sprintf("{\"netnsMode\": %q,\n \"devices\": %s,\n \"links\": %s,\n \"chars\": %s}\n",
		out.NetnsMode, oneALine(b, out.Devices), oneALine(b, out.Links), oneALine(b, out.Chars)))
}

// oneALine returns a JSON array with one element per line, which is easy to read and to compare.
func oneALine[T any](b *builder, list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	parts := make([]string, 0, len(list))
	for _, e := range list {
		text, err := json.Marshal(e)
		if err != nil {
			b.errs = append(b.errs, err)
		}
		parts = append(parts, "  "+string(text))
	}
	return "[\n" + strings.Join(parts, ",\n") + "]"
}

func (b *builder) liveLink(p *port) liveLink {
	l := liveLink{Index: p.index, Name: p.netdev}
	if p.address.IsValid() {
		l.Addresses = append(l.Addresses, p.address.String())
	}
	if p.layer == Ethernet && p.link == linkActive {
		l.Addresses = append(l.Addresses, shortLocal(b.eui64(p)))
	}
	for v := range b.VFs {
		if p.rail >= 0 {
			vf := &b.ports[b.Rails+p.rail*b.VFs+v]
			l.VFs = append(l.VFs, liveVF{Index: v, MAC: b.macText(vf), LinkState: "auto"})
		}
	}
	return l
}

// shortLocal returns a link-local address with its prefix length, without leading zeros in groups.
func shortLocal(eui64 string) string {
	groups := strings.Split(eui64, ":")
	for i, g := range groups {
		if g = strings.TrimLeft(g, "0"); g == "" {
			g = "0"
		}
		groups[i] = g
	}
	return "fe80::" + strings.Join(groups, ":") + "/64"
}
