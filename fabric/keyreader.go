package fabric

import (
	"context"
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
	if changed, _ := r.learn(ctx, sent.LID, once); changed { // without an answer nothing is known
		return once(ctx, d, timeout, retries)
	}
	r.addressing.Complete(err)
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
	return r.addressing.LearnPKeys(lid, table), nil
}

// maxPKeyBlocks is how many blocks of a partition table are read; adapters have up to 4.
const maxPKeyBlocks = 16

// pkeys reads the partition table of the port at a LID; of a switch that is the table of port 0.
// The blocks after the first are read only if that has no key that the local port can use.
func (r *keyReader) pkeys(ctx context.Context, lid ib.LID, once onceFunc) (table []ib.PKey, err error) {
	blocks := 1
	for block := 0; block < blocks; block++ {
		var keys mad.PKeyTable
		if err := r.get(ctx, lid, mad.AttributePKeyTable, uint32(block), &keys, once); err != nil {
			return nil, err
		}
		table = append(table, keys[:]...)
		if _, ok := ChoosePKey(r.addressing.PKeys, table); ok || block > 0 {
			continue
		}
		var node mad.NodeInfo
		if err := r.get(ctx, lid, mad.AttributeNodeInfo, 0, &node, once); err != nil {
			return nil, err
		}
		blocks = (int(node.PartitionCap) + mad.PKeyBlockLen - 1) / mad.PKeyBlockLen
		if blocks > maxPKeyBlocks {
			return nil, fmt.Errorf("%d keys, at most %d are read", node.PartitionCap, maxPKeyBlocks*mad.PKeyBlockLen)
		}
	}
	return table, nil
}

// get reads an attribute of subnet management of the port at a LID.
func (r *keyReader) get(
	ctx context.Context, lid ib.LID, a mad.Attribute, modifier uint32, v interface{ Decode(b []byte) (int, error) },
	once onceFunc,
) error {
	p := mad.NewSMP(mad.MethodGet, a, modifier, 0)
	p.MKey = r.keys.of(&r.keys.M, Target{LID: lid})
	d := Datagram{Address: Address{LID: lid}}
	p.Append(d.MAD[:0])
	const patience = time.Second
	if err := once(ctx, &d, patience/2, 1); err != nil {
		return err
	}
	_, err := v.Decode(d.MAD[attributeOffset:])
	return err
}
