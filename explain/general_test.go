package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Lines of programs that have no rule, with an error whose text is the same in all programs: those
// of glibc, the kernel, OpenSSH, Python, Go and shells, as they print them.
func TestGeneralCauses(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"./bench: error while loading shared libraries: libfoo.so.1: cannot open shared object file: No such " +
			"file or directory", "missing-library"},
		{"python: symbol lookup error: /opt/lib/libbar.so: undefined symbol: bar_open", "library-conflict"},
		{"./tool: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by ./tool)", "library-too-old"},
		{"bash: ./tool: cannot execute binary file: Exec format error", "image-arch"},
		{"/bin/sh: 1: tool: command not found", "missing-library"},
		{"Received disconnect from 10.0.0.7 port 22:2: Too many authentication failures", "ssh-keys"},
		{"dial tcp: lookup etcd.svc on 10.96.0.10:53: no such host", "name-resolution"},
		{"Get \"https://10.96.0.1:443/api\": x509: certificate has expired or is not yet valid", "server-unreachable"},
		{"ModuleNotFoundError: No module named 'foo'", "missing-library"},
		{"TypeError: start() got an unexpected keyword argument 'rank'", "version-mismatch"},
		{"touch: cannot touch '/data/x': Read-only file system", "folder-not-writable"},
		{"dd: writing to '/run/x': No space left on device", "disk-full"},
		{"cp: error writing '/home/user/x': Disk quota exceeded", "disk-full"},
		{"mkdir: cannot create directory '/srv/user/7': Permission denied", "not-privileged"},
		{"server: bind 0.0.0.0:80: Address already in use", "port-in-use"},
		{"server: accept: Too many open files", "file-limit"},
		{"client: connect to 10.0.0.7:80: Connection refused", "dead-peer"},
		{"client: connect to 10.0.0.7:80: No route to host", "interface-choice"},
		{"chroot: cannot change root directory to '/x': Operation not permitted", "not-privileged"},
		{"ls: cannot access '/x': No such file or directory", ""},
		{"write error: Invalid argument", ""},
		{"epoch 3 done", ""},
	} {
		d, err := read(t, "a line before\n"+c.line+"\n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(d.Unexplained) == 1 && len(d.Unexplained[0].Causes) > 0 {
			got = d.Unexplained[0].Causes[0].Cause
			if d.Unexplained[0].Line != 2 || d.Unexplained[0].Causes[0].Confidence != rules.Possible {
				t.Errorf("%s: line %d, %s", c.line, d.Unexplained[0].Line, d.Unexplained[0].Causes[0].Confidence)
			}
		}
		if got != c.want || d.Verdict != explain.VerdictNothing {
			t.Errorf("%s: verdict %s, cause %q, want %q: %+v", c.line, d.Verdict, got, c.want, d.Unexplained)
		}
		if page := string(d.Markdown()); c.want != "" && !strings.Contains(page, "\n- often: ") ||
			strings.Contains(d.Nothing(), "errors that any program can have") != (c.want != "") {
			t.Errorf("%s: %s\n%s", c.line, d.Nothing(), page)
		}
	}
}

// A cause is named once, and of many lines the first and the last ones are shown.
func TestManyTroubles(t *testing.T) {
	var b strings.Builder
	for i, word := range []string{"ERROR x", "Error: x", "x failed: x", "x failed with x", "timed out", "[error] x"} {
		fmt.Fprintf(&b, "a: open /run/%d: Permission denied\n%s\n", i, word)
	}
	b.WriteString("Traceback (most recent call last):\nc: write: No space left on device\n")
	d, err := read(t, b.String())
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, l := range d.Unexplained {
		got = append(got, l.Line)
	}
	if want := []int{1, 14, 2, 10, 12}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
	if causes := d.Unexplained[1].Causes; len(causes) != 1 {
		t.Errorf("causes of a full file system: %+v, want one", causes)
	}
	d, err = read(t, `a: Permission denied
b: No space left on device
c: Exec format error
d: command not found
e: Connection refused
`)
	if err != nil || len(d.Unexplained) != 3 {
		t.Errorf("%v, %d lines with usual causes, want 3", err, len(d.Unexplained))
	}
}

// Errors of any program are no causes as long as a rule explains the log, and they keep one that
// has no failure from being healthy.
func TestGeneralWithRules(t *testing.T) {
	const refused = "client: connect to 10.0.0.7:80: Connection refused\n"
	d, err := read(t, refused+sample)
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := d.First(); f.Rule != "RDX-101" || len(d.Unexplained) > 0 {
		t.Errorf("first %s, not explained %+v; want RDX-101 and nothing", f.Rule, d.Unexplained)
	}
	d, err = read(t, "NCCL version 2.21.5+cuda12.4\n"+refused)
	if err != nil || d.Verdict != explain.VerdictUnknown || len(d.Unexplained) != 1 {
		t.Errorf("verdict %s, %v, not explained %+v; want unknown and a line", d.Verdict, err, d.Unexplained)
	}
}

func TestGenerals(t *testing.T) {
	for _, g := range symptoms.Generals() {
		for _, text := range g.Texts {
			if len(rules.GeneralCauses("x "+text+" y")) == 0 {
				t.Errorf("%q has no cause", text)
			}
		}
		for _, c := range g.Causes {
			if c.Slug == "" || c.Title == "" || c.Decide == "" || c.Remedy == "" {
				t.Errorf("%q: a cause is not complete: %+v", g.Texts, c)
			}
		}
	}
}
