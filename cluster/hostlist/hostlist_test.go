package hostlist_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rdmakit/rdmakit/cluster/hostlist"
)

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 253)
	tests := []struct{ list, want string }{
		{"gpu[001-003,007],login1", "gpu001 gpu002 gpu003 gpu007 login1"},
		{"rack[1-2]n[01-02]", "rack1n01 rack1n02 rack2n01 rack2n02"},
		{"r[1-2]c[1-2]n[1-2]", "r1c1n1 r1c1n2 r1c2n1 r1c2n2 r2c1n1 r2c1n2 r2c2n1 r2c2n2"},
		{"gpu[1-2]-ib0", "gpu1-ib0 gpu2-ib0"},
		{"gpu[8-11]", "gpu8 gpu9 gpu10 gpu11"},
		{"gpu[08-11]", "gpu08 gpu09 gpu10 gpu11"},
		{"gpu[098-101]", "gpu098 gpu099 gpu100 gpu101"},
		{"gpu[98-101]", "gpu98 gpu99 gpu100 gpu101"},
		{"gpu[08-09,98-101]", "gpu08 gpu09 gpu98 gpu99 gpu100 gpu101"},
		{"gpu[3,1-2]", "gpu3 gpu1 gpu2"},
		{" gpu1 ,\tgpu2 , ,", "gpu1 gpu2"},
		{"gpu[1-4],-gpu[2-3]", "gpu1 gpu4"},
		{"-gpu2,gpu[1-3]", "gpu1 gpu3"},
		{"gpu[1-3], -gpu2", "gpu1 gpu3"},
		{"gpu1,gpu1,gpu2,-gpu1", "gpu2"},
		{"root@gpu[1-3],-gpu2", "root@gpu1 root@gpu3"},
		{"gpu[1-3],-GPU2", "gpu1 gpu3"},
		{"a-b_c.d", "a-b_c.d"},
		{"first.last@10.0.0.[1-2]", "first.last@10.0.0.1 first.last@10.0.0.2"},
		{"fd00::[8-11]", "fd00::8 fd00::9 fd00::10 fd00::11"},
		{"root@fd00::1", "root@fd00::1"},
		{"[1-2]", "1 2"},
		{"n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999"},
		{long, long},
	}
	for _, test := range tests {
		got, err := hostlist.Parse(test.list)
		if joined := strings.Join(got, " "); err != nil || joined != test.want {
			t.Errorf("Parse(%q) = %s, %v; want %s", test.list, joined, err, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ list, want string }{
		{"gpu[001-064", "column 4: gpu[001-064: bracket is not closed"},
		{"login1,gpu[1-2,rack[1-2]", "column 11: gpu[1-2,rack[1-2]: bracket is not closed before the next one"},
		{"gpu[1-2]]", "column 9: gpu[1-2]]: closing bracket without an opening one"},
		{"a,gpu1-2]", "column 9: gpu1-2]: closing bracket without an opening one"},
		{"gpu[001-o64]", `column 5: gpu[001-o64]: "o64" is not a number (letter o for digit 0?)`},
		{"gpu[l-3]", `column 5: gpu[l-3]: "l" is not a number (letter l for digit 1?)`},
		{"gpu[1,2,x]", `column 9: gpu[1,2,x]: "x" is not a number`},
		{"gpü[1-2", `column 4: "gpü[1-2": bracket is not closed`},
		{"a, \tgpu[x]", `column 9: gpu[x]: "x" is not a number`},
		{"gpu[1-2-3]", `column 5: gpu[1-2-3]: "2-3" is not a number`},
		{"gpu[1–4]", `column 5: "gpu[1–4]": "1–4" is not a number`},
		{"gpu[]", "column 5: gpu[]: empty range between brackets or commas"},
		{"gpu[1,,2]", "column 7: gpu[1,,2]: empty range between brackets or commas"},
		{"gpu[1-]", "column 5: gpu[1-]: range 1- has no last number"},
		{"gpu[-1]", "column 5: gpu[-1]: range -1 has no first number"},
		{"rack[1-2]n[3-1]", "column 12: rack[1-2]n[3-1]: range 3-1 runs backwards"},
		{"gpu[10-9]", "column 5: gpu[10-9]: range 10-9 runs backwards"},
		{
			"gpu[8-011]",
			"column 5: gpu[8-011]: range 8-011 has numbers of 1 and 3 digits; " +
				"with leading zeros, both must have the same",
		},
		{
			"gpu[008-11]",
			"column 5: gpu[008-11]: range 008-11 has numbers of 3 and 2 digits; " +
				"with leading zeros, both must have the same",
		},
		{
			"gpu[1000000000000000000]",
			"column 5: gpu[1000000000000000000]: number 1000000000000000000 has more than 18 digits",
		},
		{"gpu1 gpu2", `column 5: "gpu1 gpu2": blank in a name; commas separate names`},
		{"a,gpu1;reboot", `column 7: gpu1;reboot: character ';' is not allowed in a name`},
		{"gpu[1-2]$(id)", `column 9: gpu[1-2]$(id): character '$' is not allowed in a name`},
		{"gpü1", `column 3: "gpü1": character 'ü' is not allowed in a name`},
		{"ü,gpu1/", `column 1: "ü": character 'ü' is not allowed in a name`},
		{"gpu\x001", `column 4: "gpu\x001": character '\x00' is not allowed in a name`},
		{"--proxy", "column 1: --proxy: name -proxy begins with a hyphen, as an option does"},
		{
			"root@-oProxyCommand",
			"column 1: root@-oProxyCommand: name -oProxyCommand begins with a hyphen, as an option does",
		},
		{"--l@gpu1", "column 1: --l@gpu1: user -l begins with a hyphen, as an option does"},
		{"@gpu1", "column 1: @gpu1: no user before @"},
		{"root@", "column 1: root@: no name of a host"},
		{"a@b@c", "column 1: a@b@c: more than one @"},
		{"a:b@c", "column 1: a:b@c: colon before @; a name has no password and no connection type"},
		{"gpu[1-2]:22", "column 1: gpu[1-2]:22: gpu1:22 has a colon, but is no IPv6 address; names have no ports"},
		{
			"fd00::[9998-10000]",
			"column 1: fd00::[9998-10000]: fd00::10000 has a colon, but is no IPv6 address; names have no ports",
		},
		{".gpu1", "column 1: .gpu1: name .gpu1 begins with a dot"},
		{"a,-", "column 3: -: no name of a host"},
		{strings.Repeat("a", 254), "column 1: " + strings.Repeat("a", 60) + "...: name of more than 253 characters"},
		{
			strings.Repeat("a", 254) + "@b",
			"column 1: " + strings.Repeat("a", 60) + "...: user of more than 253 characters",
		},
		{"gpu[1-3],-gpu4", "column 10: -gpu4: excludes a host that is not in the list"},
		{"gpu[1-3],-gup3", "column 10: -gup3: excludes a host that is not in the list (gpu3?)"},
		{"gpu[1-3],-login9", "column 10: -login9: excludes a host that is not in the list"},
		{"gpu[1-3],-gpu[3-4]", "column 10: -gpu4: excludes a host that is not in the list"},
		{"", "no host in the list"},
		{" , ", "no host in the list"},
		{"gpu[1-2],-gpu[1-2]", "no host in the list"},
		{"gpu1,login1,gpu1", "hosts that are twice in the list: gpu1 (column 1 and column 13)"},
		{"gpu[1-9],a,gpu[3-12]", "hosts that are twice in the list: gpu[3-9] (column 1 and column 12)"},
		{"gpu[1,1]", "hosts that are twice in the list: gpu1 (column 1 and column 1)"},
		{
			"a,b,a,b,a",
			"hosts that are twice in the list: a (column 1 and column 5), b (column 3 and column 7), a " +
				"(column 1 and column 9)",
		},
		{"gpu1,root@gpu1", "hosts that are twice in the list: root@gpu1 (column 1 and column 6)"},
		{"gpu1,GPU1", "hosts that are twice in the list: GPU1 (column 1 and column 6)"},
	}
	for _, test := range tests {
		got, err := hostlist.Parse(test.list)
		var e *hostlist.Error
		if err == nil || got != nil || err.Error() != "parse host list: "+test.want || !errors.As(err, &e) {
			t.Errorf("Parse(%q) = %q, %v; want error\nparse host list: %s", test.list, got, err, test.want)
		}
	}
}

// TestManyDuplicates limits a message about duplicates.
func TestManyDuplicates(t *testing.T) {
	t.Parallel()
	list := strings.TrimSuffix(strings.Repeat("a,", 15), ",")
	_, err := hostlist.Parse(list)
	if !errors.Is(err, hostlist.ErrDuplicate) ||
		!strings.HasSuffix(err.Error(), "(column 1 and column 21), 4 more") {
		t.Errorf("Parse(%q): %v", list, err)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gpu1":            "",
		"root@10.0.0.1":   "",
		"fd00::1":         "",
		"":                "host : no name of a host",
		"gpu[1-2]":        "host gpu[1-2]: character '[' is not allowed in a name",
		"a,b":             "host a,b: character ',' is not allowed in a name",
		"gpu1 gpu2":       `host "gpu1 gpu2": blank in a name; commas separate names`,
		"-oProxyCommand":  "host -oProxyCommand: name -oProxyCommand begins with a hyphen, as an option does",
		"gpu1:22":         "host gpu1:22: gpu1:22 has a colon, but is no IPv6 address; names have no ports",
		"fd00::1%eth0":    "host fd00::1%eth0: character '%' is not allowed in a name",
		"a\nb":            `host "a\nb": character '\n' is not allowed in a name`,
		"root@-oUser=x@b": "host root@-oUser=x@b: character '=' is not allowed in a name",
	} {
		err := hostlist.CheckName(name)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("CheckName(%q) = %v, want %s", name, err, want)
		}
	}
}

