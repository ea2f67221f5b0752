package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// station is a device with one object of each kind. The examples use two stations in one
// process, on two loopback addresses; examples/pingpong uses one per process.
type station struct {
	device *verbs.Device
	pd     *verbs.ProtectionDomain
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion
	psn    ib.PSN
}

// openStation creates a station whose memory is buf.
func openStation(ctx context.Context, name string, buf []byte, access verbs.Access) *station {
	device, err := verbs.Open(ctx, name, builtin.All()...)
	check(err)
	pd, err := device.AllocatePD()
	check(err)
	cq, err := device.CreateCQ(verbs.CQConfig{Depth: 256})
	check(err)
	qp, err := pd.CreateQP(verbs.QPConfig{
		SendCQ: cq, RecvCQ: cq, Capacity: verbs.QPCapacity{MaxSendWR: 64, MaxRecvWR: 64, MaxInline: 64},
	})
	check(err)
	mr, err := pd.RegisterMemory(buf, verbs.MemoryOptions{Access: access})
	check(err)
	return &station{device, pd, cq, qp, mr, verbs.RandomPSN()}
}

// remote returns what the other end must know.
func (s *station) remote(ctx context.Context) verbs.Remote {
	port, err := s.device.Port(ctx, 1)
	check(err)
	gid, err := s.device.GID(ctx, 1, 0)
	check(err)
	return verbs.Remote{QPN: s.qp.QPN(), PSN: s.psn, GID: gid, LID: port.LID}
}

// connect moves the queue pair of s to RTS.
func (s *station) connect(peer verbs.Remote, access verbs.Access) {
	check(s.qp.Connect(verbs.ConnectConfig{
		Remote: peer,  // sent by the peer
		PSN:    s.psn, // as sent to the peer
		Access: access,
	}))
}

// datagrams returns a queue pair for datagrams, in state RTS.
func (s *station) datagrams(qkey uint32) *verbs.QueuePair {
	qp, err := s.pd.CreateQP(verbs.QPConfig{
		Type: verbs.QPTypeUD, SendCQ: s.cq, RecvCQ: s.cq, Capacity: verbs.QPCapacity{MaxInline: 64},
	})
	check(err)
	attr := verbs.QPAttributes{Port: 1, QKey: qkey, SendPSN: verbs.RandomPSN()}
	for _, attr.State = range []verbs.QPState{verbs.QPStateInit, verbs.QPStateRTR, verbs.QPStateRTS} {
		attr.Mask, _, _ = provider.TransitionAttributes(qp.Type(), qp.State(), attr.State) // the required ones
		check(qp.Modify(attr))
	}
	return qp
}

// close closes the objects in the required order.
func (s *station) close() {
	check(s.qp.Close())
	check(s.mr.Close())
	check(s.cq.Close())
	check(s.pd.Close())
	check(s.device.Close())
}

// next returns the next completion, successful or not.
func (s *station) next(ctx context.Context) verbs.WorkCompletion {
	var wcs [1]verbs.WorkCompletion
	_, err := s.cq.Wait(ctx, wcs[:])
	check(err)
	return wcs[0]
}

// connected returns two connected stations with full access to each other's memory.
func connected(ctx context.Context) (a, b *station) {
	const access = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead
	a = openStation(ctx, "roce@127.0.44.1", make([]byte, 4096), access)
	b = openStation(ctx, "roce@127.0.44.2", make([]byte, 4096), access)
	a.connect(b.remote(ctx), access)
	b.connect(a.remote(ctx), access)
	return a, b
}

// check ends an example whose setup failed.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A writes to the memory of b, and then notifies b with a message.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	defer b.close()

	_, err := b.qp.PostReceive(verbs.ReceiveRequest{ID: 7, Segments: []verbs.Segment{b.mr.Segment(0, 16)}})
	check(err)
	n := copy(a.mr.Bytes(), "written by a")
	m := copy(a.mr.Bytes()[100:], "look at 1000")
	_, err = a.qp.PostSend(
		verbs.SendRequest{
			ID: 1, Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(0, n)},
			RemoteAddr: b.mr.Addr() + 1000, RKey: b.mr.RKey(),
		},
		verbs.SendRequest{
			ID: 2, Op: verbs.SendOpSend, Segments: []verbs.Segment{a.mr.Segment(100, m)}, Flags: verbs.SendSignaled,
		},
	)
	check(err)

	wc := b.next(ctx) // of the message only: a WRITE makes no completion at its target
	fmt.Printf("b: %v, request %d, %d bytes: %s\n", wc.Op, wc.ID, wc.Bytes, b.mr.Bytes()[:wc.Bytes])
	fmt.Printf("b: at 1000: %s\n", b.mr.Bytes()[1000:1000+n])
	wc = a.next(ctx)
	fmt.Printf("a: %v, request %d: %v\n", wc.Op, wc.ID, wc.Status)
	// Output:
	// b: receive, request 7, 12 bytes: look at 1000
	// b: at 1000: written by a
	// a: send, request 2: success
}

