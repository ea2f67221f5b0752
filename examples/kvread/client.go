package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

// Errors of a lookup.
var (
	errNotFound   = errors.New("no such key")
	errAlwaysTorn = errors.New("bucket was torn at every read")
)

// client looks up keys in the table of a server. Only one goroutine may use it.
type client struct {
	conn   net.Conn // the server closes its queue pair when this connection closes
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion // holds one bucket
	server reply
	torn   int

	closers []func() error // in the order of creation
}

// connect creates a client and connects it to the server at a TCP address.
func connect(ctx context.Context, device *verbs.Device, pd *verbs.ProtectionDomain, address string) (*client, error) {
	c := &client{}
	if err := c.open(ctx, device, pd, address); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *client) open(
	ctx context.Context, device *verbs.Device, pd *verbs.ProtectionDomain, address string,
) (err error) {
	if c.cq, err = device.CreateCQ(verbs.CQConfig{Depth: 16}); err != nil {
		return err
	}
	c.closers = append(c.closers, c.cq.Close)
	local := verbs.MemoryOptions{Access: verbs.AccessLocalWrite}
	if c.mr, err = pd.RegisterMemory(make([]byte, bucketSize), local); err != nil {
		return err
	}
	c.closers = append(c.closers, c.mr.Close)
	if c.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: c.cq}); err != nil {
		return err
	}
	c.closers = append(c.closers, c.qp.Close)
	port, err := device.Port(ctx, 1)
	if err != nil {
		return err
	}
	gid, err := device.GID(ctx, 1, 0)
	if err != nil {
		return err
	}
	if c.conn, err = new(net.Dialer).DialContext(ctx, "tcp", address); err != nil {
		return err
	}
	c.closers = append(c.closers, c.conn.Close)
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	defer stop()
	mine := hello{
		Remote: verbs.Remote{QPN: c.qp.QPN(), PSN: verbs.RandomPSN(), GID: gid, LID: port.LID},
		MTU:    port.ActiveMTU,
	}
	if err := send(c.conn, mine); err != nil {
		return err
	}
	if err := receive(c.conn, &c.server); err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	if c.server.Error != "" {
		return fmt.Errorf("connect to %s: error of the server: %s", address, c.server.Error)
	}
	if n := c.server.Buckets; n < 1 || n&(n-1) != 0 {
		return fmt.Errorf("connect to %s: table of %d buckets: not a power of two", address, n)
	}
	return c.qp.Connect(
		verbs.ConnectConfig{Remote: c.server.Remote, PSN: mine.Remote.PSN, MTU: pathMTU(mine, c.server.hello)})
}

