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
			Name: "clock-offset-warn", Value: 1, Unit: "ms",
			What:   "offset of the clock from its source, or its estimated error",
			Source: "to be calibrated; traces of several nodes are compared by time stamps",
		}},
		Explanation: "Logs, traces and flight recorders of several nodes are joined by time. With clocks that " +
			"drift apart nobody can tell which rank stopped first, and certificates and tokens expire early.",
		Remedy: "Run chrony or PTP on every node, against the same source.",
		Sources: []string{
			"adjtimex(2), kernel/time/ntp.c (STA_UNSYNC, STA_PLL)",
			"chrony, sys_timex.c (sets STA_UNSYNC, maxerror and esterror, and no offset)",
		},
		Run: runClockSync,
	}
}

func runClockSync(_ context.Context, in *doctor.Input) []doctor.Finding {
	c := in.Facts.Clock.Value
	limit := time.Duration(in.Threshold("clock-offset-warn") * float64(time.Millisecond))
	ev := []doctor.Evidence{
		{Path: "adjtimex:status", Value: map[bool]string{true: "synchronized", false: "STA_UNSYNC"}[c.Synchronized]},
		{Path: "adjtimex:maxerror", Value: c.MaxError.String()},
		{Path: "adjtimex:esterror", Value: c.Estimated.String()},
	}
	offset := c.PLL || c.Offset != 0 // else nobody has given one to the kernel
	if offset {
		ev = append(ev, doctor.Evidence{Path: "adjtimex:offset", Value: c.Offset.String()})
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
	case offset && c.Offset.Abs() > limit:
		f.Summary = fmt.Sprintf("the clock is %v off its source; the limit is %v", c.Offset.Abs(), limit)
	case !offset && c.Estimated > limit:
		f.Summary = fmt.Sprintf("the estimated error of the clock is %v; the limit is %v", c.Estimated, limit)
	case offset:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, fmt.Sprintf("the clock follows its source, %v off",
			c.Offset.Abs()), ev...)}
	default:
		return []doctor.Finding{doctor.Passed(doctor.ObjectNode, fmt.Sprintf("the clock follows its source; the "+
			"kernel does not know the offset, at most it is %v", c.MaxError), ev...)}
	}
	return []doctor.Finding{f}
}