// A reads from the memory of b. The program of b isn't involved.
func Example_read() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a := openStation(ctx, "roce@127.0.44.1", make([]byte, 64), verbs.AccessLocalWrite)
	defer a.close()
	b := openStation(ctx, "roce@127.0.44.2", []byte("what b has to offer"), verbs.AccessRemoteRead)
	defer b.close()
	a.connect(b.remote(ctx), 0)
	b.connect(a.remote(ctx), verbs.AccessRemoteRead)

	_, err := a.qp.PostSend(verbs.SendRequest{
		ID: 1, Op: verbs.SendOpRead, Flags: verbs.SendSignaled,
		Segments:   []verbs.Segment{a.mr.Segment(0, 14)}, // where the bytes go
		RemoteAddr: b.mr.Addr() + 5, RKey: b.mr.RKey(),   // where they come from
	})
	check(err)
	wc := a.next(ctx)
	fmt.Printf("%v, %v, %d bytes: %s\n", wc.Op, wc.Status, wc.Bytes, a.mr.Bytes()[:wc.Bytes])
	// Output:
	// read, success, 14 bytes: b has to offer
}

// A WRITE with immediate carries four bytes besides the data and makes a completion at the target
// that contains them. It consumes a receive request.
func Example_immediate() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	defer b.close()

	_, err := b.qp.PostReceive(verbs.ReceiveRequest{ID: 8}) // no buffer: the data goes elsewhere
	check(err)
	n := copy(a.mr.Bytes(), "block 42")
	_, err = a.qp.PostSend(verbs.SendRequest{
		ID: 1, Op: verbs.SendOpWriteImmediate, Flags: verbs.SendSignaled, Immediate: [4]byte{0, 0, 0, 42},
		Segments: []verbs.Segment{a.mr.Segment(0, n)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	})
	check(err)
	wc := b.next(ctx)
	fmt.Printf("%v, %d bytes, immediate %d: %s\n", wc.Op, wc.Bytes, wc.Immediate, b.mr.Bytes()[:wc.Bytes])
	// Output:
	// receive of write with immediate, 8 bytes, immediate [0 0 0 42]: block 42
}

// A full queue is not an error: poll, and post again. A request occupies the queue until its
// completion has been polled.
func Example_queueFull() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	defer b.close()

	const total = 1000
	for posted, completed := 0, 0; completed < total; completed++ {
		for posted < total {
			_, err := a.qp.PostSend(verbs.SendRequest{
				ID: uint64(posted), Op: verbs.SendOpWrite, Flags: verbs.SendSignaled,
				Segments: []verbs.Segment{a.mr.Segment(0, 4096)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
			})
			if errors.Is(err, verbs.ErrQueueFull) { // Capacity.MaxSendWR of QPConfig, here 64
				break
			}
			check(err)
			posted++
		}
		wc := a.next(ctx)
		check(wc.Err())
		if wc.ID != uint64(completed) {
			fmt.Println("out of order:", wc.ID)
		}
	}
	fmt.Println(total, "WRITEs, in order")
	// Output:
	// 1000 WRITEs, in order
}

// A failed request ends the connection: the requests after it are flushed, and the queue pair is
// in state ERR.
func Example_error() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	defer b.close()

	write := verbs.SendRequest{
		ID: 1, Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(0, 100)},
		RemoteAddr: b.mr.Addr() + 4000, RKey: b.mr.RKey(), // 100 bytes at 4000 of 4096
	}
	next := write
	next.ID, next.RemoteAddr = 2, b.mr.Addr()
	_, err := a.qp.PostSend(write, next)
	check(err)
	for range 2 {
		wc := a.next(ctx)
		fmt.Printf("request %d: %v\n", wc.ID, wc.Status)
	}
	fmt.Println("a is in state", a.qp.State())
	// Output:
	// request 1: remote access error
	// request 2: work request flushed
	// a is in state ERR
}

// An unreachable peer is only detected when something is sent to it: after 1 + 7 attempts.
func Example_peerGone() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	rkey, addr := b.mr.RKey(), b.mr.Addr()
	b.close()

	start := time.Now()
	_, err := a.qp.PostSend(verbs.SendRequest{
		ID: 1, Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(0, 100)}, RemoteAddr: addr, RKey: rkey,
	})
	check(err)
	wc := a.next(ctx)
	fmt.Printf("request %d: %v\n", wc.ID, wc.Status)
	least := 8 * ib.AckTimeout(14) // 14 is the default of ConnectConfig.Timeout
	fmt.Println("after 8 times 67 ms or more:", time.Since(start) >= least, least)
	// Output:
	// request 1: transport retry counter exceeded
	// after 8 times 67 ms or more: true 536.870912ms
}