func TestErrorFields(t *testing.T) {
	t.Parallel()
	_, err := hostlist.ParseFile(strings.NewReader("# ok\n\nlogin1,gpu[1-x]"), "hosts.txt")
	var e *hostlist.Error
	if !errors.As(err, &e) || e.Op != "read hosts.txt" || e.Line != 3 || e.Column != 12 || e.Text != "gpu[1-x]" {
		t.Errorf("ParseFile: %#v", err)
	}
}

// TestLimit allows MaxHosts names and no more, and refuses more before expanding them.
func TestLimit(t *testing.T) {
	t.Parallel()
	half := hostlist.MaxHosts / 2
	fits := []string{
		fmt.Sprintf("gpu[1-%d]", hostlist.MaxHosts),
		fmt.Sprintf("a[1-%d],b[1-%d]", half, half),
		fmt.Sprintf("a[1-2]b[1-%d]", half),
		fmt.Sprintf("a[1-%d],b[1-%d],-a1,-b[1-5]", half, half),
	}
	for _, list := range fits {
		if names, err := hostlist.Parse(list); err != nil || len(names) < hostlist.MaxHosts-6 {
			t.Errorf("Parse(%s) = %d names, %v", list, len(names), err)
		}
	}
	over := []string{
		fmt.Sprintf("gpu[0-%d]", hostlist.MaxHosts),
		fmt.Sprintf("a[1-%d],b[0-%d]", half, half),
		fmt.Sprintf("a[1-2]b[0-%d]", half),
		"[0-999999999]",
		"a[0-999999999999999999]",
		strings.Repeat("[0-99999999]", 20),
		"a[" + strings.Repeat("0-999999999,", 50) + "1]",
		"a[" + strings.Repeat("0-999999999999999999,", 10) + "1]", // the sum overflows
		fmt.Sprintf("gpu1,-a[0-%d]", hostlist.MaxHosts),
	}
	for _, list := range over {
		got, err := hostlist.Parse(list)
		if !errors.Is(err, hostlist.ErrTooMany) || !strings.HasSuffix(err.Error(), ": more than 16384 hosts") {
			t.Errorf("Parse(%s) = %d names, %v; want %v", list, len(got), err, hostlist.ErrTooMany)
		}
	}
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	text := "\ufeff# nodes of rack 1\r\n\r\ngpu[1-2], gpu4 # gpu3 is broken\r\n  root@login1\t\r\n,\n\ngpu9"
	want := []string{"gpu1", "gpu2", "gpu4", "root@login1", "gpu9"}
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		if got, err := hostlist.ParseFile(r, "hosts.txt"); err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseFile = %q, %v; want %q", got, err, want)
		}
	}
}

func TestParseFileErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"gpu1\n\n gpu[2-", "line 3, column 5: gpu[2-: bracket is not closed"},
		{"gpu1 # x\r\ngpu2 slots=8\r\n", `line 2, column 5: "gpu2 slots=8": blank in a name; commas separate names`},
		{"gpu1\n-gpu1\n", "line 2, column 1: -gpu1: name -gpu1 begins with a hyphen, as an option does"},
		{"gpu[1-\n2]", "line 1, column 4: gpu[1-: bracket is not closed"},
		{"gpu1\rgpu2", `line 1, column 5: "gpu1\rgpu2": character '\r' is not allowed in a name`},
		{"# gpu1\n", "no host in the list"},
		{"", "no host in the list"},
		{
			"gpu[1-3]\n#\nlogin1,gpu[2-3]\n",
			"hosts that are twice in the list: gpu[2-3] (line 1, column 1 and line 3, column 8)",
		},
		{"gpu[0-16384]", "line 1, column 1: gpu[0-16384]: more than 16384 hosts"},
		{"gpu[0-9999]\nn[0-9999]", "line 2, column 1: n[0-9999]: more than 16384 hosts"},
		{strings.Repeat("#\n", 5<<20), "more than 8355840 bytes"},
	}
	for _, test := range tests {
		got, err := hostlist.ParseFile(strings.NewReader(test.text), "hosts.txt")
		if err == nil || got != nil || err.Error() != "read hosts.txt: "+test.want {
			t.Errorf("ParseFile(%.40q) = %q, %v; want error\nread hosts.txt: %s", test.text, got, err, test.want)
		}
	}
	broken := errors.New("input/output error")
	if _, err := hostlist.ParseFile(iotest.ErrReader(broken), "hosts.txt"); !errors.Is(err, broken) ||
		err.Error() != "read hosts.txt: input/output error" {
		t.Errorf("ParseFile of a broken file: %v", err)
	}
}

