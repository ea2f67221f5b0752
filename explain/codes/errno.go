package codes

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Operation is the call that returned an error number.
type Operation string

// The operations with meanings of their own.
const (
	AnyOperation   Operation = ""
	ModifyQPToRTR  Operation = "modify-qp-rtr" // ibv_modify_qp to ready to receive
	CreateAH       Operation = "create-ah"     // ibv_create_ah
	RegisterMemory Operation = "reg-mr"        // ibv_reg_mr, ibv_reg_mr_iova2
	RegisterDMABuf Operation = "reg-dmabuf-mr" // ibv_reg_dmabuf_mr
	CreateCQ       Operation = "create-cq"     // ibv_create_cq
	CreateQP       Operation = "create-qp"     // ibv_create_qp
	OpenDevice     Operation = "open-device"   // ibv_open_device
	PostSend       Operation = "post-send"     // ibv_post_send
	SocketConnect  Operation = "connect"       // connect(2), and SO_ERROR after it
	ResolveAddress Operation = "resolve-addr"  // rdma_resolve_addr, RDMA_CM_EVENT_ADDR_ERROR
)

// Operations returns the operations that have meanings of their own.
func Operations() []Operation {
	return []Operation{
		ModifyQPToRTR, CreateAH, RegisterMemory, RegisterDMABuf, CreateCQ, CreateQP, OpenDevice, PostSend,
		SocketConnect,
		ResolveAddress,
	}
}

// calls are what programs print for an operation, in the form of [words]; longer ones first.
var calls = []struct {
	text string
	op   Operation
}{
	{"ibv reg dmabuf mr", RegisterDMABuf},
	{"reg dmabuf mr", RegisterDMABuf},
	{"rdma cm event addr error", ResolveAddress},
	{"rdma resolve addr", ResolveAddress},
	{"resolve addr", ResolveAddress},
	{"modify qp rtr", ModifyQPToRTR},
	{"modify qp", ModifyQPToRTR},
	{"to rtr", ModifyQPToRTR},
	{"create ah", CreateAH},
	{"reg mr iova2", RegisterMemory},
	{"reg mr", RegisterMemory},
	{"create cq", CreateCQ},
	{"create qp", CreateQP},
	{"open device", OpenDevice},
	{"post send", PostSend},
	{"connect", SocketConnect},
}

// OperationByText returns the operation that a text names, such as "ibv_modify_qp" or
// "modify-qp-rtr".
func OperationByText(text string) (Operation, bool) {
	w := words(text)
	for _, c := range calls {
		if hasPhrase(strings.ReplaceAll(w, "ibv ", ""), strings.TrimPrefix(c.text, "ibv ")) {
			return c.op, true
		}
	}
	return AnyOperation, false
}

// Link is the transport of the device that an operation used.
type Link string

// The links.
const (
	LinkUnknown    Link = ""
	LinkRoCE       Link = "RoCE"
	LinkInfiniBand Link = "InfiniBand"
	LinkIWARP      Link = "iWARP"
)

// LinkByText returns the link of a name: RoCE, Ethernet, InfiniBand, IB, iWARP, in any case.
func LinkByText(text string) (Link, bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "roce", "rocev2", "ethernet", "eth":
		return LinkRoCE, true
	case "infiniband", "ib":
		return LinkInfiniBand, true
	case "iwarp":
		return LinkIWARP, true
	case "", "unknown":
		return LinkUnknown, true
	}
	return LinkUnknown, false
}

// ErrorNumber is an error number of Linux and what it means for an operation.
type ErrorNumber struct {
	Number    int
	Name      string // ETIMEDOUT
	Text      string // of strerror
	Operation Operation
	Link      Link
	Meaning   string   // for the operation; empty if this package doesn't know one
	Causes    []string // the most common one first
	Sources   []string
}

// Errno returns what an error number means: of the operation on a link, else in general. Negative
// numbers, as the kernel and rdma_cm events have them, are the same as positive ones.
func Errno(number int, op Operation, link Link) (ErrorNumber, bool) {
	if number < 0 {
		number = -number
	}
	if number < 0 || number >= len(errnos) || errnos[number].name == "" {
		return ErrorNumber{}, false
	}
	e := ErrorNumber{Number: number, Name: errnos[number].name, Text: errnos[number].text, Operation: op, Link: link}
	m, ok := meaningOf(number, op, link)
	if !ok {
		m, _ = meaningOf(number, AnyOperation, LinkUnknown)
	}
	e.Meaning, e.Causes, e.Sources = m.meaning, m.causes, m.sources
	return e, true
}

// meaningOf returns the row for an operation: that of the link if there is one, else that for any
// link; without a link, the one of RoCE, which says so.
func meaningOf(number int, op Operation, link Link) (errnoMeaning, bool) {
	var general errnoMeaning
	found := false
	for _, m := range errnoMeanings {
		if m.op != op || m.number != number && m.number != anyNumber {
			continue
		}
		switch {
		case m.link == link && link != LinkUnknown:
			return m, true
		case m.link == LinkUnknown && !found, m.link == LinkRoCE && link == LinkUnknown && !found:
			general, found = m, true
		}
	}
	return general, found
}

// ErrnoByText returns the number of a text: a number with or without a sign, a name (ETIMEDOUT,
// also negative as "-ETIMEDOUT"), or the text of strerror, alone or in a line, in any case. Of
// several texts the longest decides.
func ErrnoByText(text string) (int, bool) {
	t := strings.TrimSpace(text)
	if n, err := strconv.Atoi(t); err == nil {
		_, ok := Errno(n, AnyOperation, LinkUnknown)
		return max(n, -n), ok
	}
	w := words(t)
	best, length := 0, 0
	consider := func(phrase string, number int) {
		if len(phrase) > length && hasPhrase(w, phrase) {
			best, length = number, len(phrase)
		}
	}
	for n, e := range errnos {
		if e.name != "" {
			consider(strings.ToLower(e.name), n)
			consider(words(e.text), n)
		}
	}
	for name, n := range errnoAliases {
		consider(strings.ToLower(name), n)
	}
	return best, length > 0
}

// String returns number, name and text, such as "110 (ETIMEDOUT, Connection timed out)".
func (e ErrorNumber) String() string {
	return fmt.Sprintf("%d (%s, %s)", e.Number, cmp.Or(e.Name, "unknown"), e.Text)
}
