package facts

import (
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// shortFlap is how long a link is down when a driver sets it up or its partner restarts: an
// Ethernet link trains in some seconds.
const shortFlap = 10 * time.Second

// retract marks events that later lines take back as harmless: a wait after which a program went
// on, and a single error that the hardware corrected.
func (c *collector) retract() {
	for e := range c.facts.Store.Of(evidence.VLLMBroadcast) {
		for p := range c.facts.Store.Of(evidence.ProgramProgress) {
			if p.Place.File == e.Place.File && p.Last.Line > e.Last.Line {
				e.Standing = evidence.Harmless
			}
		}
	}
	var corrected []*evidence.Event
	for e := range c.facts.Store.Of(evidence.Symptom) {
		if e.Fields["line"] == "aer-corrected" {
			corrected = append(corrected, e)
		}
	}
	if len(corrected) == 1 && corrected[0].Count == 1 {
		corrected[0].Standing = evidence.Harmless
	}
}

// forgive takes away what is only a failure beside others, if there is no other: a link that came
// back at once, and the end of communicators that worked. It marks the events as harmless.
func (c *collector) forgive(echoes []*evidence.Event) []*evidence.Event {
	list := c.facts.Failures
	switch {
	case c.facts.Store.Has(evidence.OtherTrouble):
	case len(list) > 0 && len(echoes) == 0 && !slices.ContainsFunc(list, c.steady):
		for _, x := range list {
			x.Event.Standing = evidence.Harmless
		}
		c.facts.Failures = nil
	case len(list) == 0 && c.facts.Store.Has(evidence.NCCLInitComplete) && !slices.ContainsFunc(echoes, notOfAbort) &&
		slices.ContainsFunc(echoes, func(e *evidence.Event) bool { return e.Kind == evidence.NCCLEnd }):
		for _, e := range echoes {
			e.Standing = evidence.Harmless
		}
		return nil
	}
	return echoes
}

// steady reports whether a failure is anything but a link that was down once, for some seconds.
func (c *collector) steady(x *Failure) bool {
	e := x.Event
	once := len(x.Same) == 0 && e.Count == 1 && !e.Time.IsZero()
	if e.Kind != evidence.KernelLink || e.Fields["state"] != "down" || !once {
		return true
	}
	for up := range c.facts.Store.Of(evidence.KernelLink) {
		same := up.Fields["netdev"] == e.Fields["netdev"] && up.Fields["device"] == e.Fields["device"] &&
			up.Fields["pci"] == e.Fields["pci"] && up.Process.Host == e.Process.Host && up.Place.File == e.Place.File
		if d := up.Time.Sub(e.Time); same && up.Fields["state"] == "up" && d >= 0 && d <= shortFlap {
			return false
		}
	}
	return true
}

// notOfAbort reports whether an event is none of those that follow from ncclCommAbort: sockets that
// are closed return ncclInternalError.
func notOfAbort(e *evidence.Event) bool {
	switch e.Kind {
	case evidence.NCCLEnd:
		return e.Fields["what"] != "abort"
	case evidence.NCCLReturn:
		return e.Fields["code"] != "3" || !strings.HasPrefix(e.Fields["at"], "misc/socket.cc:")
	}
	return true
}
