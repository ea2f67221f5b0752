package connect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The first message of each end begins with them: both ends need the same.
const (
	Protocol = "rdmakit-connect" // name of the protocol
	Version  = 1                 // its version
)

// maxLine is the limit of a message in bytes, including its newline.
const maxLine = 1 << 20

// Kinds of messages.
const (
	KindHello   = "hello"   // both ends, first
	KindAttempt = "attempt" // the client proposes a pair of ports
	KindPort    = "port"    // both ends: address of the queue pair, or a failure
	KindStatus  = "status"  // both ends, after a stage
	KindFinding = "finding" // the client: the failure of the last attempt, with more observations
	KindTCP     = "tcp"     // the client: the measurement over TCP follows, in raw bytes
	KindBye     = "bye"     // the client: the run is over
)

// Message is a message of the protocol: a JSON document on one line. Kind says which other fields
// it has; those of other kinds are an error.
type Message struct {
	Kind    string    `json:"kind"`
	Hello   *Hello    `json:"hello,omitempty"`
	Attempt *Proposal `json:"attempt,omitempty"`
	Port    *Endpoint `json:"port,omitempty"`
	Status  *Status   `json:"status,omitempty"`
	Failure *Failure  `json:"failure,omitempty"` // instead of Port, in a Status, and of a finding
}

// Hello introduces an end.
type Hello struct {
	Protocol string `json:"protocol"` // Protocol
	Version  int    `json:"version"`  // Version
	AllowTCP bool   `json:"allowTCP,omitempty"`
	// All is set in a run with all ports. A listener without it offers one.
	All  bool `json:"all,omitempty"`
	Node Node `json:"node"`
}

// Proposal is an attempt that the client proposes.
type Proposal struct {
	// ListenerPort is the name of the listener's port; "" is its only one.
	ListenerPort string `json:"listenerPort,omitempty"`
	Rail         *int   `json:"rail,omitempty"`
	Pings        int    `json:"pings"`  // messages of 64 bytes, 1 to a million
	Writes       int    `json:"writes"` // in each direction, 1 to 10,000
	// MTU is the largest path MTU in bytes; 0 is no limit.
	MTU ib.MTU `json:"mtu,omitempty"`
	// CM connects the queue pairs by the communication manager (rdma_cm).
	CM bool `json:"cm,omitempty"`
	// Probe marks an attempt that only adds observations to the failure of the last one.
	Probe bool `json:"probe,omitempty"`
}

// Endpoint is the address of one end's queue pair, and what the other end must know to compare.
type Endpoint struct {
	Host      string      `json:"host"`
	Port      string      `json:"port"`      // name of the port
	LinkLayer string      `json:"linkLayer"` // InfiniBand or Ethernet
	LID       ib.LID      `json:"lid"`       // InfiniBand only
	GIDs      []GIDChoice `json:"gids"`      // usable entries, in the order of this end's preference
	ActiveMTU ib.MTU      `json:"activeMTU"` // of the port, in bytes
	MTU       ib.MTU      `json:"mtu"`       // largest that this end accepts
	QPN       uint32      `json:"qpn"`       // of the queue pair
	PSN       uint32      `json:"psn"`       // of the first packet that this end sends
	PKey      ib.PKey     `json:"pkey"`      // partition of the queue pair
	RKey      uint32      `json:"rkey"`      // key of the memory for writes
	Addr      uint64      `json:"addr"`      // its first byte
	// Timeout is the code of this end's acknowledgement timeout, 1 to 31; 0 is no limit.
	Timeout uint8 `json:"timeout"`
	// Service is the port of rdma_cm that a listener listens on, for an attempt with CM.
	Service uint16 `json:"service,omitempty"`
	// Software is set for an engine in user space.
	Software bool `json:"software,omitempty"`
}

// Status reports the result of a stage at one end. A status without failure for an end that has
// given up because of the other's failure has Aborted set.
type Status struct {
	Stage    Stage    `json:"stage"`
	Aborted  bool     `json:"aborted,omitempty"`
	Received int      `json:"received"` // messages of 64 bytes that have arrived here
	Observed []string `json:"observed,omitempty"`
	// The rest is part of the last stage.
	Ping    *bench.LatencyPoint `json:"ping,omitempty"`
	Write   *WriteResult        `json:"write,omitempty"`
	Retries map[string]uint64   `json:"retries,omitempty"`
	// Arrived is the growth of counters of packets that have arrived, of all users of the device.
	Arrived map[string]uint64 `json:"arrived,omitempty"`
	// NoCounters: the device has no counters of retries.
	NoCounters bool `json:"noCounters,omitempty"`
}

// Limits of a proposal and of lists.
const (
	maxPings  = 1_000_000
	maxWrites = 10_000
	maxGIDs   = 64
	maxName   = 256 // bytes
)

// Errors about messages.
var (
	errTooLong = fmt.Errorf("more than %d bytes without a newline", maxLine)
	errClosed  = errors.New("the peer closed the connection")
)

// encode returns the line of a message.
func encode(m Message) ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(line) >= maxLine {
		return nil, fmt.Errorf("encode %s: %w", m.Kind, errTooLong)
	}
	return append(line, '\n'), nil
}

