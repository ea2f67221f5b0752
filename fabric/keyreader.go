package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// onceFunc sends a request, with retries, and overwrites it with the answer.
type onceFunc func(ctx context.Context, d *Datagram, timeout time.Duration, retries int) error

// keyReader sends requests again that weren't answered, in the partition that the destination's
// table shows.
type keyReader struct {
	addressing *Addressing // nil: the transport has none
	keys       *Keys
	read       map[ib.LID]bool // partition tables that were requested
}

// call sends a request. If there is no answer, it reads the partition table, once for each LID.
func (r *keyReader) call(ctx context.Context, d *Datagram, timeout time.Duration, retries int, once onceFunc) error {
	err := once(ctx, d, timeout, retries)
	sent, silent := SentOf(err)
	if !silent || r.addressing == nil || sent.LID == 0 || r.read[sent.LID] || ctx.Err() != nil {
		return err
	}
	if r.read == nil {
		r.read = map[ib.LID]bool{}
	}
	r.read[sent.LID] = true
	changed, tableErr := r.learn(ctx, sent.LID, once)
	if changed {
		return once(ctx, d, timeout, retries)
	}
	if e, ok := errors.AsType[*NoAnswerError](err); ok && tableErr == nil {
		e.Sent.Disjoint = r.addressing.Sent(&d.Address).Disjoint
	}
	return err
}

// learn reads the partition table of the port at a LID.
func (r *keyReader) learn(ctx context.Context, lid ib.LID, once onceFunc) (changed bool, err error) {
	if r.addressing == nil {
		return false, nil
	}
	table, err := r.pkeys(ctx, lid, once)
	if err != nil {
		return false, fmt.Errorf("read the partition table of LID %d: %w", uint16(lid), err)
	}
	return r.addressing.LearnPKeys(lid, table[:]), nil
}

// pkeys reads the first block of the partition table of the port at a LID; of a switch that is the
// table of port 0.
func (r *keyReader) pkeys(ctx context.Context, lid ib.LID, once onceFunc) (table mad.PKeyTable, err error) {
	p := mad.NewSMP(mad.MethodGet, mad.AttributePKeyTable, 0, 0)
	p.MKey = r.keys.of(&r.keys.M, Target{LID: lid})
	d := Datagram{Address: Address{LID: lid}}
	p.Append(d.MAD[:0])
	const patience = time.Second
	if err := once(ctx, &d, patience/2, 1); err != nil {
		return table, err
	}
	_, err = table.Decode(d.MAD[attributeOffset:])
	return table, err
}
