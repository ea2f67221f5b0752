package rdmacm

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"syscall"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// toss is a run of ucmatose.
type toss struct {
	*tosser

	device *verbs.Device
	addr   netip.AddrPort // of the server
	nodes  []*node
}

// node is a connection with what it needs.
type node struct {
	pd           *verbs.ProtectionDomain
	sends, recvs *verbs.CompletionQueue
	qp           *verbs.QueuePair
	memory       []byte // of mr
	mr           *verbs.MemoryRegion
	conn         *verbs.Connection
}

func (n *node) close() {
	closeIf := func(c io.Closer, ok bool) {
		if ok {
			_ = c.Close() // the process ends, too
		}
	}
	closeIf(n.conn, n.conn != nil)
	closeIf(n.qp, n.qp != nil)
	if n.mr == nil || n.mr.Close() == nil { // else the device may still write to it
		_ = anonmem.Free(n.memory)
	}
	closeIf(n.sends, n.sends != nil)
	closeIf(n.recvs, n.recvs != nil)
	closeIf(n.pd, n.pd != nil)
}

func (t *toss) close() {
	for _, n := range t.nodes {
		n.close()
	}
	if t.device != nil {
		_ = t.device.Close() // the process ends, too
	}
}

// open opens the device. what is the C program's message if there is none.
func (t *toss) open(ctx context.Context, local, remote netip.Addr, port uint16, what string) bool {
	t.addr = netip.AddrPortFrom(remote, port)
	if !remote.IsValid() {
		t.addr = netip.AddrPortFrom(local, port)
	}
	var err error
	if t.device, err = t.Open(ctx, local, remote); err == nil {
		return true
	}
	if ctx.Err() == nil {
		t.perror(what, errnoOf(err, syscall.ENODEV))
		t.explain(err, openStage(err), "a device", t.addr)
	}
	return false
}

// newNode creates everything up to a queue pair whose receive requests are posted.
func (t *toss) newNode() (*node, bool) {
	n := &node{}
	t.nodes = append(t.nodes, n)
	depth := max(int(t.messages), 1)
	var err error
	if n.pd, err = t.device.AllocatePD(); err != nil {
		t.printf("cmatose: unable to allocate PD\n")
		return n, false
	}
	for _, cq := range []**verbs.CompletionQueue{&n.sends, &n.recvs} {
		if *cq, err = t.device.CreateCQ(verbs.CQConfig{Depth: depth}); err != nil {
			t.printf("cmatose: unable to create CQ\n")
			return n, false
		}
	}
	if n.qp, err = n.pd.CreateQP(verbs.QPConfig{
		SendCQ: n.sends, RecvCQ: n.recvs, SignalAll: true,
		Capacity: verbs.QPCapacity{MaxSendWR: depth, MaxRecvWR: depth},
	}); err != nil {
		t.perror("cmatose: unable to create QP", errnoOf(err, syscall.ENOMEM))
		return n, false
	}
	if t.messages == 0 {
		return n, true
	}
	if t.size < 0 {
		t.printf("failed message allocation\ncmatose: failed to create messages: -1\n")
		return n, false
	}
	if n.memory, err = anonmem.Alloc(int(t.size)); err != nil {
		t.printf("failed message allocation\ncmatose: failed to create messages: -1\n")
		return n, false
	}
	if n.mr, err = n.pd.RegisterMemory(n.memory, verbs.MemoryOptions{Access: verbs.AccessLocalWrite}); err != nil {
		t.printf("failed to reg MR\ncmatose: failed to create messages: -1\n")
		return n, false
	}
	return n, t.postReceives(n)
}

func (t *toss) postReceives(n *node) bool {
	err := n.qp.Modify(verbs.QPAttributes{
		Mask:  provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess,
		State: verbs.QPStateInit, Port: 1,
	})
	for i := int32(0); i < t.messages && err == nil; i++ {
		_, err = n.qp.PostReceive(verbs.ReceiveRequest{Segments: []verbs.Segment{n.mr.Segment(0, int(t.size))}})
	}
	if err != nil {
		t.printf("failed to post receives: %d\n", errnoOf(err, syscall.EINVAL))
	}
	return err == nil
}

// send posts all messages of all connections.
func (t *toss) send() bool {
	for _, n := range t.nodes {
		for range t.messages {
			_, err := n.qp.PostSend(verbs.SendRequest{
				Op: verbs.SendOpSend, Flags: verbs.SendSignaled,
				Segments: []verbs.Segment{n.mr.Segment(0, int(t.size))},
			})
			if err != nil {
				t.printf("failed to post sends: %d\n", errnoOf(err, syscall.EINVAL))
				return false
			}
		}
	}
	return true
}

// poll waits for the completions of all messages in one direction.
func (t *toss) poll(ctx context.Context, of func(*node) *verbs.CompletionQueue) bool {
	const most = 8
	wcs := make([]verbs.WorkCompletion, most)
	for _, n := range t.nodes {
		for done := 0; done < int(t.messages); {
			got, err := of(n).Wait(ctx, wcs)
			for i := 0; i < got && err == nil; i++ {
				err = wcs[i].Err()
			}
			if err != nil {
				if ctx.Err() == nil {
					t.printf("cmatose: failed polling CQ: -1\n")
					t.explain(err, rping.StageData, t.device.Name(), t.addr)
				}
				return false
			}
			done += got
		}
	}
	return true
}