// readMessage reads one message. r needs a buffer of maxLine bytes.
func readMessage(r *bufio.Reader) (Message, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return Message{}, errTooLong
	case errors.Is(err, io.EOF) && len(line) == 0:
		return Message{}, errClosed
	case errors.Is(err, io.EOF):
		return Message{}, fmt.Errorf("%w in the middle of a message: %s", errClosed, excerpt(line))
	case err != nil:
		return Message{}, err
	}
	return decode(line)
}

// decode parses and checks a message.
func decode(line []byte) (m Message, err error) {
	if err := json.Unmarshal(line, &m); err != nil {
		return m, &foreignError{line: bytes.Clone(line)}
	}
	if err := m.check(); err != nil {
		return m, fmt.Errorf("message %q: %w", m.Kind, err)
	}
	return m, nil
}

// foreignError is the error for a line that is no message.
type foreignError struct{ line []byte }

func (e *foreignError) Error() string {
	return "the peer is not rdmactl connect: it sends " + excerpt(e.line)
}

// excerpt quotes the beginning of a line.
func excerpt(line []byte) string {
	const most = 40
	line = bytes.TrimRight(line, "\r\n")
	if len(line) > most {
		return strconv.Quote(string(line[:most])) + "…"
	}
	return strconv.Quote(string(line))
}

// check returns an error if fields that the kind requires are missing or out of range, or if there
// are fields of another kind.
func (m *Message) check() error {
	rest := *m
	var err error
	missing := false
	switch m.Kind {
	case KindHello:
		if missing, rest.Hello = m.Hello == nil, nil; !missing {
			err = m.Hello.check()
		}
	case KindAttempt:
		if missing, rest.Attempt = m.Attempt == nil, nil; !missing {
			err = m.Attempt.check()
		}
	case KindPort:
		missing = m.Port == nil && m.Failure == nil
		if rest.Port = nil; m.Port != nil {
			err = m.Port.check()
		} else {
			rest.Failure = nil
		}
	case KindStatus:
		missing, rest.Status, rest.Failure = m.Status == nil, nil, nil
	case KindFinding:
		missing, rest.Failure = m.Failure == nil, nil
	case KindTCP, KindBye:
	default:
		return errors.New("no such kind")
	}
	switch {
	case missing:
		return errors.New("incomplete")
	case err == nil && rest != (Message{Kind: m.Kind}):
		return errors.New("a field of another kind")
	}
	return err
}

// checkNames returns an error if a name is too long for the texts of failures.
func checkNames(names ...string) error {
	for _, name := range names {
		if len(name) > maxName {
			return fmt.Errorf("a name of %d bytes: %s", len(name), excerpt([]byte(name)))
		}
	}
	return nil
}

func (h *Hello) check() error {
	names := []string{h.Node.Host}
	for i := range h.Node.Ports {
		names = append(names, h.Node.Ports[i].Name)
	}
	return checkNames(names...)
}

func (p *Proposal) check() error {
	switch {
	case p.Pings < 1 || p.Pings > maxPings:
		return fmt.Errorf("%d pings are not 1 to %d", p.Pings, maxPings)
	case p.Writes < 1 || p.Writes > maxWrites:
		return fmt.Errorf("%d writes are not 1 to %d", p.Writes, maxWrites)
	case p.MTU != 0 && p.MTU.Code() == 0:
		return fmt.Errorf("MTU %d is not 256, 512, 1024, 2048 or 4096", p.MTU)
	}
	return checkNames(p.ListenerPort)
}

func (e *Endpoint) check() error {
	const (
		most   = 1<<24 - 1
		member = 0x8000 // the bit of a partition's full members
	)
	switch {
	case e.MTU.Code() == 0 || e.ActiveMTU.Code() == 0:
		return fmt.Errorf("MTU %d or active MTU %d is not 256, 512, 1024, 2048 or 4096", e.MTU, e.ActiveMTU)
	case e.LinkLayer != verbs.LinkLayerInfiniBand.String() && e.LinkLayer != verbs.LinkLayerEthernet.String():
		return fmt.Errorf("link layer %s is not InfiniBand or Ethernet", excerpt([]byte(e.LinkLayer)))
	case e.PKey&^member == 0:
		return fmt.Errorf("P_Key %v is none of a partition", e.PKey)
	case e.Timeout > maxTimeout:
		return fmt.Errorf("the code %d of the acknowledgement timeout is not 0 to %d", e.Timeout, maxTimeout)
	case e.QPN > most || e.PSN > most:
		return fmt.Errorf("QPN %#x or PSN %#x has more than 24 bits", e.QPN, e.PSN)
	case len(e.GIDs) == 0:
		return errors.New("no GID")
	case len(e.GIDs) > maxGIDs:
		return fmt.Errorf("%d GIDs are more than %d", len(e.GIDs), maxGIDs)
	}
	names := []string{e.Host, e.Port}
	for _, g := range e.GIDs {
		names = append(names, string(g.Kind))
		if g.Index < 0 || g.Index > 1<<16 || g.GID.IsZero() {
			return fmt.Errorf("GID %v at index %d", g.GID, g.Index)
		}
	}
	return checkNames(names...)
}
