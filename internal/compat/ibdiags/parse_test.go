package ibdiags

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestLeadingNumber(t *testing.T) {
	for s, want := range map[string]struct {
		v    uint64
		rest string
	}{
		"":       {0, ""},
		"12":     {12, ""},
		" \t7 x": {7, " x"},
		"0x1Fg":  {31, "g"},
		"0xg":    {0, "xg"},
		"019":    {1, "9"},
		"+5,6":   {5, ",6"},
		"-1":     {1<<64 - 1, ""},
		"abc":    {0, "abc"},
		"-":      {0, "-"},
		" ":      {0, " "},
	} {
		if v, rest := leadingNumber(s); v != want.v || rest != want.rest {
			t.Errorf("leadingNumber(%q) = %d, %q, want %d, %q", s, v, rest, want.v, want.rest)
		}
	}
}

func TestParseNodeNames(t *testing.T) {
	tests := []struct {
		text  string
		want  nodeNames
		wrong string
	}{
		{"", nodeNames{}, ""},
		{"# all\n\n \t# of it\n", nodeNames{}, ""},
		{"0x1 \"one\"\n 2 two # not a word\n0x1 \"other\"", nodeNames{1: "one", 2: "two "}, ""},
		{"0x1\n0x2 \"\"\n", nodeNames{}, ""},
		{"0x1#\"x\"\n", nodeNames{1: "x"}, ""},
		{"0x1 \"one\"\nleaf \"x\"\n", nil, "leaf \"x\""},
		{"0x1g \"x\"\n", nil, "0x1g \"x\""},
	}
	for _, tt := range tests {
		got, wrong := parseNodeNames(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || wrong != tt.wrong {
			t.Errorf("parseNodeNames(%q), wrong line %q, want %q (-want +got):\n%s", tt.text, wrong, tt.wrong, diff)
		}
	}
	names := nodeNames{1: "one"}
	description := mad.NodeDescription{'a', '\n', 'b'}
	if got := names.name(ib.GUID{7: 1}, description); got != "one" {
		t.Errorf("name of a named node = %q", got)
	}
	if got := nodeNames(nil).name(ib.GUID{7: 1}, description); got != "a b" {
		t.Errorf("name without a map = %q, want the node's own, cleaned", got)
	}
}

func FuzzParseNodeNames(f *testing.F) {
	f.Add("0x1 \"one\"\n# x\n2 two#")
	f.Fuzz(func(t *testing.T, text string) {
		names, wrong := parseNodeNames(text)
		if wrong != "" && (names != nil || !strings.Contains(text, wrong)) {
			t.Errorf("parseNodeNames(%q) = %v and wrong line %q", text, names, wrong)
		}
		for guid, name := range names {
			if name == "" || strings.ContainsAny(name, "\"#\n") {
				t.Errorf("parseNodeNames(%q) names 0x%x %q", text, guid, name)
			}
		}
	})
}

func TestReadDefaults(t *testing.T) {
	files := map[string]string{
		configFile: "# remark\nCA=mlx5_1\nPort=2\ntimeout=50\nm_key=0x1f\nsa_key=1\nMLX_EPI=false\nCA\n=x\n",
		"other":    "CAnything=mlx5_7=x\n  Port=3\ntimeout=0x10",
	}
	r := run{Host: &Host{ReadFile: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}}}
	for _, step := range []struct {
		file   string
		device string
		port   int
		wait   time.Duration
	}{{"missing", "", 0, 0}, {configFile, "mlx5_1", 2, 50 * time.Millisecond}, {
		"other", "mlx5_7=x", 2, 16 * time.Millisecond,
	}} {
		r.readDefaults(step.file)
		if r.device != step.device || r.port != step.port || r.timeout != step.wait {
			t.Errorf("after %s: CA %q, port %d, timeout %v, want %q, %d, %v",
				step.file, r.device, r.port, r.timeout, step.device, step.port, step.wait)
		}
	}
	if r.mkey != 0x1f {
		t.Errorf("m_key = 0x%x, want 0x1f", r.mkey)
	}
}

func TestParseRoute(t *testing.T) {
	for text, want := range map[string]string{
		"0":       "DR path slid 65535; dlid 65535; 0",
		"0,1,7":   "DR path slid 65535; dlid 65535; 0,1,7",
		"3,1":     "DR path slid 65535; dlid 65535; 3,1",
		"0,":      "DR path slid 65535; dlid 65535; 0",
		"0,,2":    "DR path slid 65535; dlid 65535; 0,0,2",
		"x,257,y": "DR path slid 65535; dlid 65535; 0,1,0",
	} {
		a, err := parseRoute(text)
		if err != nil || a.String() != want {
			t.Errorf("parseRoute(%q) = %s, %v, want %s", text, a, err, want)
		}
	}
	for _, text := range []string{"", strings.Repeat("0,", 100)} {
		if a, err := parseRoute(text); err == nil {
			t.Errorf("parseRoute(%q) = %s, want an error", text, a)
		}
	}
}

// TestRareValues checks reserved values, which don't occur in the simulated subnets, against
// libibmad's output.
func TestRareValues(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"widths(0)", widths(0), "undefined (0)"},
		{"widths(33)", widths(33), "1X or undefined (33)"},
		{"supportedWidths(2)", supportedWidths(2), "4X (IBA extension)"},
		{"supportedWidths(3)", supportedWidths(3), "1X or 4X"},
		{"activeWidth(16)", activeWidth(16), "2X"},
		{"activeWidth(3)", activeWidth(3), "undefined (3)"},
		{"speeds(0)", speeds(0), "undefined (0) (IBA extension)"},
		{"speeds(4)", speeds(4), "10.0 Gbps (IBA extension)"},
		{"speeds(5)", speeds(5), "2.5 Gbps or 10.0 Gbps"},
		{"speeds(9)", speeds(9), "2.5 Gbps or undefined (9)"},
		{"activeSpeed(0)", activeSpeed(0), "Extended speed"},
		{"activeSpeed(3)", activeSpeed(3), "undefined (3)"},
		{"extendedSpeeds(0)", extendedSpeeds(0), "0"},
		{"extendedSpeeds(12)", extendedSpeeds(12), "53.125 Gbps or 106.25 Gbps"},
		{"enabledExtendedSpeeds(30)", enabledExtendedSpeeds(30), "Extended link speeds disabled"},
		{"enabledExtendedSpeeds(17)", enabledExtendedSpeeds(17), "14.0625 Gbps or undefined (17)"},
		{"activeExtendedSpeed(0)", activeExtendedSpeed(0), "No Extended Speed"},
		{"activeExtendedSpeed(3)", activeExtendedSpeed(3), "undefined (3)"},
		{"mtu(9)", mtu("M", 9).value, "?(9)"},
		{"mtu(0)", mtu("M", 0).value, "?(0)"},
		{"leftHex(5)", leftHex(5), "0x5 "},
		{
			"mask", mask("M", 1<<1|1<<31, capabilityNames()).value,
			"0x80000002\n\t\t\t\tIsSM\n\t\t\t\tIsHierarchyInfoSupported",
		},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
