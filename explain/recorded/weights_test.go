package recorded_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// first returns the causes of the first finding about a log, beside a recording with these events.
func first(t *testing.T, log string, events ...*evidence.Event) []explain.CauseDocument {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.log": log, "n.tree": "[proc/sys/kernel]\nhostname = gpu-00\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(_ context.Context, name string, _ io.Reader) (*explain.Recording, error) {
		for _, e := range events {
			e.Place.File, e.Process = name, evidence.Process{File: name, Host: "gpu-00", Rank: evidence.NoRank}
		}
		return &explain.Recording{Node: "gpu-00", Events: events}, nil
	}
	report, err := explain.Explain(t.Context(), input.All([]string{dir}, nil), explain.Options{Recordings: read})
	if err != nil {
		t.Fatal(err)
	}
	return report.Document().Findings[0].Causes
}

func confidenceOf(list []explain.CauseDocument, cause string) rules.Confidence {
	i := slices.IndexFunc(list, func(c explain.CauseDocument) bool { return c.Cause == cause })
	if i < 0 {
		return "none"
	}
	return list[i].Confidence
}

func check(id, outcome, object string) *evidence.Event {
	return &evidence.Event{
		Kind: evidence.OwnDoctor, Text: object + ": fault",
		Fields: evidence.Fields{"check": id, "outcome": outcome, "object": object},
	}
}

// A check that warns says less than one that fails, and one of several ports counts once.
func TestWeights(t *testing.T) {
	protection := strings.Replace(fmt.Sprintf(completion, "gpu-00", "::ffff:10.0.0.1", "::ffff:10.0.0.2"),
		"error 12,", "error 4,", 1)
	for outcome, want := range map[string]rules.Confidence{"warn": rules.Possible, "fail": rules.Likely} {
		causes := first(t, protection, &evidence.Event{Kind: evidence.RecordedNode}, check("acs", outcome, "node"))
		if got := confidenceOf(causes, "acs"); got != want {
			t.Errorf("acs %s: %s, want %s", outcome, got, want)
		}
	}
	timeout := fmt.Sprintf(completion, "gpu-00", "::ffff:10.0.0.1", "::ffff:10.0.0.2")
	causes := first(t, timeout, &evidence.Event{Kind: evidence.RecordedNode},
		check("mtu", "warn", "a:1"), check("mtu", "warn", "b:1"), check("mtu", "warn", "c:1"),
		check("mtu", "warn", "d:1"))
	if got := confidenceOf(causes, "mtu-too-small"); got != rules.Possible {
		t.Errorf("mtu of four ports: %s, want possible", got)
	}
}

// What a damaged recording doesn't have proves nothing.
func TestPartialTable(t *testing.T) {
	log := fmt.Sprintf(devices+modify, "gpu-00", "61 No data available", 7, "::ffff:10.100.0.10", "::ffff:10.100.0.2")
	for _, partial := range []string{"", "yes"} {
		causes := first(t, log,
			&evidence.Event{Kind: evidence.RecordedNode, Fields: evidence.Fields{"partial": partial}},
			&evidence.Event{Kind: evidence.RecordedPort, Fields: evidence.Fields{
				"device": "mlx5_0", "port": "1", "link": "RoCE", "state": "ACTIVE",
				"gids": "3 0000:0000:0000:0000:0000:ffff:0a64:000a v2",
			}})
		found := false
		for _, c := range causes {
			found = found || strings.Contains(evidenceText(&c), "which the connection uses, is empty")
		}
		if found != (partial == "") {
			t.Errorf("partial %q: empty %v", partial, found)
		}
	}
}

// evidenceText returns what speaks for a cause.
func evidenceText(c *explain.CauseDocument) string {
	var b strings.Builder
	for _, e := range c.For {
		fmt.Fprintf(&b, "%s %v\n", e.Text, e.Places)
	}
	return b.String()
}

// Host names are equal with and without a domain, and not with different ones.
func TestHostNames(t *testing.T) {
	memory := "%s:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
	for _, c := range []struct {
		log, recorded string
		same          bool
	}{
		{"gpu-00", "gpu-00", true},
		{"gpu-00", "gpu-00.example.com", true},
		{"gpu-00.example.com", "gpu-00", true},
		{"gpu-00.example.com", "gpu-00.example.org", false},
		{"gpu-00", "gpu-01.example.com", false},
	} {
		data := packed(t, "57_memlock_small", func(tree *nodetree.Tree) {
			if err := tree.Set("proc/sys/kernel/hostname", c.recorded+"\n"); err != nil {
				t.Fatal(err)
			}
		})
		d := explained(t, map[string][]byte{"a.log": fmt.Appendf(nil, memory, c.log), "n.tar.gz": data})
		if got := strings.Contains(evidenceText(&d.Findings[0].Causes[0]), "doctor says so too"); got != c.same {
			t.Errorf("%s and %s: %v, want %v", c.log, c.recorded, got, c.same)
		}
	}
}
