package logcases

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// caseOf returns a case of the corpus.
func caseOf(t *testing.T, id string) *Case {
	t.Helper()
	cases := load(t)
	i := slices.IndexFunc(cases, func(c Case) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no case %s", id)
	}
	return &cases[i]
}

// text returns all logs of a case.
func text(c *Case) string {
	var b strings.Builder
	for _, f := range c.Files {
		b.Write(f.Data)
	}
	return b.String()
}

// variant applies a variant by name.
func variant(t *testing.T, name string, c *Case) *Case {
	t.Helper()
	for _, v := range Variants() {
		if v.Name == name {
			d, ok := v.Apply(c)
			if !ok {
				t.Fatalf("variant %s doesn't apply to %s", name, c.ID)
			}
			return d
		}
	}
	t.Fatalf("no variant %s", name)
	return nil
}

// TestVariantsLeaveTheCase checks that each variant changes the logs of some case, and never those
// of the case itself.
func TestVariantsLeaveTheCase(t *testing.T) {
	cases := load(t)
	for _, v := range Variants() {
		applied, changed := 0, 0
		for i := range cases {
			before := text(&cases[i])
			d, ok := v.Apply(&cases[i])
			if text(&cases[i]) != before {
				t.Fatalf("%s: variant %s changed the case", cases[i].ID, v.Name)
			}
			if !ok {
				continue
			}
			applied++
			if text(d) != before {
				changed++
			}
			if len(d.Files) != len(cases[i].Files) || !slices.Equal(d.Causes, cases[i].Causes) {
				t.Errorf("%s: variant %s changed the number of logs or the expectation", cases[i].ID, v.Name)
			}
		}
		if applied < 20 || changed < applied {
			t.Errorf("variant %s: applies to %d cases and changes %d, want at least 20 and all", v.Name,
				applied, changed)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, id := range []string{"A02", "C07", "A06"} {
		c := caseOf(t, id)
		d := variant(t, "last 200 lines", c)
		for i, f := range d.Files {
			if n := bytes.Count(f.Data, []byte("\n")); n != tailLines {
				t.Errorf("%s %s: %d lines, want %d", id, f.Name, n, tailLines)
			}
			last := func(b []byte) string {
				lines := strings.Split(strings.TrimSpace(string(b)), "\n")
				return lines[len(lines)-1]
			}
			if got, want := last(f.Data), last(c.Files[i].Data); got != want {
				t.Errorf("%s %s: last line %q, want %q", id, f.Name, got, want)
			}
		}
		if strings.HasPrefix(string(d.Files[0].Data), strings.SplitAfter(text(c), "\n")[0]) {
			t.Errorf("%s: the first line is still there", id)
		}
	}
}

func TestLastLinesOfALongLog(t *testing.T) {
	late := strings.Repeat("late\n", tailLines)
	c := &Case{Files: []File{{Name: "l", Data: []byte(strings.Repeat("early\n", 300) + late)}}}
	if got := text(variant(t, "last 200 lines", c)); got != late {
		t.Errorf("the cut log has %d early lines", strings.Count(got, "early"))
	}
}

func TestPrefixes(t *testing.T) {
	c := caseOf(t, "A21")
	for name, want := range map[string]string{
		"mpirun tags":           `^\[1,\d+\]<stdout>:`,
		"srun labels":           `^[ \d]\d: `,
		"kubectl and CRI times": `^\[pod/[\w.-]+/main\] \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F `,
		"Ray with colours":      `^\x1b\[36m\(RayWorkerWrapper pid=\d+, ip=[\d.]+\)\x1b\[0m `,
		"torchrun and compose":  `^(\[rank\d+\]:|[\w.-]+-1  \| )`,
	} {
		re, d := regexp.MustCompile(want), variant(t, name, c)
		original := strings.Split(text(c), "\n")
		for i, line := range strings.Split(text(d), "\n") {
			prefix := re.FindString(line)
			if i < len(original)-1 && (prefix == "" || line[len(prefix):] != original[i]) {
				t.Fatalf("%s, line %d: %q isn't %q with a prefix", name, i, line, original[i])
			}
		}
	}
	if got := strings.Count(text(variant(t, "CRLF", c)), "\r\n"); got != strings.Count(text(c), "\n") {
		t.Errorf("CRLF: %d line ends", got)
	}
}

func TestInterleaved(t *testing.T) {
	c := caseOf(t, "A10")
	d := text(variant(t, "interleaved lines", c))
	if !strings.Contains(d, "other-1:") || !strings.Contains(d, "other-2:") {
		t.Error("no lines of the other job")
	}
	rest := strings.Split(text(c), "\n")
	for line := range strings.SplitSeq(d, "\n") {
		if len(rest) > 0 && line == rest[0] {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		t.Errorf("the line %q and %d more of the case are lost or out of order", rest[0], len(rest)-1)
	}
	if regexp.MustCompile(`(?m)^\n.*other-`).MatchString(d) {
		t.Error("a line of the other job separates a WARN line from its empty line")
	}
	glued := text(variant(t, "glued lines", c))
	if n := len(regexp.MustCompile(`(?m)NCCL INFO .*NCCL INFO `).FindAllString(glued, -1)); n < 3 {
		t.Errorf("%d lines hold two lines, want at least 3", n)
	}
}

func TestLevels(t *testing.T) {
	c := caseOf(t, "A04")
	warn := text(variant(t, "only WARN", c))
	if strings.Contains(warn, "NCCL INFO") || !strings.Contains(warn, "NCCL WARN Call to ibv_modify_qp failed") {
		t.Errorf("only WARN keeps INFO lines or loses WARN lines:\n%s", warn)
	}
	for id, version := range map[string]string{
		"A17": "NCCL version 2.30.3+cuda13.0\n", "A04": "NCCL version 2.14.3+cuda11.7\n",
	} {
		if log := text(variant(t, "only WARN", caseOf(t, id))); strings.Count(log, version) != 1 ||
			!strings.Contains("\n"+log, "\n"+version) {
			t.Errorf("%s: want the version once and without a host", id)
		}
	}
	for _, id := range []string{"A04", "A17", "A36", "A06", "H02"} {
		log := text(variant(t, "default subsystems", caseOf(t, id)))
		for _, part := range []string{"qpn ", "qp_num 1", "GPU Direct RDMA", "retrying 1/35", "=== System"} {
			if strings.Contains(log, part) && !(id == "A17" && part == "qp_num 1") {
				t.Errorf("%s: %q is still shown", id, part)
			}
		}
		if !strings.Contains(log, "NCCL INFO NET/IB : Using") {
			t.Errorf("%s: the list of devices is lost", id)
		}
	}
}

func TestNodeMissing(t *testing.T) {
	c := caseOf(t, "A29")
	d := text(variant(t, "one node missing", c))
	if strings.Contains(d, "mgx-2:") || !strings.Contains(d, "mgx-1:") {
		t.Errorf("want the lines of mgx-1 only:\n%s", d)
	}
	for _, v := range Variants() {
		if _, ok := v.Apply(caseOf(t, "D06")); ok && slices.Contains(
			[]string{"one node missing", "only WARN", "default subsystems"}, v.Name) {
			t.Errorf("variant %s applies to a case without NCCL", v.Name)
		}
	}
}
