package subnet

import (
	"fmt"
	"syscall"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Refuser is a transport that can't send to one LID, as the kernel rejects an address with EINVAL:
// Send returns [fabric.ErrRefused] for that datagram.
type Refuser struct {
	fabric.Transport
	LID ib.LID
}

// Send implements [fabric.Transport].
func (r *Refuser) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		if batch[i].Address.LID == r.LID {
			return i, fmt.Errorf("write: %w: %w", fabric.ErrRefused, syscall.EINVAL)
		}
		if n, err := r.Transport.Send(batch[i : i+1]); n != 1 || err != nil {
			return i, err
		}
	}
	return len(batch), nil
}
