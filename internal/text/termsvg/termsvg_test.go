package termsvg

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drawn is a piece of text in a picture.
type drawn struct{ Class, X, Y, Length, Text string }

// read parses a picture as XML and returns its pieces of text.
func read(t *testing.T, picture []byte) []drawn {
	t.Helper()
	var out []drawn
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	inside := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v\n%s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if inside = token.Name.Local == "text"; inside {
				var p drawn
				for _, a := range token.Attr {
					switch a.Name.Local {
					case "class":
						p.Class = a.Value
					case "x":
						p.X = a.Value
					case "y":
						p.Y = a.Value
					case "textLength":
						p.Length = a.Value
					}
				}
				out = append(out, p)
			}
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				out[len(out)-1].Text += string(token)
			}
		}
	}
}

func TestDraw(t *testing.T) {
	picture, err := Draw("$ x", []string{
		"plain  \x1b[31mFAIL\x1b[m  a <b> & \"c\"",
		"",
		"  \x1b[1mé\x1b[0m\x1b[2m  dim\x1b[m\x1b[32mgood\x1b[m \x1b[33mwarn\x1b[m",
	})
	if err != nil {
		t.Fatal(err)
	}
	// Column 0 is at 16.0, each is 7.8 wide; the first line ends at 30 + 17, its text 4 above.
	want := []drawn{
		{"title", "16.0", "20", "23.4", "$ x"},
		{"", "16.0", "43", "39.0", "plain"},
		{"r", "70.6", "43", "31.2", "FAIL"},
		{"", "117.4", "43", "85.8", `a <b> & "c"`},
		{"b", "31.6", "77", "7.8", "é"},
		{"d", "55.0", "77", "23.4", "dim"},
		{"g", "78.4", "77", "31.2", "good"},
		{"y", "117.4", "77", "31.2", "warn"},
	}
	if diff := cmp.Diff(want, read(t, picture)); diff != "" {
		t.Errorf("Draw (-want +got):\n%s", diff)
	}
	// 24 columns wide and 3 lines high.
	if size := `width="219" height="97"`; !strings.Contains(string(picture), size) {
		t.Errorf("Draw doesn't say %s:\n%s", size, picture[:200])
	}
}

func TestDrawErrors(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"cursor", "a\x1b[2Jb", `draw line 2: escape sequence "2Jb" is not one of a text style`},
		{"other colour", "\x1b[35mb\x1b[m", `draw line 2: escape sequence "35mb\x1b[m" is not one of a text style`},
		{"cut off", "a\x1b[", `draw line 2: escape sequence "" is not one of a text style`},
		{"tab", "a\tb", `draw line 2: control character '\t'`},
		{"colour of the user", "\x1b[38;5;3mx", `draw line 2: escape sequence "38;5;3mx" is not one of a text style`},
		{"text of the palette", "\x1b[38;5;53mx\x1b[m", `draw line 2: character 'x' in a colour of the palette`},
		{"open colour", "\x1b[48;5;16m ", `draw line 2: style "#000000" is not reset at the end of the line`},
		{"open style", "\x1b[1mb", `draw line 2: style "b" is not reset at the end of the line`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Draw("", []string{"", tt.line})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Draw(%q) = %v, want %s", tt.line, err, tt.want)
			}
		})
	}
}

// TestDrawMap draws a heat map: colours of the cube and of the greys, and halves of cells. A column
// is 7.8 wide, a line 17 high, from 30 on.
func TestDrawMap(t *testing.T) {
	picture, err := Draw("", []string{"a\x1b[38;5;53m▀▄\x1b[m\x1b[38;5;231;48;5;232m█ \x1b[m"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(picture)) {
		if strings.Contains(line, "style=") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	box := func(x, y, height, color string) string {
		return `<rect x="` + x + `" y="` + y + `" width="7.8" height="` + height + `" style="fill:` + color + `"/>`
	}
	want := []string{
		box("23.8", "30.0", "8.5", "#5f005f"), box("31.6", "38.5", "8.5", "#5f005f"),
		box("39.4", "30.0", "17.0", "#080808"), box("39.4", "30.0", "17.0", "#ffffff"),
		box("47.2", "30.0", "17.0", "#080808"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Draw (-want +got):\n%s", diff)
	}
}
