package rping

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// aliveEvery is how long a connection may be idle before it is tried.
const aliveEvery = 10 * time.Second

// aliveID is the ID of the request that tries a connection.
const aliveID = 1 << 32

// pulse notices a peer that has gone without a word: its machine has failed, or the message that
// ends the connection was lost and the peer's program, such as C's rping, has ended before its
// kernel could repeat it. The end of a connection that waits for a message would wait forever.
type pulse struct {
	seen atomic.Uint64 // completions
	sent atomic.Bool   // a request that tries the connection has no completion yet
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// beat starts trying an idle connection: with an empty RDMA WRITE, which the peer's device
// acknowledges and its program doesn't see. The kernel's communication manager always allows it. If
// there is no acknowledgement, the queue pair fails. On iWARP, TCP has the connection's end.
func (r *rig) beat(d *verbs.Device) {
	if !d.Capabilities().Has(verbs.CapImmediate) { // iWARP
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.pulse.stop = cancel
	r.pulse.wg.Go(func() {
		ticker := time.NewTicker(aliveEvery)
		defer ticker.Stop()
		for before := r.pulse.seen.Load(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			now := r.pulse.seen.Load()
			if now == before && r.pulse.sent.CompareAndSwap(false, true) {
				// A queue pair that has failed flushes its requests.
				_, _ = r.qp.PostSend(verbs.SendRequest{ID: aliveID, Op: verbs.SendOpWrite, Flags: verbs.SendSignaled})
			}
			before = now
		}
	})
}

// rest stops trying the connection.
func (r *rig) rest() {
	if r.pulse.stop != nil {
		r.pulse.stop()
		r.pulse.wg.Wait()
	}
}
