package explain_test

import "testing"

// A warning of NCCL that no rule knows has the causes of its part of the source: not of another
// part whose name only contains it.
func TestUnknownWarnings(t *testing.T) {
	for _, c := range []struct{ source, cause string }{
		{"gin/gin_host.cc:77", "gin-unsupported"},
		{"transport/shm.cc:77", "shm-too-small"},
		{"graph/xml.cc:77", "topology-view"},
		{"plugin/net.cc:77", ""},
		{"misc/strange.cc:77", ""},
	} {
		d, err := read(t, "n:1:2 [0] "+c.source+" NCCL WARN Something that nobody has seen before\n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(d.Findings) > 0 && len(d.Findings[0].Causes) > 0 {
			got = d.Findings[0].Causes[0].Cause
		}
		if got != c.cause {
			t.Errorf("%s: cause %q, want %q: %+v", c.source, got, c.cause, d.Findings)
		}
	}
}
