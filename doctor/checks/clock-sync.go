package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

func clockSync() doctor.Check {
	return doctor.Check{
		ID: "clock-sync", Title: "clock that no time source disciplines", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{88}, Facts: []facts.Kind{facts.KindClock},
		Thresholds: []doctor.Threshold{{
			Name: "clock-offset-warn", Value: 1, Unit: "ms", What: "offset of the clock from its source",
			Source: "to be calibrated; traces of several nodes are compared by time stamps",
		}},
		Explanation: "Logs, traces and flight recorders of several nodes are joined by time. With clocks that " +
			"drift apart nobody can tell which rank stopped first, and certificates and tokens expire early.",
		Remedy:  "Run chrony or PTP on every node, against the same source.",
		Sources: []string{"adjtimex(2), kernel/time/ntp.c (STA_UNSYNC)"},
		Run:     runClockSync,
	}
}

func runClockSync(_ context.Context, in *doctor.Input) []doctor.Finding {
	c := in.Facts.Clock.Value
	limit := time.Duration(in.Threshold("clock-offset-warn") * float64(time.Millisecond))
	ev := []doctor.Evidence{
		{Path: "adjtimex:status", Value: map[bool]string{true: "synchronized", false: "STA_UNSYNC"}[c.Synchronized]},
		{Path: "adjtimex:offset", Value: c.Offset.String()},
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomeWarn, Object: doctor.ObjectNode, Evidence: ev,
		Actions: []doctor.Action{
			doctor.Shell("chronyc tracking   # or: timedatectl timesync-status"),
			doctor.Note("install chrony, or ptp4l and phc2sys, and use the same source on all nodes"),
		},
	}
	switch {
	case !c.Synchronized:
		f.Summary = "no time source disciplines the clock"
	case c.Offset.Abs() > limit:
		f.Summary = fmt.Sprintf("the clock is %v off its source; the limit is %v", c.Offset.Abs(), limit)
	default:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "the clock follows its source", ev...)}
	}
	return []doctor.Finding{f}
}
