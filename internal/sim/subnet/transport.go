package subnet

import (
	"container/heap"
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/administration"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// Transport sends and receives at a port of a node; it implements [fabric.Transport].
type Transport struct {
	subnet *Subnet
	node   *Node
	port   uint8
	queue  answers
	order  uint64
	spare  []*fabric.Datagram

	agent administration.Agent

	// GRHRequired makes Send refuse GMPs without a global route header with EINVAL, as the kernel
	// does at a port that requires it.
	GRHRequired bool
	// Address is what Addressing returns; nil: none.
	Address *fabric.Addressing

	closed chan struct{}
	close  func()
}

// Transport returns a transport at port 1 of the named channel adapter, or at the named switch.
func (s *Subnet) Transport(name string) *Transport {
	t := &Transport{subnet: s, node: s.Node(name), port: 1, closed: make(chan struct{})}
	t.close = sync.OnceFunc(func() { close(t.closed) })
	return t
}

// Send implements [fabric.Transport]: it computes each response immediately, and Receive delivers
// it after the delay.
func (t *Transport) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		if t.subnet.Queue > 0 && len(t.queue) >= t.subnet.Queue {
			return i, nil
		}
		if t.GRHRequired && batch[i].Address.QPN != 0 && !batch[i].Address.HasGRH {
			return i, fmt.Errorf("write: %w: %w", fabric.ErrRefused, syscall.EINVAL)
		}
		t.answer(&batch[i])
	}
	return len(batch), nil
}

func (t *Transport) answer(d *fabric.Datagram) {
	answer := t.datagram()
	*answer = fabric.Datagram{Address: d.Address}
	var n *Node
	if d.Address.QPN != 0 && !t.reaches(d) {
		t.spare = append(t.spare, answer)
		return
	}
	switch mad.Class(d.MAD[1]) {
	case mad.ClassSubnetDirected:
		n = t.subnetManagement(d, answer)
	case mad.ClassSubnet:
		n = t.subnet.managerByLID(d, answer)
	case mad.ClassPerformance:
		n = t.subnet.performance(d, answer)
	case mad.ClassSA:
		t.administration(d)
	case prm.Class:
		n = t.subnet.registers(d, answer)
	}
	if n == nil {
		t.spare = append(t.spare, answer)
		return
	}
	t.queueAnswer(n, answer)
}

// queueAnswer delivers a node's answer after the delay, as often as the node's Lie says.
func (t *Transport) queueAnswer(n *Node, answer *fabric.Datagram) {
	copies := 1
	if n.Lie != nil {
		copies = n.Lie(answer)
	}
	at := time.Now().Add(t.subnet.Delay + n.Delay)
	if n.Serial {
		if n.busy.After(time.Now()) {
			at = n.busy.Add(t.subnet.Delay + n.Delay)
		}
		n.busy = at.Add(-t.subnet.Delay)
	}
	for range copies {
		t.order++
		one := answer
		if copies > 1 {
			one = t.datagram()
			*one = *answer
		}
		heap.Push(&t.queue, waiting{at, t.order, one})
	}
}

// subnetManagement writes the response to a directed SMP to answer and returns the responding node,
// or nil if there is no response.
func (t *Transport) subnetManagement(d, answer *fabric.Datagram) *Node {
	var smp mad.DirectedSMP
	smp.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	path, ok := smp.Path()
	if !ok || smp.Method != mad.MethodGet {
		return nil
	}
	n, in := t.subnet.walk(t.node, t.port, path.Ports())
	if n == nil || n.Hides(smp.MKey) {
		return nil
	}
	t.subnet.reply(n, in, &smp)
	smp.Append(answer.MAD[:0])
	return n
}

// managerByLID writes the response of the subnet manager at a LID to answer and returns its node,
// or nil if there is none. Other LID-routed SMPs get no response, except for the partition table
// and the node info, which has its length.
func (s *Subnet) managerByLID(d, answer *fabric.Datagram) *Node {
	n := s.byLID[d.Address.LID]
	var p mad.SMP
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	switch {
	case n == nil || n.Dead || d.Address.QPN != 0 || n.Hides(p.MKey):
		return nil
	case p.AttributeID == mad.AttributePKeyTable:
		n.pkeyBlock(p.AttributeModifier).Append(p.Data[:0])
	case p.AttributeID == mad.AttributeNodeInfo:
		info := s.nodeInfo(n, n.portAt(d.Address.LID))
		info.Append(p.Data[:0])
	case p.AttributeID == mad.AttributeSMInfo && n.Manager != nil:
		n.Manager.Append(p.Data[:0])
	default:
		return nil
	}
	n.Asked++
	p.Method |= mad.MethodResponse
	p.Append(answer.MAD[:0])
	return n
}

// datagram returns a datagram, reused if possible.
func (t *Transport) datagram() *fabric.Datagram {
	k := len(t.spare)
	if k == 0 {
		return new(fabric.Datagram)
	}
	d := t.spare[k-1]
	t.spare = t.spare[:k-1]
	return d
}

// Receive implements [fabric.Transport].
func (t *Transport) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	for {
		overdue := t.expire()
		if n := t.take(batch); n > 0 {
			return n, nil
		}
		until := deadline
		if !overdue.IsZero() && (until.IsZero() || overdue.Before(until)) {
			until = overdue
		}
		if len(t.queue) > 0 && (until.IsZero() || t.queue[0].at.Before(until)) {
			until = t.queue[0].at
		}
		var alarm <-chan time.Time
		if !until.IsZero() {
			alarm = time.After(time.Until(until))
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-t.closed:
			return 0, net.ErrClosed
		case <-alarm:
			if !deadline.IsZero() && !time.Now().Before(deadline) {
				return t.take(batch), nil
			}
		}
	}
}

// take moves responses whose delay has passed into the batch.
func (t *Transport) take(batch []fabric.Datagram) (n int) {
	now := time.Now()
	for n < len(batch) && len(t.queue) > 0 && !t.queue[0].at.After(now) {
		if w, ok := heap.Pop(&t.queue).(waiting); ok {
			batch[n] = *w.datagram
			t.spare = append(t.spare, w.datagram)
			n++
		}
	}
	return n
}

// Close implements [fabric.Transport].
func (t *Transport) Close() error {
	t.close()
	return nil
}

// waiting is a response that has not been delivered yet.
type waiting struct {
	at       time.Time
	order    uint64
	datagram *fabric.Datagram
}

// answers implements heap.Interface: the earliest response first, then the first sent.
type answers []waiting

func (a answers) Len() int { return len(a) }

func (a answers) Less(i, j int) bool {
	if c := a[i].at.Compare(a[j].at); c != 0 {
		return c < 0
	}
	return a[i].order < a[j].order
}

func (a answers) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *answers) Push(x any) {
	if w, ok := x.(waiting); ok {
		*a = append(*a, w)
	}
}

// Pop implements heap.Interface.
func (a *answers) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