func (c *client) close() error {
	var errs []error
	for _, f := range slices.Backward(c.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// read copies a bucket of the server to the client's memory with one RDMA READ.
func (c *client) read(ctx context.Context, bucket int) ([]byte, error) {
	_, err := c.qp.PostSend(verbs.SendRequest{
		ID: uint64(bucket), Op: verbs.SendOpRead, Flags: verbs.SendSignaled,
		Segments:   []verbs.Segment{c.mr.Segment(0, bucketSize)},
		RemoteAddr: c.server.Addr + uint64(bucket)*bucketSize, RKey: c.server.RKey,
	})
	if err != nil {
		return nil, err
	}
	var wc [1]verbs.WorkCompletion
	if _, err = c.cq.Wait(ctx, wc[:]); err != nil {
		return nil, cause(ctx, err)
	}
	return c.mr.Bytes(), wc[0].Err()
}

// lookup finds a key. The value is valid until the next lookup.
func (c *client) lookup(ctx context.Context, key string) (v value, reads int, err error) {
	return search(key, c.server.Buckets, func(bucket int) (value, int, error) {
		v, reads, err := readConsistent(func() ([]byte, error) { return c.read(ctx, bucket) })
		c.torn += reads - 1
		return v, reads, err
	})
}

// search reads from the bucket of a key's hash on, until it finds the key or an empty bucket.
func search(key string, buckets int, read func(bucket int) (value, int, error)) (value, int, error) {
	total := 0
	for probe := range buckets {
		v, reads, err := read(bucketOf(key, probe, buckets))
		total += reads
		switch {
		case errors.Is(err, errEmpty):
			return value{}, total, fmt.Errorf("look up %s: %w", key, errNotFound)
		case err != nil:
			return value{}, total, fmt.Errorf("look up %s: %w", key, err)
		case v.key == key:
			return v, total, nil
		}
	}
	return value{}, total, fmt.Errorf("look up %s: %w", key, errNotFound)
}

// maxReads limits how often a torn bucket is read: a server that died while it was writing leaves a
// bucket that stays torn.
const maxReads = 1000

// readConsistent reads a bucket until it isn't torn.
func readConsistent(read func() ([]byte, error)) (v value, reads int, err error) {
	for reads = 1; reads <= maxReads; reads++ {
		b, err := read()
		if err != nil {
			return value{}, reads, err
		}
		if v, err = decode(b); !errors.Is(err, errTorn) {
			return v, reads, err
		}
	}
	return value{}, maxReads, errAlwaysTorn
}

// group is a group of clients that share a device.
type group struct {
	clients []*client
	closers []func() error
}

func openClients(ctx context.Context, name, address string, n int) (*group, error) {
	g := &group{}
	if err := g.open(ctx, name, address, n); err != nil {
		return nil, errors.Join(cause(ctx, err), g.close())
	}
	return g, nil
}

func (g *group) open(ctx context.Context, name, address string, n int) error {
	device, err := verbs.Open(ctx, name, builtin.All()...)
	if err != nil {
		return err
	}
	g.closers = append(g.closers, device.Close)
	pd, err := device.AllocatePD()
	if err != nil {
		return err
	}
	g.closers = append(g.closers, pd.Close)
	for range n {
		c, err := connect(ctx, device, pd, address)
		if err != nil {
			return err
		}
		g.clients = append(g.clients, c)
		g.closers = append(g.closers, c.close)
	}
	return nil
}

func (g *group) close() error {
	var errs []error
	for _, f := range slices.Backward(g.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// tally is the result of lookups.
type tally struct {
	lookups, reads, torn int
	took                 []time.Duration // time of each lookup
}

func (t tally) String() string {
	slices.Sort(t.took)
	return fmt.Sprintf("%d lookups, all values correct, %d READs, %d of them torn and repeated, median lookup time %s",
		t.lookups, t.reads, t.torn, micro(t.took[len(t.took)/2]))
}

// hotKeys is the number of keys that the server writes. Half of the lookups are for these keys.
const hotKeys = 4

// lookups runs lookups of random keys in all clients concurrently, and checks every value.
func (g *group) lookups(ctx context.Context, o options) (tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sums, errs := make([]tally, len(g.clients)), make([]error, len(g.clients))
	var wg sync.WaitGroup
	for i, c := range g.clients {
		wg.Go(func() {
			if sums[i], errs[i] = c.work(ctx, o, rand.New(rand.NewPCG(1, uint64(i)))); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	var all tally
	for _, s := range sums {
		all.lookups += s.lookups
		all.reads += s.reads
		all.torn += s.torn
		all.took = append(all.took, s.took...)
	}
	if ctx.Err() != nil { // return the first error, which has caused the others
		return all, context.Cause(ctx)
	}
	return all, nil
}

func (c *client) work(ctx context.Context, o options, r *rand.Rand) (t tally, err error) {
	c.torn = 0
	for range o.lookups {
		key := keyName(r.IntN(o.keys))
		if r.IntN(2) == 0 {
			key = keyName(r.IntN(min(hotKeys, o.keys)))
		}
		start := time.Now()
		v, reads, err := c.lookup(ctx, key)
		if err != nil {
			return t, err
		}
		t.took = append(t.took, time.Since(start))
		t.lookups++
		t.reads += reads
		if !bytes.Equal(v.data, valueOf(key, v.version)) {
			return t, fmt.Errorf("look up %s: the value of version %d is wrong: %.40q", key, v.version, v.data)
		}
	}
	t.torn = c.torn
	return t, nil
}
