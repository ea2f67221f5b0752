package rendezvous

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/munge"
)

// credentialTTL is how long a credential is valid, and how much the clocks of nodes may differ. It
// is the default of munged.
const credentialTTL = 5 * time.Minute

// ErrOtherUser is the error for a proof that a process of another user has made, root included.
var ErrOtherUser = errors.New("the other end is a process of another user")

// Munge is the way with the daemons of MUNGE on the nodes: both ends are processes of one user.
// A proof can be verified once, and only by that user.
type Munge struct {
	proven
	daemon munge.Daemon
	job    string
	uid    int
}

// NewMunge returns the way for a task, after a credential that this process makes and reads itself.
func NewMunge(ctx context.Context, t Task, d munge.Daemon) (*Munge, error) {
	if t.Leader == "" {
		return nil, errNoAddress
	}
	m := &Munge{proven{t.Leader}, d, t.Job, os.Geteuid()}
	text, err := m.encode(ctx, nil)
	if err != nil {
		return nil, err
	}
	c, err := d.Decode(ctx, text)
	if err != nil {
		return nil, err
	}
	if c.UID != m.uid {
		return nil, fmt.Errorf("munged takes this process of user %d for one of user %d: is it in a user namespace?",
			m.uid, c.UID)
	}
	return m, nil
}

// Trust returns m itself.
func (m *Munge) Trust() Trust { return m }

// String names the way.
func (m *Munge) String() string { return "MUNGE" }

func (m *Munge) encode(ctx context.Context, payload []byte) (string, error) {
	return m.daemon.Encode(ctx, payload, munge.Options{Restricted: true, UID: m.uid, TTL: credentialTTL})
}

// Prove returns a credential of what the proof is about, for processes of this user.
func (m *Munge) Prove(ctx context.Context, from Role, p Pair) (string, error) {
	return m.encode(ctx, statement(m.job, from, p))
}

// Verify returns an error that matches [ErrOtherUser], [ErrOtherProof] or a cause of the package
// munge unless a process of this user has made the proof for this connection.
func (m *Munge) Verify(ctx context.Context, from Role, proof string, p Pair) error {
	c, err := m.daemon.Decode(ctx, proof)
	switch {
	case err != nil:
	case c.UID != m.uid:
		err = fmt.Errorf("%w: user %d on %s, not %d", ErrOtherUser, c.UID, c.Host, m.uid)
	case subtle.ConstantTimeCompare(c.Payload, statement(m.job, from, p)) != 1:
		err = ErrOtherProof
	}
	if err != nil {
		return fmt.Errorf("MUNGE credential of the %s: %w", from, err)
	}
	return nil
}
