package connect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// causes are the causes of explain for the codes of connect, written from the meaning of both.
var causes = map[connect.Code]string{
	connect.CodeNoGID: "gid-empty", connect.CodeGIDFamily: "gid-index", connect.CodeGIDType: "gid-index",
	connect.CodeLinkLayer: "networks-mixed", connect.CodePKey: "partition", connect.CodePortDown: "port-down",
	connect.CodeMemlock: "memlock", connect.CodeNoRoute: "rails-not-connected",
	connect.CodeUnacknowledged: "udp-blocked", connect.CodeBlockedHere: "udp-blocked",
	connect.CodeRNR: "receiver-not-ready", connect.CodeRejected: "stale-rkey",
	connect.CodeLargeLost: "mtu-too-small", connect.CodePeerEnded: "dead-peer",
	// These have no cause that logs could show.
	connect.CodeModify: "modify", connect.CodeData: "data-mismatch", connect.CodeStalled: "stalled",
}

// firstCause explains a text and returns the first cause.
func firstCause(t *testing.T, text string) string {
	t.Helper()
	inputs := input.All([]string{input.Stdin}, strings.NewReader(text))
	report, err := explain.Explain(t.Context(), inputs, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := report.Document()
	if d.Verdict != explain.VerdictFault {
		return string(d.Verdict)
	}
	_, c := d.First()
	return c.Cause
}

// TestExplainAgrees explains the reports of the planted faults of package connect, as JSON and as
// text.
func TestExplainAgrees(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "connect", "testdata", "faults", "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d reports, %v, want 20", len(files), err)
	}
	agree := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r connect.Report
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		want := causes[r.Attempts[0].Failure.Code]
		text, err := output.New(output.Options{}).Render(r, blocks(&r, false)...)
		if err != nil {
			t.Fatal(err)
		}
		for form, in := range map[string]string{
			"JSON": string(data), "text": string(text),
			"error": "rdmactl: connect: " + r.Attempts[0].Failure.Error() + "\n",
		} {
			if got := firstCause(t, in); got != want {
				t.Errorf("%s, %s: first cause %s, want %s\n%s", filepath.Base(file), form, got, want, in)
				continue
			}
			agree++
		}
	}
	t.Logf("%d of %d agree", agree, 3*len(files))
}
