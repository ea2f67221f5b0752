package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// What the server has to be started with: -n, and -s for UD and others.
const (
	pingpongs    = 48
	pingpongSize = 3000
	pingpongSRQ  = 4 // -q of ibv_srq_pingpong
	// pingpongLines is the number of lines that ibv_srq_pingpong exchanges, whatever -q is.
	pingpongLines = 256
)

// pingpong is the client of one of libibverbs' example programs, ibv_rc_pingpong and so on. These
// return each message from the memory that they have received it into.
func pingpong(ctx context.Context, program, name, address string) error {
	device, err := verbs.Open(ctx, name, ibverbs.Provider{}, roce.Provider{})
	if err != nil {
		return err
	}
	kind, size, grh, count := verbs.QPTypeRC, pingpongSize, 0, 1
	switch program {
	case "uc":
		kind = verbs.QPTypeUC
	case "ud":
		kind, size, grh = verbs.QPTypeUD, datagramSize, 40
	case "srq":
		count = pingpongSRQ
	}
	ends := make([]*end, count)
	for i := range ends {
		if ends[i], err = newEnd(ctx, device, 2*size+grh, verbs.QPConfig{Type: kind}, verbs.CQConfig{}); err != nil {
			return err
		}
	}
	send, err := pingpongConnect(ctx, ends, address)
	if err != nil {
		return err
	}
	for round := range pingpongs / count {
		for i, e := range ends {
			pattern(e.mr.Bytes()[:size], round)
			send[i].Segments = []verbs.Segment{e.mr.Segment(0, size)}
			if err := post(e, e, nil, send[i]); err != nil {
				return err
			}
		}
		for i, e := range ends {
			if _, err := e.wait(ctx, 2); err != nil {
				return fmt.Errorf("round %d, queue pair %d: %w", round, i, err)
			}
			if err := expect("returned message", e.mr.Bytes()[size+grh:], round); err != nil {
				return err
			}
		}
	}
	for i, e := range ends {
		if send[i].To != nil {
			err = errors.Join(err, send[i].To.Handle.Close())
		}
		err = errors.Join(err, e.close())
	}
	return errors.Join(err, device.Close())
}

// pingpongConnect exchanges the parameters with the server: each side sends a line for each of its
// queue pairs, "LID:QPN:PSN:GID" in hexadecimal, with a zero byte at its end. It connects the queue
// pairs, posts their receive requests and returns the send request of each.
func pingpongConnect(ctx context.Context, ends []*end, address string) (send []verbs.SendRequest, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var line string
	for _, e := range ends {
		line = fmt.Sprintf("%04x:%06x:%06x:%s\x00", 0, uint32(e.qp.QPN()), 7, hex.EncodeToString(e.gid.GID[:]))
		if _, err := io.WriteString(conn, line); err != nil {
			return nil, err
		}
	}
	lines := 1
	if len(ends) > 1 {
		lines = pingpongLines
	}
	if _, err := io.WriteString(conn, strings.Repeat(line, lines-len(ends))); err != nil {
		return nil, err
	}
	replies := make([]byte, lines*len(line))
	if _, err := io.ReadFull(conn, replies); err != nil {
		return nil, err
	}
	for i, e := range ends {
		reply := replies[i*len(line) : (i+1)*len(line)]
		wr, err := pingpongPeer(e, string(reply[:len(reply)-1]))
		if err != nil {
			return nil, fmt.Errorf("server's parameters %q: %w", reply, err)
		}
		send = append(send, wr)
		if err := pingpongReceive(e, pingpongs/len(ends)); err != nil {
			return nil, err
		}
	}
	_, err = io.WriteString(conn, "done\x00")
	return send, err
}

// pingpongReceive posts n receive requests for the second part of an end's memory.
func pingpongReceive(e *end, n int) error {
	size := pingpongSize
	if e.qp.Type() == verbs.QPTypeUD {
		size = datagramSize
	}
	part := []verbs.Segment{e.mr.Segment(size, len(e.mr.Bytes())-size)}
	for id := range uint64(n) {
		if _, err := e.qp.PostReceive(verbs.ReceiveRequest{ID: id, Segments: part}); err != nil {
			return err
		}
	}
	return nil
}

// pingpongPeer connects an end with the server's queue pair.
func pingpongPeer(e *end, line string) (wr verbs.SendRequest, err error) {
	var lid, qpn, psn uint32
	var text string
	if _, err := fmt.Sscanf(strings.ReplaceAll(line, ":", " "), "%x %x %x %s", &lid, &qpn, &psn, &text); err != nil {
		return wr, err
	}
	gid, err := hex.DecodeString(text)
	if err != nil || len(gid) != len(ib.GID{}) {
		return wr, fmt.Errorf("GID %q: %w", text, err)
	}
	remote := verbs.Remote{QPN: ib.QPN(qpn), PSN: ib.PSN(psn), GID: ib.GID(gid)}
	wr = verbs.SendRequest{Op: verbs.SendOpSend, Flags: verbs.SendSignaled}
	if e.qp.Type() != verbs.QPTypeUD {
		return wr, e.qp.Connect(verbs.ConnectConfig{Remote: remote, PSN: 7, SGIDIndex: e.gid.Index})
	}
	ah, err := e.pd.CreateAddressHandle(1, verbs.Path{DGID: remote.GID, SGIDIndex: e.gid.Index, HopLimit: 64})
	if err != nil {
		return wr, err
	}
	wr.To = ah.To(remote.QPN, qkey)
	return wr, start(e.qp)
}
