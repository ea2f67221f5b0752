package fabric

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Silence is what is known about a request without an answer. Agents drop requests that they don't
// accept, so from outside a dead node and a wrong key look the same: [Silence.Causes] lists what it
// could be, given what was tried.
type Silence struct {
	// Class is the management class of the request.
	Class mad.Class
	// Keys are the keys of the class that were tried, in turn; empty for classes without keys.
	Keys []uint64
	// Address is the destination; zero: not known.
	Address Address
	// Sent is how the request was addressed; nil: not known.
	Sent *Sent
	// Answered reports that the node has answered subnet management with the same M_Key.
	Answered bool
	// Own reports that the destination is the local port.
	Own bool
}

// SilenceOf returns what the error of a request without an answer tells about its silence.
func SilenceOf(err error, class mad.Class, to Address, keys ...uint64) Silence {
	s := Silence{Class: class, Keys: keys, Address: to}
	if e, ok := errors.AsType[unanswered](err); ok {
		s.Sent = e.howSent()
	}
	return s
}

// cause is a possible cause of a silence.
type cause struct {
	// when reports whether the cause is possible.
	when func(s *Silence) bool
	// text names the cause; it never contains a key.
	text func(s *Silence) string
}

// classVendorA is NVIDIA's vendor class with access registers (wire/prm has its datagrams).
const classVendorA mad.Class = 0x0a

// silenceCauses is the table of [Silence.Causes], in the order of the output. The levels of M_Key
// protection are those of section 14.2.4 of the specification.
func silenceCauses() []cause {
	isVendor := func(s *Silence) bool { return s.Class == classVendorA }
	always := func(text string) func(*Silence) string { return func(*Silence) string { return text } }
	return []cause{
		{(*Silence).WrongPartition, (*Silence).partition},
		{
			func(s *Silence) bool { return s.Answered && s.isSubnet() },
			always("the node answered before: it has stopped, or the datagrams are lost on the way"),
		},
		{func(s *Silence) bool { return !s.answered() && !s.Own }, always("the node is dead")},
		{func(s *Silence) bool { return s.Own }, always("the local device doesn't answer")},
		{
			func(s *Silence) bool { return !s.Answered && s.isSubnet() },
			func(s *Silence) string { return "it has an M_Key of protect level 2 or 3 (" + s.tried("M_Key") + ")" },
		},
		{
			func(s *Silence) bool { return s.Class == mad.ClassPerformance },
			func(s *Silence) string {
				return s.agent("performance agent") + " another PM_Key (" + s.tried("PM_Key") + ")"
			},
		},
		{isVendor, always("it doesn't have the class, or isn't NVIDIA's")},
		{
			isVendor,
			func(s *Silence) string { return "it has another VS_Key (" + s.tried("VS_Key") + ")" },
		},
		{
			func(s *Silence) bool { return s.Class == mad.ClassPing },
			always(`no server runs there ("rdmactl fabric ping --server" or ibping -S)`),
		},
		{func(s *Silence) bool { return s.Class == mad.ClassSA }, always("no subnet manager runs there")},
		{
			func(s *Silence) bool { return !s.isSubnet() && (s.Sent == nil || !s.Sent.TableRead) },
			always("no common partition (P_Key)"),
		},
		{func(s *Silence) bool { return !s.isSubnet() && !s.hasGRH() }, always("it requires a GRH")},
	}
}

// WrongPartition reports whether the partition table of the other port, which was read, shows that
// it drops the request.
func (s *Silence) WrongPartition() bool { return s.Sent != nil && (s.Sent.Disjoint || s.Sent.Outside) }

// partition says what is wrong with the partition.
func (s *Silence) partition() string {
	if s.Sent.Disjoint {
		return "the port is in no partition with this one"
	}
	return fmt.Sprintf("the port doesn't accept P_Key %s, but another one that this port has", s.Sent.PKey)
}

// answered reports whether the node is known to be alive.
func (s *Silence) answered() bool { return s.Answered || s.Sent != nil && s.Sent.TableRead }

// hasGRH reports whether the request had a global route header.
func (s *Silence) hasGRH() bool { return s.Address.HasGRH || s.Sent != nil && s.Sent.GRH }

// isSubnet reports whether the class is subnet management, whose datagrams have neither P_Keys nor
// global route headers.
func (s *Silence) isSubnet() bool {
	return s.Class == mad.ClassSubnet || s.Class == mad.ClassSubnetDirected
}

// agent names an agent of a node that is known to be alive, or else of one that may be.
func (s *Silence) agent(name string) string {
	if s.answered() {
		return "the node answers subnet management, but its " + name + " has"
	}
	return "its " + name + " has"
}

// tried says which keys were tried without printing them.
func (s *Silence) tried(name string) string {
	switch {
	case len(s.Keys) > 1:
		return fmt.Sprintf("%d %ss were tried", len(s.Keys), name)
	case len(s.Keys) == 1 && s.Keys[0] != 0:
		return "the given " + name + " was tried"
	}
	return name + " 0 was tried"
}

// Causes returns what the silence could mean, the most general first.
func (s *Silence) Causes() []string {
	var list []string
	for _, c := range silenceCauses() {
		if c.when(s) {
			list = append(list, c.text(s))
		}
	}
	return list
}

// either joins the causes of a silence.
func either(causes []string) string { return strings.Join(causes, ", or ") }

// SilentError is the error of a request without an answer that says what this could mean. It
// matches [ErrNoAnswer].
type SilentError struct {
	Silence Silence
	err     error
}

// Error returns "no answer to 3 tries in 4s: the node is dead, or it has …".
func (e *SilentError) Error() string { return e.err.Error() + ": " + either(e.Silence.Causes()) }

// Unwrap returns the error without the causes.
func (e *SilentError) Unwrap() error { return e.err }

// Causes returns the possible causes if err is about a request without an answer, nil otherwise.
func Causes(err error) []string {
	if silent, ok := errors.AsType[*SilentError](err); ok {
		return silent.Silence.Causes()
	}
	return nil
}

// silent adds the silence to an error of a request without an answer; other errors stay the same.
func silent(err error, s Silence) error {
	if !isSilence(err) {
		return err
	}
	return &SilentError{Silence: s, err: err}
}
