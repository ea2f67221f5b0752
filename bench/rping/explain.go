package rping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/verbs"
)

// Stage is a step on the way to a ping.
type Stage string

// The stages, in their order.
const (
	StageOpen    Stage = "open"    // find and open the device
	StageResolve Stage = "resolve" // find the address of the server, and the way to it
	StageListen  Stage = "listen"  // listen at a port
	StageConnect Stage = "connect" // find the server and connect queue pairs
	StageData    Stage = "data"    // pings
)

// Code identifies a kind of failure. The codes are stable: programs may branch on them.
type Code string

// The codes.
const (
	CodeOpen           Code = "open"             // the device can't be opened
	CodeDeviceInUse    Code = "device-in-use"    // UDP port 4791 of the address is in use
	CodeNoConnector    Code = "no-connector"     // the device has no connection manager here
	CodeName           Code = "name"             // the server's name doesn't resolve
	CodeNoDevice       Code = "no-device"        // an address is that of no RDMA device
	CodeFamily         Code = "address-family"   // IPv4 at one end, IPv6 at the other
	CodeNoRoute        Code = "no-route"         // this machine has no route
	CodePortInUse      Code = "port-in-use"      // another program listens at the port
	CodeNobodyListens  Code = "nobody-listens"   // no program listens at the server's port
	CodeRejected       Code = "rejected"         // the server rejects the connection
	CodeNoAnswer       Code = "no-answer"        // the server's device doesn't answer
	CodePeerEnded      Code = "peer-ended"       // the server has disconnected
	CodeProtocol       Code = "protocol"         // the peer is no rping
	CodeData           Code = "data-mismatch"    // the data differs
	CodeUnacknowledged Code = "unacknowledged"   // packets of an established connection get lost
	CodeRNR            Code = "rnr"              // the peer has no receive request
	CodeRefused        Code = "request-rejected" // the peer's device rejects a request
	CodeStalled        Code = "stalled"          // acknowledged, but not answered
	CodeTransfer       Code = "transfer"         // anything else while pinging
	CodeConnect        Code = "connect"          // anything else while connecting
	CodeInterrupted    Code = "interrupted"      // a time limit or a signal of this end
)

// Failure is why a run failed, with what to do. It is an error.
type Failure struct { //nolint:errname // it is a part of the result, too
	Stage     Stage  `json:"stage"`
	Operation string `json:"operation"` // what was tried
	Object    string `json:"object"`    // on what
	Code      Code   `json:"code"`
	Cause     string `json:"cause"` // what is known
	// Possible is what may be the reason if the cause doesn't say it.
	Possible []string `json:"possible,omitempty"`
	Remedies []string `json:"remedies,omitempty"` // what to do or to look at

	err error
}

// Error returns "STAGE: OPERATION OBJECT: CAUSE".
func (f *Failure) Error() string { return string(f.Stage) + ": " + f.What() }

// What returns "OPERATION OBJECT: CAUSE", or only the cause if it names the operation.
func (f *Failure) What() string {
	if strings.HasPrefix(f.Cause, f.Operation+" ") {
		return f.Cause
	}
	return strings.TrimSpace(f.Operation+" "+f.Object) + ": " + f.Cause
}

// Unwrap returns the error that was explained.
func (f *Failure) Unwrap() error { return f.err }

// Hints returns the remedies.
func (f *Failure) Hints() []string { return f.Remedies }

// errNoAnswer is the cause of the end of a ping that takes longer than Patience.
var errNoAnswer = fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)

// Explain explains the error of a stage: of the device, or of a connection to addr or at addr.
func Explain(err error, stage Stage, device string, addr netip.AddrPort) *Failure {
	f := &Failure{Stage: stage, Cause: err.Error(), err: err}
	switch stage {
	case StageOpen:
		f.Operation, f.Object, f.Code = "open", device, CodeOpen
		f.explainOpen()
	case StageResolve:
		f.Operation, f.Object, f.Code = "find", "the way to "+addr.Addr().String(), CodeNoRoute
		if dns, ok := errors.AsType[*net.DNSError](err); ok {
			f.Operation, f.Object, f.Code, f.Cause = "resolve", dns.Name, CodeName, dns.Err
		}
	case StageListen:
		f.Operation, f.Object, f.Code = "listen on", fmt.Sprintf("port %d of %s", addr.Port(), device), CodeConnect
		f.explainListen(addr)
	case StageConnect:
		f.Operation, f.Object, f.Code = "dial", fmt.Sprintf("%v from %s", addr, device), CodeConnect
		f.explainConnect(device, addr)
	default:
		f.Operation, f.Object, f.Code = "ping", fmt.Sprintf("%v from %s", addr, device), CodeTransfer
		f.explainData(addr)
	}
	return f
}

