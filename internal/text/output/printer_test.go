package output

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) (string, bool) {
	m := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

var ports = Table{
	Title: "Ports",
	Columns: []Column{
		{Name: "port"}, {Name: "rate", Align: AlignRight}, {Name: "guid", Wide: true}, {Name: "description"},
	},
	Rows: [][]Cell{
		{Plain("mlx5_0/1"), Plain("400"), Plain("0002:c903"), Good("leaf 1")},
		{Plain("節点/1"), Plain("5"), Plain(""), Bad("\x1b[2Jgone  ")},
		{Plain("🚀"), Plain("100"), Plain("x"), Plain("")},
	},
}

func TestPrintTable(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"table", Options{}, `Ports
PORT      RATE  DESCRIPTION
mlx5_0/1   400  leaf 1
節点/1       5  \x1b[2Jgone
🚀         100  -
`},
		{"wide", Options{Format: FormatWide}, `Ports
PORT      RATE  GUID       DESCRIPTION
mlx5_0/1   400  0002:c903  leaf 1
節点/1       5  -          \x1b[2Jgone
🚀         100  x          -
`},
		{"color", Options{Color: ColorAlways}, strings.Join([]string{
			"\x1b[1mPorts\x1b[m",
			"\x1b[1mPORT\x1b[m      \x1b[1mRATE\x1b[m  \x1b[1mDESCRIPTION\x1b[m",
			"mlx5_0/1   400  \x1b[32mleaf 1\x1b[m",
			"節点/1       5  \x1b[31m\\x1b[2Jgone\x1b[m",
			"🚀         100  \x1b[2m-\x1b[m",
			"",
		}, "\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.o.Out = &out
			err := New(tt.o).Print(nil, ports)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" || err != nil {
				t.Errorf("Print(ports) = %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestPrintBlocks(t *testing.T) {
	blocks := []Block{
		List{Title: "Device mlx5_0", Items: []Item{
			{Key: "firmware", Value: Plain("28.39.1002")},
			{Key: "board\n", Value: Plain("")},
			{Key: "a long key", Value: Plain("x"), Wide: true},
		}},
		Text{Lines: [][]Cell{{Plain("  state "), Bad("down"), Plain(" \x07 ")}, {}}},
		Paragraph("one\ntwo\n"),
		Table{Columns: []Column{{Name: "none"}}},
	}
	want := `Device mlx5_0
firmware  28.39.1002
board\n   -

  state down \x07


one
two

NONE
`
	var out bytes.Buffer
	err := New(Options{Out: &out}).Print(nil, blocks...)
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("Print(blocks) = %v, -want +got:\n%s", err, diff)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("Print(blocks): line %q ends in spaces", line)
		}
	}
}

func TestPrintNothing(t *testing.T) {
	var out bytes.Buffer
	if err := New(Options{Out: &out}).Print(nil); err != nil || out.Len() > 0 {
		t.Errorf("Print() = %v, printed %q, want nothing", err, out.String())
	}
}

func TestPrintErrors(t *testing.T) {
	ragged := Table{Title: "t", Columns: []Column{{Name: "a"}, {Name: "b"}}, Rows: [][]Cell{{Plain("1")}}}
	err := New(Options{}).Print(nil, ragged)
	if want := `print table "t": row 0 has 1 cells for 2 columns`; err == nil || err.Error() != want {
		t.Errorf("Print(ragged) = %v, want %s", err, want)
	}
	var unknown *UnknownFormatError
	if err := New(Options{Format: "sh"}).Print(nil); !errors.As(err, &unknown) || unknown.Format != "sh" {
		t.Errorf("Print with format sh = %v, want an UnknownFormatError", err)
	}
	err = New(Options{Out: failing{syscall.ENOSPC}}).Print(nil, ports)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Print to a full device = %v, want ENOSPC", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestColor(t *testing.T) {
	tests := []struct {
		name     string
		mode     ColorMode
		terminal bool
		env      []string
		want     bool
	}{
		{"terminal", ColorAuto, true, []string{"TERM", "xterm-256color"}, true},
		{"unset is auto", "", true, []string{"TERM", "xterm"}, true},
		{"pipe", ColorAuto, false, []string{"TERM", "xterm"}, false},
		{"no_color", ColorAuto, true, []string{"TERM", "xterm", "NO_COLOR", "1"}, false},
		{"no_color of any value", ColorAuto, true, []string{"TERM", "xterm", "NO_COLOR", "please"}, false},
		{"empty no_color", ColorAuto, true, []string{"TERM", "xterm", "NO_COLOR", ""}, true},
		{"dumb", ColorAuto, true, []string{"TERM", "dumb"}, false},
		{"no term", ColorAuto, true, nil, false},
		{"never", ColorNever, true, []string{"TERM", "xterm"}, false},
		{"always", ColorAlways, false, []string{"TERM", "dumb"}, true},
	}
	for _, tt := range tests {
		p := New(Options{Color: tt.mode, OutTerminal: tt.terminal, LookupEnv: env(tt.env...)})
		if p.pal.color != tt.want {
			t.Errorf("%s: New(...) colours %t, want %t", tt.name, p.pal.color, tt.want)
		}
	}
}

func TestNote(t *testing.T) {
	var out, err bytes.Buffer
	New(Options{Out: &out, Err: &err}).Note("no card on %s\nplug one in", "\x1b[2J")
	if want := "no card on \\x1b[2J\nplug one in\n"; err.String() != want || out.Len() > 0 {
		t.Errorf("Note wrote %q and %q, want %q on standard error", out.String(), err.String(), want)
	}
	err.Reset()
	New(Options{Err: &err, Quiet: true}).Note("hidden")
	if err.Len() > 0 {
		t.Errorf("Note when quiet wrote %q, want nothing", err.String())
	}
}

func TestProgress(t *testing.T) {
	var out, err bytes.Buffer
	now := time.Unix(0, 0)
	p := New(Options{
		Out: &out, Err: &err, ErrTerminal: true, LookupEnv: env("TERM", "xterm"),
		Now:  func() time.Time { return now },
		Size: func() (int, int) { return 18, 24 },
	})
	g := p.Progress("read\ning", 3)
	g.Add(1) // too soon to draw
	now = now.Add(2 * time.Second)
	g.Add(1)
	p.Note("half way")
	if e := p.Print(nil, Paragraph("data")); e != nil {
		t.Fatalf("Print = %v", e)
	}
	now = now.Add(time.Second)
	g.Add(1)
	g.Done()
	g.Done()
	g.Add(1)
	want := "\r\x1b[Kread\\ning 0/3" +
		"\r\x1b[Kread\\ning 2/3 2s" +
		"\r\x1b[Khalf way\n" +
		"\r\x1b[Kread\\ning 3/3 3s" +
		"\r\x1b[K"
	if diff := cmp.Diff(want, err.String()); diff != "" || out.String() != "data\n" {
		t.Errorf("progress, -want +got:\n%s\nstandard output %q", diff, out.String())
	}
}

func TestProgressOnlyOnTerminals(t *testing.T) {
	for name, o := range map[string]Options{
		"pipe":  {LookupEnv: env("TERM", "xterm")},
		"dumb":  {ErrTerminal: true, LookupEnv: env("TERM", "dumb")},
		"quiet": {ErrTerminal: true, Quiet: true, LookupEnv: env("TERM", "xterm")},
	} {
		var err bytes.Buffer
		o.Err = &err
		g := New(o).Progress("x", 0)
		g.Add(1)
		g.Done()
		if err.Len() > 0 {
			t.Errorf("%s: Progress wrote %q, want nothing", name, err.String())
		}
	}
}

func TestProgressConcurrent(t *testing.T) {
	p := New(Options{ErrTerminal: true, LookupEnv: env("TERM", "xterm")})
	g := p.Progress("x", 8)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			g.Add(1)
			p.Note("n")
		})
	}
	wg.Wait()
	g.Done()
	if g.done != 8 {
		t.Errorf("8 concurrent Add(1) made %d", g.done)
	}
}

