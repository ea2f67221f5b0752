package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The cases of the connection manager: name, device, address.
var managed = map[string]func(ctx context.Context, device *verbs.Device, addr netip.AddrPort) error{
	"cm-itself": cmItself, "cm-server": cmServer, "cm-client": cmClient, "cm-hold": cmHold, "cm-watch": cmWatch,
	"cm-cmatose-server": cmatoseServer, "cm-cmatose-client": cmatoseClient,
	"cm-udaddy-server": udaddyServer, "cm-udaddy-client": udaddyClient,
}

// manage runs a case.
func manage(ctx context.Context, name, device, address string) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	d, err := verbs.Open(ctx, device, ibverbs.Provider{})
	if err != nil {
		return err
	}
	return errors.Join(managed[name](ctx, d, addr), d.Close())
}

// What the example programs of librdmacm send.
const (
	cmCount = 10
	cmSize  = 100
)

// cmEnd makes an end with a queue pair in INIT that has receive requests for n messages.
func cmEnd(ctx context.Context, d *verbs.Device, kind verbs.QPType, n, size int) (*end, error) {
	e, err := newEnd(ctx, d, 1<<20, verbs.QPConfig{Type: kind}, verbs.CQConfig{})
	if err != nil {
		return nil, err
	}
	attr := verbs.QPAttributes{
		State: verbs.QPStateInit, Port: 1, Mask: provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess,
	}
	if kind == verbs.QPTypeUD {
		attr.Mask = provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrQKey
	}
	if err := e.qp.Modify(attr); err != nil {
		return nil, err
	}
	_, err = e.qp.PostReceive(receive(e, 100, n, size)...)
	return e, err
}

// sends returns n send requests.
func sends(e *end, n, size int) (list []verbs.SendRequest) {
	for i := range n {
		list = append(list, verbs.SendRequest{
			ID: uint64(i), Flags: verbs.SendSignaled, Segments: []verbs.Segment{e.mr.Segment(1<<19, size)},
		})
	}
	return list
}

// finish waits until the peer has disconnected, and closes everything.
func finish(ctx context.Context, conn *verbs.Connection, e *end) error {
	select {
	case <-conn.Done():
	case <-ctx.Done():
		return errors.New("the peer doesn't disconnect")
	}
	if err := conn.Err(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("connection ended with %w", err)
	}
	return errors.Join(conn.Close(), e.close())
}

// accept accepts one connection for an end.
func accept(
	ctx context.Context, d *verbs.Device, addr netip.AddrPort, e *end, space verbs.PortSpace,
) (*verbs.Connection, error) {
	l, err := d.Listen(ctx, addr, verbs.ListenOptions{PortSpace: space})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	r, err := l.Next(ctx)
	if err != nil {
		return nil, err
	}
	return r.Accept(ctx, e.qp, verbs.ConnectOptions{Access: allAccess})
}

// cmServer answers rdma_client.
func cmServer(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeRC, 1, 16)
	if err != nil {
		return err
	}
	conn, err := accept(ctx, d, addr, e, 0)
	if err != nil {
		return err
	}
	if _, err := e.wait(ctx, 1); err != nil {
		return err
	}
	if err := post(e, e, nil, sends(e, 1, 16)...); err != nil {
		return err
	}
	if _, err := e.wait(ctx, 1); err != nil {
		return err
	}
	return finish(ctx, conn, e)
}

// cmClient talks to rdma_server.
func cmClient(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeRC, 1, 16)
	if err != nil {
		return err
	}
	conn, err := d.Dial(ctx, e.qp, addr, verbs.ConnectOptions{Access: allAccess, PrivateData: []byte("hello")})
	if err != nil {
		return err
	}
	if err := post(e, e, nil, sends(e, 1, 16)...); err != nil {
		return err
	}
	if _, err := e.wait(ctx, 2); err != nil {
		return err
	}
	return finish(ctx, conn, e)
}

// cmatoseServer sends to ucmatose, and receives.
func cmatoseServer(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeRC, cmCount, cmSize)
	if err != nil {
		return err
	}
	conn, err := accept(ctx, d, addr, e, 0)
	if err != nil {
		return err
	}
	if err := post(e, e, nil, sends(e, cmCount, cmSize)...); err != nil {
		return err
	}
	if _, err := e.wait(ctx, 2*cmCount); err != nil {
		return err
	}
	if err := conn.Disconnect(ctx); err != nil {
		return err
	}
	return errors.Join(conn.Close(), e.close())
}

// cmatoseClient receives from ucmatose, and then sends.
func cmatoseClient(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeRC, cmCount, cmSize)
	if err != nil {
		return err
	}
	conn, err := d.Dial(ctx, e.qp, addr, verbs.ConnectOptions{Access: allAccess})
	if err != nil {
		return err
	}
	if _, err := e.wait(ctx, cmCount); err != nil {
		return err
	}
	if err := post(e, e, nil, sends(e, cmCount, cmSize)...); err != nil {
		return err
	}
	if _, err := e.wait(ctx, cmCount); err != nil {
		return err
	}
	return finish(ctx, conn, e)
}

// grh is the length of the header before a datagram.
const grh = 40

// udaddyServer receives from udaddy, and answers.
func udaddyServer(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeUD, cmCount, grh+cmSize)
	if err != nil {
		return err
	}
	l, err := d.Listen(ctx, addr, verbs.ListenOptions{PortSpace: verbs.PortSpaceUDP})
	if err != nil {
		return err
	}
	r, err := l.Next(ctx)
	if err != nil {
		return err
	}
	conn, err := r.Accept(ctx, e.qp, verbs.ConnectOptions{})
	if err != nil {
		return err
	}
	wcs, err := e.wait(ctx, cmCount)
	if err != nil {
		return err
	}
	to := verbs.DatagramPeer{
		QPN: ib.QPN(binary.BigEndian.Uint32(wcs[0].Immediate[:])), QKey: 0x01234567,
		Path: verbs.Path{SGIDIndex: e.gid.Index, DGID: ib.GIDFromAddr(r.Remote().Addr()), Global: true, HopLimit: 64},
	}
	return errors.Join(sendDatagrams(ctx, e, to), conn.Close(), l.Close(), e.close())
}

