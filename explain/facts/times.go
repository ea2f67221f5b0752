package facts

import (
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// passing reports whether an event of the kernel is over when it is printed: what a module or a
// card can't do lasts, a flap or a killed process doesn't.
func passing(e *evidence.Event) bool {
	switch e.Kind {
	case evidence.KernelLink, evidence.KernelOOM, evidence.KernelGPU, evidence.KernelQP, evidence.KernelCQE,
		evidence.KernelCommand, evidence.KernelIOMMU, evidence.KernelReset:
		return true
	case evidence.Symptom:
		s := symptoms.ByID(e.Fields["symptom"])
		return kernelKind(e) && (s == nil || !s.Lasts)
	}
	return false
}

// kernelKind reports whether an event is of the kernel.
func kernelKind(e *evidence.Event) bool {
	return strings.HasPrefix(string(e.Kind), "kernel.") ||
		e.Kind == evidence.Symptom && strings.HasPrefix(e.Form, "linux/")
}

// OtherTime reports whether an event of the kernel is from another time than the failures of the
// programs: an hour or more before all of them, or some minutes after. Without times that can be
// compared it is not. Logs of different files may be in different time zones, so times that are
// whole or half hours apart count as equal there.
func (f *Facts) OtherTime(e *evidence.Event) bool {
	if e.Recorded || e.Time.Year() <= 1 || !passing(e) {
		return false
	}
	compared := false
	for _, x := range f.Failures {
		p := x.Event
		if kernelKind(p) || p.Recorded {
			continue
		}
		if p.Time.Year() <= 1 {
			return false
		}
		d := p.Time.Sub(e.Time)
		if d <= nearBefore && d >= -nearAfter || p.Place.File != e.Place.File && zones(d) {
			return false
		}
		compared = true
	}
	return compared
}

// zones reports whether a difference may be that of time zones.
func zones(d time.Duration) bool {
	const widest, slack = 14 * time.Hour, 2 * time.Minute
	return d.Abs() <= widest && (d-d.Round(30*time.Minute)).Abs() <= slack
}