// options are those of a connection.
func (t *toss) options() verbs.ConnectOptions {
	return verbs.ConnectOptions{
		PortSpace: t.space, ReadAtomic: 1, DestReadAtomic: 1, RetryCount: 5, RNRRetry: verbs.RetryNone,
		TrafficClass: t.tos, Timeout: t.timeout,
	}
}

// disconnected waits until the peer has ended all connections.
func (t *toss) disconnected(ctx context.Context) bool {
	for _, n := range t.nodes {
		if n.conn == nil {
			continue
		}
		select {
		case <-n.conn.Done():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (t *toss) migrated() {
	if t.migrate {
		t.printf("migrating to new event channel\n")
	}
}

// serve runs the server.
func (t *toss) serve(ctx context.Context) int {
	t.printf("cmatose: starting server\n")
	_, bind, port, ret := t.addresses(ctx, "getrdmaaddr")
	if ret != 0 {
		return ret
	}
	if bind.IsUnspecified() {
		bind = netip.Addr{}
	}
	const bindFailed = "cmatose: bind address failed"
	if !t.open(ctx, bind, netip.Addr{}, port, bindFailed) {
		return -1
	}
	l, err := t.device.Listen(ctx, netip.AddrPortFrom(bind, port), verbs.ListenOptions{PortSpace: t.space})
	if err != nil {
		t.perror(bindFailed, errnoOf(err, syscall.ENODEV))
		t.explain(err, rping.StageListen, t.device.Name(), t.addr)
		return -1
	}
	defer l.Close()
	for range t.connections {
		if !t.accept(ctx, l) {
			return -1
		}
	}
	if t.messages > 0 {
		t.printf("initiating data transfers\n")
		if !t.send() {
			return -1
		}
		t.printf("completing sends\n")
		if !t.poll(ctx, func(n *node) *verbs.CompletionQueue { return n.sends }) {
			return -1
		}
		t.printf("receiving data transfers\n")
		if !t.poll(ctx, func(n *node) *verbs.CompletionQueue { return n.recvs }) {
			return -1
		}
		t.printf("data transfers complete\n")
	}
	t.migrated()
	t.printf("cmatose: disconnecting\n")
	for _, n := range t.nodes {
		_ = n.conn.Close() // which doesn't wait
	}
	if !t.disconnected(ctx) {
		return -1
	}
	t.printf("disconnected\n")
	return 0
}

// accept accepts one connection.
func (t *toss) accept(ctx context.Context, l *verbs.Listener) bool {
	request, err := l.Next(ctx)
	if err != nil {
		return false
	}
	n, ok := t.newNode()
	if !ok {
		t.printf("cmatose: failing connection request\n")
		_ = request.Reject(nil) // it may be gone
		return false
	}
	o := t.options()
	o.RNRRetry = request.Options().RNRRetry
	if o.RNRRetry == 0 {
		o.RNRRetry = verbs.RetryNone
	}
	if n.conn, err = request.Accept(ctx, n.qp, o); err != nil {
		_ = request.Reject(nil) // unless it is answered already
		if ctx.Err() == nil {
			t.perror("cmatose: failure accepting", errnoOf(err, syscall.ECONNABORTED))
			t.printf("cmatose: failing connection request\n")
			t.errorf("hint: %v\n", err)
		}
		return false
	}
	return true
}

// client runs the client.
func (t *toss) client(ctx context.Context) int {
	t.printf("cmatose: starting client\n")
	server, bind, port, ret := t.addresses(ctx, "getaddrinfo")
	if ret != 0 {
		return ret
	}
	t.printf("cmatose: connecting\n")
	if !t.open(ctx, bind, server, port, "cmatose: failure getting addr") {
		return -1
	}
	for range t.connections {
		if ret := t.connect(ctx); ret != 0 {
			return ret
		}
	}
	if t.messages > 0 {
		t.printf("receiving data transfers\n")
		if !t.poll(ctx, func(n *node) *verbs.CompletionQueue { return n.recvs }) {
			return -1
		}
		t.printf("sending replies\n")
		if !t.send() {
			return -1
		}
		t.printf("data transfers complete\n")
	}
	t.migrated()
	if !t.disconnected(ctx) {
		return -1
	}
	return 0
}

// connect makes one connection and returns 0, or what the C program returns.
func (t *toss) connect(ctx context.Context) int {
	n, ok := t.newNode()
	if !ok {
		return -1
	}
	var err error
	if n.conn, err = t.device.Dial(ctx, n.qp, t.addr, t.options()); err == nil {
		return 0
	}
	if ctx.Err() != nil {
		return -1
	}
	ret := -1
	if event, number := connectEvent(err); event != "" {
		t.printf("cmatose: event: %s, error: %d\n", event, number)
		ret = number
	} else {
		t.perror("cmatose: failure connecting", errnoOf(err, syscall.EINVAL))
	}
	t.explainConnect(err, t.device.Name(), t.addr,
		fmt.Sprintf("ucmatose without -s, with the same -p and -P: the port space is %v", t.space))
	return ret
}
