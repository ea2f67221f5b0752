package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/forms/own"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/internal/cli"

	"github.com/rdmakit/rdmakit/doctor/checks"
)

// outputOf runs a command and returns what it prints to standard output and to standard error.
func outputOf(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := cli.NewApp(All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &out, &errs
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir(), "NCCL_IB_GID_INDEX=0"}
	app.Run(t.Context(), args)
	return out.String(), errs.String()
}

// explainedCauses returns the causes that explain puts first, in the order of the findings.
func explainedCauses(t *testing.T, text string) []string {
	t.Helper()
	inputs := input.All([]string{input.Stdin}, strings.NewReader(text))
	report, err := explain.Explain(t.Context(), inputs, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	d := report.Document()
	for _, f := range d.Findings {
		if len(f.Causes) > 0 && !slices.Contains(list, f.Causes[0].Cause) {
			list = append(list, f.Causes[0].Cause)
		}
	}
	slices.Sort(list)
	return list
}

// TestExplainAgrees runs commands that fail or name faults, and explains what they print, as JSON
// and as text. The causes are written from what the commands' codes, checks and counters mean.
func TestExplainAgrees(t *testing.T) {
	trees := filepath.Join("..", "..", "testkit", "testtrees")
	fabric := filepath.Join("testdata", "fabric", "faults.json")
	tree := func(name string) string { return filepath.Join(trees, name+".tree") }
	t.Parallel() // it waits for a ping without an answer
	total, agree := 0, 0
	for _, c := range []struct {
		command string
		want    string
		errors  bool // standard error is a part of the text: there is nothing else
	}{
		{"connect -d roce@127.0.12.71 -p 1 127.0.0.1", "dead-peer", false},
		{"connect roce@127.0.12.72 -x 7", "gid-empty", false},
		{"ping -d roce@127.0.12.73 -p 9 127.0.12.74 -c 1", "udp-blocked", false},
		{"bench write-bw -d roce@127.0.12.75 -p 1 127.0.0.1", "dead-peer", true},
		{"doctor --from " + tree("57_memlock_small"), "memlock", false},
		{"doctor --from " + tree("54_link_local_only"), "gid-index", false},
		{"doctor --from " + tree("20_states"), "port-down", false},
		{"doctor --from " + tree("42_unbound"), "card-driver", false},
		{"doctor --from " + tree("52_xdr"), "link-width", false},
		{
			"env consensus " + filepath.Join(trees, "consensus"),
			"environment-differs mtu-differs rails-not-connected", false,
		},
		{"env lint --from " + tree("56_mtu_1500"), "gid-index", false},
		{"fabric errors --from " + fabric, "cable link-flap", false},
		{"k8s lint " + filepath.Join("..", "..", "..", "k8s", "lint", "testdata", "reports"), "", false},
		{"doctor --from " + tree("58_two_ib_fabrics") + " --from " + tree("consensus/gpu-00"), "", false},
	} {
		args := strings.Fields(c.command)
		text, errs := outputOf(t, args...)
		if c.errors {
			text += errs
		}
		document, _ := outputOf(t, append(args, "-o", "json")...)
		if c.want == "" { // the names are those of rules: both forms have the same ones
			c.want = strings.Join(explainedCauses(t, document), " ")
		}
		for form, in := range map[string]string{"text": text, "JSON": document} {
			if form == "JSON" && c.errors {
				if in != "" {
					t.Errorf("%s: prints a document: %s", c.command, in)
				}
				continue
			}
			total++
			if got := strings.Join(explainedCauses(t, in), " "); got == "" || got != c.want {
				t.Errorf("%s, %s: causes %q, want %q\n%.1500s%s", c.command, form, got, c.want, in, errs)
				continue
			}
			agree++
		}
	}
	report := filepath.Join("..", "..", "..", "cluster", "report", "testdata", "emulated")
	for _, form := range []string{".txt", ".json"} {
		data, err := os.ReadFile(report + form)
		if err != nil {
			t.Fatal(err)
		}
		total++
		if got := strings.Join(explainedCauses(t, string(data)), " "); got != "bad-nic congestion jitter" {
			t.Errorf("cluster report%s: causes %q", form, got)
			continue
		}
		agree++
	}
	t.Logf("%d of %d agree", agree, total)
}

// The forms of package own name all checks, so that none of their lines is overlooked.
func TestOwnNamesChecks(t *testing.T) {
	var ids []string
	for _, c := range checks.All() {
		ids = append(ids, c.ID)
	}
	named := own.Checks()
	for _, id := range ids {
		if !slices.Contains(named, id) {
			t.Errorf("own.Checks has no %s", id)
		}
	}
	for _, id := range named {
		if !slices.Contains(ids, id) && id != "suppressions" {
			t.Errorf("own.Checks has %s, which is no check", id)
		}
	}
}
