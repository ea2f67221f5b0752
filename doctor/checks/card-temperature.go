package checks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func cardTemperature() doctor.Check {
	return doctor.Check{
		ID: "card-temperature", Title: "compute card that is too hot", Severity: doctor.OutcomeFail,
		Group: doctor.GroupLink, Needs: doctor.NeedDevices, Numbers: []int{33},
		Reads: []string{
			pciFiles("hwmon/*/temp*_input"), pciFiles("hwmon/*/temp*_crit"), pciFiles("hwmon/*/temp*_label"),
		},
		Thresholds: []doctor.Threshold{{
			Name: "card-temperature-margin", Value: 10, Unit: "°C",
			What:   "distance of the chip's temperature to its limit",
			Source: "to be calibrated",
		}},
		Explanation: prose.Join(`
			Cards measure the temperature of their chip, and some that of the module. Beyond the
			limit the firmware stops answering or switches the port off, and the job with it. Near
			the limit a failing fan or a full rack decides.`),
		Remedy: prose.Join(`
			Check airflow: fans, blanking panels, the temperature in front of the rack, cards in
			neighbouring slots.`),
		Sources: []string{
			"drivers/net/ethernet/mellanox/mlx5/core/hwmon.c",
			"Documentation/hwmon/sysfs-interface.rst (millidegrees)",
		},
		Run: runCardTemperature,
	}
}

func runCardTemperature(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	seen := map[string]bool{}
	for p := range ports(in.Snapshot) {
		if p.dev.PCI == nil || seen[p.dev.Name] || !p.carriesJobs(in.Snapshot) {
			continue
		}
		seen[p.dev.Name] = true
		folder := path.Join(strings.TrimPrefix(p.dev.PCI.Path, "/"), "hwmon")
		for _, input := range in.Facts.Files.Glob(folder + "/*/temp*_input") {
			f, ok := judgeTemperature(in, p.dev.Name, strings.TrimSuffix(input, "_input"))
			switch {
			case !ok:
			case f.Outcome == doctor.OutcomePass:
				good = append(good, f.Evidence[0])
			default:
				findings = append(findings, f)
			}
		}
	}
	return wireFindings(findings, doctor.Passed(doctor.ObjectNode,
		english.Count(len(good), "sensor")+" of compute cards below their limits", good...), len(good), nil,
		noneOf(in.Snapshot, "the drivers of the compute ports' cards show no temperature with a limit in hwmon"))
}

// judgeTemperature judges a sensor by the common prefix of its files; false if it has no limit.
func judgeTemperature(in *doctor.Input, object, sensor string) (doctor.Finding, bool) {
	now, raw, err := milliCelsius(in, sensor+"_input")
	if err != nil {
		return doctor.Because(object, err), !errors.Is(err, facts.ErrAbsent)
	}
	most, rawMost, err := milliCelsius(in, sensor+"_crit")
	if errors.Is(err, facts.ErrAbsent) || err == nil && most <= 0 {
		return doctor.Finding{}, false
	}
	if err != nil {
		return doctor.Because(object, err), true
	}
	label, err := in.Facts.Files.Text(sensor + "_label")
	if err != nil || label == "" {
		label = path.Base(sensor)
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomePass, Object: object, Evidence: []doctor.Evidence{
			{Path: "/" + sensor + "_input", Value: raw}, {Path: "/" + sensor + "_crit", Value: rawMost},
		},
		Actions: []doctor.Action{
			doctor.Shell("sensors   # or: cat /%s_input", sensor),
			doctor.Note("check fans, blanking panels and the temperature in front of the rack"),
		},
	}
	label = printable(label)
	margin := in.Threshold("card-temperature-margin")
	// The limit of a module is its warning, near which modules work all day: check module-health
	// has its alarm.
	module := strings.HasPrefix(strings.ToLower(label), "module")
	switch {
	case now >= most && module:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("the module %s has %.4g °C; its limit is %.4g °C", label, now, most)
	case now >= most:
		f.Outcome = doctor.OutcomeFail
		f.Summary = fmt.Sprintf("the sensor %s has %.4g °C; its limit is %.4g °C", label, now, most)
	case !module && most-now <= margin:
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("the sensor %s has %.4g °C, %.3g °C below its limit of %.4g °C",
			label, now, most-now, most)
	}
	return f, true
}

// milliCelsius reads a temperature; the error is that of the file, or about its content.
func milliCelsius(in *doctor.Input, name string) (celsius float64, raw string, err error) {
	raw, err = in.Facts.Files.Text(name)
	if err != nil {
		return 0, "", err
	}
	n, err := strconv.ParseInt(raw, 10, 32)
	if err != nil {
		return 0, raw, fmt.Errorf("/%s is no number: %.20q", name, raw)
	}
	return float64(n) / 1000, raw, nil
}
