package ibsimd_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func TestGenerate(t *testing.T) {
	for _, test := range []struct {
		text                    string
		switches, hosts, cables int
	}{
		{"fat-tree", 6, 32, 40},
		{"fat-tree:leaves=3,spines=2,hosts=4,cables=2", 5, 12, 24},
		{"fat-tree:pods=2,leaves=2,spines=2,cores=4,hosts=3", 12, 12, 28},
		{"rail", 12, 64, 96},
		{"rail:groups=2,nodes=4,rails=4,spines=2", 10, 32, 48},
		{"dragonfly", 16, 32, 60},
		{"dragonfly:groups=3,leaves=1,spines=2,hosts=2,global=4,speed=ndr", 9, 6, 24},
	} {
		n, err := ibsimd.Generate(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if s, h, c := n.Counts(); s != test.switches || h != test.hosts || c != test.cables {
			t.Errorf("%s: %d switches, %d hosts, %d cables, want %d, %d, %d", test.text, s, h, c,
				test.switches, test.hosts, test.cables)
		}
		guids := map[ib.GUID]bool{}
		for _, one := range n.Nodes {
			guids[one.GUID] = true
		}
		if len(guids) != len(n.Nodes) {
			t.Errorf("%s: %d GUIDs of %d nodes", test.text, len(guids), len(n.Nodes))
		}
		again, err := ibsimd.Generate(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if written(t, n) != written(t, again) {
			t.Errorf("%s: the second net differs", test.text)
		}
	}
}

func written(t *testing.T, n *ibsimd.Net) string {
	t.Helper()
	var b bytes.Buffer
	if err := n.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWriteRead reads what was written, which is the same net.
func TestWriteRead(t *testing.T) {
	for _, file := range []string{
		"testdata/widths.net", testdata + "ft2/net", testdata + "ft2/ibnetdiscover.txt",
		"../../../wire/mad/testdata/net",
	} {
		n, err := ibsimd.ReadNet(file)
		if err != nil {
			t.Fatal(err)
		}
		text := written(t, n)
		again, err := ibsimd.ParseNet("again", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, text)
			continue
		}
		if second := written(t, again); second != text {
			t.Errorf("%s: the second file differs:\n%s\n%s", file, text, second)
		}
	}
}

// TestWrite checks options of single ports, and that global cables of a dragonfly+ use all spines.
func TestWrite(t *testing.T) {
	n, err := ibsimd.ReadNet("testdata/widths.net")
	if err != nil {
		t.Fatal(err)
	}
	if text := written(t, n); !strings.Contains(text, "[2]\t\"h2\"[1]\tw=2 s=3 e=0\n") {
		t.Errorf("no options of port 2:\n%s", text)
	}
	if n, err = ibsimd.Generate("dragonfly:groups=2"); err != nil {
		t.Fatal(err)
	}
	text := written(t, n)
	for _, cable := range []string{"[3]\t\"group1-spine0\"[3]\n", "[3]\t\"group1-spine1\"[3]\n"} {
		if strings.Count(text, cable) != 1 {
			t.Errorf("no cable %q:\n%s", cable, text)
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"torus":                   `unknown topology "torus": known are fat-tree, rail, dragonfly`,
		"":                        `unknown topology ""`,
		"fat-tree:leafs=3":        `unknown parameter "leafs": known are cables, cores, hosts, leaves, pods`,
		"fat-tree:leaves":         `parameter leaves: "" is not a number from 1 to 4096`,
		"fat-tree:leaves=0":       `parameter leaves: "0" is not a number`,
		"fat-tree:leaves=x":       `parameter leaves: "x" is not a number`,
		"fat-tree:radix=255":      "from 1 to 254",
		"fat-tree:speed=sdr":      `speed "sdr" is not one of edr, hdr, ndr`,
		"fat-tree:hosts=64":       "leaf0 needs more than 64 ports",
		"fat-tree:leaves=70":      "spine0 needs more than 64 ports",
		"fat-tree:pods=2":         "three levels need pods, and cores",
		"fat-tree:pods=2,cores=3": "multiple of the 2 spines",
		"rail:groups=4096,nodes=60,rails=63,spines=1,radix=254": "spine0 needs more than 254 ports",
		"dragonfly:groups=9,global=90":                          "needs more than 64 ports",
	} {
		if _, err := ibsimd.Generate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
