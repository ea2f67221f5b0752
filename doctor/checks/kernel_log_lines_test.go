package checks_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// logLine is a line of a log that somebody published, and what it means for a job that uses the
// card: an outcome and a word of the summary.
type logLine struct {
	source, text string
	outcome      doctor.Outcome
	word         string
}

// logLines reads testdata/kernel-log.txt.
func logLines(t *testing.T) (faulty, harmless []logLine) {
	t.Helper()
	data, err := os.ReadFile("testdata/kernel-log.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		part := strings.SplitN(strings.TrimSpace(line), "|", 4)
		if strings.HasPrefix(line, "#") || len(part) != 4 {
			continue
		}
		for i := range part {
			part[i] = strings.TrimSpace(part[i])
		}
		l := logLine{source: part[2], text: part[3], outcome: doctor.Outcome(part[0]), word: part[1]}
		if l.outcome == "harmless" {
			harmless = append(harmless, l)
		} else {
			faulty = append(faulty, l)
		}
	}
	return faulty, harmless
}

// message returns a line as the kernel would have it, at some time after the start of the driver.
func (l logLine) message() facts.KernelMessage {
	text, whole := strings.CutPrefix(l.text, "!")
	if !whole {
		text = "mlx5_core 0000:18:00.0: " + text
	}
	return facts.KernelMessage{Since: 100 * time.Second, Level: 4, Text: text}
}

func logged(lines ...facts.KernelMessage) change {
	return recorded(facts.Facts{KernelLog: known(lines)})
}

func TestKernelLogLines(t *testing.T) {
	faulty, harmless := logLines(t)
	if len(faulty) < 20 || len(harmless) < 20 {
		t.Errorf("%d faulty and %d harmless lines, want 20 of each", len(faulty), len(harmless))
	}
	for _, l := range faulty {
		got, pass := findings(t, "kernel-log", "02_rocev2_8hca", logged(l.message()))
		object := "mlx5_0"
		if strings.Contains(l.text, "0000:5b:00.0") {
			object = "0000:5b:00.0"
		}
		if pass {
			t.Errorf("%s (%s): passes", l.text, l.source)
		}
		expectFindings(t, l.text, got, string(l.outcome)+" "+object+": "+l.word)
	}
	for _, l := range harmless {
		got, pass := findings(t, "kernel-log", "02_rocev2_8hca", logged(l.message()))
		if len(got) > 0 || !pass {
			t.Errorf("%s (%s): passed %v, found %q", l.text, l.source, pass, got)
		}
	}
}

// TestKernelLogScope has the same faults on cards that jobs don't use.
func TestKernelLogScope(t *testing.T) {
	at := func(address, text string) facts.KernelMessage {
		return facts.KernelMessage{Since: time.Minute, Text: "mlx5_core " + address + ": " + text}
	}
	const dead = "poll_health:471:(pid 0): device's health compromised - reached miss count"
	const hot = "temp_warn:170:(pid 0): High temperature on sensors with bit set 0 1"
	for _, tt := range []struct {
		name, tree string
		change     change
		line       facts.KernelMessage
		want       []string
	}{
		{"the management card", "40_pf_vfs", nil, at("0000:e1:00.0", dead), nil},
		{"a virtual function of a pod", "40_pf_vfs", nil, at("0000:13:00.1", dead), nil},
		{"a virtual function that is gone", "40_pf_vfs", nil, at("0000:13:00.7", dead), nil},
		{"one with many siblings", "40_pf_vfs", nil, at("0000:13:02.0", dead), nil},
		{
			"a card that is gone", "40_pf_vfs", nil, at("0000:99:00.0", dead),
			[]string{"fail 0000:99:00.0: stopped working"},
		},
		{"the same, hot before", "40_pf_vfs", nil, at("0000:99:00.0", hot), nil},
		{"a card that is gone, in a pod", "02_rocev2_8hca", pod, at("0000:99:00.0", dead), nil},
		{
			"another kind of card that is gone", "40_pf_vfs", nil,
			facts.KernelMessage{Text: "nvme: probe of 0000:99:00.0 failed with error -22"},
			nil,
		},
		{
			"a card without a driver", "42_unbound", nil, at("0000:7b:00.0", dead),
			[]string{"fail 0000:7b:00.0: stopped working"},
		},
	} {
		got, _ := findings(t, "kernel-log", tt.tree, tt.change, logged(tt.line))
		expectFindings(t, tt.name, got, tt.want...)
	}
}

