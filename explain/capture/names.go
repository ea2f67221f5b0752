package capture

import "slices"

// Name is the stable short name of a finding.
type Name string

// The findings.
const (
	NameNoRoCE           Name = "no-roce"
	NameOneDirection     Name = "one-direction"
	NameOneWay           Name = "one-way"
	NameNoAnswer         Name = "no-answer"
	NameReadUnanswered   Name = "read-unanswered"
	NameLoss             Name = "loss"
	NameRetransmission   Name = "retransmission"
	NameAnswersLost      Name = "answers-lost"
	NameReordering       Name = "reordering"
	NameDuplicates       Name = "duplicates"
	NameNAKInvalid       Name = "nak-invalid"
	NameNAKAccess        Name = "nak-access"
	NameNAKOperation     Name = "nak-operation"
	NameNAKOther         Name = "nak-other"
	NameRNR              Name = "rnr"
	NameMTU              Name = "mtu"
	NameFragments        Name = "fragments"
	NameICRC             Name = "icrc"
	NameICRCUnfilled     Name = "icrc-unfilled"
	NameCongestion       Name = "ecn-cnp"
	NameNoCNP            Name = "ecn-no-cnp"
	NameDSCP             Name = "dscp-differs"
	NameHopLimit         Name = "ttl-1"
	NameARPUnanswered    Name = "arp-unanswered"
	NameICMPFragNeeded   Name = "icmp-frag-needed"
	NameICMPUnreachable  Name = "icmp-unreachable"
	NameICMPTimeExceeded Name = "icmp-time-exceeded"
	NameGIDMismatch      Name = "gid-mismatch"
	NameCMRejected       Name = "cm-rejected"
	NameCMUnanswered     Name = "cm-unanswered"
	NameMalformed        Name = "malformed"
	NameUnknownOpcode    Name = "unknown-opcode"
)

// Severity is how much a finding weighs.
type Severity string

