package checks

import (
	"context"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// darkMilliwatt is the power below which a lane is dark: -30 dBm. On a link that is up such a lane
// is not in use, as on a breakout cable.
const darkMilliwatt = 0.001

func moduleHealth() doctor.Check {
	return doctor.Check{
		ID: "module-health", Title: "transceiver of a compute port beyond its own limits",
		Severity: doctor.OutcomeFail, Group: doctor.GroupLink, Needs: doctor.NeedDevices, Numbers: []int{33},
		Facts: []facts.Kind{facts.KindModules},
		Explanation: prose.Join(`
			A transceiver measures its temperature, voltage and optical power and names the limits
			that its maker guarantees. Beyond them bit errors grow until the link fails, and cards
			switch off a module that is too hot, often in the middle of a job. Low received power
			is a dirty or bent fibre or a weak sender at the other end, low sent power a laser at
			the end of its life. Passive copper measures nothing.`),
		Remedy: "Hot: check airflow, fans and neighbouring modules. Weak: clean and reseat the fibre at both " +
			"ends, then swap the transceiver.",
		Sources: []string{
			"SFF-8472, SFF-8636, CMIS: alarm and warning thresholds", "net/ethtool/eeprom.c",
		},
		Run: runModuleHealth,
	}
}

func runModuleHealth(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	var skipped []string
	judged := 0
	for _, w := range wiresOf(in.Snapshot) {
		m := moduleFor(in, w.netdev)
		switch {
		case m == nil:
			skipped = append(skipped, "a compute port has no module that can be read")
			continue
		case m.Passive:
			skipped = append(skipped, "the cable of a compute port is passive copper, which measures nothing")
			continue
		case m.Error != "":
			findings = append(findings, doctor.Unknown(w.netdev, "module of %s: %s", w.netdev, m.Error))
		}
		found, ev := judgeModule(w, m, w.up(in.Snapshot))
		findings = append(findings, found...)
		if len(found) == 0 && len(ev) > 0 {
			good = append(good, ev...)
			judged++
		}
		if len(found) == 0 && len(ev) == 0 && m.Error == "" {
			skipped = append(skipped, "the module of a compute port names no limits")
		}
	}
	pass := doctor.Passed(doctor.ObjectNode,
		english.Count(judged, "module")+" of compute ports within their own limits", good...)
	return wireFindings(findings, pass, judged, skipped,
		noneOf(in.Snapshot, "no compute port has a connector of its own"))
}

func moduleFor(in *doctor.Input, netdev string) *facts.Module {
	for i := range in.Facts.Modules.Value {
		if m := &in.Facts.Modules.Value[i]; m.Netdev == netdev {
			return m
		}
	}
	return nil
}

// moduleLimit is a measured value with its limits; 0 means that there is none.
type moduleLimit struct {
	what, unit          string
	value, low, high    float64
	warnHigh            float64
	outcome             doctor.Outcome // beyond low or high
	remedyLow, remedyUp string
}

// judgeModule returns a finding for each value beyond its limits, and the values that are within.
func judgeModule(w wire, m *facts.Module, up bool) (found []doctor.Finding, good []doctor.Evidence) {
	limits := []moduleLimit{
		{
			"temperature", "°C", m.Celsius, 0, m.HighAlarm, m.HighWarning, doctor.OutcomeFail,
			"", "check airflow and fans, and the modules beside it",
		},
		{
			"voltage", "V", m.Volts, m.VoltsLow, m.VoltsHigh, 0, doctor.OutcomeFail,
			"swap the module; if that doesn't help, the cage or the card",
			"swap the module; if that doesn't help, the card",
		},
	}
	if up { // without a link the peer may send nothing
		limits = append(limits, powers("received power", m.RXmW, m.RXLow, m.RXHigh,
			"clean and reseat the fibre at both ends; read the sent power of the peer's module")...)
		limits = append(limits, powers("sent power", m.TXmW, m.TXLow, m.TXHigh, "swap the module")...)
	}
	for _, l := range limits {
		if l.value == 0 || l.high == 0 {
			continue
		}
		f := doctor.Finding{Object: w.netdev, Evidence: []doctor.Evidence{
			{Path: "module:" + w.netdev + ":" + l.what, Value: fmt.Sprintf("%.4g %s", l.value, l.unit)},
			{Path: "module:" + w.netdev + ":" + l.what + " limits", Value: l.text()},
		}}
		remedy := l.remedyUp
		switch {
		case l.value > l.high:
			f.Outcome = l.outcome
			f.Summary = fmt.Sprintf("the %s of the module is %.4g %s; its high alarm is at %.4g",
				l.what, l.value, l.unit, l.high)
		case l.value < l.low:
			f.Outcome, remedy = l.outcome, l.remedyLow
			f.Summary = fmt.Sprintf("the %s of the module is %.4g %s; its low alarm is at %.4g",
				l.what, l.value, l.unit, l.low)
		case l.warnHigh > 0 && l.value > l.warnHigh:
			f.Outcome = doctor.OutcomeWarn
			f.Summary = fmt.Sprintf(
				"the %s of the module is %.4g %s, above its warning at %.4g and below its alarm at %.4g",
				l.what, l.value, l.unit, l.warnHigh, l.high)
		default:
			good = append(good, f.Evidence[0])
			continue
		}
		f.Actions = []doctor.Action{
			doctor.Shell("ethtool -m %s   # %s", quote(w.netdev), moduleName(m)), doctor.Note("%s", remedy),
		}
		found = append(found, f)
	}
	return found, good
}

// powers returns the limits of the lanes that are in use.
func powers(what string, lanes []float64, low, high float64, remedy string) []moduleLimit {
	var all []moduleLimit
	for i, mw := range lanes {
		if mw >= darkMilliwatt {
			all = append(all, moduleLimit{
				fmt.Sprintf("%s of lane %d", what, i+1), "mW", mw, low, high, 0, doctor.OutcomeWarn, remedy,
				"a sender that is too strong: use an attenuator or a module for the distance",
			})
		}
	}
	return all
}

func (l moduleLimit) text() string {
	var parts []string
	if l.low != 0 {
		parts = append(parts, fmt.Sprintf("low alarm %.4g", l.low))
	}
	if l.warnHigh != 0 {
		parts = append(parts, fmt.Sprintf("high warning %.4g", l.warnHigh))
	}
	return strings.Join(append(parts, fmt.Sprintf("high alarm %.4g %s", l.high, l.unit)), ", ")
}

// moduleName describes a module: "QSFP28 Mellanox MMA1B00-SS1".
func moduleName(m *facts.Module) string {
	return printable(strings.Join(strings.Fields(m.Type+" "+m.Vendor+" "+m.PartNumber), " "))
}
