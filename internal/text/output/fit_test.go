package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// onTerminal prints blocks on a terminal of some width.
func onTerminal(t *testing.T, columns int, o Options, blocks ...Block) string {
	t.Helper()
	var out bytes.Buffer
	o.Out, o.OutTerminal, o.LookupEnv = &out, true, env("TERM", "xterm", "NO_COLOR", "1")
	o.Size = func() (int, int) { return columns, 24 }
	if err := New(o).Print(nil, blocks...); err != nil {
		t.Fatalf("Print = %v", err)
	}
	return out.String()
}

// fabricPorts is a table with all that a column can be: 68 columns wide.
var fabricPorts = Table{
	Columns: []Column{
		{Name: "port"},
		{Name: "state"},
		{Name: "card", Priority: 2},
		{Name: "lid", Align: AlignRight, Priority: 1},
		{Name: "fabric", Priority: 1},
		{Name: "note", Wrap: true},
	},
	Rows: [][]Cell{
		{
			Plain("mlx5_0"),
			{Text: "DOWN (Polling)", Short: "DOWN"},
			Plain("ConnectX-7"), Plain("17"), Plain(""),
			Plain("the cable is not plugged in"),
		},
		{
			Plain("mlx5_bond_0"),
			{Text: "ACTIVE", Style: StyleGood},
			Plain("ConnectX-6"), Plain("3"), Plain(""),
			Plain(""),
		},
	},
}

func TestTableFits(t *testing.T) {
	tests := []struct {
		columns int
		want    string
	}{
		{0, `PORT         STATE           CARD        LID  FABRIC  NOTE
mlx5_0       DOWN (Polling)  ConnectX-7   17  -       the cable is not plugged in
mlx5_bond_0  ACTIVE          ConnectX-6    3  -       -
`},
		{81, `PORT         STATE           CARD        LID  FABRIC  NOTE
mlx5_0       DOWN (Polling)  ConnectX-7   17  -       the cable is not plugged in
mlx5_bond_0  ACTIVE          ConnectX-6    3  -       -
`},
		// the short text makes room enough
		{80, `PORT         STATE   CARD        LID  FABRIC  NOTE
mlx5_0       DOWN    ConnectX-7   17  -       the cable is not plugged in
mlx5_bond_0  ACTIVE  ConnectX-6    3  -       -
`},
		// what wraps does before columns go
		{72, `PORT         STATE   CARD        LID  FABRIC  NOTE
mlx5_0       DOWN    ConnectX-7   17  -       the cable is not plugged
                                              in
mlx5_bond_0  ACTIVE  ConnectX-6    3  -       -
`},
		// the first column to go is the one that says nothing, whatever its priority
		{64, `PORT         STATE   CARD        LID  NOTE
mlx5_0       DOWN    ConnectX-7   17  the cable is not plugged
                                      in
mlx5_bond_0  ACTIVE  ConnectX-6    3  -
not shown: FABRIC (-o wide has all columns)
`},
		{55, `PORT         STATE   LID  NOTE
mlx5_0       DOWN     17  the cable is not plugged in
mlx5_bond_0  ACTIVE    3  -
not shown: CARD, FABRIC (-o wide has all columns)
`},
		{40, `PORT         STATE   NOTE
mlx5_0       DOWN    the cable is not
                     plugged in
mlx5_bond_0  ACTIVE  -
not shown: CARD, LID, FABRIC (-o wide
has all columns)
`},
		// names stay whole, however narrow it is
		{20, `PORT         STATE   NOTE
mlx5_0       DOWN    the
                     cable is
                     not
                     plugged
                     in
mlx5_bond_0  ACTIVE  -
not shown: CARD, LID, FABRIC (-o wide
has all columns)
`},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.columns), func(t *testing.T) {
			if diff := cmp.Diff(tt.want, onTerminal(t, tt.columns, Options{}, fabricPorts)); diff != "" {
				t.Errorf("table on %d columns, -want +got:\n%s", tt.columns, diff)
			}
		})
	}
}

