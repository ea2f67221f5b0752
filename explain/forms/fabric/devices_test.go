package fabric_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/fabric"
	"github.com/rdmakit/rdmakit/explain/logline"
)

// read returns the events of a text as "line kind name=value …".
func read(text string) []string {
	matcher := forms.NewMatcher(fabric.Commands())
	lines := logline.NewReader(strings.NewReader(text), "f")
	lines.Wanted = matcher.Wants
	var got []string
	for lines.Next() {
		for _, e := range matcher.Read(lines.Line()) {
			s := fmt.Sprintf("%d %s", e.Place.Line, e.Kind)
			for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
				s += " " + name + "=" + e.Fields[name]
			}
			got = append(got, s)
		}
	}
	return got
}

// The outputs have the form of the programs' sources: rdma-core, libibverbs/examples/devinfo.c and
// infiniband-diags/ibstat.c, and the script show_gids of MLNX_OFED.
func TestCommandOutput(t *testing.T) {
	const devinfo = "$ ibv_devinfo -v\nhca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n" +
		"\tnode_guid:\t\t\t08c0:eb03:006f:c062\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n" +
		"\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n" +
		"\t\t\tsm_lid:\t\t\t0\n\t\t\tport_lid:\t\t0\n\t\t\tlink_layer:\t\tEthernet\n" +
		"\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE v2\n\nhca_id:\tirdma0\n\ttransport:\t\t\tiWARP (1)\n" +
		"\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tlink_layer:\t\tEthernet\n"
	const ibstat = "CA 'mlx5_1'\n\tCA type: MT4123\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Initializing\n" +
		"\t\tPhysical state: LinkUp\n\t\tRate: 200\n\t\tBase lid: 65535\n\t\tLMC: 0\n\t\tSM lid: 0\n" +
		"\t\tLink layer: InfiniBand\n"
	const gids = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\n" +
		"mlx5_0\t1\t0\tfe80:0000:0000:0000:0ac0:ebff:fe6f:c062\t\t\tv1\teth0\n" +
		"mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:0001\t10.0.0.1  \tv2\teth0\nn_gids_found=2\n"
	for _, c := range []struct{ name, text, want string }{
		{"ibv_devinfo", devinfo, "12 device.port device=mlx5_0 lid=0 link=Ethernet mtu=1024 port=1 state=ACTIVE " +
			"transport=InfiniBand; 13 device.gid device=mlx5_0 gid=::ffff:10.0.0.1 gidIndex=3 port=1 type=RoCE v2; " +
			"19 device.port device=irdma0 link=Ethernet port=1 state=DOWN transport=iWARP"},
		{"ibstat", ibstat, "11 device.port device=mlx5_1 lid=65535 link=InfiniBand physical=LinkUp port=1 rate=200 " +
			"state=INITIALIZING"},
		{"ibstatus", "Infiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t fe80::1\n\tbase lid:\t 0x7db\n" +
			"\tsm lid:\t\t 0x66\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n\trate:\t\t 400 Gb/sec (4X NDR)\n" +
			"\tlink_layer:\t InfiniBand\n", "8 device.port device=mlx5_0 lid=0x7db link=InfiniBand physical=LinkUp " +
			"port=1 rate=400 Gb/sec (4X NDR) state=ACTIVE"},
		{"show_gids", gids, "3 device.gid device=mlx5_0 gid=fe80::ac0:ebff:fe6f:c062 gidIndex=0 netdev=eth0 port=1 " +
			"type=RoCE v1; 4 device.gid device=mlx5_0 gid=::ffff:10.0.0.1 gidIndex=3 netdev=eth0 port=1 type=RoCE v2"},
		{"ulimit", "[user@gpu-01 ~]$ ulimit -l\n64\n99\n", "2 setting name=memlock value=64"},
		{"ulimit unlimited", "$ ulimit -l\nunlimited\n", "2 setting name=memlock value=unlimited"},
		{"ulimit in a text", "set ulimit -l\nand try again\n7\n", ""},
		{"rows without a head", "\t\tState: Active\n\t\tLink layer: InfiniBand\nmlx5_0 1 3 fe80::1 v1 eth0\n", ""},
		{"ports without a device", "CA 'mlx5_1'\n\t\tLink layer: InfiniBand\n", ""},
	} {
		if got := strings.Join(read(c.text), "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func FuzzCommandOutput(f *testing.F) {
	f.Add("hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tlink_layer:\t\tEthernet\n\t\t\tGID[  3]:\t::1, RoCE v2\n")
	f.Add("DEV PORT INDEX GID IPv4\nmlx5_0 1 3 fe80::1 v1 eth0\nCA 'mlx5_1'\nPort 1:\nLink layer: x\nulimit -l\n64")
	f.Fuzz(func(_ *testing.T, s string) { read(s) })
}