func TestCompress(t *testing.T) {
	t.Parallel()
	tests := []struct{ names, want string }{
		{"", ""},
		{"gpu1", "gpu1"},
		{"gpu1 gpu2", "gpu[1-2]"},
		{"gpu001 gpu002 gpu003 gpu005 login1", "gpu[001-003,005],login1"},
		{"rack1n1 rack1n2 rack2n1 rack2n2", "rack[1-2]n[1-2]"},
		{"rack1n1 rack1n2 rack2n1 rack2n2 rack3n1 rack3n3", "rack[1-2]n[1-2],rack3n[1,3]"},
		{"rack1n1 rack1n2 rack2n1 rack2n3", "rack1n[1-2],rack2n[1,3]"},
		{"a1b1 a2b1 a2b2", "a1b1,a2b[1-2]"},
		{"gpu1-ib0 gpu2-ib0 gpu4-ib0", "gpu[1-2,4]-ib0"},
		{"gpu1-ib0 gpu2-ib0 gpu1-ib1 gpu2-ib1", "gpu[1-2]-ib0,gpu[1-2]-ib1"},
		{"a1x1y a2x1y a2x2y", "a[1-2]x1y,a2x2y"},
		{"gpu1-a gpu2-b gpu3-a", "gpu1-a,gpu2-b,gpu3-a"},
		{"gpu9 gpu10 gpu011", "gpu[9-10,011]"},
		{"gpu09 gpu10 gpu99 gpu100", "gpu[09-10,99-100]"},
		{"gpu099 gpu100", "gpu[099-100]"},
		{"gpu gpu1", "gpu,gpu1"},
		{"1 2", "[1-2]"},
		{"gpu9999999999999999999 gpu10000000000000000000", "gpu9999999999999999999,gpu10000000000000000000"},
		{"gpu999999999999999999 gpu1000000000000000000", "gpu999999999999999999,gpu1000000000000000000"},
	}
	for _, test := range tests {
		if got := hostlist.Compress(strings.Fields(test.names)); got != test.want {
			t.Errorf("Compress(%s) = %s, want %s", test.names, got, test.want)
		}
	}
}

// FuzzParse checks that a list is refused, or has valid names that fold and unfold.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"gpu[001-064],login1", "rack[1-2]n[01-02]-ib0,-rack1n02-ib0", "root@fd00::[1-3]", "gpu[1-",
		"[0-999999999]", "a1,a01,a2b,a3b",
	} {
		f.Add(seed)
	}
	allowed := regexp.MustCompile(`^[a-zA-Z0-9._:@-]+$`)
	f.Fuzz(func(t *testing.T, list string) {
		names, err := hostlist.Parse(list)
		if err != nil {
			if names != nil || !strings.HasPrefix(err.Error(), "parse host list: ") {
				t.Fatalf("Parse(%q) = %q, %v", list, names, err)
			}
			return
		}
		if len(names) == 0 || len(names) > hostlist.MaxHosts {
			t.Fatalf("Parse(%q) = %d names", list, len(names))
		}
		for _, name := range names {
			if !allowed.MatchString(name) ||
				name[0] == '-' || strings.Contains(name, "@-") || hostlist.CheckName(name) != nil {
				t.Fatalf("Parse(%q) has the name %q", list, name)
			}
		}
		folded := hostlist.Compress(names)
		back, err := hostlist.Parse(folded)
		if err != nil || !slices.Equal(back, names) {
			t.Fatalf("Parse(Compress(%q)) = Parse(%q) = %q, %v", names, folded, back, err)
		}
		lines, err := hostlist.ParseFile(strings.NewReader(strings.Join(names, "\r\n")), "f")
		if err != nil || !slices.Equal(lines, names) {
			t.Fatalf("ParseFile of %q = %q, %v", names, lines, err)
		}
	})
}