// Objects are closed in the reverse order of their creation.
func Example_closing() {
	ctx := context.Background()
	s := openStation(ctx, "roce@127.0.44.1", make([]byte, 64), verbs.AccessLocalWrite)
	for _, err := range []error{s.device.Close(), s.pd.Close(), s.cq.Close()} {
		fmt.Println(errors.Is(err, verbs.ErrBusy), err)
	}
	s.close()
	fmt.Println(s.device.Close()) // a second time does nothing
	// Output:
	// true close roce@127.0.44.1: 1 queue pairs, 1 regions, 1 domains, 1 completion queues, 0 channels: in use
	// true close protection domain: 2 objects: in use
	// true close completion queue: 1 queue pairs: in use
	// <nil>
}

// The error of Modify names the attributes that a transition requires.
// A message without registered memory at its sender.
func Example_inline() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	defer b.close()

	_, err := b.qp.PostReceive(verbs.ReceiveRequest{ID: 3, Segments: []verbs.Segment{b.mr.Segment(0, 64)}})
	check(err)
	_, err = a.qp.PostSend(verbs.SendRequest{Op: verbs.SendOpSend, Data: []byte("no region needed")})
	check(err)
	wc := b.next(ctx)
	fmt.Printf("%d bytes: %s\n", wc.Bytes, b.mr.Bytes()[:wc.Bytes])
	// Output:
	// 16 bytes: no region needed
}

// A datagram needs no connection: a queue pair of type UD sends to any other one that has the same
// Q_Key. The receiver finds the IP header in the first 40 bytes of its buffer.
func ExampleAddressHandle() {
	const qkey = 0x1234
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a := openStation(ctx, "roce@127.0.44.1", make([]byte, 128), verbs.AccessLocalWrite)
	defer a.close()
	b := openStation(ctx, "roce@127.0.44.2", make([]byte, 128), verbs.AccessLocalWrite)
	defer b.close()
	from, to := a.datagrams(qkey), b.datagrams(qkey)
	defer func() { check(errors.Join(from.Close(), to.Close())) }()

	_, err := to.PostReceive(verbs.ReceiveRequest{Segments: []verbs.Segment{b.mr.Segment(0, 128)}})
	check(err)
	handle, err := a.pd.CreateAddressHandle(1, verbs.Path{DGID: b.remote(ctx).GID, HopLimit: 64})
	check(err)
	_, err = from.PostSend(verbs.SendRequest{
		Op: verbs.SendOpSend, Data: []byte("no connection needed"), To: handle.To(to.QPN(), qkey),
	})
	check(err)
	wc := b.next(ctx)
	fmt.Printf("%s, sender known: %t\n", b.mr.Bytes()[40:wc.Bytes], wc.SourceQPN == from.QPN())
	check(handle.Close())
	// Output:
	// no connection needed, sender known: true
}

// The communication manager connects two queue pairs by an IP address and a port, as programs with
// librdmacm do. Both ends may pass private data.
func ExampleDevice_Dial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a := openStation(ctx, "roce@127.0.44.1", make([]byte, 64), verbs.AccessLocalWrite)
	defer a.close()
	b := openStation(ctx, "roce@127.0.44.2", make([]byte, 64), verbs.AccessLocalWrite)
	defer b.close()

	listener, err := b.device.Listen(ctx, netip.MustParseAddrPort("127.0.44.2:7471"), verbs.ListenOptions{})
	check(err)
	defer listener.Close()
	go func() {
		request, err := listener.Next(ctx)
		check(err)
		_, err = request.Accept(ctx, b.qp, verbs.ConnectOptions{PrivateData: []byte("welcome")})
		check(err)
	}()
	c, err := a.device.Dial(ctx, a.qp, listener.Addr(), verbs.ConnectOptions{})
	check(err)
	fmt.Printf("%v: %v, %s\n", c.Remote(), a.qp.State(), c.Options().PrivateData[:7])
	check(c.Disconnect(ctx))

	qp, err := a.pd.CreateQP(verbs.QPConfig{SendCQ: a.cq, RecvCQ: a.cq})
	check(err)
	defer qp.Close()
	_, err = a.device.Dial(ctx, qp, netip.MustParseAddrPort("127.0.44.2:9"), verbs.ConnectOptions{})
	fmt.Println(errors.Is(err, verbs.ErrNobodyListens))
	// Output:
	// 127.0.44.2:7471: RTS, welcome
	// true
}

