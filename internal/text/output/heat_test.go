package output

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var (
	none   = float32(math.NaN())
	failed = float32(math.Inf(1))
)

func heat(values [][]float32) Heat {
	h := Heat{
		Title: "rail 0", Values: values, Items: "node", Per: 1,
		Best: "390 Gb/s", Worst: "20 Gb/s", Failed: "failed", None: "not measured",
	}
	for i := range values {
		h.Labels = append(h.Labels, fmt.Sprintf("n%02d", i))
	}
	return h
}

func TestHeatShades(t *testing.T) {
	h := heat([][]float32{{none, 0, 0.3}, {1, none, failed}, {0.5, 0.7, none}})
	h.Labels[1] = "evil\x1b[31m"
	got, err := h.lines(page{})
	want := []string{
		"rail 0",
		"n00            ·░",
		`evil\x1b[31m  █ x`,
		"n02           ▒▓",
		"390 Gb/s ·░▒▓█ 20 Gb/s",
		"x failed, blank: not measured",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("lines() = %v (-want +got):\n%s", err, diff)
	}
}

// TestHeatWholeBlocks holds that each row of a small square has a line with its label.
func TestHeatWholeBlocks(t *testing.T) {
	h := heat([][]float32{{none, 0, 0}, {1, none, failed}, {none, none, none}})
	got, err := h.lines(page{pal: palette{color: true, depth: depthTrue}})
	if err != nil {
		t.Fatal(err)
	}
	ramp := Ramp(rampSteps)
	rgb := func(c color.RGBA) string { return fmt.Sprintf("\x1b[38;2;%d;%d;%dm", c.R, c.G, c.B) }
	best, worst := rgb(ramp[0]), rgb(ramp[rampSteps-1])
	want := [][2]string{
		{"n00", "  " + best + "████\x1b[m"}, {"n01", worst + "██\x1b[m  \x1b[38;2;255;0;255m██\x1b[m"}, {"n02", ""},
	}
	for i, w := range want {
		if line := got[1+i]; !strings.Contains(line, w[0]) || !strings.HasSuffix(line, w[1]) {
			t.Errorf("line %d: %q, want %q", i, line, w)
		}
	}
}

// TestHeatHalfBlocks holds that a line of a large square shows two rows: the upper one as
// foreground.
func TestHeatHalfBlocks(t *testing.T) {
	values := [][]float32{{0, none}, {1, 1}, {failed, failed}}
	for y := range wholeRows + 1 {
		if y >= len(values) {
			values = append(values, nil)
		}
		for len(values[y]) <= wholeRows {
			values[y] = append(values[y], none)
		}
	}
	h := heat(values)
	got, err := h.lines(page{pal: palette{color: true, depth: depthTrue}})
	if err != nil {
		t.Fatal(err)
	}
	ramp := Ramp(rampSteps)
	rgb := func(c color.RGBA) string { return fmt.Sprintf("2;%d;%d;%d", c.R, c.G, c.B) }
	best, worst := rgb(ramp[0]), rgb(ramp[rampSteps-1])
	want := []string{
		"\x1b[38;" + best + ";48;" + worst + "m▀\x1b[m\x1b[38;" + worst + "m▄\x1b[m",
		"\x1b[38;2;255;0;255m▀▀\x1b[m",
	}
	for i, w := range want {
		if !strings.HasSuffix(got[1+i], w) {
			t.Errorf("line %d: %q, want %q", i, got[1+i], w)
		}
	}
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{[]string{"TERM", "xterm-256color"}, "38;5;"},
		{[]string{"TERM", "xterm", "COLORTERM", "truecolor"}, "38;2;"},
		{[]string{"TERM", "linux"}, "·░▒▓█ 20"},
		{[]string{"TERM", "xterm-256color", "NO_COLOR", "1"}, "·░▒▓█ 20"},
	} {
		p := New(Options{OutTerminal: true, LookupEnv: env(tt.env...)})
		out, err := p.Render(nil, heat([][]float32{{0, 1}, {1, failed}}))
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%v: Render() = %q, %v, want %q", tt.env, out, err, tt.want)
		}
	}
}

