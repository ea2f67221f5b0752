package mad

import "fmt"

// RejectReason is the reason of a [REJ] (specification table 109; C twin: enum ib_cm_rej_reason).
type RejectReason uint16

// The reasons that this module sends or tells apart.
const (
	RejectNoQP                  RejectReason = 1
	RejectNoResources           RejectReason = 3
	RejectTimeout               RejectReason = 4
	RejectUnsupported           RejectReason = 5
	RejectInvalidCommID         RejectReason = 6
	RejectInvalidServiceID      RejectReason = 8 // nobody listens for it
	RejectInvalidTransportType  RejectReason = 9
	RejectStaleConnection       RejectReason = 10 // the receiver has a connection with this queue pair
	RejectInvalidGID            RejectReason = 12
	RejectInvalidMTU            RejectReason = 26 // ARI: the largest one, code of enum ibv_mtu
	RejectInsufficientResources RejectReason = 27
	RejectConsumer              RejectReason = 28 // by the program
	RejectInvalidRNRRetry       RejectReason = 29
	RejectDuplicateCommID       RejectReason = 30
	RejectInvalidClassVersion   RejectReason = 31
)

// rejectNames are descriptions by number; numbers without a description are reserved.
var rejectNames = [...]string{
	1: "no queue pair available", 2: "no end-to-end context available", 3: "no resources available", 4: "timeout",
	5: "unsupported request", 6: "invalid communication ID", 7: "invalid communication instance",
	8: "invalid service ID", 9: "invalid transport service type", 10: "stale connection",
	11: "no such reliable datagram channel", 12: "primary remote port GID rejected",
	13: "primary remote port LID rejected", 14: "invalid primary service level", 15: "invalid primary traffic class",
	16: "invalid primary hop limit", 17: "invalid primary packet rate", 18: "alternate remote port GID rejected",
	19: "alternate remote port LID rejected", 20: "invalid alternate service level",
	21: "invalid alternate traffic class", 22: "invalid alternate hop limit", 23: "invalid alternate packet rate",
	24: "redirected to another communication manager", 25: "redirected to another port", 26: "invalid path MTU",
	27: "insufficient responder resources", 28: "rejected by the program", 29: "RNR retry count rejected",
	30: "duplicate local communication ID", 31: "unsupported class version", 32: "invalid primary flow label",
	33: "invalid alternate flow label", 35: "vendor option not supported",
}

// String returns a description, such as "invalid service ID".
func (r RejectReason) String() string {
	if int(r) < len(rejectNames) && rejectNames[r] != "" {
		return rejectNames[r]
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
