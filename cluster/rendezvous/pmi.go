package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/internal/edge/pmi"
)

// pmiKey is the key of the invitation.
const pmiKey = "rdmakit-invitation"

// pmiLimit is the time limit for finalizing PMI.
const pmiLimit = 5 * time.Second

// PMI is the way with the key-value space of the process manager. Each task must call Publish, Find
// or Pass: each of them returns when all have done so, and finalizes PMI, so that the process
// manager doesn't end the job when a task ends.
type PMI struct{ client *pmi.Client }

// NewPMI returns the way if the environment has a process manager that answers.
func NewPMI(ctx context.Context, getenv func(string) string) (*PMI, error) {
	c, err := pmi.Open(ctx, getenv)
	if err != nil {
		return nil, err
	}
	return &PMI{c}, nil
}

// Publish stores the invitation.
func (p *PMI) Publish(ctx context.Context, i protocol.Invitation) error {
	err := p.client.Put(ctx, pmiKey, i.String())
	// The others wait, also if there is no invitation.
	return errors.Join(err, p.client.Barrier(ctx), p.Close())
}

// Find gets the invitation. There is only one.
func (p *PMI) Find(ctx context.Context, try Try) (protocol.Invitation, error) {
	var i protocol.Invitation
	err := p.client.Barrier(ctx)
	if err == nil {
		var text string
		if text, err = p.client.Get(ctx, pmiKey); err == nil {
			i, err = protocol.ParseInvitation(text)
		}
	}
	if err = errors.Join(err, p.Close()); err == nil && try != nil {
		err = try(ctx, i)
	}
	if err != nil {
		return protocol.Invitation{}, fmt.Errorf("find the leader by PMI: %w", err)
	}
	return i, nil
}

// Pass waits for the other tasks.
func (p *PMI) Pass(ctx context.Context) error { return errors.Join(p.client.Barrier(ctx), p.Close()) }

// Trust returns nil.
func (p *PMI) Trust() Trust { return nil }

// Close finalizes PMI and closes the connection.
func (p *PMI) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), pmiLimit)
	defer cancel()
	return p.client.Close(ctx)
}

// String names the way.
func (p *PMI) String() string { return "PMI" }
