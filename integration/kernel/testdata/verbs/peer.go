package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// introduction is what two ends tell each other.
type introduction struct {
	Remote verbs.Remote
	Addr   uint64
	RKey   uint32
}

// peer exchanges data with this program in another machine, through the device of that name: SEND,
// WRITE and READ, in both directions. An address that begins with a colon is listened on.
func peer(ctx context.Context, name, address string) error {
	device, err := verbs.Open(ctx, name, ibverbs.Provider{}, roce.Provider{})
	if err != nil {
		return err
	}
	e, err := newEnd(ctx, device, 4*messageSize, verbs.QPConfig{}, verbs.CQConfig{})
	if err != nil {
		return err
	}
	conn, err := meet(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	t := newTalk(conn)
	other, err := introduce(t, e)
	if err != nil {
		return err
	}
	first := strings.HasPrefix(address, ":")
	for round, active := range []bool{first, !first} {
		if active {
			err = drive(ctx, e, other, round)
		} else {
			err = serve(ctx, e, round)
		}
		if err != nil {
			return fmt.Errorf("round %d, active %v: %w", round, active, err)
		}
		if err := t.step(); err != nil {
			return err
		}
	}
	return errors.Join(e.close(), device.Close())
}

// meet connects to the peer or waits for it.
func meet(ctx context.Context, address string) (net.Conn, error) {
	if !strings.HasPrefix(address, ":") {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Accept()
}

// talk is the connection over which the ends agree.
type talk struct {
	encoder *json.Encoder
	decoder *json.Decoder
}

func newTalk(conn net.Conn) talk { return talk{json.NewEncoder(conn), json.NewDecoder(conn)} }

// swap sends the peer what it needs to know of e, and returns what it sends. Peers may access mr.
func (t talk) swap(e *end, mr *verbs.MemoryRegion) (other introduction, err error) {
	err = t.encoder.Encode(introduction{
		verbs.Remote{QPN: e.qp.QPN(), PSN: 7, GID: e.gid.GID}, mr.Addr(), mr.RKey(),
	})
	if err != nil {
		return other, err
	}
	return other, t.decoder.Decode(&other)
}

// step waits until the peer calls step, too.
func (t talk) step() error {
	var ready bool
	return errors.Join(t.encoder.Encode(true), t.decoder.Decode(&ready))
}

// introduce connects the queue pair with the peer's, and posts a receive request.
func introduce(t talk, e *end) (other introduction, err error) {
	if other, err = t.swap(e, e.mr); err != nil {
		return other, err
	}
	if err := e.qp.Connect(verbs.ConnectConfig{
		Remote: other.Remote, PSN: 7, Access: verbs.AccessRemoteWrite | verbs.AccessRemoteRead, SGIDIndex: e.gid.Index,
	}); err != nil {
		return other, err
	}
	if _, err := e.qp.PostReceive(receive(e, 0, 1, messageSize)...); err != nil {
		return other, err
	}
	return other, t.step()
}

// drive sends to the peer, writes to it and reads back.
func drive(ctx context.Context, e *end, other introduction, round int) error {
	const n = messageSize
	b := e.mr.Bytes()
	pattern(b[n:2*n], 10+round)
	part := []verbs.Segment{e.mr.Segment(n, n)}
	if err := post(e, e, nil, verbs.SendRequest{
		Op: verbs.SendOpWrite, Segments: part, RemoteAddr: other.Addr + 3*n, RKey: other.RKey,
	}, verbs.SendRequest{
		Op: verbs.SendOpRead, Segments: []verbs.Segment{e.mr.Segment(2*n, n)}, RemoteAddr: other.Addr + 3*n, RKey: other.RKey,
	}, verbs.SendRequest{Op: verbs.SendOpSend, Flags: verbs.SendSignaled | verbs.SendFence, Segments: part}); err != nil {
		return err
	}
	if _, err := e.wait(ctx, 1); err != nil {
		return err
	}
	return expect("READ", b[2*n:3*n], 10+round)
}

// serve checks what the peer has sent and written.
func serve(ctx context.Context, e *end, round int) error {
	const n = messageSize
	if _, err := e.wait(ctx, 1); err != nil {
		return err
	}
	b := e.mr.Bytes()
	return errors.Join(expect("SEND", b[:n], 10+round), expect("WRITE", b[3*n:], 10+round))
}
