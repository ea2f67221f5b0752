package cli

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// TestFirstEngine chooses the engine that reaches the peer, and never the loopback device for a
// peer on another machine.
func TestFirstEngine(t *testing.T) {
	const first = ", the first one that can be opened"
	outside := route{netdev: "eth1", source: netip.MustParseAddr("192.0.2.7")}
	inside := route{netdev: "lo", source: netip.MustParseAddr("127.0.0.1"), inside: true}
	taken := errors.New("taken")
	for _, tt := range []struct {
		name    string
		listed  []string // by Devices
		others  []string // with a link-local IPv6 address only, or that Open accepts
		local   []string // of others: LinkLocalDevices
		deny    map[string]error
		toward  Toward
		route   route
		noRoute bool
		want    string // device and reason
		err     string
	}{
		{
			name: "server", listed: []string{"roce@eth0", "roce@lo"}, local: []string{"roce@tb0"},
			want: "roce@eth0" + first,
		},
		{name: "no network", listed: []string{"roce@lo"}, want: "roce@lo" + first},
		{
			name: "a cable", listed: []string{"roce@lo"}, local: []string{"roce@tb0"},
			want: "roce@tb0, the only one that reaches another machine",
		},
		{
			name: "a cable without lo", local: []string{"roce@tb0"},
			want: "roce@tb0, the only one that reaches another machine",
		},
		{
			name: "two cables", listed: []string{"roce@lo"}, local: []string{"roce@tb0", "roce@tb1"},
			err: "no device was given, and several network devices have only link-local addresses: roce@tb0, roce@tb1",
		},
		{
			name: "the second device", listed: []string{"roce@eth0", "roce@eth1", "roce@lo"},
			toward: Toward{Host: "peer"}, route: outside, want: "roce@eth1, where the route to peer begins",
		},
		{
			name: "two cables and a peer", listed: []string{"roce@lo"}, local: []string{"roce@eth0", "roce@eth1"},
			toward: Toward{Host: "peer"}, route: outside, want: "roce@eth1, where the route to peer begins",
		},
		{
			name: "by rdma_cm", listed: []string{"roce@eth0", "roce@eth1"}, others: []string{"roce@192.0.2.7"},
			toward: Toward{Host: "peer", ByAddress: true}, route: outside,
			want: "roce@192.0.2.7, where the route to peer begins",
		},
		{
			name: "taken", listed: []string{"roce@eth0", "roce@eth1", "roce@lo"},
			toward: Toward{Host: "peer"}, route: outside,
			deny: map[string]error{"roce@eth1": taken}, want: "roce@eth0" + first,
		},
		{
			name: "taken, and the loopback device", listed: []string{"roce@eth1", "roce@lo"},
			toward: Toward{Host: "peer"}, route: outside, deny: map[string]error{"roce@eth1": taken},
			err: "no device was given, and none can be opened: open device roce@eth1: taken",
		},
		{
			name: "this machine", listed: []string{"roce@eth0", "roce@lo"},
			toward: Toward{Host: "localhost"}, route: inside,
			deny: map[string]error{"roce@eth0": taken}, want: "roce@lo" + first,
		},
		{
			name: "this machine, beside a cable", listed: []string{"roce@lo"}, local: []string{"roce@tb0"},
			toward: Toward{Host: "localhost"}, route: inside, want: "roce@lo" + first,
		},
		{
			name: "unknown host", listed: []string{"roce@eth0", "roce@lo"}, toward: Toward{Host: "peer"}, noRoute: true,
			want: "roce@eth0" + first,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := slices.Concat(tt.listed, tt.local, tt.others)
			p := listedProvider{fakeProvider{names: all, deny: tt.deny}, tt.listed}
			o := opener{
				loads: true, node: &inventory.Snapshot{}, engines: []provider.Provider{p}, toward: tt.toward,
				linkLocal: func() []string { return tt.local },
				route: func(_ context.Context, host string) (route, error) {
					if host != tt.toward.Host || tt.noRoute {
						return route{}, errors.New("no route")
					}
					return tt.route, nil
				},
			}
			device, why, err := o.first(t.Context())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || ExitCode(err) != ExitNotFound {
					t.Errorf("first = %v, want %q", err, tt.err)
				}
				return
			}
			name, _, _ := strings.Cut(tt.want, ",")
			if err != nil || device.Name() != name || why != "no device was given: using "+tt.want {
				t.Errorf("first = %v, %q, %v, want %q", device, why, err, tt.want)
			}
		})
	}
}

// listedProvider lists a part of its devices.
type listedProvider struct {
	fakeProvider
	listed []string
}

func (p listedProvider) Devices(context.Context) (list []provider.DeviceInfo, err error) {
	for _, name := range p.listed {
		list = append(list, provider.DeviceInfo{Name: name})
	}
	return list, nil
}

// TestRouteTo finds routes of this machine.
func TestRouteTo(t *testing.T) {
	r, err := routeTo(t.Context(), "127.0.62.7")
	if err != nil || r.netdev != "lo" || !r.inside || !r.source.IsLoopback() {
		t.Errorf("routeTo of this machine = %+v, %v", r, err)
	}
	if r, err := routeTo(t.Context(), "localhost"); err != nil || r.netdev != "lo" || !r.inside {
		t.Errorf("routeTo(localhost) = %+v, %v", r, err)
	}
	if r, err := routeTo(t.Context(), "fe80::1%lo"); err == nil && r.netdev != "lo" {
		t.Errorf("routeTo with a zone = %+v", r)
	}
	if r, err := routeTo(t.Context(), "fe80::1%nosuch0"); err == nil {
		t.Errorf("routeTo of a link that doesn't exist = %+v", r)
	}
}
