package ibdiags

import (
	"os"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestIbtracert(t *testing.T) {
	t.Parallel()
	for _, net := range nets() {
		t.Run(net.name, func(t *testing.T) {
			sim := net.start(t)
			identical(t, sim, net.host, "ibtracert", "1", "2")
			stop := sim.StartSM(net.sm)
			leaf, host, far, sm := lidAt(t, sim, net.host,
				"0,1"), lidAt(t, sim, net.host, "0"), lidAt(t, sim, net.far, "0"), lidAt(t, sim, net.sm, "0")
			dir := t.TempDir()
			files := map[string]string{
				"names": "0x200000 \"first\"\n0x100000 \"gateway\"\n",
				"pairs": "# pairs\n\n  " + host + " " + far + " more\n" + leaf + " " + host + "\n   \n",
				"bad":   host + "\n", "lost": "1 2\n" + host + " 9999\n",
			}
			for name, text := range files {
				if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			fill := strings.NewReplacer("L", leaf, "H", host, "F", far, "S", sm, "DIR", dir)
			for _, args := range []string{
				"H F", "F H", "S F", "H L", "L H", "L L", "L F", "F L", "H H", "F F", "S H", "-n H F", "-n F H",
				"-n L F", "-v H F", "-vn F H", "-vv H F", "-f H F", "-f H 9999", "-f 9999 F", "H 9999", "9999 H", "0 H",
				"H 0", "abc def", "H", "H F more", "-G 0x100000 0x200000", "-G 0x200000 0x77", "-G 0x0 0x1",
				"-C nosuch H F", "49152 H", "--node-name-map DIR/names H S", "--node-name-map DIR/names -n H S",
				"--ports-file DIR/pairs", "--ports-file DIR/bad", "--ports-file DIR/lost", "--ports-file DIR/nosuch",
				"-n --ports-file DIR/pairs 1 2",
			} {
				identical(t, sim, net.host, "ibtracert", strings.Fields(fill.Replace(args))...)
			}
			for _, args := range []string{
				"-m 0xc000 H F", "-m 0xc000 F H", "-m 0xc000 L F", "-n -m 0xc000 H F", "-m 0xc000 H H",
				"-m 0xc000 L L",
				"-m 0xc001 H F", "-m 0xc3ff H F", "-m 0xc400 H F", "-m 0xfffe H F", "-m 5 H F", "-m 0xc000 H 9999",
				"-v -m 0xc000 H F",
			} {
				identical(t, sim, net.host, "ibtracert", strings.Fields(fill.Replace(args))...)
			}
			stop() // it would write other tables between the two programs
			sim.Console(`Unlink "%s"[1]`, net.far)
			for _, args := range []string{"H F", "F H", "-f H F", "-v H F", "-m 0xc000 H F"} {
				identical(t, sim, net.host, "ibtracert", strings.Fields(fill.Replace(args))...)
			}
		})
	}
}

// setMulticast writes the output ports for a multicast LID, all below 16, of the switch at the end
// of a directed route.
func setMulticast(t *testing.T, sim *ibsimtest.Simulator, node, route string, mlid uint16, ports ...int) {
	t.Helper()
	transport, err := fabric.OpenIBSim(t.Context(), sim.Getenv(node))
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close()
	path, err := mad.ParsePath(route)
	if err != nil {
		t.Fatal(err)
	}
	client := fabric.Client{Transport: transport}
	to, modifier := fabric.Target{Path: path}, mad.MFTModifier((mlid-uint16(mad.MulticastLIDBase))/mad.MFTBlockLen, 0)
	data, err := client.SMP(t.Context(), to, mad.MethodGet, mad.AttributeMFT, modifier, nil)
	if err != nil {
		t.Fatal(err)
	}
	var block mad.MFTBlock
	block.Decode(data) //nolint:errcheck // the client has the length
	for _, port := range ports {
		block[mlid%mad.MFTBlockLen] |= 1 << port
	}
	if _, err := client.SMP(t.Context(), to, mad.MethodSet, mad.AttributeMFT, modifier, block.Append(nil)); err != nil {
		t.Fatal(err)
	}
}

// TestMulticast traces two groups that connect two hosts: through one spine, and through both,
// which is a loop.
func TestMulticast(t *testing.T) {
	t.Parallel()
	net := nets()[0]
	sim := net.start(t)
	sim.StartSM(net.sm)
	for mlid := uint16(0xc021); mlid <= 0xc022; mlid++ {
		setMulticast(t, sim, net.host, "0,1", mlid, 0, 2, 10)
		setMulticast(t, sim, net.host, "0,1,10", mlid, 1, 4)
		setMulticast(t, sim, net.host, "0,1,10,4", mlid, 8, 10)
	}
	setMulticast(t, sim, net.host, "0,1", 0xc022, 1, 9, 12)
	setMulticast(t, sim, net.host, "0,1,9", 0xc022, 1, 4)
	setMulticast(t, sim, net.host, "0,1,10,4", 0xc022, 9)
	leaf, host, far, spine := lidAt(t, sim, net.host,
		"0,1"), lidAt(t, sim, net.host, "0"), lidAt(t, sim, net.far, "0"), lidAt(t, sim, net.host, "0,1,10")
	fill := strings.NewReplacer("L", leaf, "H", host, "F", far, "P", spine)
	for _, mlid := range []string{"0xc021", "0xc022"} {
		for _, args := range []string{
			"H F", "F H", "L F", "F P", "P H", "H L", "H P", "-n H F", "-v H F", "-n -v F H", "-vv H F",
		} {
			identical(t, sim, net.host, "ibtracert", strings.Fields("-m "+mlid+" "+fill.Replace(args))...)
		}
		identical(t, sim, net.far, "ibtracert", strings.Fields("-m "+mlid+" "+fill.Replace("H F"))...)
		// The trace enters by the port of the host; C shows the port by which its request entered.
		words := strings.Fields("-m " + mlid + " " + fill.Replace("H L"))
		theirs, got := sim.Tool(net.sm, "ibtracert", words...), ours(t, sim, net.sm, "ibtracert", words...).Stdout
		if want := strings.Replace(theirs, "[1] lid", "[2] lid", 1); got != want || got == theirs {
			t.Errorf("ibtracert %s = %s\nwant %s", words, got, want)
		}
		identical(t, sim, net.host, "ibroute", "-M", leaf, mlid, mlid)
	}
	for _, args := range []string{
		"-M L", "-M -n L", "-M P", "-Ma L 0xc020 0xc023", "-M -D 0,1,10,4", "-Man -D 0,1 0xc021 0xc022",
	} {
		identical(t, sim, net.host, "ibroute", strings.Fields(fill.Replace(args))...)
	}
}