// common explains errors that any stage can have.
func (f *Failure) common() bool {
	switch {
	case errors.Is(f.err, verbs.ErrNotSupported):
		f.Code = CodeNoConnector
		f.Remedies = []string{
			"roce@ADDRESS connects in user space", "rdmactl connect exchanges addresses over TCP instead",
		}
	case errors.Is(f.err, syscall.ENETUNREACH), errors.Is(f.err, syscall.EHOSTUNREACH):
		f.Code = CodeNoRoute
		f.Remedies = []string{
			"ip route get ADDRESS shows the route of this machine; ip neigh whether the neighbour answers",
		}
	case errors.Is(f.err, context.Canceled):
		f.Code = CodeInterrupted
	default:
		return false
	}
	return true
}

func (f *Failure) explainOpen() {
	if errors.Is(f.err, syscall.EADDRINUSE) {
		f.Code = CodeDeviceInUse
		if !strings.Contains(f.Cause, "(process ") { // otherwise the owner is known
			f.Possible = []string{
				"another program has an engine at this address",
				"the kernel's soft-RoCE (rdma_rxe) is loaded: it has the port at all addresses of its network " +
					"namespace",
			}
		}
		f.Remedies = []string{
			"use another device or address of this machine: -d of rdmactl ping (rxe0, roce@ADDRESS), -a or -I of rping",
		}
		return
	}
	f.common()
}

func (f *Failure) explainListen(addr netip.AddrPort) {
	switch {
	case errors.Is(f.err, syscall.EADDRINUSE):
		f.Code = CodePortInUse
		f.Cause = fmt.Sprintf("port %d is in use: another program listens there", addr.Port())
		f.Remedies = []string{
			"another port, the same at both ends (--port of rdmactl ping, -p of rping); " +
				"rdma resource show cm_id lists the kernel's listeners",
		}
	case f.common():
	case addr.Addr().IsValid() && !addr.Addr().IsUnspecified():
		f.Code = CodeNoDevice
		f.Remedies = []string{"rdmactl detect lists the RDMA devices with their addresses"}
	}
}

func (f *Failure) explainConnect(device string, addr netip.AddrPort) {
	rejected, isRejected := errors.AsType[*verbs.RejectedError](f.err)
	timeout, isNet := errors.AsType[net.Error](f.err)
	switch {
	case errors.Is(f.err, verbs.ErrNobodyListens):
		f.Code = CodeNobodyListens
		f.Cause = rejected.Reason
		f.Remedies = []string{
			fmt.Sprintf("start the server there first, rdmactl ping --listen or rping -s -P, with port %d at both ends",
				addr.Port()),
			"a program that listens in another port space (UDP, IB) doesn't count, nor a socket of TCP",
		}
	case isRejected:
		f.Code = CodeRejected
		f.Cause = "the server rejected the connection: " + rejected.Reason
		f.Remedies = []string{
			"see what the server printed: it may have no resources left, or want another kind of connection",
		}
	case errors.Is(f.err, os.ErrDeadlineExceeded), errors.Is(f.err, context.DeadlineExceeded),
		isNet && timeout.Timeout():
		f.Code = CodeNoAnswer
		f.Cause = "no answer to the connection request"
		if isNet && !errors.Is(f.err, errNoAnswer) {
			f.Cause += ": " + timeout.Error()
		}
		f.Possible = silence(addr.Addr())
		f.Remedies = append([]string{
			"start the server there first: rdmactl ping --listen, or rping -s -P",
			fmt.Sprintf("rdmactl detect at the server: does an RDMA device or network device have the address %v?",
				addr.Addr()),
		}, lookAt(addr.Addr())...)
	case f.common():
	case strings.Contains(f.err.Error(), "not of the same family"):
		f.Code = CodeFamily
		f.Remedies = []string{
			"-d DEVICE selects a device with an address of the server's family, IPv4 or IPv6; now it is " + device,
		}
	case strings.Contains(f.err.Error(), "is on another link than"):
		f.Code = CodeNoRoute
		f.Remedies = []string{"write the network device of this machine after the %, or leave it out: " + device +
			" has one"}
	case strings.Contains(f.err.Error(), "is a link-local address, and"):
		f.Code = CodeFamily
		f.Remedies = []string{"roce@ADDRESS%NETDEV with the link-local address of this machine's network device"}
	case strings.Contains(f.err.Error(), "is not the address of"):
		f.Code = CodeNoDevice
		f.Remedies = []string{"rdmactl detect lists the RDMA devices with their addresses"}
	}
}

