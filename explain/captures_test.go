package explain_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
)

// Captures of the kernel's rxe, together with what the failed program printed, lead to the cause
// that was planted (explain/capture/testdata/captures.yaml says what that was).
func TestCaptureWithLog(t *testing.T) {
	const exceeded = "status 12: transport retry counter exceeded\n"
	for _, tt := range []struct{ file, log, cause string }{
		{"mtu-near", exceeded, "mtu-too-small"},
		{"mtu-last-fits-near", exceeded, "mtu-too-small"},
		{"one-way-near", exceeded, "udp-blocked"},
		{"one-way-back-near", exceeded, "udp-blocked"},
		{"peer-gone-near", exceeded, "dead-peer"},
		{"no-right-near", "status 10: remote access error\n", "stale-rkey"},
		{"wrong-key-near", "status 10: remote access error\n", "stale-rkey"},
		{"not-ready-near", "", "receiver-not-ready"},
		{"loss-requests-near", "", "congestion"},
		{"classes-near", "", "traffic-class"},
		{"cm-rejected-near", "cma event RDMA_CM_EVENT_REJECTED, error 8\n", "nobody-listens"},
	} {
		file := filepath.Join("capture", "testdata", "rxe", tt.file+".pcap")
		report, err := explain.Explain(
			t.Context(), input.All([]string{file, input.Stdin}, strings.NewReader(tt.log)), explain.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := report.Document()
		f, c := d.First()
		if c == nil || c.Cause != tt.cause {
			t.Errorf("%s with %q: first %+v, cause %+v, want %s", tt.file, tt.log, f, c, tt.cause)
		}
	}
}

// What follows from a finding is part of its text, and no finding of its own.
func TestFollowingFindings(t *testing.T) {
	file := filepath.Join("capture", "testdata", "rxe", "mtu-last-fits-near.pcap")
	report, err := explain.Explain(t.Context(), input.All([]string{file}, nil), explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) != 1 {
		t.Fatalf("%d findings, want one: %+v", len(report.Findings), report.Findings)
	}
	for _, part := range []string{
		"a packet with 4096 bytes of payload has no answer", "; 1 request packet behind", "; 6 packets sent again",
		"since the last response",
	} {
		if !strings.Contains(report.Findings[0].What, part) {
			t.Errorf("finding %q without %q", report.Findings[0].What, part)
		}
	}
}
