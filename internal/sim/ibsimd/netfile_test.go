package ibsimd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestNetErrors checks that an error names the line.
func TestNetErrors(t *testing.T) {
	const pair = "Switch 8 \"s\"\n[1] \"h\"[1]\n\nHca 1 \"h\"\n[1] \"s\"[1]\n\n"
	for _, test := range []struct {
		text string
		line int
		want string
	}{
		{"Swich 8 \"s\"\n", 1, `unknown line "Swich 8`},
		{"Switch \"s\"\n", 1, "number of ports"},
		{"Switch 255 \"s\"\n", 1, "not a number from 1 to 254"},
		{"Switch 8 s\n", 1, "name of the node is missing"},
		{"Switch 8 \"s\n", 1, "no closing quote"},
		{"Switch 8 \"a@b\"\n", 1, "has # or @"},
		{"Switch 8 \"" + strings.Repeat("x", 70) + "\"\n", 1, "longer than 64 bytes"},
		{pair + "Switch 8 \"s\"\n", 7, "defined twice"},
		{"switchguid=1\nSwitch 8 \"s\"\n\ncaguid=1\nHca 1 \"h\"\n", 5, `the GUID 0x0000000000000001 of node "s"`},
		{"switchguid=x\n", 1, "GUID"},
		{"width=32\n", 1, "width"},
		{"width=0\n", 1, "width"},
		{"speed=8\n", 1, "speed"},
		{"extspeed=16\n", 1, "extspeed"},
		{"colour=3\n", 1, `unknown setting "colour"`},
		{"[1] \"s\"[1]\n", 1, "a port without a node"},
		{"Switch 8 \"s\"\n[9] \"h\"[1]\n", 2, `"9" is not a port of "s"`},
		{"Switch 8 \"s\"\n[0] \"h\"[1]\n", 2, `"0" is not a port of "s"`},
		{"Switch 8 \"s\"\n[1] h\n", 2, "double quotes"},
		{"Switch 8 \"s\"\n[1] \"h\"[x]\n", 2, `"x" is not a port of "h"`},
		{"Switch 8 \"s\"\n[1] \"h\"[1]\n", 2, `no node "h"`},
		{"Switch 8 \"s\"\n[1] \"h\"[1]\n\nHca 1 \"h\"\n", 2, "not connected to port 1 of \"s\" at the other end"},
		{
			"Switch 8 \"a\"\n[1] \"b\"[1]\n\nSwitch 8 \"b\"\n[1] \"c\"[1]\n\nSwitch 8 \"c\"\n[1] \"b\"[1]\n", 2,
			"port 1 of \"b\" is not connected to port 1 of \"a\"",
		},
		{"Switch 8 \"s\"\n[1] \"h\"[2]\n\nHca 1 \"h\"\n[1] \"s\"[1]\n", 2, `node "h" has no port 2`},
		{"Switch 8 \"s\"\n[1] \"h\"[1]\n[1] \"h\"[1]\n", 3, "defined twice, first at line 2"},
		{"Switch 8 \"s\"\n[1] \"h\"[1] w=1\n\nHca 1 \"h\"\n[1] \"s\"[1] w=2\n", 2, "no width or speed in common"},
		{"Switch 8 \"s\"\n[1] \"h\"[1] q=1\n", 2, `unknown option "q=1"`},
		{"Switch 8 \"s\"\n[1] \"h\"[1] w=99\n", 2, "option w"},
		{"Switch 8 \"s\"\n@[1] \"port\"\n", 2, "aliases"},
		{"Switch 8 \"s\"\n[1] \"h\"[1] # \"h\" lid 1 5xHDR\n", 2, "width of the link"},
		{"Switch 8 \"s\"\n[1] \"h\"[1] # \"h\" lid 1 4xABC\n", 2, "speed of the link"},
		{pair + "do Unlink \"s\"[1]\n", 7, `command "Unlink" is not supported`},
		{pair + "do PerformanceSet \"t\"[1] PortCounters.SymbolErrorCounter=1\n", 7, `no node "t"`},
		{pair + "do PerformanceSet \"s\"[9] PortCounters.SymbolErrorCounter=1\n", 7, "not a port"},
		{pair + "do PerformanceSet \"s\"[1] PortCounters.Symbol=1\n", 7, `no counter "Symbol"`},
		{pair + "do PerformanceSet \"s\"[1] PortCounters.LinkDownedCounter=256\n", 7, "from 0 to 255"},
		{pair + "do PerformanceSet \"s\"[1] PortCounters.LocalLinkIntegrityErrors=16\n", 7, "from 0 to 15"},
		{"include \"absent.net\"\n", 1, "no such file"},
		{strings.Repeat("x", 5000) + "\n", 1, "longer than 4096 bytes"},
	} {
		_, err := ibsimd.ParseNet("file", strings.NewReader(test.text))
		place, ok := errors.AsType[*ibsimd.LineError](err)
		if !ok || place.Line != test.line || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want line %d: %s", test.text, err, test.line, test.want)
		}
	}
	if _, err := ibsimd.ParseNet("file", strings.NewReader("# nothing\n")); err == nil ||
		!strings.Contains(err.Error(), "file: no node is defined") {
		t.Errorf("file without nodes: %v", err)
	}
	if _, err := ibsimd.ReadNet("absent.net"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

// TestNetIncludes reads files that include others, and one that includes itself.
func TestNetIncludes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("part", "Switch 8 \"s\"\n[1] \"h\"[1]\n\nHca 1 \"h\"\n[1] \"s\"[1]\n")
	whole := write("whole", "module=\"a\"\ninclude \"part\"\nmodule=\"b\"\ninclude \"part\"\n")
	n, err := ibsimd.ReadNet(whole)
	if err != nil {
		t.Fatal(err)
	}
	if n.Find("a#s") == nil || n.Find("b#h") == nil || len(n.Nodes) != 4 {
		t.Errorf("nodes = %v", n.Nodes)
	}
	write("bad", "\n\nSwitch x\n")
	if _, err := ibsimd.ReadNet(write("outer", "# first\ninclude \"bad\"\n")); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(dir, "bad")+": line 3:") {
		t.Errorf("error in an included file: %v", err)
	}
	if _, err := ibsimd.ReadNet(write("loop", "include \"loop\"\n")); err == nil ||
		!strings.Contains(err.Error(), "more than 9 files include each other") {
		t.Errorf("file that includes itself: %v", err)
	}
}

func FuzzParseNet(f *testing.F) {
	for _, file := range []string{
		"testdata/widths.net", "testdata/modules.net", testdata + "ft2/ibnetdiscover.txt",
		"../../../wire/mad/testdata/net",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			t.Skip("reads files")
		}
		n, err := ibsimd.ParseNet("file", strings.NewReader(text))
		if err != nil {
			return
		}
		if _, err := ibsimd.New(n, ibsimd.Options{Managers: master(n.Nodes[0].Name)}); err != nil {
			t.Errorf("New = %v", err)
		}
	})
}

const testdata = "../../../fabric/testdata/"

func master(node string) []ibsimd.Manager {
	return []ibsimd.Manager{{Node: node, State: mad.SMStateMaster, Priority: 5}}
}
