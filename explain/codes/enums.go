package codes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Value is a member of a small enumeration.
type Value struct {
	Number  int
	Name    string
	Meaning string
}

// Enumeration is a small table of values; see [Enumerations].
type Enumeration struct {
	Key    string // in [Lookup], such as "mtu"
	Title  string
	Source string
	Values []Value
}

// Value returns the member with a number.
func (e Enumeration) Value(number int) (Value, bool) {
	for _, v := range e.Values {
		if v.Number == number {
			return v, true
		}
	}
	return Value{}, false
}

// ByName returns the member with a name, in any case.
func (e Enumeration) ByName(name string) (Value, bool) {
	for _, v := range e.Values {
		if strings.EqualFold(v.Name, strings.TrimSpace(name)) {
			return v, true
		}
	}
	return Value{}, false
}

// EnumerationByKey returns the table with a key.
func EnumerationByKey(key string) (Enumeration, bool) {
	for _, e := range Enumerations() {
		if e.Key == key {
			return e, true
		}
	}
	return Enumeration{}, false
}

// Enumerations returns the small tables: path MTU, states of ports, results and sockets of NCCL,
// events and reject reasons of rdma_cm, RNR timers.
func Enumerations() []Enumeration {
	return []Enumeration{
		{"mtu", "path MTU", "rdma-core, enum ibv_mtu in libibverbs/verbs.h", mtus},
		{"port_state", "state of a port", "rdma-core, enum ibv_port_state in libibverbs/verbs.h", portStates},
		{
			"phys_state", "physical state of a port",
			"InfiniBand Architecture Specification volume 1, section 14.2.5.6",
			physicalStates(),
		},
		{"nccl_result", "result of NCCL", "NCCL, src/nccl.h.in and ncclGetErrorString in src/init.cc", ncclResults},
		{"nccl_socket", "type of a connection of NCCL", "NCCL, src/include/socket.h", ncclSockets},
		{"cm_event", "event of rdma_cm", "rdma-core, librdmacm/rdma_cma.h and rdma_get_cm_event(3)", cmEvents},
		{
			"reject", "reason of a rejected connection",
			"InfiniBand Architecture Specification volume 1, table 109", rejects(),
		},
		{"rnr_timer", "RNR timer", "InfiniBand Architecture Specification volume 1, table 46", rnrTimers()},
	}
}

var mtus = []Value{
	{1, "IBV_MTU_256", "256 bytes"},
	{2, "IBV_MTU_512", "512 bytes"},
	{3, "IBV_MTU_1024", "1024 bytes"},
	{4, "IBV_MTU_2048", "2048 bytes"},
	{5, "IBV_MTU_4096", "4096 bytes"},
}

var portStates = []Value{
	{0, "IBV_PORT_NOP", "no change"},
	{1, "IBV_PORT_DOWN", "no link: physical state says why"},
	{2, "IBV_PORT_INIT", "a link, but no subnet manager has configured the port"},
	{3, "IBV_PORT_ARMED", "being configured by the subnet manager"},
	{4, "IBV_PORT_ACTIVE", "ready for traffic"},
	{5, "IBV_PORT_ACTIVE_DEFER", "the link was lost a moment ago and may come back"},
}

// physicalStates returns the states with the names that wire/mad has for them.
func physicalStates() []Value {
	meanings := [...]string{
		1: "asleep", 2: "looking for a partner: no cable, or the other end is off",
		3: "switched off by an administrator, or the interface is down", 4: "the link is being trained",
		5: "the link is up",
		6: "the link is being recovered after errors", 7: "a test of the transceivers is running",
	}
	var list []Value
	for n := 1; n < len(meanings); n++ {
		list = append(list, Value{n, mad.PortPhysicalState(n).String(), meanings[n]})
	}
	return list
}

var ncclResults = []Value{
	{0, "ncclSuccess", "no error"},
	{1, "ncclUnhandledCudaError", "a call of CUDA failed"},
	{2, "ncclSystemError", "a call of the system or of verbs failed: the WARN line before names it"},
	{3, "ncclInternalError", "a defect of NCCL, or memory that was overwritten"},
	{4, "ncclInvalidArgument", "an argument of the program is invalid"},
	{5, "ncclInvalidUsage", "the call is not allowed here; also if no network plugin could be used"},
	{6, "ncclRemoteError", "a peer has ended or the network failed: the peer's log comes first"},
	{7, "ncclInProgress", "not an error: the operation is under way"},
	{8, "ncclTimeout", "an operation took longer than allowed"},
}

var ncclSockets = []Value{
	{0, "ncclSocketTypeUnknown", "not set"},
	{1, "ncclSocketTypeBootstrap", "exchange of addresses at the start"},
	{2, "ncclSocketTypeProxy", "between ranks and their proxy threads"},
	{3, "ncclSocketTypeNetSocket", "data over TCP (NET/Socket)"},
	{4, "ncclSocketTypeNetIb", "side channel of InfiniBand or RoCE (NET/IB)"},
	{5, "ncclSocketTypeRasNetwork", "reliability and health service (RAS)"},
}

