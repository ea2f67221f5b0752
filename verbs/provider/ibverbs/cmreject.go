package ibverbs

import (
	"fmt"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// cause is an errno with what it was the result of.
type cause struct {
	what  string
	errno syscall.Errno
}

func (c *cause) Error() string {
	if c.errno == 0 {
		return c.what
	}
	return fmt.Sprintf("%s: %v", c.what, c.errno)
}

func (c *cause) Unwrap() error {
	if c.errno == 0 {
		return nil
	}
	return c.errno
}

// eventError returns the error that an event reports.
func eventError(x *identifier, ev *cmEvent) error {
	errno := syscall.Errno(max(0, -ev.status))
	switch ev.kind {
	case cmAddrError:
		return &cause{"the address can't be resolved", errno}
	case cmRouteError:
		return &cause{"the route can't be resolved", errno}
	case cmConnectError:
		return &cause{"the connection can't be established", errno}
	case cmUnreachable:
		if x.datagrams() && ev.status > 0 {
			return lookupRejected(ev)
		}
		return &cause{"the peer doesn't answer", errno}
	case cmRejected:
		return rejected(ev)
	case cmDisconnected:
		return &cause{"the peer has disconnected", errno}
	case cmDeviceRemoval:
		return &cause{"the device was removed", syscall.ENODEV}
	}
	return &cause{fmt.Sprintf("unexpected event %d of the communication manager", ev.kind), errno}
}

// rejectReasons are those of a REJ message that a program may see (specification volume 1, section
// 12.6.7.2; kernel: enum ib_cm_rej_reason).
var rejectReasons = map[int]string{
	1: "no queue pair available", 2: "no end-to-end context available", 3: "no resources available",
	4: "timeout", 5: "unsupported request", 6: "invalid communication ID",
	7: "invalid communication instance", 8: "nobody listens on the port", 9: "invalid transport service type",
	10: "stale connection", 11: "no reliable datagram channel", 12: "primary GID rejected",
	13: "primary LID rejected", 14: "invalid primary service level", 15: "invalid primary traffic class",
	16: "invalid primary hop limit", 17: "invalid primary packet rate", 18: "alternate GID rejected",
	19: "alternate LID rejected", 24: "redirected to another port", 26: "invalid path MTU",
	27: "too few resources as responder", 28: "by its program", 29: "RNR retry count rejected",
	33: "unsupported class version", 34: "invalid flow label", 35: "unsupported vendor option",
}

const rejectNobody = 8 // IB_CM_REJ_INVALID_SERVICE_ID

// rejected returns the error of a rejection: of a REJ message, whose reason is the status, or of an
// iWARP connection, with a negative errno.
func rejected(ev *cmEvent) error {
	r := &provider.RejectedError{PrivateData: ev.privateData}
	switch {
	case ev.status < 0 && syscall.Errno(-ev.status) == syscall.ECONNREFUSED:
		r.Reason, r.NobodyListens = "nobody listens on the port", true
	case ev.status <= 0:
		r.Reason = "by its program, or it has ended the connection"
	default:
		r.Code, r.NobodyListens = uint16(ev.status), ev.status == rejectNobody
		r.Reason = rejectReasons[ev.status]
		if r.Reason == "" {
			r.Reason = fmt.Sprintf("reason %d", ev.status)
		}
	}
	return r
}

// lookupReasons are the statuses of a SIDR_REP message (specification volume 1, section 12.11.2;
// kernel: enum ib_cm_sidr_status).
var lookupReasons = map[int]string{
	1: "nobody listens on the port", 2: "by its program", 3: "no queue pair available",
	4: "redirected to another port", 5: "unsupported version",
}

const lookupNobody = 1 // IB_SIDR_UNSUPPORTED

// lookupRejected returns the error of a lookup that the peer has rejected.
func lookupRejected(ev *cmEvent) error {
	r := &provider.RejectedError{
		Reason: lookupReasons[ev.status], PrivateData: ev.privateData, NobodyListens: ev.status == lookupNobody,
	}
	if r.Reason == "" {
		r.Reason = fmt.Sprintf("status %d", ev.status)
	}
	return r
}