func TestFrame(t *testing.T) {
	v := map[string]string{"a": "\x1b"}
	text := Paragraph("first line\nsecond\nthird")
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"pipe", Options{}, "first line\nsecond\nthird\n\nfirst line\nsecond\nthird\n"},
		{"json", Options{Format: FormatJSON}, `{"a":"\u001b"}` + "\n" + `{"a":"\u001b"}` + "\n"},
		{"yaml", Options{Format: FormatYAML}, "---\na: \"\\e\"\n---\na: \"\\e\"\n"},
		{
			"terminal",
			Options{OutTerminal: true, LookupEnv: env("TERM", "xterm"), Size: func() (int, int) { return 7, 4 }},
			"\x1b[2J\x1b[Hfirst …\x1b[K\nsecond\x1b[K\nthird\x1b[K\n\x1b[J" +
				"\x1b[Hfirst …\x1b[K\nsecond\x1b[K\nthird\x1b[K\n\x1b[J",
		},
		{
			"low terminal",
			Options{
				OutTerminal: true, LookupEnv: env("TERM", "xterm"), Color: ColorNever,
				Size: func() (int, int) { return 80, 3 },
			},
			"\x1b[2J\x1b[Hfirst line\x1b[K\n… 2 more lines: the window is too low\x1b[K\n\x1b[J" +
				"\x1b[Hfirst line\x1b[K\n… 2 more lines: the window is too low\x1b[K\n\x1b[J",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.o.Out = &out
			p := New(tt.o)
			for range 2 {
				if err := p.Frame(v, text); err != nil {
					t.Fatalf("Frame = %v", err)
				}
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("two frames, -want +got:\n%s", diff)
			}
		})
	}
}

