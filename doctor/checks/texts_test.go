package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
)

// pageOf returns what the reference says about a check.
func pageOf(t *testing.T, id string) string {
	t.Helper()
	return strings.Join(strings.Fields(string(doctor.Markdown([]doctor.Check{check(t, id)}, nil, nil))), " ")
}

// TestReference checks statements of the reference against their sources.
func TestReference(t *testing.T) {
	for _, c := range []struct{ id, says, without string }{
		// UCX removed it: openucx/ucx#8090.
		{"memlock-jobs", "Cannot allocate memory", "512 MiB"},
		// NCCL's sender waits until the receiver has posted; the buffer's size changes nothing.
		{"receiver-not-ready", "UCX_RC_RX_QUEUE_LEN", "NCCL_BUFFSIZE"},
		// 10^10 bit/s x 3600 s x 10^-12 = 36.
		{"symbol-errors", "| 120 per hour |", "10^-12 on a 4X SDR link"},
		{"symbol-errors", "if the readings are closer together than that, the number", ""},
		{"symbol-errors", "which InfiniBand allows, is 36 an hour at 10 Gb/s", ""},
		{"counter-saturated", "a saturated counter does not grow", "between two readings"},
		{"completion-errors", "without flush errors, between two readings", "req_cqe_flush_error"},
		{"pause-time", "| 10 % | share of the time", "% | compute port that spends"},
		{"bit-errors", "| 0.00024 | corrected bits, divided by all bits", "| 0.00024 | bit errors before"},
		{"packets-lost", "| 0.001 | packets that were repeated", "| 0.001 | packets of a compute port that were"},
		{"carrier-lost", "| lost carriers between two readings |", "of carrier_down_count, carrier_changes"},
		{"shared-memory", "| 1 GiB |", "e+09"},
		{"receive-buffer", "| 4 MiB |", "212992"},
	} {
		page := pageOf(t, c.id)
		if !strings.Contains(page, c.says) {
			t.Errorf("%s: the reference doesn't say %q: %s", c.id, c.says, page)
		}
		if c.without != "" && strings.Contains(page, c.without) {
			t.Errorf("%s: the reference says %q", c.id, c.without)
		}
	}
}

// TestThresholdsAreCompared checks that each threshold says what is compared with it, which the
// title of a check doesn't, and that none has no effect.
func TestThresholdsAreCompared(t *testing.T) {
	for _, c := range checks.All() {
		for _, th := range c.Thresholds {
			if th.What == c.Title || th.What == "" {
				t.Errorf("%s: threshold %s is compared with %q", c.ID, th.Name, th.What)
			}
		}
	}
	if got := check(t, "counter-saturated").Thresholds; len(got) > 0 {
		t.Errorf("counter-saturated compares nothing, and has the thresholds %v", got)
	}
	if got := check(t, "counter-saturated").Severity; got != doctor.OutcomeWarn {
		t.Errorf("severity of counter-saturated = %s, want warn", got)
	}
}

// TestSaturatedRemedies checks that a saturated counter is reset before it is read twice, that the
// values are noted before, and that the reset of a port's counters is no line to paste.
func TestSaturatedRemedies(t *testing.T) {
	tree := func(name, value string) change { return port("mlx5_0", "counters/"+name, value) }
	for _, c := range []struct{ id, counter, value string }{
		{"counter-saturated", "excessive_buffer_overrun_errors", "15"},
		{"buffer-overruns", "excessive_buffer_overrun_errors", "15"},
		{"link-downed", "link_downed", "255"},
	} {
		r := diagnose(t, load(t, "01_ib_8hca", tree(c.counter, c.value)), c.id)
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Object == "mlx5_0:1" })
		if i < 0 {
			t.Errorf("%s: no finding: %v", c.id, brief(r))
			continue
		}
		remedy := strings.Join(r.Findings[i].Remedy, "\n")
		steps := []string{
			"perfquery -C mlx5_0 -P 1   # note these values", "# perfquery -R -C mlx5_0 -P 1 resets all counters",
			"rdmactl doctor ",
		}
		at := -1
		for _, step := range steps {
			next := strings.Index(remedy, step)
			if next <= at {
				t.Errorf("%s: %q is missing or too early:\n%s", c.id, step, remedy)
			}
			at = next
		}
		for _, line := range r.Findings[i].Remedy {
			if strings.Contains(paste(line), "perfquery -R") {
				t.Errorf("%s: the line %q can be pasted", c.id, line)
			}
		}
	}
	for _, c := range []struct{ counter, value string }{
		{"excessive_buffer_overrun_errors", "14"}, {"link_downed", "254"},
	} {
		for _, id := range []string{"buffer-overruns", "link-downed"} {
			r := diagnose(t, load(t, "01_ib_8hca", tree(c.counter, c.value)), id)
			if got := allText(r.Findings); strings.Contains(got, "perfquery") {
				t.Errorf("%s with %s = %s: a counter that can grow is reset: %s", id, c.counter, c.value, got)
			}
		}
	}
}

// TestRemoteErrorsLeaveTheCable checks that packets that were bad before the last link don't send
// anybody to the cable of that link.
func TestRemoteErrorsLeaveTheCable(t *testing.T) {
	r := diagnose(t, load(t, "01_ib_8hca", readings(portReadings("mlx5_0:1",
		two{"counters", "port_rcv_remote_physical_errors", 5, 6}))), "remote-physical-errors")
	i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Outcome == doctor.OutcomeWarn })
	if i < 0 {
		t.Fatalf("no warning: %v", brief(r))
	}
	got := fmt.Sprint(r.Findings[i].Remedy, check(t, "remote-physical-errors").Remedy)
	if strings.Contains(strings.ToLower(got), "reseat") || strings.Contains(got, "mlxlink") ||
		!strings.Contains(got, "symbol errors on links of switches") {
		t.Errorf("remedy: %s", got)
	}
}

// TestFailMeansSlowToo checks that the definition of a failure covers those that only take
// bandwidth, such as a rail at half the rate.
func TestFailMeansSlowToo(t *testing.T) {
	page := string(doctor.Markdown(nil, nil, nil))
	if !strings.Contains(page, "| fail | jobs don't run, hang, fall back to TCP, or lose much of their bandwidth |") {
		t.Errorf("the reference defines fail otherwise: %s", page)
	}
	html, err := doctor.Report{Verdict: doctor.OutcomeFail}.HTML(doctor.PageInput{})
	if err != nil || !strings.Contains(string(html), "or lose much of their bandwidth") {
		t.Errorf("the page defines fail otherwise: %v", err)
	}
}
