package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func manyRules() []rule {
	return []rule{
		{"queue-pairs", provider.CapRC, checkManyPairs},
		{"posting-goroutines", provider.CapRC, checkPostingGoroutines},
		{"small-messages", provider.CapRC, checkSmallMessages},
	}
}

// checkManyPairs runs many connections at once, each with its own goroutine, domain and data, of
// three operations each, and checks every byte.
func checkManyPairs(c *check) {
	pairs, rounds := c.shorter(32, 8), c.shorter(10, 5)
	const size = 9000
	var wg sync.WaitGroup
	for i := range pairs {
		a, b := c.connected(shape{size: 4 * size})
		wg.Go(func() {
			for round := range rounds {
				fill(a.mr.Bytes()[:size], 100*i+round)
				want := bytes.Clone(a.mr.Bytes()[:size])
				if err := exchange(a, b, size); err != nil {
					c.errorf("connection %d, round %d: %v", i, round, err)
					return
				}
				own, peer := a.memory(a.mr), b.memory(b.mr)
				if !bytes.Equal(peer[:size], want) || !bytes.Equal(peer[size:2*size], want) ||
					!bytes.Equal(own[2*size:3*size], want) {
					c.errorf("connection %d, round %d: the bytes differ", i, round)
				}
			}
		})
	}
	wg.Wait()
}

// exchange writes and sends the first size bytes of a to b, and reads them back.
func exchange(a, b *end, size int) error {
	ctx, cancel := a.c.patience()
	defer cancel()
	write, send := a.request(1, provider.SendOpWrite, size, b), a.request(2, provider.SendOpSend, size, b)
	read := a.request(3, provider.SendOpRead, size, b)
	read.Segments = a.part(2*size, size)
	a.order()
	if _, err := b.qp.PostReceive([]provider.ReceiveRequest{b.room(4, size, size)}); err != nil {
		return err
	}
	if _, err := a.qp.PostSend([]provider.SendRequest{write, send, read}); err != nil {
		return err
	}
	for _, q := range []struct {
		cq   provider.CompletionQueue
		want []uint64
	}{{a.sends, []uint64{1, 2, 3}}, {b.receives, []uint64{4}}} {
		for _, id := range q.want {
			var wcs [1]provider.WorkCompletion
			if _, err := q.cq.Wait(ctx, wcs[:]); err != nil {
				return err
			}
			if wcs[0].ID != id || wcs[0].Status != provider.WCSuccess {
				return fmt.Errorf("completion of request %d: %w", id, wcs[0].Err())
			}
		}
	}
	return nil
}

// checkPostingGoroutines checks that goroutines may post to one queue pair at the same time: each
// request completes once, and those of a goroutine in their order.
func checkPostingGoroutines(c *check) {
	const goroutines = 4
	each := c.shorter(100, 20)
	a, b := c.connected(shape{})
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := 0; i < each; {
				wr := a.request(uint64(g)<<32|uint64(i), provider.SendOpWrite, 8, b)
				switch n, err := a.qp.PostSend([]provider.SendRequest{wr}); {
				case err == nil && n == 1:
					i++
				case errors.Is(err, provider.ErrQueueFull):
					c.quiet() // until the completions are polled
				default:
					c.errorf("PostSend = %d, %v", n, err)
					return
				}
			}
		})
	}
	var next [goroutines]uint64
	for range goroutines * each {
		wc := a.sent(1)[0]
		g := wc.ID >> 32
		if g >= goroutines || wc.ID&0xffffffff != next[g] || wc.Status != provider.WCSuccess {
			c.errorf("completion %+v, want request %d of its goroutine", wc, next)
			break
		}
		next[g]++
	}
	wg.Wait()
}

// checkSmallMessages checks many messages of few bytes, each with its own content and receive
// request, more than the queues have room for.
func checkSmallMessages(c *check) {
	n := uint64(c.shorter(2000, 300))
	const depth = 64
	a, b := c.connected(shape{capacity: provider.QPCapacity{MaxSendWR: depth, MaxRecvWR: depth}})
	for id := range uint64(depth) {
		b.postReceive(b.room(id, int(id)*16, 16))
	}
	posted := uint64(0)
	for got := range n {
		for ; posted < n && posted < got+depth/2; posted++ {
			at := int(posted%depth) * 16
			fill(a.mr.Bytes()[at:at+16], int(posted))
			wr := a.request(posted, provider.SendOpSend, 16, b)
			wr.Segments = a.part(at, 16)
			a.post(wr)
		}
		c.expect("send", a.sent(1), success(got, got)...)
		c.expect("receive", b.received(1), success(got, got)...)
		at := int(got%depth) * 16
		if !bytes.Equal(b.memory(b.mr)[at:at+16], pattern(16, int(got))) {
			c.errorf("message %d: the bytes differ", got)
		}
		b.postReceive(b.room(got+depth, at, 16))
	}
}
