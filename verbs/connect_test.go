package verbs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// recordedQP records the attributes that Modify is called with.
type recordedQP struct {
	provider.QueuePair
	qpType QPType
	state  QPState
	states []QPState
	attr   QPAttributes
}

func (q *recordedQP) QPN() ib.QPN    { return 7 }
func (q *recordedQP) Type() QPType   { return q.qpType }
func (q *recordedQP) State() QPState { return q.state }
func (q *recordedQP) Modify(attr QPAttributes) error {
	if err := provider.CheckTransition(q.qpType, q.state, attr); err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	q.attr.Merge(attr)
	q.state = attr.State
	q.states = append(q.states, q.state)
	return nil
}

func TestConnect(t *testing.T) {
	remote := Remote{QPN: 1, PSN: 2, GID: ib.GID{3}, LID: 4}
	attributes := func(change func(*QPAttributes)) QPAttributes {
		a := QPAttributes{
			Port: 1, Path: Path{DGID: ib.GID{3}, DLID: 4, HopLimit: 64}, PathMTU: 1024, DestQPN: 1, ReceivePSN: 2,
			MaxDestReadAtomic: 16, MaxReadAtomic: 16, MinRNRTimer: 12, Timeout: 14, RetryCount: 7, RNRRetry: 7,
		}
		change(&a)
		return a
	}
	tests := []struct {
		name string
		from QPState
		cfg  ConnectConfig
		want QPAttributes
	}{
		{"defaults", QPStateReset, ConnectConfig{Remote: remote}, attributes(func(*QPAttributes) {})},
		{
			"from INIT", QPStateInit,
			ConnectConfig{Remote: remote, PSN: 9, Port: 2, Access: AccessRemoteRead},
			attributes(func(a *QPAttributes) {
				a.SendPSN, a.Port, a.Access = 9, 2, AccessRemoteRead
			}),
		},
		{
			"reads both ways", QPStateReset,
			ConnectConfig{Remote: remote, ReadAtomic: 5},
			attributes(func(a *QPAttributes) {
				a.MaxReadAtomic, a.MaxDestReadAtomic = 5, 5
			}),
		},
		{
			"reads each way", QPStateReset,
			ConnectConfig{Remote: remote, ReadAtomic: 5, DestReadAtomic: 3, HopLimit: 255, MTU: 256},
			attributes(func(a *QPAttributes) {
				a.MaxReadAtomic, a.MaxDestReadAtomic, a.Path.HopLimit, a.PathMTU = 5, 3, 255, 256
			}),
		},
		{
			"reads of the peer", QPStateReset,
			ConnectConfig{Remote: remote, DestReadAtomic: 3},
			attributes(func(a *QPAttributes) { a.MaxDestReadAtomic = 3 }),
		},
		{
			"retries and timers", QPStateReset,
			ConnectConfig{Remote: remote, RetryCount: 3, RNRRetry: 2, MinRNRTimer: 20, Timeout: 18},
			attributes(func(a *QPAttributes) { a.RetryCount, a.RNRRetry, a.MinRNRTimer, a.Timeout = 3, 2, 20, 18 }),
		},
		{
			"none of them", QPStateReset,
			ConnectConfig{Remote: remote, RetryCount: RetryNone, RNRRetry: RetryNone, Timeout: TimeoutInfinite},
			attributes(func(a *QPAttributes) { a.RetryCount, a.RNRRetry, a.Timeout = 0, 0, 0 }),
		},
		{
			"path", QPStateReset,
			ConnectConfig{Remote: remote, FlowLabel: 5, ServiceLevel: 3, PKeyIndex: 2, TrafficClass: 104},
			attributes(func(a *QPAttributes) {
				a.Path.FlowLabel, a.Path.ServiceLevel, a.Path.TrafficClass, a.PKeyIndex = 5, 3, 104, 2
			}),
		},
	}
	for _, tt := range tests {
		q := &recordedQP{state: tt.from}
		if err := (&QueuePair{impl: q}).Connect(tt.cfg); err != nil {
			t.Errorf("%s: Connect = %v", tt.name, err)
		}
		got := q.attr
		got.Mask, got.State = 0, 0
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: attributes differ (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff([]QPState{QPStateInit, QPStateRTR, QPStateRTS}, q.states); diff != "" {
			t.Errorf("%s: states differ (-want +got):\n%s", tt.name, diff)
		}
	}
	q := &recordedQP{state: QPStateRTS}
	if err := (&QueuePair{impl: q}).Connect(ConnectConfig{Remote: remote}); err == nil {
		t.Error("Connect in state RTS succeeded")
	}
	q = &recordedQP{qpType: QPTypeUD}
	if err := (&QueuePair{impl: q}).Connect(ConnectConfig{Remote: remote}); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Connect of type UD = %v, want ErrNotSupported", err)
	}
	q = &recordedQP{qpType: QPTypeUC}
	if err := (&QueuePair{impl: q}).Connect(ConnectConfig{Remote: remote}); err != nil || q.state != QPStateRTS {
		t.Errorf("Connect of type UC = %v in state %v", err, q.state)
	}
}
