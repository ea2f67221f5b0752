package provider

import (
	"errors"
	"strings"
	"testing"
)

// TestTransitions checks transitions against libibverbs' manual and the kernel's table
// (qp_state_table): what each type requires on its way to RTS.
func TestTransitions(t *testing.T) {
	all := ^QPMask(0)
	tests := []struct {
		name     string
		typ      QPType
		from, to QPState
		mask     QPMask
		want     string // part of the error, "" for none
	}{
		{"RC to INIT", QPTypeRC, QPStateReset, QPStateInit, QPAttrPKeyIndex | QPAttrPort | QPAttrAccess, ""},
		{"UC to INIT", QPTypeUC, QPStateReset, QPStateInit, QPAttrPKeyIndex | QPAttrPort | QPAttrAccess, ""},
		{"UD to INIT", QPTypeUD, QPStateReset, QPStateInit, QPAttrPKeyIndex | QPAttrPort | QPAttrQKey, ""},
		{"UD without Q_Key", QPTypeUD, QPStateReset, QPStateInit, QPAttrPKeyIndex | QPAttrPort, "missing Q_Key"},
		{
			"UD with access", QPTypeUD, QPStateReset, QPStateInit,
			QPAttrPKeyIndex | QPAttrPort | QPAttrQKey | QPAttrAccess, "access flags can't be set",
		},
		{"RC with Q_Key", QPTypeRC, QPStateInit, QPStateInit, QPAttrQKey, "Q_Key can't be set"},
		{
			"RC to RTR", QPTypeRC, QPStateInit, QPStateRTR,
			QPAttrPath | QPAttrPathMTU | QPAttrDestQPN | QPAttrReceivePSN | QPAttrMaxDestReadAtomic | QPAttrMinRNRTimer,
			"",
		},
		{
			"RC without limits", QPTypeRC, QPStateInit, QPStateRTR,
			QPAttrPath | QPAttrPathMTU | QPAttrDestQPN | QPAttrReceivePSN, "missing destination read and atomic limit",
		},
		{
			"UC to RTR", QPTypeUC, QPStateInit, QPStateRTR,
			QPAttrPath | QPAttrPathMTU | QPAttrDestQPN | QPAttrReceivePSN, "",
		},
		{"UD to RTR", QPTypeUD, QPStateInit, QPStateRTR, 0, ""},
		{"UC to RTS", QPTypeUC, QPStateRTR, QPStateRTS, QPAttrSendPSN, ""},
		{"UD to RTS", QPTypeUD, QPStateRTR, QPStateRTS, QPAttrSendPSN | QPAttrQKey, ""},
		{"UC with retries", QPTypeUC, QPStateRTR, QPStateRTS, QPAttrSendPSN | QPAttrRetryCount, "retry count can't"},
		{"RC to RTS", QPTypeRC, QPStateRTR, QPStateRTS, QPAttrSendPSN, "missing timeout, retry count"},
		{"drain", QPTypeRC, QPStateRTS, QPStateSQD, 0, ""},
		{"path while drained", QPTypeRC, QPStateSQD, QPStateSQD, QPAttrPath | QPAttrTimeout, ""},
		{"PSN while drained", QPTypeRC, QPStateSQD, QPStateSQD, QPAttrSendPSN, "send PSN can't be set"},
		{"resume", QPTypeUD, QPStateSQD, QPStateRTS, QPAttrQKey, ""},
		{"UD after an error", QPTypeUD, QPStateSQE, QPStateRTS, 0, ""},
		{"RC has no SQE", QPTypeRC, QPStateSQE, QPStateRTS, 0, "no such transition"},
		{"backwards", QPTypeRC, QPStateRTS, QPStateRTR, all, "no such transition"},
		{"skip", QPTypeRC, QPStateReset, QPStateRTR, all, "no such transition"},
		{"from an error", QPTypeRC, QPStateError, QPStateRTS, 0, "no such transition"},
		{"reset", QPTypeRC, QPStateError, QPStateReset, 0, ""},
		{"error", QPTypeUC, QPStateInit, QPStateError, 0, ""},
		{"error from RESET", QPTypeUC, QPStateReset, QPStateError, 0, "no such transition"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckTransition(tt.typ, tt.from, QPAttributes{State: tt.to, Mask: tt.mask})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckTransition = %v, want %q", err, tt.want)
			}
			if err != nil && !errors.Is(err, ErrTransition) {
				t.Errorf("%v doesn't match ErrTransition", err)
			}
		})
	}
}
