package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// hello is a client's message over TCP: its queue pair.
type hello struct {
	Remote verbs.Remote
	MTU    ib.MTU
}

// reply is the server's message: the queue pair for this client, and the address of the table.
type reply struct {
	hello
	Addr    uint64
	RKey    uint32
	Buckets int
	Error   string // why there is no queue pair
}

// server owns the table. Its program is one goroutine, run, which connects clients and writes to
// the table when requested; it isn't involved in lookups.
type server struct {
	device   *verbs.Device
	pd       *verbs.ProtectionDomain
	cq       *verbs.CompletionQueue
	mr       *verbs.MemoryRegion
	table    *table
	listener net.Listener
	conns    chan net.Conn         // accepted, not yet connected
	gone     chan *verbs.QueuePair // of clients that have closed their connection
	tasks    chan func()           // for run to execute
	stop     chan struct{}
	done     chan struct{}

	closers []func() error // in the order of creation
	qps     map[*verbs.QueuePair]net.Conn
}

func startServer(ctx context.Context, name string, t *table) (*server, error) {
	s := &server{
		table: t, conns: make(chan net.Conn), gone: make(chan *verbs.QueuePair), tasks: make(chan func()),
		stop: make(chan struct{}), done: make(chan struct{}), qps: map[*verbs.QueuePair]net.Conn{},
	}
	if err := s.open(ctx, name); err != nil {
		return nil, errors.Join(err, s.release())
	}
	go s.accept()
	go s.run(ctx)
	return s, nil
}

func (s *server) open(ctx context.Context, name string) (err error) {
	if s.device, err = verbs.Open(ctx, name, builtin.All()...); err != nil {
		return err
	}
	s.closers = append(s.closers, s.device.Close)
	if s.pd, err = s.device.AllocatePD(); err != nil {
		return err
	}
	s.closers = append(s.closers, s.pd.Close)
	if s.cq, err = s.device.CreateCQ(verbs.CQConfig{}); err != nil {
		return err
	}
	s.closers = append(s.closers, s.cq.Close)
	// Only remote reads: neither a client nor somebody who steals its key can change the table.
	readable := verbs.MemoryOptions{Access: verbs.AccessRemoteRead}
	if s.mr, err = s.pd.RegisterMemory(s.table.memory, readable); err != nil {
		return err
	}
	s.closers = append(s.closers, s.mr.Close)
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	s.closers = append(s.closers, s.listener.Close)
	return nil
}

func (s *server) address() string { return s.listener.Addr().String() }

func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		select {
		case s.conns <- conn:
		case <-s.stop:
			_ = conn.Close()
			return
		}
	}
}

// run is the server's program. It stays on one thread, so that the thread's CPU time is that of the
// program.
func (s *server) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	for {
		select {
		case conn := <-s.conns:
			if err := s.connectClient(ctx, conn); err != nil {
				_ = send(conn, reply{Error: err.Error()}) // the client may have gone
				_ = conn.Close()
			}
		case qp := <-s.gone:
			delete(s.qps, qp)
			_ = qp.Close()
		case task := <-s.tasks:
			task()
		case <-s.stop:
			return
		}
	}
}

// connectLimit is how long the server waits for a client's message.
const connectLimit = 2 * time.Second

// connectClient creates and connects a queue pair for a client, which can read as soon as it gets
// the reply.
func (s *server) connectClient(ctx context.Context, conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(connectLimit)); err != nil {
		return err
	}
	var theirs hello
	if err := receive(conn, &theirs); err != nil {
		return err
	}
	port, err := s.device.Port(ctx, 1)
	if err != nil {
		return err
	}
	gid, err := s.device.GID(ctx, 1, 0)
	if err != nil {
		return err
	}
	qp, err := s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq})
	if err != nil {
		return err
	}
	mine := reply{
		hello: hello{
			Remote: verbs.Remote{QPN: qp.QPN(), PSN: verbs.RandomPSN(), GID: gid, LID: port.LID},
			MTU:    port.ActiveMTU,
		},
		Addr: s.mr.Addr(), RKey: s.mr.RKey(), Buckets: s.table.buckets(),
	}
	err = qp.Connect(verbs.ConnectConfig{
		Remote: theirs.Remote, PSN: mine.Remote.PSN, MTU: pathMTU(mine.hello, theirs), Access: verbs.AccessRemoteRead,
	})
	if err == nil {
		err = send(conn, mine)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return errors.Join(err, qp.Close())
	}
	s.qps[qp] = conn
	go s.watch(conn, qp)
	return nil
}

// watch waits until a client closes its TCP connection, and has its queue pair closed.
func (s *server) watch(conn net.Conn, qp *verbs.QueuePair) {
	_, _ = conn.Read(make([]byte, 1)) // clients send nothing more
	_ = conn.Close()
	select {
	case s.gone <- qp:
	case <-s.stop:
	}
}

// do executes f in the server's program.
func (s *server) do(f func()) {
	done := make(chan struct{})
	s.tasks <- func() { f(); close(done) }
	<-done
}

// writeEvery is the interval between writes: a bucket that is written continuously is always torn.
const writeEvery = 100 * time.Microsecond

// startWriting makes the program write the given number of keys in turn until stop is called.
func (s *server) startWriting(keys int) (stop func() (writes int, err error)) {
	quit, done := make(chan struct{}), make(chan struct{})
	pause := time.NewTicker(writeEvery)
	before, err := s.table.writes, error(nil)
	go func() {
		defer close(done)
		s.do(func() {
			for i := 0; err == nil; i++ {
				select {
				case <-quit:
					return
				case <-pause.C:
					err = s.table.put(keyName(i%keys), valueOf)
				}
			}
		})
	}()
	return func() (int, error) {
		close(quit)
		<-done
		pause.Stop()
		return s.table.writes - before, err
	}
}

// idleReport is what the server's program did while it slept.
type idleReport struct {
	completions, writes int
	processor           time.Duration // CPU time; -1 if unknown
	lasted              time.Duration
}

func (r idleReport) String() string {
	processor := "unknown"
	if r.processor >= 0 {
		processor = micro(r.processor)
	}
	return fmt.Sprintf("%d completions, %d writes, CPU time %s of %v",
		r.completions, r.writes, processor, r.lasted.Round(time.Millisecond))
}

// sleep makes the program sleep while f runs.
func (s *server) sleep(f func() error) (r idleReport, err error) {
	asleep, wake, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.do(func() {
			writes, start, used := s.table.writes, time.Now(), threadTime()
			close(asleep)
			<-wake
			r.processor, r.lasted, r.writes = threadTime()-used, time.Since(start), s.table.writes-writes
			if used < 0 {
				r.processor = -1
			}
			r.completions, err = s.drain()
		})
	}()
	<-asleep
	workErr := f()
	close(wake)
	<-done
	return r, errors.Join(workErr, err)
}

// drain polls and counts the completions in the server's completion queue.
func (s *server) drain() (total int, err error) {
	var wcs [16]verbs.WorkCompletion
	for {
		n, err := s.cq.Poll(wcs[:])
		if n == 0 || err != nil {
			return total, err
		}
		total += n
	}
}

// close ends the program, closes all connections, and frees everything.
func (s *server) close() error {
	close(s.stop)
	<-s.done
	var errs []error
	for qp, conn := range s.qps {
		_ = conn.Close()
		errs = append(errs, qp.Close())
	}
	return errors.Join(append(errs, s.release())...)
}

// release closes all objects in the reverse order of creation: objects in use can't be closed.
func (s *server) release() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