// A frame that is cut inside a coloured cell must not leave the colour on.
func TestFrameCutsColor(t *testing.T) {
	var out bytes.Buffer
	p := New(Options{
		Out: &out, Color: ColorAlways, OutTerminal: true, LookupEnv: env("TERM", "xterm"),
		Size: func() (int, int) { return 4, 9 },
	})
	if err := p.Frame(nil, Text{Lines: [][]Cell{{Bad("broken link")}}}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[2J\x1b[H\x1b[31mbro…\x1b[m\x1b[K\n\x1b[J"; out.String() != want {
		t.Errorf("Frame = %q, want %q", out.String(), want)
	}
}

// Work whose duration is known draws its line by itself, and a note takes its place for a moment.
func TestTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err bytes.Buffer
		p := New(Options{Err: &err, ErrTerminal: true, LookupEnv: env("TERM", "xterm")})
		g := p.Timed("measuring", 10*time.Second)
		time.Sleep(1500 * time.Millisecond)
		p.Note("half way")
		time.Sleep(time.Second)
		g.Done()
		g.Done()
		want := "\r\x1b[Kmeasuring 0s of 10s\r\x1b[Kmeasuring 1s of 10s" +
			"\r\x1b[Khalf way\n\r\x1b[Kmeasuring 2s of 10s\r\x1b[K"
		if diff := cmp.Diff(want, err.String()); diff != "" {
			t.Errorf("progress, -want +got:\n%s", diff)
		}
		err.Reset()
		quiet := New(Options{Err: &err, ErrTerminal: true, Quiet: true, LookupEnv: env("TERM", "xterm")})
		g = quiet.Timed("measuring", time.Second)
		time.Sleep(2 * time.Second)
		g.Done()
		if err.Len() > 0 {
			t.Errorf("quiet: Timed wrote %q, want nothing", err.String())
		}
	})
}
