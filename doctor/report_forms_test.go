package doctor_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/testkit/ciforms"
	"github.com/rdmakit/rdmakit/inventory"
)

// hostile is a name that no form may let through as it is.
const hostile = "</script><script>alert(1)</script>\"'&|\\\n\x1b[31m\u202e\xff"

// formChecks are checks of each outcome, one of them with a hostile object.
func formChecks() []doctor.Check {
	of := func(id string, g doctor.Group, findings ...doctor.Finding) doctor.Check {
		c := giving(id, findings...)
		c.Group = g
		c.Uses = []facts.Kind{facts.KindClock, facts.KindLinks}
		c.Thresholds = []doctor.Threshold{{Name: "use-warn", Value: 80, Unit: "%"}}
		return c
	}
	bad := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: hostile, Summary: "broken " + hostile,
		Evidence: []doctor.Evidence{
			{Path: "ethtool:eth0:rx_errors", Value: hostile}, {Path: "/proc/self/limits:Max locked memory", Value: "1"},
		},
		Actions: []doctor.Action{doctor.Shell("echo %s", hostile)},
	}
	warn := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: "eth0", Summary: "slow"}
	return []doctor.Check{
		of("fails", doctor.GroupLink, bad, doctor.Passed("node", "others are well")),
		of("warns", doctor.GroupLink, warn, warn),
		of("unknown", doctor.GroupHost, doctor.Unknown("node", "input/output error")),
		of("root", doctor.GroupHost, doctor.NeedsPrivilege("node", "the kernel's log")),
		of("other", "", doctor.NotApplicable("node", "no GPU")),
		of("muted", doctor.GroupQoS, doctor.Finding{Outcome: doctor.OutcomeFail, Object: "eth1", Summary: "known"}),
		of("trial", doctor.GroupQoS, doctor.Finding{Outcome: doctor.OutcomeFail, Object: "eth2", Summary: "perhaps"}),
		of("passes", doctor.GroupQoS, doctor.Passed("node", "all well")),
	}
}