// A device says what it can do before anything is created.
func ExampleDevice_Capabilities() {
	ctx := context.Background()
	device, err := verbs.Open(ctx, "roce@127.0.44.1", builtin.All()...)
	check(err)
	defer func() { check(device.Close()) }()
	fmt.Println(device.Capabilities())
	if !device.Capabilities().Has(verbs.CapDMABuf) {
		fmt.Println("no memory of GPUs here")
	}
	// Output:
	// RC, UC, UD, atomics, immediate data, inline, shared receive queues, memory address, memory watch, completion channels, asynchronous events, connection manager
	// no memory of GPUs here
}

// One goroutine waits for two completion queues.
func ExampleCompletionChannel() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a := openStation(ctx, "roce@127.0.44.1", make([]byte, 64), verbs.AccessLocalWrite)
	defer a.close()
	b := openStation(ctx, "roce@127.0.44.2", make([]byte, 64), verbs.AccessLocalWrite)
	defer b.close()

	channel, err := a.device.CreateChannel()
	check(err)
	sends, err := a.device.CreateCQ(verbs.CQConfig{Channel: channel})
	check(err)
	receives, err := a.device.CreateCQ(verbs.CQConfig{Channel: channel})
	check(err)
	check(a.qp.Close()) // replaced by one with these queues
	a.qp, err = a.pd.CreateQP(verbs.QPConfig{
		SendCQ: sends, RecvCQ: receives, Capacity: verbs.QPCapacity{MaxInline: 16},
	})
	check(err)
	a.connect(b.remote(ctx), 0)
	b.connect(a.remote(ctx), 0)

	check(sends.Arm(false)) // before the first Wait
	check(receives.Arm(false))
	for _, s := range []*station{a, b} {
		_, err = s.qp.PostReceive(verbs.ReceiveRequest{Segments: []verbs.Segment{s.mr.Segment(0, 64)}})
		check(err)
	}
	for _, s := range []*station{a, b} {
		_, err = s.qp.PostSend(verbs.SendRequest{
			Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Data: []byte("hello"),
		})
		check(err)
	}

	names := map[*verbs.CompletionQueue]string{sends: "sends", receives: "receives"}
	var seen []string
	wcs := make([]verbs.WorkCompletion, 8)
	for len(seen) < 2 {
		cq, err := channel.Wait(ctx)
		check(err)
		check(cq.Arm(false)) // for the next event, before polling: no completion is missed
		for n := -1; n != 0; {
			n, err = cq.Poll(wcs)
			check(err)
			for _, wc := range wcs[:n] {
				seen = append(seen, fmt.Sprintf("%s: %v, %v", names[cq], wc.Op, wc.Status))
			}
		}
	}
	slices.Sort(seen)
	fmt.Println(strings.Join(seen, "\n"))
	check(a.qp.Close()) // queues before their channel
	check(sends.Close())
	check(receives.Close())
	check(channel.Close())
	// Output:
	// receives: receive, success
	// sends: send, success
}

// The target of a WRITE learns from an event why its connection failed.
func ExampleDevice_NextEvent() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := connected(ctx)
	defer a.close()
	defer b.close()

	_, err := a.qp.PostSend(verbs.SendRequest{
		ID: 1, Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(0, 8)},
		RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey() + 1, // wrong
	})
	check(err)
	wc := a.next(ctx)
	fmt.Println("a:", wc.Status)
	event, err := b.device.NextEvent(ctx) // usually in a goroutine of its own
	check(err)
	cause := event.Cause.Error()
	fmt.Println("b:", event.Type, event.QPN == b.qp.QPN(), cause[strings.LastIndex(cause, ": "):])
	// Output:
	// a: remote access error
	// b: queue pair access error true : no region has this key
}

func ExampleQueuePair_Modify() {
	ctx := context.Background()
	s := openStation(ctx, "roce@127.0.44.1", make([]byte, 64), verbs.AccessLocalWrite)
	defer s.close()
	err := s.qp.Modify(verbs.QPAttributes{State: verbs.QPStateInit})
	fmt.Println(errors.Is(err, verbs.ErrTransition), errorTail(err))
	err = s.qp.Modify(verbs.QPAttributes{State: verbs.QPStateRTS})
	fmt.Println(errors.Is(err, verbs.ErrTransition), errorTail(err))
	// Output:
	// true RESET→INIT: missing partition key index, port, access flags: invalid argument
	// true RESET→RTS: no such transition: invalid argument
}

// errorTail omits the queue pair number, which differs between runs.
func errorTail(err error) string {
	text := []byte(err.Error())
	if i := slices.Index(text, 'R'); i >= 0 {
		text = text[i:]
	}
	return string(text)
}
