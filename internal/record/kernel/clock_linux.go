package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

func discipline() (facts.ClockDiscipline, error) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return facts.ClockDiscipline{}, fmt.Errorf("adjtimex: %w", err)
	}
	unit := time.Microsecond
	if t.Status&unix.STA_NANO != 0 {
		unit = time.Nanosecond
	}
	return facts.ClockDiscipline{
		Synchronized: t.Status&unix.STA_UNSYNC == 0,
		MaxError:     time.Duration(t.Maxerror) * time.Microsecond,
		Estimated:    time.Duration(t.Esterror) * time.Microsecond,
		Offset:       time.Duration(t.Offset) * unit,
		PLL:          t.Status&unix.STA_PLL != 0,
	}, nil
}