func TestKernelLogSequences(t *testing.T) {
	lines := func(texts ...string) change {
		var all []facts.KernelMessage
		for i, text := range texts {
			all = append(all, facts.KernelMessage{
				Since: time.Duration(i) * time.Minute, Text: "mlx5_core 0000:18:00.0: " + text,
			})
		}
		return logged(all...)
	}
	const (
		start    = "firmware version: 28.36.1010"
		in       = "Port module event: module 0, Cable plugged"
		out      = "Port module event: module 0, Cable unplugged"
		dead     = "poll_health:478:(pid 0): Fatal error 1 detected"
		healed   = "mlx5_health_try_recover:347:(pid 9): health recovery succeeded"
		failed   = "probe with driver mlx5_core failed with error -110"
		otherOut = "Port module event: module 1, Cable unplugged"
		leak     = "wait_func:1132:(pid 1): CREATE_CQ(0x400) timeout. Will cause a leak of a command resource"
	)
	for _, tt := range []struct {
		name   string
		change change
		want   []string
	}{
		{"a cable pulled out", lines(start, in, out), []string{"warn mlx5_0: is not back"}},
		{"and plugged in again, twice", lines(start, in, out, in, out, in), []string{"info mlx5_0: 2 times"}},
		{"an empty cage", lines(start, in, otherOut), nil},
		{"plugged in later", lines(start, out, in), nil},
		{"recovered", lines(start, dead, healed), []string{"warn mlx5_0: or the card recovered"}},
		{"the driver started anew", lines(dead, start), []string{"warn mlx5_0: started anew"}},
		{"and failed again", lines(dead, start, dead), []string{"fail mlx5_0: 2 messages"}},
		{"two kinds of faults", lines(start, leak, leak, leak, leak, dead), []string{
			"fail mlx5_0: did not answer commands of the driver: 4 messages", "fail mlx5_0: stopped working",
		}},
		{"a failed start of a card that has a device now", lines(failed, start), nil},
	} {
		got, _ := findings(t, "kernel-log", "02_rocev2_8hca", tt.change)
		expectFindings(t, tt.name, got, tt.want...)
	}
	r := diagnose(t, load(t, "02_rocev2_8hca", lines(start, leak, leak, leak, leak, leak)), "kernel-log")
	ev := r.Findings[0].Evidence
	if len(ev) != 3 || ev[0].Path != "dmesg:60.000000" || ev[2].Path != "dmesg:300.000000" {
		t.Errorf("evidence %v, want the first two lines and the last", ev)
	}
}

// A DGX Spark prints the message about power at each start; its maker calls it harmless.
func TestKernelLogPowerOnGB10(t *testing.T) {
	l := logLine{text: "mlx5_pcie_event:326:(pid 3202): Detected insufficient power on the PCIe slot (27W)."}
	tree := load(t, "02_rocev2_8hca", logged(l.message()))
	snap := scan(t, tree)
	snap.GPUs = append(snap.GPUs, inventory.GPU{
		PCI: inventory.PCI{Address: "000f:01:00.0", VendorID: 0x10de, DeviceID: 0x2e12},
	})
	in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, tree)}
	r, err := doctor.Run(t.Context(), []doctor.Check{check(t, "kernel-log")}, in, doctor.Options{})
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Outcome != doctor.OutcomeInfo {
		t.Errorf("Run() = %v, %v, want a note", summaries(r), err)
	}
}
