package checks_test

import (
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// hostCases are those of the host, PCI Express and GPUs.
func hostCases() []numberCase {
	clock := func(d facts.ClockDiscipline) change { return recorded(facts.Facts{Clock: known(d)}) }
	return []numberCase{
		{
			88, "clock-sync", "01_ib_8hca", nil,
			clock(facts.ClockDiscipline{Synchronized: true, Offset: 900 * time.Microsecond}),
			clock(facts.ClockDiscipline{Synchronized: true, Offset: -1100 * time.Microsecond}),
			recorded(facts.Facts{Clock: failed[facts.ClockDiscipline]()}),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
	}
}
