package connect

import (
	"errors"
	"fmt"
)

// errTurn is the error of a client that breaks the rules of the exchange.
var errTurn = errors.New("the client breaks the rules of the exchange")

// turns are what a client has done. It may try each offered port once, add one finding to an
// attempt after a probe, and measure over TCP once: it can't keep a listener busy for longer.
type turns struct {
	limit    int // of attempts
	attempts int // without probes
	next     turn
	measured bool
}

// turn is what a client may do next, apart from another attempt.
type turn int

const (
	turnNothing turn = iota
	turnProbe        // an attempt has lost its large messages
	turnFinding      // and was repeated with smaller packets
)

// check returns an error if the client may not send a message now.
func (t *turns) check(m *Message) error {
	may := t.next
	t.next = turnNothing
	switch {
	case m.Kind == KindAttempt && m.Attempt.Probe:
		if may != turnProbe {
			return fmt.Errorf("%w: a probe without an attempt whose large messages were lost", errTurn)
		}
		t.next = turnFinding
	case m.Kind == KindAttempt:
		if t.attempts == t.limit {
			return fmt.Errorf("%w: more attempts than the %d that fit the offered ports", errTurn, t.limit)
		}
		t.attempts++
	case m.Kind == KindFinding && may != turnFinding:
		return fmt.Errorf("%w: a finding without a probe", errTurn)
	case m.Kind == KindTCP:
		if t.measured {
			return fmt.Errorf("%w: a second measurement over TCP", errTurn)
		}
		t.measured = true
	}
	return nil
}

// tried notes the result of an attempt.
func (t *turns) tried(a *Attempt) {
	if a.Failure != nil && a.Failure.Code == CodeLargeLost {
		t.next = turnProbe
	}
}

// add adds what a finding of the client says about the same failure.
func (f *Failure) add(finding *Failure) error {
	if finding.Stage != f.Stage || finding.Code != f.Code {
		return fmt.Errorf("%w: a finding about another failure", errTurn)
	}
	f.Observed, f.Possible = finding.Observed, finding.Possible
	return nil
}