// sendDatagrams sends cmCount datagrams, with the number of the queue pair as immediate data.
func sendDatagrams(ctx context.Context, e *end, to verbs.DatagramPeer) error {
	ah, err := e.pd.CreateAddressHandle(1, to.Path)
	if err != nil {
		return err
	}
	list := sends(e, cmCount, cmSize)
	for i := range list {
		list[i].Op = verbs.SendOpSendImmediate
		list[i].To = ah.To(to.QPN, to.QKey)
		binary.BigEndian.PutUint32(list[i].Immediate[:], uint32(e.qp.QPN()))
	}
	if err := post(e, e, nil, list...); err != nil {
		return err
	}
	_, err = e.wait(ctx, cmCount)
	return errors.Join(err, ah.Close())
}

// udaddyClient sends to udaddy, and receives its answers.
func udaddyClient(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeUD, cmCount, grh+cmSize)
	if err != nil {
		return err
	}
	conn, err := d.Dial(ctx, e.qp, addr, verbs.ConnectOptions{})
	if err != nil {
		return err
	}
	to, ok := conn.Datagram()
	if !ok {
		return errors.New("no peer for datagrams")
	}
	if err := sendDatagrams(ctx, e, to); err != nil {
		return err
	}
	if _, err := e.wait(ctx, cmCount); err != nil {
		return err
	}
	return errors.Join(conn.Close(), e.close())
}

// cmHold connects and waits to be killed.
func cmHold(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeRC, 1, 16)
	if err != nil {
		return err
	}
	if _, err := d.Dial(ctx, e.qp, addr, verbs.ConnectOptions{Access: allAccess}); err != nil {
		return err
	}
	fmt.Println("connected")
	<-ctx.Done()
	return errors.New("nobody has killed this process")
}

// cmWatch accepts a connection and waits until its peer is gone.
func cmWatch(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	e, err := cmEnd(ctx, d, verbs.QPTypeRC, 1, 16)
	if err != nil {
		return err
	}
	conn, err := accept(ctx, d, addr, e, 0)
	if err != nil {
		return err
	}
	fmt.Println("accepted")
	return finish(ctx, conn, e)
}

// cmItself connects two queue pairs of the device with each other, exchanges data, and disconnects.
func cmItself(ctx context.Context, d *verbs.Device, addr netip.AddrPort) error {
	a, err := cmEnd(ctx, d, verbs.QPTypeRC, 4, messageSize)
	if err != nil {
		return err
	}
	b, err := cmEnd(ctx, d, verbs.QPTypeRC, 4, messageSize)
	if err != nil {
		return err
	}
	l, err := d.Listen(ctx, addr, verbs.ListenOptions{})
	if err != nil {
		return err
	}
	type result struct {
		conn *verbs.Connection
		err  error
	}
	accepted := make(chan result, 1)
	go func() {
		r, err := l.Next(ctx)
		if err != nil {
			accepted <- result{nil, err}
			return
		}
		conn, err := r.Accept(ctx, b.qp, verbs.ConnectOptions{Access: allAccess})
		accepted <- result{conn, err}
	}()
	start := time.Now()
	x, err := d.Dial(ctx, a.qp, l.Addr(), verbs.ConnectOptions{Access: allAccess, Local: addr.Addr()})
	y := <-accepted
	if err := errors.Join(err, y.err); err != nil {
		return err
	}
	fmt.Printf("%v to %v in %v\n", x.Local(), x.Remote(), time.Since(start))
	for name, pair := range map[string][2]*end{"there": {a, b}, "back": {b, a}} {
		if err := cmTransfer(ctx, pair[0], pair[1]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := errors.Join(x.Disconnect(ctx), l.Close()); err != nil {
		return err
	}
	return errors.Join(finish(ctx, y.conn, b), x.Close(), a.close())
}

// cmTransfer sends, writes and reads.
func cmTransfer(ctx context.Context, from, to *end) error {
	const far = 1 << 18
	pattern(from.mr.Bytes()[far:far+messageSize], 3)
	part := []verbs.Segment{from.mr.Segment(far, messageSize)}
	remote := to.mr.Addr() + 2*far
	for _, wr := range []verbs.SendRequest{
		{Segments: part},
		{Op: verbs.SendOpWrite, Segments: part, RemoteAddr: remote, RKey: to.mr.RKey()},
		{
			Op: verbs.SendOpRead, Segments: []verbs.Segment{from.mr.Segment(3*far, messageSize)},
			RemoteAddr: remote, RKey: to.mr.RKey(),
		},
	} {
		wr.Flags = verbs.SendSignaled
		if err := post(from, from, nil, wr); err != nil {
			return err
		}
		if _, err := from.wait(ctx, 1); err != nil {
			return fmt.Errorf("%v: %w", wr.Op, err)
		}
	}
	wcs, err := to.wait(ctx, 1)
	if err != nil {
		return err
	}
	at := int(wcs[0].ID-100) * messageSize
	return errors.Join(
		expect("SEND", to.mr.Bytes()[at:at+messageSize], 3),
		expect("WRITE", to.mr.Bytes()[2*far:2*far+messageSize], 3),
		expect("READ", from.mr.Bytes()[3*far:3*far+messageSize], 3),
	)
}