// TestFitsEveryWidth holds that no width makes the printer fail, and that from 40 columns on no
// line is wider than the terminal.
func TestFitsEveryWidth(t *testing.T) {
	blocks := []Block{
		fabricPorts, ports,
		List{Items: []Item{{Key: "role", Value: Plain(strings.Repeat("compute because ", 9)).Flow(0)}}},
		Line(Bold("  why  "), Plain(strings.Repeat("a queue pair ", 20)).Flow(93)),
		Table{
			Columns: []Column{{Name: "path", Wrap: true}},
			Rows:    [][]Cell{{Plain("/sys/" + strings.Repeat("class/", 40))}},
		},
		Table{Columns: []Column{{Name: "節", Wrap: true}}, Rows: [][]Cell{{Plain(strings.Repeat("節点", 60))}}},
	}
	for columns := -1; columns < 250; columns++ {
		for line := range strings.Lines(onTerminal(t, columns, Options{}, blocks...)) {
			line = strings.TrimSuffix(line, "\n")
			if columns >= 40 && ansi.StringWidth(line) > columns {
				t.Errorf("on %d columns: line of %d: %q", columns, ansi.StringWidth(line), line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("on %d columns: line %q ends in spaces", columns, line)
			}
		}
	}
}

// TestFitsTerminalsOnly holds that a pipe and -o wide get everything, whatever the width.
func TestFitsTerminalsOnly(t *testing.T) {
	block := Line(Plain("note  "), Plain("one two three four five six seven eight nine ten").Flow(0))
	var want bytes.Buffer
	if err := New(Options{Out: &want}).Print(nil, fabricPorts, block); err != nil {
		t.Fatal(err)
	}
	if got := onTerminal(t, 40, Options{Format: FormatWide}, fabricPorts, block); got != want.String() {
		t.Errorf("wide on a terminal printed:\n%s\nwant what a pipe gets:\n%s", got, want.String())
	}
	var pipe bytes.Buffer
	p := New(Options{Out: &pipe, Size: func() (int, int) { return 40, 24 }})
	if err := p.Print(nil, fabricPorts, block); err != nil || pipe.String() != want.String() {
		t.Errorf("a pipe of 40 columns got %v:\n%s\nwant:\n%s", err, pipe.String(), want.String())
	}
}

// A text that wraps has a short form, too: it is taken where it saves lines.
func TestWrapPrefersShort(t *testing.T) {
	table := Table{
		Columns: []Column{{Name: "counter"}, {Name: "note", Wrap: true}},
		Rows: [][]Cell{
			{Plain("port_rcv_remote_physical_errors"), {Text: "saturated: it no longer counts", Short: "saturated"}},
			{Plain("symbol_error"), Plain("was reset by someone or some program")},
		},
	}
	want := `COUNTER                          NOTE
port_rcv_remote_physical_errors  saturated
symbol_error                     was reset by someone or
                                 some program
`
	if diff := cmp.Diff(want, onTerminal(t, 58, Options{}, table)); diff != "" {
		t.Errorf("table on 58 columns, -want +got:\n%s", diff)
	}
}

func TestFlow(t *testing.T) {
	text := "Only an active port carries RDMA traffic, and a job runs with fewer rails."
	tests := []struct {
		name    string
		columns int
		block   Block
		want    string
	}{
		{"broken at its width in a pipe", 0, Line(Bold("  why  "), Plain(text).Flow(40)), `
  why  Only an active port carries RDMA
       traffic, and a job runs with fewer
       rails.
`},
		{"broken at the terminal's", 44, Line(Bold("  why  "), Plain(text).Flow(93)), `
  why  Only an active port carries RDMA
       traffic, and a job runs with fewer
       rails.
`},
		{"never below 40", 10, Line(Plain(text).Flow(0)), `
Only an active port carries RDMA
traffic, and a job runs with fewer
rails.
`},
		{"never above 100", 300, Line(Plain(text + " " + text).Flow(0)), text + ` Only an active port
carries RDMA traffic, and a job runs with fewer rails.
`},
		{"not without a terminal", 0, Line(Plain(text + " " + text).Flow(0)), text + " " + text + "\n"},
		{"hanging", 50, Line(Plain("  "), Plain(text).Flow(0).Hang(2)), `
  Only an active port carries RDMA traffic, and a
    job runs with fewer rails.
`},
		{"a remark stays one", 44, Line(Plain("  "), Dim("# "+text).Flow(0)), `
  # Only an active port carries RDMA
  # traffic, and a job runs with fewer
  # rails.
`},
		{
			"other cells stay whole", 40,
			Line(Plain("run "), Plain("rdmactl doctor --only memlock --explain"), Plain(", please, and read").Flow(0)),
			`
run rdmactl doctor --only memlock --explain,
    please, and read
`,
		},
		{
			"a word may be too long", 40, Line(Plain("  "), Plain("mlx5_0  could not read ").Flow(0),
				Plain("/sys/class/infiniband/mlx5_0/ports/1/state: denied").Flow(0)), `
  mlx5_0 could not read
  /sys/class/infiniband/mlx5_0/ports/1/state:
  denied
`,
		},
		{
			"behind a long head", 40,
			Line(Plain("  a head that takes nearly all  "), Plain("two words").Flow(0), Plain(" more").Flow(0)),
			`
  a head that takes nearly all  two
      words more
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := onTerminal(t, tt.columns, Options{}, tt.block)
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Errorf("on %d columns, -want +got:\n%s", tt.columns, diff)
			}
		})
	}
}

func TestFlowKeepsStyles(t *testing.T) {
	got := onTerminal(t, 40, Options{Color: ColorAlways},
		Line(Bold("9 checks:").Flow(0), Plain(" and then ").Flow(0), Bad("4 that have failed").Flow(0),
			Plain(", 5 passed").Flow(0)))
	want := "\x1b[1m9 checks:\x1b[m and then \x1b[31m4 that have failed\x1b[m, 5\npassed\n"
	if got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"/sys/class/net", 9, []string{"/sys/", "class/net"}},
		{"=mlx5_0:1,mlx5_1:1,mlx5_2:1", 20, []string{"=mlx5_0:1,mlx5_1:1,", "mlx5_2:1"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"節点", 1, []string{"節点"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("wrap(%q, %d), -want +got:\n%s", tt.text, tt.width, diff)
		}
	}
}

// TestColumnBelow holds that a narrow terminal shows the column below the rows, with its commands
// in one piece, and that a wide one and a pipe show a table.
func TestColumnBelow(t *testing.T) {
	table := Table{
		Columns: []Column{{Name: "reason", Wrap: true}, {Name: "remedy", Below: true}},
		Rows: [][]Cell{
			{Plain("the module is not loaded"), Plain("modprobe mlx5_ib; or list them: lsmod | grep mlx5").
				Parts("modprobe mlx5_ib", "or list them: "+Unbroken("lsmod | grep mlx5"))},
			{Plain("nobody knows"), Plain("")},
		},
	}
	rows := []string{
		"REASON                    REMEDY",
		"the module is not loaded  modprobe mlx5_ib; or list them: lsmod | grep mlx5",
		"nobody knows              -",
	}
	for _, tt := range []struct {
		width int
		want  []string
	}{
		{0, rows},
		{80, rows},
		{44, []string{
			"REASON", "the module is not loaded",
			"  remedy: modprobe mlx5_ib", "          or list them: lsmod | grep mlx5", "nobody knows",
		}},
		{40, []string{
			"REASON", "the module is not loaded",
			"  remedy: modprobe mlx5_ib", "          or list them:", "          lsmod | grep mlx5", "nobody knows",
		}},
	} {
		got, err := table.lines(page{width: tt.width})
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("width %d: lines() = %v (-want +got):\n%s", tt.width, err, diff)
		}
	}
}

func TestWrapSentence(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"a few words", 0, []string{"a few words"}},
		{"run \"rdmactl bench --help\" for how to use it, all of it", 40, []string{
			"run \"rdmactl bench --help\" for how to", "  use it, all of it",
		}},
		{"open the helpful text: \"rdmactl bench --help\"", 40, []string{
			"open the helpful text:", "  \"rdmactl bench --help\"",
		}},
		{"a lone \" is not a quotation at all, not at all", 40, []string{
			"a lone \" is not a quotation at all, not", "  at all",
		}},
		{"label the nodes of the plan first: kubectl label nodes a b=c", 40, []string{
			"label the nodes of the plan first:", "  kubectl label nodes a b=c",
		}},
		{"a pod: kubectl -n rdma exec -it rdma-test-0.x -- sh. It keeps a VF", 45, []string{
			"a pod:", "  kubectl -n rdma exec -it rdma-test-0.x -- sh.", "  It keeps a VF",
		}},
		{"set it (mstconfig -d 0000:3a:00.0 set SRIOV_EN=1) first", 40, []string{
			"set it", "  (mstconfig -d 0000:3a:00.0 set SRIOV_EN=1)", "  first",
		}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("Wrap(%q, %d) (-want +got):\n%s", tt.text, tt.width, diff)
		}
	}
}
