package checks_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/verbs/provider/roce/window"
	"github.com/rdmakit/rdmakit/wire/ib"
)

const (
	rmemMax = "proc/sys/net/core/rmem_max"
	wmemMax = "proc/sys/net/core/wmem_max"
	tcpRmem = "proc/sys/net/ipv4/tcp_rmem"
	noneMTU = "sys/class/net/eth0/mtu" // of 06_none
)

// socketBuffers sets the limits of receive and send buffers of UDP, and of receive buffers of TCP;
// "" leaves one out.
func socketBuffers(receive, send, tcp string) change {
	var all []change
	for name, value := range map[string]string{rmemMax: receive, wmemMax: send, tcpRmem: tcp} {
		if value != "" {
			all = append(all, set(name, value))
		}
	}
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for _, c := range all {
			c(t, tree)
		}
	}
}

func TestReceiveBuffer(t *testing.T) {
	const small, large = "212992", "4194304" // Linux's defaults, up to 6.17 and later
	const fine = "4096 131072 6291456"       // Linux's default of tcp_rmem
	jumbo := set(noneMTU, "9000")
	full := window.Buffer(ib.MTU4096) // what the engine's full window needs
	enough, less := fmt.Sprint(full), fmt.Sprint(full-1)
	container := set(".dockerenv", "")
	for _, c := range []struct {
		name, tree string
		change     change
		want       []string
		says       string
	}{
		{"a small MTU", "06_none", socketBuffers(small, small, ""), []string{"pass node"}, "mtu = 1500"},
		{
			"large buffers", "06_none", all(jumbo, socketBuffers(large, large, "")),
			[]string{"pass node"},
			"rmem_max = 4194304",
		},
		{
			"small buffers", "06_none", all(jumbo, socketBuffers(small, small, "")),
			[]string{"info node", "info node"},
			"net.core.rmem_max allows receive buffers of 208 KiB; 256 packets of 4096 bytes, the largest window of " +
				"rdmactl's engine, need 682.6 KiB",
		},
		{
			"the remedy", "06_none", all(jumbo, socketBuffers(small, large, "")),
			[]string{"info node"},
			fmt.Sprintf("sysctl -w net.core.rmem_max=%d", udpio.WantedBuffer),
		},
		{
			"at the next boot", "06_none", all(jumbo, socketBuffers(large, small, "")),
			[]string{"info node"},
			"printf '%s\\n' 'net.core.wmem_max = 8388608' > /etc/sysctl.d/90-net-core-wmem_max.conf",
		},
		{
			"just below", "06_none", all(jumbo, socketBuffers(less, enough, "")),
			[]string{"info node"},
			"rmem_max",
		},
		{
			"just below, sent", "06_none", all(jumbo, socketBuffers(enough, less, "")),
			[]string{"info node"},
			"send buffers",
		},
		{"just enough", "06_none", all(jumbo, socketBuffers(enough, enough, "")), []string{"pass node"}, ""},
		{
			"container", "06_none", all(jumbo, container, socketBuffers(small, large, "")),
			[]string{"info node"},
			"# on the host, not in this container",
		},
		{
			"no usable network device", "06_none",
			all(set("sys/class/net/eth0/flags", "0x1002"), socketBuffers(small, small, "")),
			[]string{"not-applicable node"},
			"no network device",
		},
		{
			"a member of a bond", "06_none",
			all(jumbo, func(t *testing.T, tree *nodetree.Tree) {
				t.Helper()
				if err := tree.Link("sys/class/net/eth0/master", "../bond0"); err != nil {
					t.Fatal(err)
				}
			}, socketBuffers(small, small, "")),
			[]string{"not-applicable node"},
			"no network device",
		},
		{"not recorded", "06_none", nil, []string{"not-applicable node", "not-applicable node"}, ""},
		{
			"the largest MTU", "46_usb_thunderbolt",
			all(set("sys/class/net/thunderbolt0/mtu", "62000"), socketBuffers(small, small, "")),
			[]string{"info node", "info node"},
			"thunderbolt0/mtu",
		},
		{
			"unreadable", "06_none", all(socketBuffers("", large, ""), fail(rmemMax, syscall.EIO)),
			[]string{"unknown node", "unknown node"},
			"input/output error",
		},
		{
			"unreadable devices", "06_none",
			all(set("sys/class/infiniband/version", "1"), socketBuffers(large, large, ""),
				fail("sys/class/infiniband", syscall.EIO)),
			[]string{"unknown node"},
			"/sys/class/infiniband",
		},
		{
			"small TCP windows", "51_rxe_siw", socketBuffers(small, small, "4096 131072 4194303"),
			[]string{"info node"},
			"net.ipv4.tcp_rmem='4096 131072 4194304'",
		},
		{
			"TCP windows not recorded", "51_rxe_siw", socketBuffers(small, small, ""),
			[]string{"not-applicable node"},
			"",
		},
		{
			"TCP windows", "51_rxe_siw", socketBuffers(small, small, "4096 131072 4194304"),
			[]string{"pass node"},
			"",
		},
		{
			"small TCP windows in a container", "51_rxe_siw", all(container, socketBuffers("", "", "4096 131072 1000")),
			[]string{"info node"},
			"Docker: --sysctl 'net.ipv4.tcp_rmem=4096 131072 4194304'",
		},
		{
			"no number", "51_rxe_siw", socketBuffers("", "", "4096 131072"), []string{"unknown node"}, "has no field 3",
		},
		{
			"no siw", "51_rxe_siw",
			all(remove("sys/class/infiniband/siw0"), socketBuffers(small, small, "4096 4096 4096")),
			[]string{"not-applicable node"},
			"no RDMA device of the node needs sockets",
		},
		{
			"cards", "62_rxe_beside_cards", socketBuffers(small, small, fine),
			[]string{"not-applicable node"},
			"cards do RDMA",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, c.tree, c.change), "receive-buffer")
			wantBrief(t, r, c.want)
			if !strings.Contains(allText(r.Findings), c.says) {
				t.Errorf("no finding says %q: %s", c.says, allText(r.Findings))
			}
		})
	}
}