// TestHeatFits holds that a large map fits any terminal, and that no bad cell gets lost by that.
func TestHeatFits(t *testing.T) {
	const n = 130
	values := make([][]float32, n)
	for y := range values {
		values[y] = make([]float32, n)
		for x := range values[y] {
			values[y][x] = none
		}
	}
	values[77][129], values[3][4], values[3][5] = failed, 1, 0
	for _, width := range []int{0, 40, 80, 133, 135, 200} {
		for _, pal := range []palette{{}, {color: true}} {
			h := heat(values)
			got, err := h.lines(page{width: width, pal: pal})
			if err != nil {
				t.Fatal(err)
			}
			most := width
			if width == 0 {
				most = MaxTextWidth
			}
			all, _, _ := strings.Cut(strings.Join(got, "\n"), "390 Gb/s")
			for _, line := range got {
				if w := ansi.StringWidth(line); w > most {
					t.Errorf("width %d: a line of %d columns", width, w)
				}
			}
			if !pal.color && (strings.Count(all, "x") != 1 || strings.Count(all, "█") != 1) {
				t.Errorf("width %d: bad cells are missing:\n%s", width, all)
			}
			note := strings.Contains(strings.Join(got, "\n"), "Each cell shows")
			if note != (most < n+len("n100  ")) {
				t.Errorf("width %d: the last line is %q", width, got[len(got)-1])
			}
		}
	}
	h := heat([][]float32{{0}})
	h.Values[0] = append(h.Values[0], 1)
	if _, err := h.lines(page{}); err == nil {
		t.Error("a map that is no square is printed")
	}
}

// TestRamp holds that the order of colours is visible to all: the lightness rises from step to step
// for each kind of colour blindness, and what failed has a colour of its own.
func TestRamp(t *testing.T) {
	// Machado, Oliveira and Fernandes 2009, severity 1.
	for name, m := range map[string][3][3]float64{
		"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protanopia": {
			{0.152286, 1.052583, -0.204868},
			{0.114503, 0.786281, 0.099216},
			{-0.003882, -0.048116, 1.051998},
		},
		"deuteranopia": {
			{0.367322, 0.860646, -0.227968},
			{0.280085, 0.672501, 0.047413},
			{-0.011820, 0.042940, 0.968881},
		},
		"tritanopia": {
			{1.255528, -0.076749, -0.178779},
			{-0.078411, 0.930809, 0.147602},
			{0.004733, 0.691367, 0.303900},
		},
	} {
		bad := toOKLab(m, RampFailed())
		var last [3]float64
		for i, c := range Ramp(rampSteps) {
			lab := toOKLab(m, c)
			if i > 0 && lab[0]-last[0] < 0.01 {
				t.Errorf("%s: the lightness of colour %d rises by %.3f", name, i, lab[0]-last[0])
			}
			if d := distance(lab, bad); d < 0.12 {
				t.Errorf("%s: colour %d differs from that of a failure by %.3f", name, i, d)
			}
			last = lab
		}
	}
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// toOKLab converts a colour as somebody sees it for whom m applies.
func toOKLab(m [3][3]float64, c color.RGBA) [3]float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	in := [3]float64{linear(c.R), linear(c.G), linear(c.B)}
	var seen [3]float64
	for i := range seen {
		seen[i] = min(max(m[i][0]*in[0]+m[i][1]*in[1]+m[i][2]*in[2], 0), 1)
	}
	l := math.Cbrt(0.4122214708*seen[0] + 0.5363325363*seen[1] + 0.0514459929*seen[2])
	mm := math.Cbrt(0.2119034982*seen[0] + 0.6806995451*seen[1] + 0.1073969566*seen[2])
	s := math.Cbrt(0.0883024619*seen[0] + 0.2817188376*seen[1] + 0.6299787005*seen[2])
	return [3]float64{
		0.2104542553*l + 0.7936177850*mm - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*mm + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*mm - 0.8086757660*s,
	}
}