// silence returns what may keep packets from being answered.
func silence(to netip.Addr) []string {
	return []string{
		"the server isn't started: an engine (roce@…) answers only while its program runs",
		"a firewall drops UDP port 4791, at either end or between: a rule for TCP doesn't cover it, and a card's " +
			"packets pass only the network's firewalls",
		fmt.Sprintf("no RDMA device has the address %v", to),
		"the server's device is an iWARP device, or a card in RoCE v1 mode, which don't speak RoCE v2",
	}
}

func lookAt(to netip.Addr) []string {
	return []string{
		"nft list ruleset or iptables -S at both ends, and access lists of switches: allow UDP port 4791",
		fmt.Sprintf("ip route get %v; ping %v", to, to),
	}
}

func (f *Failure) explainData(addr netip.AddrPort) {
	completion, isCompletion := errors.AsType[*verbs.CompletionError](f.err)
	_, size := errors.AsType[*SizeError](f.err)
	_, wrong := errors.AsType[*MismatchError](f.err)
	switch {
	case wrong:
		f.Code = CodeData
		f.Possible = []string{
			"the server answers with other data: it is no rping",
			"memory, PCIe or a device damages data after its checksum was verified",
		}
		f.Remedies = []string{
			"repeat with other devices to find the machine; dmesg shows errors of PCIe (AER) and memory (EDAC)",
		}
	case size:
		f.Code = CodeProtocol
		f.Remedies = []string{"run rdmactl ping --listen or rping -s there, and name its port (--port)"}
	case errors.Is(f.err, io.EOF):
		f.Code = CodePeerEnded
		f.Cause = "the server has disconnected"
		f.Possible = []string{
			"rping -s without -P ends after one client", "rping -s -S SIZE with a smaller size than that of the pings",
			"the program ended: see what it printed",
		}
		f.Remedies = []string{"start rdmactl ping --listen or rping -s -P there"}
	case isCompletion:
		f.explainStatus(completion, addr)
	case errors.Is(f.err, os.ErrDeadlineExceeded):
		f.Code = CodeStalled
		f.Cause = "the server's device acknowledges, but its program doesn't answer: " + errNoAnswer.Error()
		f.Possible = []string{"the program at the other end is stopped, overloaded, or no rping"}
	default:
		f.common()
	}
}

// explainStatus explains the status of a completion.
func (f *Failure) explainStatus(e *verbs.CompletionError, addr netip.AddrPort) {
	f.Cause = e.Status.String()
	switch e.Status {
	case verbs.WCRetryExceeded, verbs.WCResponseTimeout:
		f.Code = CodeUnacknowledged
		f.Cause = "the connection was established, and then nothing was acknowledged: " + f.Cause
		if e.Cause != nil {
			f.Cause += fmt.Sprintf(": this machine didn't send the packets: %v", e.Cause)
		}
		f.Possible = []string{
			"the server's program was killed, or its machine has failed, or the path",
			"packets of this size don't pass: a switch has a smaller MTU",
		}
		f.Remedies = append(lookAt(addr.Addr()), "rdmactl connect tries large packets, and explains what it finds")
	case verbs.WCRNRRetryExceeded:
		f.Code = CodeRNR
		f.Possible = []string{"the program at the other end is stopped or overloaded"}
	case verbs.WCRemoteAccess, verbs.WCRemoteInvalid, verbs.WCRemoteOperation:
		f.Code = CodeRefused
		f.Cause = "the server's device rejected a message: " + f.Cause
		f.Possible = []string{"the program at the other end is no rping"}
	case verbs.WCFlushed:
		f.Cause = "the queue pair went to state ERR: this device rejected a request of the server, or has failed"
		f.Remedies = []string{"dmesg shows whether the device has failed; see what the server printed"}
	}
}
