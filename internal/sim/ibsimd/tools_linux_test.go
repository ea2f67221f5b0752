package ibsimd_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// serve serves a net until the test ends.
func serve(t *testing.T, n *ibsimd.Net, o ibsimd.Options) (*ibsimd.Simulator, *ibsimtest.Simulator) {
	t.Helper()
	sim, err := ibsimd.New(n, o)
	if err != nil {
		t.Fatal(err)
	}
	name := ibsimtest.SocketName()
	if err := sim.Listen(ibsim.ServerConfig{SocketName: name}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sim.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return sim, ibsimtest.At(t, ibsim.Config{SocketName: name})
}

func readNet(t *testing.T, file string) *ibsimd.Net {
	t.Helper()
	n, err := ibsimd.ReadNet(file)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// program is a C program with arguments.
type program []string

// sweeps are programs that read the whole subnet, and that read the port of the client.
func sweeps() []program {
	return []program{
		{"ibnetdiscover"},
		{"ibnetdiscover", "-p"},
		{"ibnetdiscover", "-f"},
		{"iblinkinfo"},
		{"iblinkinfo", "-l"},
		{"ibhosts"},
		{"ibswitches"},
		{"ibqueryerrors"},
		{"ibstat"},
		{"ibaddr"},
	}
}

// queries read single attributes by directed routes.
func queries() (list []program) {
	for _, path := range []string{"0", "0,1", "0,1,2", "0,9", "0,1,99"} {
		for _, query := range [][]string{
			{"nodeinfo"},
			{"nodedesc"},
			{"switchinfo"},
			{"portinfo", "0"},
			{"portinfo", "1"},
			{"portinfo", "2"},
			{"portinfo", "7"},
			{"portinfo", "64"},
			{"portinfo", "200"},
			{"pkeys", "1"},
			{"sl2vl", "1"},
			{"vlarb", "1"},
			{"guidinfo", "1"},
			{"mlnxextportinfo", "1"},
		} {
			list = append(list, append(program{"smpquery", "-D", query[0], path}, query[1:]...))
		}
	}
	return list
}

// changes configure ports as subnet managers do, in an order that is not always possible.
func changes() (list []program) {
	for _, change := range []string{
		"active", "arm", "arm", "active", "active", "down", "arm", "query", "speed 1", "speed 7", "width 1", "width 3",
		"espeed 1", "lid 17", "smlid 3", "lmc 1", "vls 2", "vls 5", "mtu 2", "disable", "query", "enable", "query",
	} {
		for _, path := range []string{"0,1", "0"} {
			list = append(list, append(program{"ibportstate", "-D", path, "1"}, strings.Fields(change)...))
			list = append(list, program{"smpquery", "-D", "portinfo", path, "1"})
		}
	}
	return list
}

// programsWithSM need LIDs.
func programsWithSM(lids ...string) []program {
	list := append(sweeps(), program{"sminfo"}, program{"ibroute", "-a", lids[0]},
		program{"dump_lfts"}, program{"ibtracert", lids[0], lids[1]},
		program{"ibtracert", lids[1], lids[2]}, program{"ibqueryerrors", "--details", "--counters"})
	for _, lid := range lids {
		list = append(
			list,
			program{"smpquery", "nodeinfo", lid},
			program{"smpquery", "portinfo", lid, "1"},
			program{"smpquery", "switchinfo", lid},
			program{"perfquery", lid, "1"},
			program{"perfquery", "-x", lid, "1"},
			program{"perfquery", "-a", lid},
			program{"perfquery", "-R", lid, "1"},
			program{"perfquery", lid, "1"},
			program{"perfquery", "-E", lid, "1"},
			program{"perfquery", "-D", lid, "1"},
		)
	}
	return list
}

// stable removes what differs from run to run of the same program with ibsim: traffic, times and
// the process identifier in warnings.
func stable(text string) string {
	for _, pattern := range []string{
		`(?m)^(# Topology file: generated on) .*$`,
		`(?m)(act count|activity count) \d+`,
		`(?m)^((?:Port)?(?:Xmit|Rcv)(?:Data|Pkts):\.+).*$`,
		`\[(?:PortXmitData|PortRcvData|PortXmitPkts|PortRcvPkts) == \d+[^\]]*\]`,
		`(?m)^ibwarn: \[\d+\]`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, "$1")
	}
	return text
}

// compare runs programs in both subnets, and returns how many have the same output and exit code.
func compare(t *testing.T, host string, ref, ours *ibsimtest.Simulator, list []program) (equal int) {
	t.Helper()
	for _, one := range list {
		wantOut, wantErr, wantCode := ref.Try(host, one[0], one[1:]...)
		gotOut, gotErr, gotCode := ours.Try(host, one[0], one[1:]...)
		diff := cmp.Diff(strings.Split(stable(wantOut), "\n"), strings.Split(stable(gotOut), "\n"))
		if wantCode != gotCode {
			diff += "\nexit codes " + cmp.Diff(wantCode, gotCode)
		}
		if diff += cmp.Diff(stable(wantErr), stable(gotErr)); diff != "" {
			t.Errorf("%s at %s (-ibsim +ours):\n%s", strings.Join(one, " "), host, diff)
			continue
		}
		equal++
	}
	return equal
}

func TestProgramsWithoutSM(t *testing.T) {
	nets := map[string]string{
		testdata + "ft2/net": "host3", testdata + "rail/net": "", testdata + "dualsm/net": "host1",
		testdata + "ft2/ibnetdiscover.txt": "", "../../../wire/mad/testdata/net": "", "testdata/widths.net": "h1",
		"testdata/modules.net": "",
	}
	for file, host := range nets {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ref := ibsimtest.Start(t, file)
			n := readNet(t, file)
			if host == "" {
				for _, one := range n.Nodes {
					if len(one.Name) < 32 {
						host = one.Name
					}
				}
			}
			_, ours := serve(t, n, ibsimd.Options{})
			list := sweeps()
			if strings.HasPrefix(file, "testdata") {
				list = append(append(list, queries()...), changes()...)
			}
			t.Logf("%d of %d equal", compare(t, host, ref, ours, list), len(list))
		})
	}
}

func TestProgramsWithSM(t *testing.T) {
	for file, host := range map[string]string{
		testdata + "ft2/net": "host3", testdata + "dualsm/net": "host1",
	} {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			ref := ibsimtest.Start(t, file)
			_, ours := serve(t, readNet(t, file), ibsimd.Options{})
			ref.StartStillSM("host0")
			ours.StartStillSM("host0")
			list := programsWithSM("2", "1", "5", "9")
			t.Logf("%d of %d equal", compare(t, host, ref, ours, list), len(list))
		})
	}
}
