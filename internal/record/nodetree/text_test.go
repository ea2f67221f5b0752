package nodetree

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const canonical = `# A node for tests.
# Second line.

[sys/class/infiniband]
gone -> ../../devices/gone
loop -> loop
mlx5_0 -> ../../devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0
out -> ../../../../etc

[sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0]
device -> ../..
locked/ ! EACCES

[sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0/ports/1]
empty = ""
gid_attrs/types/0..255 ! EINVAL
gids/0 = fe80:0000:0000:0000:ba3f:d2ff:fea5:1000
gids/1..255 = 0000:0000:0000:0000:0000:0000:0000:0000
hw_counters/
secret ! EACCES
state = 4: ACTIVE
uevent = "A=1\nB=2\n"
`

func TestText(t *testing.T) {
	tree := mustParse(t, sample)
	if diff := cmp.Diff(canonical, string(tree.Text())); diff != "" {
		t.Errorf("Text (-want +got):\n%s", diff)
	}
	if got, want := tree.About(), "A node for tests.\nSecond line."; got != want {
		t.Errorf("About = %q, want %q", got, want)
	}
}

// TestTextOddities takes each content and name through the text form.
func TestTextOddities(t *testing.T) {
	contents := []string{
		"", "\n", "\n\n", "x", "x\n", "x \n", " x\n", "\tx\n", `"q"` + "\n", "a\tb\n", "a\r\n", "\xff\xfe\n",
		"a\x00b\n", "=\n", "# no comment\n", "! EINVAL\n", "-> x\n", "| x\n", "a\nb", strings.Repeat("line\n", 50),
		strings.Repeat("padded  \n", 50), strings.Repeat("\n", 200), strings.Repeat("a", 300), "é 漢\n", "\u00a0\n",
		"\ufeff\n", strings.Repeat("\"q\"\n|\n", 60), strings.Repeat("no end\n", 50) + "x",
		strings.Repeat("cr\r\n", 50),
	}
	names := []string{
		"a", "a b", `"q"`, "#c", "[h]", "|", "4..5", "x4..5", "x04..5", "..5", "a=b", "=", "->", "!", "tab\tname", "é",
		"deep/a..b", "dir/7..", "\ufeffx", "a\u00a0b", "x]", "k 1..3", `back\slash`,
	}
	tree := New()
	for i, c := range contents {
		if err := tree.Set(fmt.Sprint("content/", i), c); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range names {
		for _, err := range []error{
			tree.Set("names/"+n, n+"\n"), tree.Link("links/"+n, n),
			tree.Set(fmt.Sprint("dirs", i, "/", n, "/x"), "1\n"), tree.Mkdir("empty/" + n),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	text := tree.Text()
	again, err := Parse("again", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !again.Equal(tree) {
		t.Errorf("Parse(Text) differs:\n%s", cmp.Diff(string(text), string(again.Text())))
	}
}

func TestTextFolds(t *testing.T) {
	tree := New()
	for i := range 12 {
		for name, content := range map[string]string{
			fmt.Sprint("dev/uverbs", i):  "",
			fmt.Sprint("same/0", i):      "x\n", // leading zeros don't fold below 10
			fmt.Sprint("differ/", i):     fmt.Sprintln(i / 4),
			fmt.Sprint("apart/", i*2):    "x\n",
			fmt.Sprint("0000:00:00.", i): "x\n",
		} {
			if err := tree.Set(name, content); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := string(tree.Text())
	for _, want := range []string{
		"uverbs0..11 = \"\"\n", "0..3 = 0\n4..7 = 1\n8..11 = 2\n", "0000:00:00.0 = x\n", "0 = x\n2 = x\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("Text does not contain %q:\n%s", want, text)
		}
	}
	again, err := Parse("again", []byte(text))
	if err != nil || !again.Equal(tree) {
		t.Errorf("Parse(Text) differs: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"a = 1\nb\n", "test:2: want NAME"},
		{"a = 1\na = 2\n", "test:2: a: duplicate name"},
		{"a = 1\na -> 2\n", "test:2: a: duplicate name"},
		{"a/\na = 1\n", "test:2: a: duplicate name"},
		{"a = 1\na/b = 1\n", "test:2: a/b: not a directory"},
		{"a -> b\na/b = 1\n", "test:2: a/b: not a directory"},
		{"[x\n", "test:1: header"},
		{"[/x]\n", "test:1: header"},
		{"[x/../y]\n", "test:1: header"},
		{"../a = 1\n", "test:1: ../a: invalid"},
		{"x/../a = 1\n", "test:1: x/../a: invalid"},
		{"/a = 1\n", "test:1: /a: invalid"},
		{"a ! EWHAT\n", `test:1: a: unknown error name "EWHAT"`},
		{"a =\n", `test:1: a: no value`},
		{"a =\nb = 1\n", `test:2: a: no value`},
		{"| x\n", "test:1: a | line without"},
		{"a = \"x\n", "bad Go string"},
		{"\"a = x\n", "bad Go string"},
		{"a = \xff\n", "not UTF-8"},
		{"5..4 = x\n", "empty range"},
		{"0..999999999 = x\n", "too large"},
		{"a ->\n", "link target"},
		{"a/ = x\n", "a/: a directory has no content"},
		{"0..17 = \"" + strings.Repeat("x", maxFile) + "\"\n", "too large"},
		{strings.Repeat("a/", 2100) + "a = x\n", "invalid"},
	}
	for _, tt := range tests {
		_, err := Parse("test", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%.40q) = %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestParseErrorsKeepSecrets parses files that are no trees: errors show none of their values.
func TestParseErrorsKeepSecrets(t *testing.T) {
	for _, text := range []string{
		"root:secret:1:0\n", "[client]\nuser = root\npassword=secret\n", "[secret\n", "a = \"secret\n",
		"\"secret = x\n", "a =\n| \"secret\n", "[\"secret]\n", "a -> \"secret\n", "# about\n\nsecret\n",
	} {
		_, err := parseText("file", []byte(text))
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Read(%q) = %v, want an error without the text", text, err)
		}
	}
}

func TestParseForms(t *testing.T) {
	tree := mustParse(t, "\ufeff# about\n\n# not about\r\n[a/b]\r\n  x = 1\r\n\"y z\" -> \"q r\"\n[.]\ntop =\n| one\n"+
		"|\n| \"two \"\n\"e e\"/\n")
	want := mustParse(t, "top = \"one\\n\\ntwo \\n\"\n\"e e\"/\n[a/b]\nx = 1\n\"y z\" -> q r\n")
	if !tree.Equal(want) {
		t.Errorf("Parse (-want +got):\n%s", cmp.Diff(string(want.Text()), string(tree.Text())))
	}
	if tree.About() != "about" {
		t.Errorf("About = %q, want about", tree.About())
	}
}

func TestCompareNatural(t *testing.T) {
	sorted := []string{"0", "00", "1", "2", "10", "a", "a01", "a1", "a2", "a2b", "a10", "b"}
	for i, a := range sorted {
		for j, b := range sorted {
			got, want := compareNatural(a, b), 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got != want {
				t.Errorf("compareNatural(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	if compareNatural("0000:18:00.0", "0000:2a:00.0") >= 0 {
		t.Error("PCI addresses: 18 sorts behind 2a")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(canonical))
	f.Add([]byte("[" + deepPath + "]\n0..3 = x\n"))
	f.Add([]byte(nameRanges(strings.Repeat("n", 249), 2, 10) + targets(2)))
	f.Add([]byte("x999999998..999999999 = x\nx1000000000 = x\nd/ ! EACCES\nd/x ! EINVAL\n#\n"))
	f.Add([]byte("a =\n| x\n|\n| \"y\"\n\"4..5\" = 1\n0..3 = x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := Parse("fuzz", text)
		if err != nil || tree.made > 5000 { // large ranges only slow the fuzzer down
			return
		}
		canonical := tree.Text()
		again, err := Parse("again", canonical)
		if err != nil {
			t.Fatalf("Parse(Text): %v\n%s", err, canonical)
		}
		if !again.Equal(tree) || !bytes.Equal(again.Text(), canonical) {
			t.Fatalf("Parse(Text) differs:\n%s", cmp.Diff(string(canonical), string(again.Text())))
		}
	})
}