var cmEvents = []Value{
	{0, "RDMA_CM_EVENT_ADDR_RESOLVED", "the address was resolved"},
	{1, "RDMA_CM_EVENT_ADDR_ERROR", "the address could not be resolved; the status is a negative error number"},
	{2, "RDMA_CM_EVENT_ROUTE_RESOLVED", "the path was found"},
	{
		3, "RDMA_CM_EVENT_ROUTE_ERROR",
		"no path was found (on InfiniBand, asked of the subnet manager); a negative error number",
	},
	{4, "RDMA_CM_EVENT_CONNECT_REQUEST", "a peer asks for a connection"},
	{5, "RDMA_CM_EVENT_CONNECT_RESPONSE", "the peer has answered"},
	{6, "RDMA_CM_EVENT_CONNECT_ERROR", "an error while connecting"},
	{7, "RDMA_CM_EVENT_UNREACHABLE", "the peer's communication manager doesn't answer; usually status -110"},
	{8, "RDMA_CM_EVENT_REJECTED", "the peer refused; the status is a reject reason, on iWARP a negative error number"},
	{9, "RDMA_CM_EVENT_ESTABLISHED", "connected"},
	{10, "RDMA_CM_EVENT_DISCONNECTED", "the connection has ended, by either side"},
	{11, "RDMA_CM_EVENT_DEVICE_REMOVAL", "the device was removed or reset"},
	{12, "RDMA_CM_EVENT_MULTICAST_JOIN", "joined a multicast group"},
	{13, "RDMA_CM_EVENT_MULTICAST_ERROR", "could not join a multicast group, or lost it"},
	{14, "RDMA_CM_EVENT_ADDR_CHANGE", "the interface's hardware address has changed, as when a bond fails over"},
	{15, "RDMA_CM_EVENT_TIMEWAIT_EXIT", "the waiting time after a connection is over"},
	{16, "RDMA_CM_EVENT_ADDRINFO_RESOLVED", "a name was resolved"},
	{17, "RDMA_CM_EVENT_ADDRINFO_ERROR", "a name could not be resolved"},
}

// rejectHints are first causes of common reject reasons.
var rejectHints = map[mad.RejectReason]string{
	mad.RejectNoResources:      "the peer is out of queue pairs or memory",
	mad.RejectTimeout:          "an answer came too late",
	mad.RejectInvalidServiceID: "nobody listens on that port, or on another address or device",
	mad.RejectStaleConnection: "the peer still has a connection with the same queue pair: it will end it; " +
		"try again",
	mad.RejectInvalidGID:            "the peer's port doesn't have the GID: address or device of another subnet",
	mad.RejectInvalidMTU:            "the peer's port has a smaller MTU",
	mad.RejectInsufficientResources: "more outstanding reads or atomics than the peer allows",
	mad.RejectConsumer:              "the peer's program said no: its log says why",
}

// rejects returns the reasons with the names that wire/mad has for them.
func rejects() []Value {
	var list []Value
	for n := range 36 {
		r := mad.RejectReason(n)
		if name := r.String(); !strings.HasPrefix(name, "reason ") {
			list = append(list, Value{n, name, rejectHints[r]})
		}
	}
	return list
}

// rnrTimers returns how long a requester waits after an RNR NAK with each timer code.
func rnrTimers() []Value {
	var list []Value
	for n := range 32 {
		list = append(list, Value{n, "", milliseconds(ib.RNRDelay(uint8(n)))})
	}
	return list
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + " ms"
}

// AETH is what the syndrome byte of an acknowledgement means.
type AETH struct {
	Syndrome ib.Syndrome
	Name     string
	Meaning  string
	Status   int // of the requester's completion if its retries don't help; [StatusUnknown] if none
}

// AETHSyndrome returns what the first byte of an AETH means (InfiniBand Architecture Specification
// volume 1, section 9.7.5.1, tables 45 to 47). Every byte has a meaning, if only "reserved".
func AETHSyndrome(b uint8) AETH {
	s := ib.Syndrome(b)
	a := AETH{Syndrome: s, Name: s.String(), Status: StatusUnknown}
	switch {
	case b&0x80 != 0:
		a.Name, a.Meaning = fmt.Sprintf("reserved syndrome 0x%02x", b), "the highest bit is reserved"
	case s == ib.SyndromeACK:
		a.Meaning = "acknowledged; the responder doesn't count credits"
	case s.IsACK():
		a.Meaning = fmt.Sprintf("acknowledged; code %d of the responder's credits", b&0x1f)
	case s.IsRNR():
		a.Status = statusRNR
		a.Meaning = fmt.Sprintf("the responder has no receive request; timer %d: wait %s", s.RNRTimer(),
			milliseconds(ib.RNRDelay(s.RNRTimer())))
	case s == ib.SyndromeNAKSequence:
		a.Status, a.Meaning = statusRetry, "a packet is missing: loss or reordering; the requester sends again"
	case s == ib.SyndromeNAKInvalidRequest:
		a.Status, a.Meaning = statusInvalid, "the responder refused the request as invalid"
	case s == ib.SyndromeNAKRemoteAccess:
		a.Status, a.Meaning = statusRemAccess, "the responder refused access to its memory"
	case s == ib.SyndromeNAKRemoteError:
		a.Status, a.Meaning = statusRemOp, "the responder could not complete the request"
	case s == ib.SyndromeNAKInvalidRD:
		a.Status, a.Meaning = statusInvalidRD, "for reliable datagrams only"
	default:
		a.Meaning = "reserved"
	}
	return a
}
