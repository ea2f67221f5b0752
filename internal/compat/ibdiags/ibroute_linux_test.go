package ibdiags

import (
	"os"
	"strings"
	"testing"
)

func TestIbroute(t *testing.T) {
	t.Parallel()
	for _, net := range nets() {
		t.Run(net.name, func(t *testing.T) {
			sim := net.start(t)
			// no LIDs yet
			for _, args := range []string{
				"-D 0,1", "-D 0", "1", "-a -D 0,1", "-M -D 0,1", "-n -D 0,1", "-aM -D 0,1 0xc000 0xc003",
			} {
				identical(t, sim, net.host, "ibroute", strings.Fields(args)...)
			}
			stop := sim.StartSM(net.sm)
			leaf, host := lidAt(t, sim, net.host, "0,1"), lidAt(t, sim, net.host, "0")
			names := t.TempDir() + "/names"
			if err := os.WriteFile(names, []byte("0x200000 \"first\"\n0x100000 \"gateway\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range []string{
				"L", "-n L", "-a L", "-an L", "L 3", "L 3 5", "L 0x3 0x5", "L 5 3", "L 1 9999", "-a L 1 9999", "L 60",
				"L 30 33", "L x y", "-D 0,1", "-D 0,1,2", "-D 0", "-D 0,99", "H", "77", "0", "abc", "49152",
				"-G 0x200000", "-G 0x100000", "-G 0x99", "-C nosuch L", "-M L", "-M -n L", "-Ma L 0xc000 0xc003",
				"-Man L 0xc000 0xc003", "-M L 0xc010 0xc020", "-Ma L 5 0xc001", "-M -v L", "-Mv -n L 0xc000 0xffff",
				"-M H", "-M L 0xc005 0xc002", "-M L 0xffff", "--node-name-map " + names + " L",
				"--node-name-map /nosuch L", "-v L 1 3", "-e L 1 2",
			} {
				args = strings.ReplaceAll(strings.ReplaceAll(args, "L", leaf), "H", host)
				identical(t, sim, net.host, "ibroute", strings.Fields(args)...)
			}
			far := lidAt(t, sim, net.far, "0")
			stop() // it would write other tables between the two programs
			sim.Console(`Unlink "%s"[1]`, net.far)
			identical(t, sim, net.host, "ibroute", leaf, far, far)
		})
	}
}
