package provider

import (
	"errors"
	"fmt"
)

// ErrTransition is matched by the error of [CheckTransition].
var ErrTransition = errors.New("invalid argument")

// transition lists the attributes that a change of state requires and allows, for each type that
// has it.
type transition struct {
	from, to QPState
	types    map[QPType]attributeSets
}

type attributeSets struct{ required, optional QPMask }

// Sets of attributes that several transitions have.
const (
	initConnected = QPAttrPKeyIndex | QPAttrPort | QPAttrAccess
	initDatagram  = QPAttrPKeyIndex | QPAttrPort | QPAttrQKey
	rtrUC         = QPAttrPath | QPAttrPathMTU | QPAttrDestQPN | QPAttrReceivePSN
	rtrRC         = rtrUC | QPAttrMaxDestReadAtomic | QPAttrMinRNRTimer
	rtsRC         = QPAttrSendPSN | QPAttrTimeout | QPAttrRetryCount | QPAttrRNRRetry | QPAttrMaxReadAtomic
	runningRC     = QPAttrAccess | QPAttrMinRNRTimer
	drainedRC     = initConnected | rtrRC | rtsRC
)

// transitions are those of each type (specification volume 1, table 91; kernel: qp_state_table in
// drivers/infiniband/core/verbs.c). Those to RESET, and to ERR from any state but RESET, are always
// allowed and need nothing.
var transitions = [...]transition{
	{QPStateReset, QPStateInit, map[QPType]attributeSets{
		QPTypeRC: {initConnected, 0}, QPTypeUC: {initConnected, 0}, QPTypeUD: {initDatagram, 0},
	}},
	{QPStateInit, QPStateInit, map[QPType]attributeSets{
		QPTypeRC: {0, initConnected}, QPTypeUC: {0, initConnected}, QPTypeUD: {0, initDatagram},
	}},
	{QPStateInit, QPStateRTR, map[QPType]attributeSets{
		QPTypeRC: {rtrRC, QPAttrAccess | QPAttrPKeyIndex},
		QPTypeUC: {rtrUC, QPAttrAccess | QPAttrPKeyIndex},
		QPTypeUD: {0, QPAttrPKeyIndex | QPAttrQKey},
	}},
	{QPStateRTR, QPStateRTS, map[QPType]attributeSets{
		QPTypeRC: {rtsRC, runningRC}, QPTypeUC: {QPAttrSendPSN, QPAttrAccess}, QPTypeUD: {QPAttrSendPSN, QPAttrQKey},
	}},
	{QPStateRTS, QPStateRTS, map[QPType]attributeSets{
		QPTypeRC: {0, runningRC}, QPTypeUC: {0, QPAttrAccess}, QPTypeUD: {0, QPAttrQKey},
	}},
	{QPStateRTS, QPStateSQD, map[QPType]attributeSets{QPTypeRC: {}, QPTypeUC: {}, QPTypeUD: {}}},
	{QPStateSQD, QPStateSQD, map[QPType]attributeSets{
		QPTypeRC: {0, drainedRC &^ (QPAttrDestQPN | QPAttrReceivePSN | QPAttrSendPSN | QPAttrPathMTU)},
		QPTypeUC: {0, QPAttrPath | QPAttrAccess | QPAttrPKeyIndex},
		QPTypeUD: {0, QPAttrPKeyIndex | QPAttrQKey},
	}},
	{QPStateSQD, QPStateRTS, map[QPType]attributeSets{
		QPTypeRC: {0, runningRC}, QPTypeUC: {0, QPAttrAccess}, QPTypeUD: {0, QPAttrQKey},
	}},
	// A failed send request moves only the unreliable types to SQE.
	{QPStateSQE, QPStateRTS, map[QPType]attributeSets{
		QPTypeUC: {0, QPAttrAccess}, QPTypeUD: {0, QPAttrQKey},
	}},
}

// TransitionAttributes returns the attributes that a change of state requires and those that it
// also allows. It reports false if a queue pair of the type has no such transition.
func TransitionAttributes(t QPType, from, to QPState) (required, optional QPMask, ok bool) {
	if to == QPStateReset || to == QPStateError && from != QPStateReset {
		return 0, 0, true
	}
	for i := range transitions {
		if s, has := transitions[i].types[t]; has && transitions[i].from == from && transitions[i].to == to {
			return s.required, s.optional, true
		}
	}
	return 0, 0, false
}

// CheckTransition returns an error that matches [ErrTransition] if a queue pair of a type can't go
// from a state to attr.State, or if attr lacks attributes or has others than the transition allows.
// A [QueuePair] calls it while its state can't change.
func CheckTransition(t QPType, from QPState, attr QPAttributes) error {
	required, optional, ok := TransitionAttributes(t, from, attr.State)
	if !ok {
		return fmt.Errorf("no such transition: %w", ErrTransition)
	}
	if missing := required &^ attr.Mask; missing != 0 {
		return fmt.Errorf("missing %v: %w", missing, ErrTransition)
	}
	always := attr.State == QPStateReset || attr.State == QPStateError
	if extra := attr.Mask &^ (required | optional); extra != 0 && !always {
		return fmt.Errorf("%v can't be set here: %w", extra, ErrTransition)
	}
	return nil
}

// attributeNames are the names of the attributes, in the order of the bits of QPMask.
var attributeNames = [...]string{
	"partition key index", "port", "access flags", "path", "path MTU", "destination QP number", "receive PSN",
	"destination read and atomic limit", "minimum RNR timer", "send PSN", "timeout", "retry count", "RNR retry count",
	"read and atomic limit", "Q_Key",
}

// String returns the names of the attributes, separated by commas.
func (m QPMask) String() string { return bitNames(attributeNames[:], uint64(m)) }
