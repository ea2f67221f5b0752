package mad

import (
	"encoding/binary"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// SMInfoLen is the length of the attribute in bytes.
const SMInfoLen = 21

// SMState is the state of a subnet manager (C twin: IB_SMINFO_STATE_…).
type SMState uint8

// SM states.
const (
	SMStateNotActive   SMState = 0
	SMStateDiscovering SMState = 1
	SMStateStandby     SMState = 2
	SMStateMaster      SMState = 3
)

var smStateNames = [...]string{"SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"}

// String returns the name that the C tool sminfo prints.
func (s SMState) String() string { return nameOf(smStateNames[:], uint8(s)) }

// SMInfo describes a subnet manager (specification section 14.2.5.13; C twin:
// ib_sm_info_t).
type SMInfo struct {
	GUID     ib.GUID // of the port where the SM runs
	SMKey    uint64  // 0 in responses to programs that don't have the key
	ActCount uint32  // increases while the SM is active: if it doesn't, the SM is dead
	Priority uint8   // 4 bits; the SM with the highest priority becomes master
	State    SMState // master, standby, discovering or not active
}

// Decode reads the attribute from the start of b.
func (a *SMInfo) Decode(b []byte) (n int, err error) {
	if len(b) < SMInfoLen {
		return 0, ErrShort
	}
	*a = SMInfo{
		GUID: ib.GUID(b), SMKey: binary.BigEndian.Uint64(b[8:]),
		ActCount: binary.BigEndian.Uint32(b[16:]),
		Priority: b[20] >> 4, State: SMState(b[20] & 15),
	}
	return SMInfoLen, nil
}

// Append appends the attribute to b.
func (a *SMInfo) Append(b []byte) []byte {
	b = append(b, a.GUID[:]...)
	b = binary.BigEndian.AppendUint64(b, a.SMKey)
	b = binary.BigEndian.AppendUint32(b, a.ActCount)
	return append(b, a.Priority<<4|uint8(a.State)&15)
}
