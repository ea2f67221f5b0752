package providertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// TestJudge checks when a declared fault makes a rule pass.
func TestJudge(t *testing.T) {
	failed := []string{"it fails"}
	for _, tt := range []struct {
		name, until, kernel string
		failures            []string
		want                string // part of the failures; "" is none
	}{
		{"another/rule", "", "", failed, "it fails"},
		{"another/rule", "", "", nil, ""},
		{"a/rule", "", "", failed, ""},
		{"a/rule", "", "", nil, "remove the declaration"},
		{"a/rule", "6.1", "6.1.0-30-amd64", failed, ""},
		{"a/rule", "6.1", "5.15.0", failed, ""},
		{"a/rule", "6.1", "6.1.0", nil, "remove the declaration"},
		{"a/rule", "6.1", "6.12.3", failed, "known up to kernel 6.1"},
		{"a/rule", "6.1", "6.12.3", nil, "known up to kernel 6.1"},
		{"a/rule", "6.1.20", "6.1.21", nil, "known up to kernel 6.1.20"},
		{"a/rule", "6.1", "", failed, ""},
		{"at/times", "", "", failed, ""},
		{"at/times", "", "", nil, ""},
	} {
		options := &Options{Faults: []Fault{
			{Rule: "a/rule", Reason: "why", Until: tt.until}, {Rule: "at/times", Reason: "why", Sometimes: true},
		}, Kernel: tt.kernel}
		v := judge(tt.name, tt.failures, options)
		if got := strings.Join(v.failures, "\n"); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s until %q on %q, failures %v: %q, want %q",
				tt.name, tt.until, tt.kernel, tt.failures, got, tt.want)
		}
	}
}

// TestUnknownFault checks that a fault of a rule that doesn't exist is found.
func TestUnknownFault(t *testing.T) {
	faults := []Fault{{Rule: "rnr/send-ends"}, {Rule: "rnr/no-such-rule"}}
	if got := unknownFaults(subjects(), faults); len(got) != 1 || got[0].Rule != "rnr/no-such-rule" {
		t.Errorf("unknown faults %v", got)
	}
}

// TestNames checks that the names of rules are unique and usable in go test -run.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range subjects() {
		for _, r := range s.rules {
			name := s.name + "/" + r.name
			if seen[name] || strings.ContainsAny(name, " →()") || strings.ToLower(name) != name {
				t.Errorf("rule %q: another has the name, or it can't be typed", name)
			}
			seen[name] = true
		}
	}
}

// device is a device that can only be closed.
type device struct {
	provider.Device
	err error
}

func (d *device) Close() error { return d.err }

// TestExecute checks what becomes of rules that fail, end early, hang, and leave objects open.
func TestExecute(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for _, tt := range []struct {
		name string
		run  func(*check)
		err  error // of Close of the device
		want []string
	}{
		{"holds", func(*check) {}, nil, nil},
		{"fails", func(c *check) { c.errorf("one"); c.errorf("two") }, nil, []string{": one", ": two"}},
		{"ends", func(c *check) { c.fatalf("one"); c.errorf("two") }, nil, []string{": one"}},
		{"panics not", func(c *check) { c.must(provider.ErrBusy) }, nil, []string{": in use"}},
		{"leaves an object", func(*check) {}, provider.ErrBusy, []string{"close the device after its objects"}},
		{"hangs", func(*check) { <-release }, nil, []string{"goroutine"}},
	} {
		options := Options{Limit: 50 * time.Millisecond}.withDefaults()
		d := &device{err: tt.err}
		c := newCheck(Pair{A: Endpoint{Device: d}, B: Endpoint{Device: d}}, &options, false)
		got := slices.Compact(c.execute(rule{tt.name, 0, tt.run}))
		if len(got) != len(tt.want) {
			t.Errorf("%s: failures %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tt.want[i]) {
				t.Errorf("%s: failure %q, want %q", tt.name, got[i], tt.want[i])
			}
		}
	}
}
