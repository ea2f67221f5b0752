package ibdiags

import (
	"os"
	"strings"
	"testing"
)

func TestSmpquery(t *testing.T) {
	t.Parallel()
	operations := []string{
		"nodeinfo", "nodedesc", "portinfo", "switchinfo", "PKeys", "gi", "SL2VL", "vlarb", "mepi", "pie",
	}
	for _, net := range nets() {
		t.Run(net.name, func(t *testing.T) {
			sim := net.start(t)
			for _, op := range operations { // no LIDs yet
				for _, args := range []string{"-D " + op + " 0", "-D " + op + " 0,1", op + " 1"} {
					identical(t, sim, net.host, "smpquery", strings.Fields(args)...)
				}
			}
			sim.StartSM(net.sm)
			for _, lid := range []string{lidAt(t, sim, net.host, "0"), lidAt(t, sim, net.host, "0,1")} {
				for _, op := range operations {
					for _, port := range []string{"", "0", "1", "64"} {
						identical(t, sim, net.host, "smpquery", strings.Fields(op+" "+lid+" "+port)...)
					}
				}
				for _, port := range []string{"2 more", "200", "x", "65", "0x2"} {
					for _, op := range []string{"PI", "pkeys", "SL2VLTable", "VLArbitration"} {
						identical(t, sim, net.host, "smpquery", strings.Fields(op+" "+lid+" "+port)...)
					}
				}
			}
		})
	}
}

func TestSmpqueryOperands(t *testing.T) {
	t.Parallel()
	net := nets()[1]
	sim := net.start(t)
	sim.StartSM(net.sm)
	names := t.TempDir() + "/names"
	write := func(text string) {
		if err := os.WriteFile(names, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range []string{
		"NI", "nI", "NODEINFO", "ND", "PIE", "SI", "pkeytable", "GI", "GUIDinfo", "MlnxExtPortInfo", "nosuch", "node",
		"",
	} {
		identical(t, sim, net.host, "smpquery", op, "1")
	}
	for _, args := range []string{
		"portinfo 1 1 -x", "-x portinfo -D 0,1 2", "--extended portinfo 2 3", "portinfo 0", "portinfo -1",
		"portinfo 49151", "portinfo 49152", "portinfo 65535", "portinfo 0x2", "portinfo 2abc 1", "portinfo abc",
		"portinfo", "nodeinfo -D 0,1,1", "nodeinfo -D 1,1", "nodeinfo -D 0,", "nodeinfo -D 0,1,", "nodeinfo -D ,1",
		"nodeinfo -D x", "nodeinfo -D 0,99", "nodeinfo -D 0,0", "nodeinfo -D 0,257", "nodedesc -D 0,1,2,1",
		"-c nodeinfo 2 0,1", "-c nodeinfo 2", "-c nodeinfo 0 0,1", "-c portinfo 2 0,1 1", "-c nodeinfo x 0",
		"--node-name-map /nosuch nodedesc 1", "nodedesc", "-D -G nodedesc 0", "-- nodedesc 1",
	} {
		identical(t, sim, net.host, "smpquery", strings.Fields(args)...)
	}
	identical(t, sim, net.host, "smpquery", "nodeinfo", "-D", "")
	for _, text := range []string{
		"0x200000 \"a leaf\"\n0x100000 \"zero\" # remark\n", "# only\n\n  0x100000 bare word # x\n",
		"0x100000\n0x100000 \"second\"\n0x100000 \"third\"", "0x100000 # \"c\"\n", "nonsense\n0x100000 \"x\"\n",
		"0x100000x \"x\"\n", "0x100000#\"x\"\n", "1048576 \"decimal\"\n", "",
		"0x100000 \"a very long name that goes over the column where the dots end\"\n",
	} {
		write(text)
		identical(t, sim, net.host, "smpquery", "--node-name-map", names, "nodedesc", "-D", "0")
		identical(t, sim, net.sm, "smpquery", "--node-name-map", names, "nodedesc", "-D", "0")
	}
}

// TestSmpqueryOfBrokenSubnet cuts a link, and takes a node away.
func TestSmpqueryOfBrokenSubnet(t *testing.T) {
	t.Parallel()
	net := nets()[1]
	sim := net.start(t)
	stop := sim.StartSM(net.sm)
	far := lidAt(t, sim, net.far, "0")
	stop() // it would write other tables between the two programs
	sim.Console(`Unlink "%s"[1]`, net.far)
	for _, args := range []string{
		"nodeinfo " + far, "portinfo " + far + " 1", "pkeys " + far, "gi " + far, "sl2vl " + far, "vlarb " + far,
		"pie " + far, "mepi " + far, "si " + far, "nd " + far,
	} {
		identical(t, sim, net.host, "smpquery", strings.Fields(args)...)
	}
	sim.Console(`Error "%s"[1] 100 20`, net.host)
	identical(t, sim, net.host, "smpquery", "-D", "gi", "0")
}