// forms returns the report of formChecks.
func forms(t *testing.T) doctor.Report {
	t.Helper()
	f := facts.New(nil)
	f.Clock = &facts.Datum[facts.ClockDiscipline]{Taken: formTime, Took: 250 * time.Millisecond}
	f.Links = &facts.Datum[[]facts.Link]{Taken: formTime, Error: hostile}
	snap := inventory.Snapshot{Host: inventory.Host{Name: "n" + hostile}, Devices: []inventory.Device{{Name: "mlx5_0"}}}
	in := doctor.Input{Snapshot: &snap, Facts: f}
	r, err := doctor.Run(t.Context(), formChecks(), in, doctor.Options{
		Now: formTime, Shadow: []string{"trial"}, NotCovered: []string{hostile},
		Thresholds: map[string]float64{"use-warn": 90}, Version: "v1.2.3",
		Suppressions: []doctor.Suppression{{CheckID: "muted", Reason: hostile, Who: "jd", Until: "2099-12-31"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var formTime = time.Date(2027, 1, 31, 12, 0, 0, 500e6, time.UTC)

func TestJUnitForm(t *testing.T) {
	for _, tt := range []struct {
		strict           bool
		failures, errors int
	}{{false, 1, 1}, {true, 3, 1}} {
		data, err := forms(t).JUnit(tt.strict)
		if err != nil {
			t.Fatal(err)
		}
		if err := ciforms.JUnit(data); err != nil {
			t.Errorf("%v in\n%s", err, data)
		}
		var got struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Suites   []struct {
				Name    string `xml:"name,attr"`
				Skipped int    `xml:"skipped,attr"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		skipped := map[string]int{}
		for _, s := range got.Suites {
			skipped[s.Name] = s.Skipped
		}
		want := "map[flow control and priorities:2 host, PCI Express and GPUs:1 link quality:0 other checks:1]"
		if got.Tests != 10 || got.Failures != tt.failures || got.Errors != tt.errors || fmt.Sprint(skipped) != want {
			t.Errorf("strict %v: %d tests, %d failures, %d errors, skipped %v", tt.strict, got.Tests, got.Failures,
				got.Errors, skipped)
		}
	}
}

func TestSARIFForm(t *testing.T) {
	schema := ciforms.SARIFSchema(t)
	r := forms(t)
	data, err := r.SARIF("v1.2.3", formChecks())
	if err != nil {
		t.Fatal(err)
	}
	if err := ciforms.SARIF(schema, data); err != nil {
		t.Errorf("%v in\n%s", err, data)
	}
	var got struct {
		Runs []struct {
			Results []struct {
				RuleID, Kind, Level string
				Suppressions        []struct{ Justification string }
				Locations           []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					LogicalLocations []struct{ FullyQualifiedName, Kind string }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, res := range got.Runs[0].Results {
		at := res.Locations[0]
		lines = append(lines, fmt.Sprintf("%s %q %s %s %s suppressed=%v", res.RuleID, res.Kind, res.Level,
			at.LogicalLocations[0].Kind, at.PhysicalLocation.ArtifactLocation.URI, len(res.Suppressions) > 0))
	}
	want := []string{
		`fails "" error other file:///proc/self/limits suppressed=false`,
		`fails "pass" none node  suppressed=false`,
		`warns "" warning other  suppressed=false`,
		`warns "" warning other  suppressed=false`,
		`unknown "open" none node  suppressed=false`,
		`root "open" none node  suppressed=false`,
		`other "notApplicable" none node  suppressed=false`,
		`muted "" error other  suppressed=true`,
		`passes "pass" none node  suppressed=false`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("results:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	why := got.Runs[0].Results[7].Suppressions[0].Justification
	if !strings.HasPrefix(why, "until 2099-12-31: </script>") {
		t.Errorf("justification %q", why)
	}
}

// parse reads an exposition as Prometheus does.
func parse(t *testing.T, data []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	return families
}

func TestPrometheusForm(t *testing.T) {
	data := forms(t).Prometheus()
	families := parse(t, data)
	series := map[string]float64{}
	for name, family := range families {
		if family.GetType() != dto.MetricType_GAUGE || family.GetHelp() == "" ||
			!strings.HasPrefix(name, "rdmactl_doctor_") {
			t.Errorf("%s is a %v, help %q", name, family.GetType(), family.GetHelp())
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := strings.TrimPrefix(name, "rdmactl_doctor_") + "{" + strings.Join(labels, ",") + "}"
			if _, twice := series[key]; twice {
				t.Errorf("series %s is there twice", key)
			}
			if m.TimestampMs != nil {
				t.Errorf("series %s has a time, which the textfile collector rejects", key)
			}
			series[key] = m.GetGauge().GetValue()
		}
	}
	for key, want := range map[string]float64{
		"last_run_timestamp_seconds{}": 1801396800.5,
		"checks{outcome=fail}":         1,
		"checks{outcome=info}":         0,
		"checks{outcome=suppressed}":   1,
		"checks{outcome=shadow}":       1,
		"findings{outcome=warn}":       2,
		"check{check=passes,group=flow control and priorities,outcome=pass}":                                 1,
		"check{check=root,group=host, PCI Express and GPUs,outcome=needs-privilege}":                         1,
		"finding{check=warns,object=eth0,kind=other,outcome=warn}":                                           2,
		"finding{check=fails,object=" + strings.ToValidUTF8(hostile, "\uFFFD") + ",kind=other,outcome=fail}": 1,
		"check{check=muted,group=flow control and priorities,outcome=suppressed}":                            1,
		"suppressed_finding{check=muted,object=eth1,kind=other,outcome=fail}":                                1,
		"changed_limit{limit=use-warn,unit=%}":                                                               90,
		"gather_seconds{kind=clock,state=known}":                                                             0.25,
	} {
		if got, ok := series[key]; !ok || got != want {
			t.Errorf("%q = %v, %v, want %v", key, got, ok, want)
		}
	}
	for key := range series {
		if strings.HasPrefix(key, "suppressed_finding{check=muted,object=eth1,") {
			continue
		}
		if strings.Contains(key, "eth1") || strings.Contains(key, "eth2") || strings.Contains(key, "check=trial") {
			t.Errorf("series %s doesn't count", key)
		}
	}
}

func TestNagiosForm(t *testing.T) {
	line, code := forms(t).Nagios()
	if code != doctor.NagiosCritical || strings.ContainsAny(line, "\n\x1b\u202e") || strings.Count(line, "|") != 1 {
		t.Errorf("Nagios = %q, %d", line, code)
	}
	want := regexp.MustCompile(`^RDMA CRITICAL - 8 checks: 1 failed, 1 unknown, 1 warning, 1 passed: fails .*; ` +
		`unknown node: input/output error; warns eth0: slow; and 1 more \| ` +
		`failed=1;;0;0;8 unknown=1;;;0;8 warnings=1;0;;0;8 passed=1;;;0;8$`)
	if !want.MatchString(line) {
		t.Errorf("Nagios = %q", line)
	}
	for id, want := range map[string]int{
		"passes": doctor.NagiosOK, "warns": doctor.NagiosWarning, "unknown": doctor.NagiosUnknown,
		"fails": doctor.NagiosCritical, "other": doctor.NagiosUnknown, "root": doctor.NagiosUnknown,
	} {
		r, err := doctor.Run(t.Context(), formChecks(), node(),
			doctor.Options{Only: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		if line, code := r.Nagios(); code != want {
			t.Errorf("%s: Nagios = %q, %d, want %d", id, line, code, want)
		}
	}
}

// TestNagiosSilenced runs checks of which no finding counts.
func TestNagiosSilenced(t *testing.T) {
	for _, tt := range []struct {
		only []string
		want string
		code int
	}{
		{[]string{"muted"}, "RDMA OK - 1 check: 1 suppressed |", doctor.NagiosOK},
		{[]string{"trial"}, "RDMA UNKNOWN - 1 check: 1 on trial |", doctor.NagiosUnknown},
		{[]string{"root", "trial"}, "RDMA UNKNOWN - 2 checks: 1 only as root, 1 on trial |", doctor.NagiosUnknown},
		{[]string{"other"}, "RDMA UNKNOWN - 1 check: none applies to this node |", doctor.NagiosUnknown},
	} {
		r, err := doctor.Run(t.Context(), formChecks(), node(), doctor.Options{
			Only: tt.only, Shadow: []string{"trial"}, Suppressions: []doctor.Suppression{{CheckID: "muted"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if line, code := r.Nagios(); code != tt.code || !strings.HasPrefix(line, tt.want) {
			t.Errorf("%v: Nagios = %q, %d, want %q, %d", tt.only, line, code, tt.want, tt.code)
		}
	}
}

// TestHTMLForm checks that the page is one file that loads and runs nothing, and that it has every
// finding and nothing of the node as markup.
func TestHTMLForm(t *testing.T) {
	data, err := forms(t).HTML(doctor.PageInput{Snapshot: &inventory.Snapshot{
		Devices: []inventory.Device{{
			Name: hostile, BoardID: "MT_0000000838",
			Ports: []inventory.Port{{Number: 1, State: inventory.PortStateActive, Netdev: hostile}},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, forbidden := range []string{
		"<script", "<link", "<img", "<iframe", "@import", "url(", "src=", "href=", "onload", "\x1b", "\u202e",
	} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	for _, wanted := range []string{
		`default-src &#39;none&#39;`, "v1.2.3", "2027-01-31 12:00:00 UTC", "A check failed", "1 failed<",
		"prefers-color-scheme: dark",
		"@media print", "title of fails", "ethtool:eth0:rx_errors = ", "all well", "input/output error", "no GPU",
		"the kernel&#39;s log", "until 2099-12-31", "perhaps", "MT_0000000838", "0.250",
		"use-warn 90 % (default 80 %)", "&lt;/script&gt;",
	} {
		if !strings.Contains(strings.ReplaceAll(page, "'none'", "&#39;none&#39;"), wanted) {
			t.Errorf("the page has no %q", wanted)
		}
	}
}

// TestSARIFLevels checks the level of each outcome (SARIF 2.1.0, 3.27.10).
func TestSARIFLevels(t *testing.T) {
	for o, want := range map[doctor.Outcome]string{
		doctor.OutcomeFail: "error", doctor.OutcomeWarn: "warning", doctor.OutcomeInfo: "note",
		doctor.OutcomePass: "none",
	} {
		checks := []doctor.Check{giving("a", found(o, "x"))}
		data, err := run(t, node(), doctor.Options{}, checks...).SARIF("v1", checks)
		if err != nil {
			t.Fatal(err)
		}
		var log struct {
			Runs []struct {
				Results []struct{ Level string }
			}
		}
		if err := json.Unmarshal(data, &log); err != nil || log.Runs[0].Results[0].Level != want {
			t.Errorf("level of %s = %+v, %v, want %s", o, log, err, want)
		}
	}
}

// TestHTMLOrder checks that the worst part of the node and the worst finding of a part come first.
func TestHTMLOrder(t *testing.T) {
	of := func(id string, g doctor.Group, o doctor.Outcome) doctor.Check {
		c := giving(id, found(o, "x"))
		c.Group = g
		return c
	}
	r := run(t, node(), doctor.Options{},
		of("harmless", doctor.GroupInventory, doctor.OutcomeInfo), of("slow", doctor.GroupHost, doctor.OutcomeWarn),
		of("broken", doctor.GroupHost, doctor.OutcomeFail))
	data, err := r.HTML(doctor.PageInput{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(id string) int { return strings.Index(string(data), "<code>"+id+"</code>") }
	if at("broken") < 0 || at("broken") > at("slow") || at("slow") > at("harmless") {
		t.Errorf("broken at %d, slow at %d, harmless at %d, want this order", at("broken"), at("slow"), at("harmless"))
	}
}

// TestHTMLSince checks that the page has what a comparison found.
func TestHTMLSince(t *testing.T) {
	r := forms(t)
	before := r
	before.Checks = append(slices.Clone(r.Checks), doctor.CheckResult{ID: "older"})
	before.Objects = []doctor.Object{{Kind: doctor.KindDevice, Name: "mlx5_7"}}
	before.Findings = []doctor.Finding{
		{CheckID: "fails", Object: "eth0", Outcome: doctor.OutcomeFail, Summary: "was broken"},
		{CheckID: "warns", Object: "eth0", Outcome: doctor.OutcomeInfo, Summary: "was slower"},
		{CheckID: "other", Object: "eth0", Outcome: doctor.OutcomeInfo, Summary: "was there"},
		{CheckID: "fails", Object: "mlx5_7", Outcome: doctor.OutcomeFail, Summary: "was hot"},
	}
	if err := r.Compare(before); err != nil {
		t.Fatal(err)
	}
	data, err := r.HTML(doctor.PageInput{})
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(data), "")
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"vanished device mlx5_7; it had fails mlx5_7: was hot (fail)", "new unknown node: input/output error (unknown)",
		"changed warns eth0: slow (warn); was info: was slower", "gone fails eth0: was broken (fail)",
		"not judged other eth0: was there (info)", "not compared: 1 check older, only in the earlier report",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	same := r
	if err := r.Compare(same); err != nil {
		t.Fatal(err)
	}
	data, err = r.HTML(doctor.PageInput{})
	if err != nil || !strings.Contains(string(data), "Nothing changed.") {
		t.Errorf("HTML = %v, the page doesn't say that nothing changed", err)
	}
}
