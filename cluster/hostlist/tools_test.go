package hostlist_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/hostlist"
)

// rows returns the lines of a file that testdata/record.sh wrote, split at tabs.
func rows(t *testing.T, name string, fields int) [][]string {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out [][]string
	for s := bufio.NewScanner(file); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		row := strings.Split(s.Text(), "\t")
		if len(row) != fields {
			t.Fatalf("%s: %q has %d fields, want %d", name, s.Text(), len(row), fields)
		}
		out = append(out, row)
	}
	if len(out) < 200 {
		t.Fatalf("%s has only %d lines", name, len(out))
	}
	return out
}

// stricter are lists that this package rejects although ClusterShell, the strictest of the tools,
// accepts them, with a part of the message.
var stricter = []struct {
	list *regexp.Regexp
	want string
}{
	{regexp.MustCompile(`^[^\[]*\[[^\]]* `), "is not a number"}, // a blank in brackets: gpu[1 -2]
	{regexp.MustCompile(`[^ ,] [^ ,]`), "blank in a name"},
	{regexp.MustCompile(`\[(.*,)?-`), "no first number"},                         // negative numbers
	{regexp.MustCompile(`\d-\d+-\d`), "is not a number"},                         // up to a negative number
	{regexp.MustCompile(`\[[^\]]*--`), "is not a number"},                        // up to a negative number
	{regexp.MustCompile(`\[[\d-]+/\d+\]`), "is not a number"},                    // steps
	{regexp.MustCompile(`\[\+`), "is not a number"},                              // signs
	{regexp.MustCompile(`\d{19}`), "more than 18 digits"},                        // large numbers
	{regexp.MustCompile(`[{}();$*"'\\|&%=]`), "is not allowed in a name"},        // characters of shells
	{regexp.MustCompile(`:(8|22)$`), "names have no ports"},                      // ports
	{regexp.MustCompile(`^\.`), "begins with a dot"},                             // no name of the DNS
	{regexp.MustCompile(`^gpu\[1-3\],-gpu9$`), "excludes a host that is not in"}, // no exclusion for ClusterShell
}

// TestTools compares all recorded lists with what Slurm, pdsh and ClusterShell make of them.
func TestTools(t *testing.T) {
	t.Parallel()
	var same, rejected, strict int
	for _, row := range rows(t, "expand.txt", 4) {
		list, slurm, pdsh, shell := row[0], row[1], row[2], row[3]
		got, err := hostlist.Parse(list)
		switch {
		case err == nil && slurm == "!" && pdsh == "!":
			t.Errorf("Parse(%q) = %q; Slurm and pdsh reject it", list, got)
		case err == nil:
			same++
			compareNames(t, list, got, slurm, pdsh, shell)
		case slurm == "!" && pdsh == "!" && shell == "!":
			rejected++
		case shell == "!" || repeats(slurm) || repeats(pdsh):
			strict++
		default:
			strict++
			if !slices.ContainsFunc(stricter, func(s struct {
				list *regexp.Regexp
				want string
			},
			) bool {
				return s.list.MatchString(list) && strings.Contains(err.Error(), s.want)
			}) {
				t.Errorf("Parse(%q): %v; Slurm: %s; pdsh: %s; ClusterShell: %s", list, err, slurm, pdsh, shell)
			}
		}
	}
	t.Logf("%d lists as the tools expand them, %d that all reject, %d that only some reject", same, rejected, strict)
	if same < 250 || rejected < 20 || strict < 40 {
		t.Errorf("too few lists of a kind: %d, %d, %d", same, rejected, strict)
	}
}

// compareNames compares names with those of the tools that accept the list.
func compareNames(t *testing.T, list string, got []string, slurm, pdsh, shell string) {
	t.Helper()
	exclusion := strings.Contains(list, ",-") // of pdsh
	if strings.Count(list, "[") == 3 && !strings.Contains(list, ",") {
		// With three brackets, Slurm 22.05 counts the second slower than the first, and pdsh 2.34
		// expands only two.
		slurm, pdsh = "!", "!"
	}
	if joined := strings.Join(got, " "); slurm != "!" && !exclusion && joined != slurm {
		t.Errorf("Parse(%q) = %s; Slurm: %s", list, joined, slurm)
	}
	var hosts []string // pdsh prints no users
	for _, name := range got {
		hosts = append(hosts, name[strings.Index(name, "@")+1:])
	}
	if joined := strings.Join(hosts, " "); pdsh != "!" && joined != pdsh {
		t.Errorf("Parse(%q) = %s; pdsh: %s", list, joined, pdsh)
	}
	if names := strings.Fields(shell); shell != "!" && !exclusion &&
		!slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(got))) {
		t.Errorf("Parse(%q) = %s; ClusterShell: %s", list, strings.Join(got, " "), shell)
	}
}

// repeats reports whether names are in a text more than once.
func repeats(text string) bool {
	names := strings.Fields(text)
	slices.Sort(names)
	return len(slices.Compact(slices.Clone(names))) < len(names)
}

// TestFolds compares folded names with Slurm's form. It may differ only where Slurm leaves numbers
// unfolded that are not at the end; then it must be shorter, or as ClusterShell's.
func TestFolds(t *testing.T) {
	t.Parallel()
	as, shorter := 0, 0
	for _, row := range rows(t, "fold.txt", 3) {
		names, slurm, shell := row[0], row[1], row[2]
		got := hostlist.Compress(strings.Split(names, ","))
		switch {
		case got == slurm:
			as++
		case len(got) < len(slurm):
			shorter++
		case got != shell:
			t.Errorf("Compress(%s) = %s; Slurm: %s; ClusterShell: %s", names, got, slurm, shell)
		}
		back, err := hostlist.Parse(got)
		switch {
		case repeats(strings.ReplaceAll(names, ",", " ")):
			if err == nil {
				t.Errorf("Parse(%s) = %s, want an error for duplicates", got, back)
			}
		case err != nil || strings.Join(back, ",") != names:
			t.Errorf("Parse(Compress(%s)) = %s, %v", names, strings.Join(back, ","), err)
		}
	}
	t.Logf("%d names folded as Slurm does, %d shorter", as, shorter)
	if as < 100 || shorter < 10 {
		t.Errorf("too few names of a kind: %d, %d", as, shorter)
	}
}
