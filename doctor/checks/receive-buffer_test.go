package checks_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

const (
	rmemMax = "proc/sys/net/core/rmem_max"
	tcpRmem = "proc/sys/net/ipv4/tcp_rmem"
)

// socketBuffers sets the limits of receive buffers; "" leaves one out.
func socketBuffers(udp, tcp string) change {
	var all []change
	for name, value := range map[string]string{rmemMax: udp, tcpRmem: tcp} {
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
	const fine = "4096 131072 6291456" // Linux's default of tcp_rmem
	for _, c := range []struct {
		name, tree string
		change     change
		want       []string
		says       string
	}{
		{
			"Linux's default", "51_rxe_siw", socketBuffers("212992", fine),
			[]string{"info node", "pass node"},
			"net.core.rmem_max=8388608",
		},
		{
			"just below", "51_rxe_siw", socketBuffers("8388607", fine),
			[]string{"info node", "pass node"},
			"rdmactl's engine",
		},
		{"just enough", "51_rxe_siw", socketBuffers("8388608", "4096 131072 4194304"), []string{"pass node"}, ""},
		{
			"small TCP windows", "51_rxe_siw", socketBuffers("8388608", "4096 131072 4194303"),
			[]string{"info node", "pass node"},
			"net.ipv4.tcp_rmem='4096 131072 4194304'",
		},
		{"not recorded", "51_rxe_siw", nil, []string{"not-applicable node", "not-applicable node"}, ""},
		{
			"unreadable", "51_rxe_siw", all(socketBuffers("", fine), fail(rmemMax, syscall.EIO)),
			[]string{"unknown node", "unknown node"},
			"input/output error",
		},
		{
			"no number", "51_rxe_siw", socketBuffers("many", "4096 131072"),
			[]string{"unknown node", "unknown node"},
			`"many" is not a number`,
		},
		{
			"cards", "62_rxe_beside_cards", socketBuffers("212992", fine),
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