// The severities: a note is no fault by itself.
const (
	SeverityFault   Severity = "fault"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Status is a completion status (C twin: enum ibv_wc_status).
type Status uint8

// The statuses that findings lead to.
const (
	StatusNone             Status = 0
	StatusRemoteInvalid    Status = 9  // IBV_WC_REM_INV_REQ_ERR
	StatusRemoteAccess     Status = 10 // IBV_WC_REM_ACCESS_ERR
	StatusRemoteOperation  Status = 11 // IBV_WC_REM_OP_ERR
	StatusRetryExceeded    Status = 12 // IBV_WC_RETRY_EXC_ERR
	StatusRNRRetryExceeded Status = 13 // IBV_WC_RNR_RETRY_EXC_ERR
)

// kernelBypass is why a capture without RDMA packets proves nothing.
const kernelBypass = "a card passes RDMA packets by the kernel, so tcpdump on its interface sees them only with the " +
	"card's sniffer, on a mirror port, or with soft RoCE"

// Description is what a finding means, wherever it is found.
type Description struct {
	Name     Name
	Severity Severity
	Status   Status // of the requester's work request, if it comes to that; 0: none
	Means    string
}

// Descriptions returns all findings.
func Descriptions() []Description { return slices.Concat(ofAnswers(), ofRefusals(), ofPaths()) }

const (
	fault, warning, note = SeverityFault, SeverityWarning, SeverityNote
	none, retryStatus    = StatusNone, StatusRetryExceeded
)

// ofAnswers are the findings about requests and what becomes of them.
func ofAnswers() []Description {
	return []Description{
		{
			NameNoRoCE, note, none,
			"The capture has no RDMA packet. That proves nothing: " + kernelBypass + ".",
		},
		{
			NameOneDirection, note, none,
			"Only one direction was captured, and nothing was sent again, so the other one was probably there: " +
				"what the responder answered is not judged.",
		},
		{
			NameOneWay, fault, retryStatus,
			"Requests leave and are sent again, but nothing comes back: a filter or a route that lets one " +
				"direction pass, a dead peer, a wrong GID or queue pair number, or a queue pair that isn't ready.",
		},
		{
			NameNoAnswer, fault, retryStatus,
			"The responder answered at first and then no more, while the requester repeated: the path or the peer " +
				"went away, or it drops these packets (size, rights, state).",
		},
		{
			NameReadUnanswered, fault, retryStatus,
			"READ requests were sent again and their responses are not complete.",
		},
		{
			NameLoss, warning, retryStatus,
			"Packets were lost. Single ones point to a bad cable or module, runs to a queue that overflowed, such " +
				"as without flow control (PFC) or congestion control. Jobs slow down, and fail after all retries.",
		},
		{
			NameRetransmission, warning, retryStatus,
			"The requester sent packets again. Without a NAK it waited for its timeout: the last packet of a " +
				"burst, or its answer, was lost, or the responder was too slow. With a retry count of 7 soft RoCE " +
				"(rxe) repeats without end, and the work request never completes.",
		},
		{
			NameAnswersLost, warning, retryStatus,
			"Requests were repeated although their answers passed the capture: the answers were lost between the " +
				"capture and the requester, or it discards them.",
		},
		{
			NameReordering, warning, none,
			"Packets of one queue pair overtook each other: they take several paths, as with packet spraying or a " +
				"changed route. A responder without support for that asks for them again (NAK 0x60).",
		},
		{
			NameDuplicates, note, none,
			"Packets were captured twice: on two interfaces or ports, or the network copied them.",
		},
	}
}

// ofRefusals are the findings about NAKs.
func ofRefusals() []Description {
	return []Description{
		{
			NameNAKInvalid, fault, StatusRemoteInvalid,
			"The responder refused a request as invalid or unsupported (NAK 0x61): an operation that the queue " +
				"pair doesn't allow, more outstanding READs than agreed, a message longer than the receive buffer, " +
				"or different path MTUs.",
		},
		{
			NameNAKAccess, fault, StatusRemoteAccess,
			"The responder refused access to its memory (NAK 0x62): a wrong or expired remote key, an address out " +
				"of range, or missing rights of the region or the queue pair.",
		},
		{
			NameNAKOperation, fault, StatusRemoteOperation,
			"The responder could not complete a request (NAK 0x63): an error on its side, such as of its memory, " +
				"its receive request or its queue pair; with soft RoCE (rxe) also a message longer than the receive " +
				"buffer.",
		},
		{
			NameNAKOther, warning, none,
			"The responder sent a NAK with a reserved code.",
		},
		{
			NameRNR, warning, StatusRNRRetryExceeded,
			"The receiver had no receive request posted (RNR NAK): it is too slow, or its queue is too short. The " +
				"sender waits for the named time, and gives up after its RNR retries.",
		},
	}
}

// ofPaths are the findings about the network and the headers of packets.
func ofPaths() []Description {
	return []Description{
		{
			NameMTU, fault, retryStatus,
			"Large packets don't fit: the two ends or the path between them disagree about the MTU.",
		},
		{
			NameFragments, fault, retryStatus,
			"RoCE packets were fragmented: the MTU of the path is too small. Cards don't reassemble them.",
		},
		{
			NameICRC, warning, retryStatus,
			"The invariant CRC doesn't fit, although the packet arrived: a device rewrote fields that it covers " +
				"(addresses, ports), a faulty sender, or corruption. Receivers drop such packets silently.",
		},
		{
			NameICRCUnfilled, note, none,
			"The invariant CRC is zero: the packets were captured on the sending host before its card filled it " +
				"in. It is not judged.",
		},
		{
			NameCongestion, note, none,
			"Switches marked packets as congested, or receivers told senders so (CNP). That is congestion control " +
				"at work; many of them mean slow flows and no failure.",
		},
		{
			NameNoCNP, warning, none,
			"Packets were marked as congested, and the receiver sent no CNP: congestion control is off there, or " +
				"its CNPs are lost.",
		},
		{
			NameDSCP, warning, none,
			"The two directions have different DSCPs: one of them is in another traffic class, possibly without " +
				"flow control.",
		},
		{
			NameHopLimit, warning, retryStatus,
			"The hop limit is 1: a router drops these packets. It is enough within a subnet.",
		},
		{
			NameARPUnanswered, fault, none,
			"Nobody answered for the address (ARP, neighbor discovery): modify QP to RTR fails with ETIMEDOUT " +
				"(110), or established connections end.",
		},
		{
			NameICMPFragNeeded, fault, retryStatus,
			"A router says that RoCE packets are too large for its next link.",
		},
		{
			NameICMPUnreachable, fault, retryStatus,
			"A router or the host says that RoCE packets can't be delivered.",
		},
		{
			NameICMPTimeExceeded, fault, retryStatus,
			"A router dropped RoCE packets because their hop limit was used up.",
		},
		{
			NameGIDMismatch, fault, retryStatus,
			"Packets come from another address than the connection has: a wrong GID index, or several addresses " +
				"on one interface. The receiver drops them.",
		},
		{
			NameCMRejected, fault, none,
			"A connection was rejected by the other end's communication manager.",
		},
		{
			NameCMUnanswered, fault, none,
			"A connection was requested repeatedly without any answer: a filter, a wrong address, or a peer " +
				"without RDMA. The program gets RDMA_CM_EVENT_UNREACHABLE.",
		},
		{
			NameMalformed, warning, none,
			"Packets to the port of RoCE contradict their own headers.",
		},
		{
			NameUnknownOpcode, note, none,
			"Packets have opcodes that are not judged: XRC, RD, extensions, or no RDMA at all.",
		},
	}
}

// description returns the description of a name.
func description(n Name) Description {
	for _, d := range Descriptions() {
		if d.Name == n {
			return d
		}
	}
	return Description{Name: n, Severity: SeverityNote}
}
