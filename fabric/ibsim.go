package fabric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// ibsimBatch is how many datagrams go through the simulator's socket in one call.
const ibsimBatch = 32

// IBSim is the transport to a simulated subnet.
type IBSim struct {
	conn    *ibsim.Conn
	address Addressing
	out, in [ibsimBatch]ibsim.Packet
}

// OpenIBSim connects to the simulator that the environment names, in the variables of umad2sim:
// SIM_HOST, SIM_SET_ISSM, IBSIM_SOCKNAME, IBSIM_SERVER_NAME and IBSIM_SERVER_PORT. getenv is
// [os.Getenv] or a substitute.
func OpenIBSim(ctx context.Context, getenv func(string) string) (*IBSim, error) {
	config, err := ibsim.ConfigFromEnv(getenv)
	if err != nil {
		return nil, err
	}
	conn, err := ibsim.Dial(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &IBSim{conn: conn}
	var table mad.PKeyTable
	if b, err := conn.PKeys(ctx); err == nil {
		table.Decode(b[:]) //nolint:errcheck // long enough
		s.address.PKeys = table[:]
	} else if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), conn.Close())
	}
	return s, nil
}

// Addressing returns how GMPs are addressed, with the partition table that the port had when it was
// opened. Only rdmakit's simulator looks at it: ibsim has neither partitions nor service levels.
func (s *IBSim) Addressing() *Addressing { return &s.address }

// WantsIBSim reports whether the environment selects the simulator instead of this machine's ports.
func WantsIBSim(getenv func(string) string) bool { return ibsim.Wanted(getenv) }

// Node returns the name, in the simulator's net file, of the node that the transport is attached
// to.
func (s *IBSim) Node() string { return s.conn.Node() }

// Window returns how many requests may be outstanding in the simulator. Its sockets queue 10
// datagrams (net.unix.max_dgram_qlen) and then push back, which limits the window if answers are
// immediate; if answers are delayed, a larger window pays off.
func (s *IBSim) Window() int { return 64 }

// Serve implements [Server]. The simulator delivers requests only to clients that connected as a
// subnet manager (SIM_SET_ISSM).
func (s *IBSim) Serve(mad.Class, mad.OUI, ...mad.Method) error {
	if !s.conn.IsSM() {
		return errors.New(
			"the simulator delivers requests only to clients that can be subnet managers: set SIM_SET_ISSM=1")
	}
	return nil
}

// Send implements [Transport].
func (s *IBSim) Send(batch []Datagram) (int, error) {
	sent := 0
	for sent < len(batch) {
		k := 0
		var refused error
		for ; k < min(len(batch)-sent, len(s.out)); k++ {
			d, p := &batch[sent+k], &s.out[k]
			if d.Address.PKeyIndex > ibsim.MaxPKeyIndex {
				refused = fmt.Errorf("%w: P_Key index %d: the simulator has them up to %d", ErrRefused,
					d.Address.PKeyIndex, ibsim.MaxPKeyIndex)
				break
			}
			p.DLID, p.SLID = uint16(d.Address.LID), 0
			if p.DLID == ibsim.LIDPermissive {
				p.SLID = ibsim.LIDPermissive
			}
			p.Local = ibsim.Local{PKeyIndex: d.Address.PKeyIndex, SL: d.Address.SL, GRH: d.Address.HasGRH}
			p.DQP, p.SQP = uint32(d.Address.QPN), uint32(d.Address.QPN)
			p.MAD = d.MAD
		}
		n, err := s.conn.Send(s.out[:k])
		sent += n
		if err != nil || n < k {
			return sent, err
		}
		if refused != nil {
			return sent, refused
		}
	}
	return sent, nil
}

// Receive implements [Transport].
func (s *IBSim) Receive(ctx context.Context, batch []Datagram, deadline time.Time) (int, error) {
	n, err := s.conn.Receive(ctx, s.in[:min(len(batch), len(s.in))], deadline)
	for i := range n {
		p := &s.in[i]
		batch[i] = Datagram{
			Address: Address{LID: ib.LID(p.SLID), QPN: ib.QPN(p.SQP)},
			Lost:    p.Status != 0,
			MAD:     p.MAD,
			Length:  int(min(p.Length, math.MaxInt32)),
		}
	}
	return n, err
}

// Probe sends a request to the local port without waiting for the answer, which arrives through
// Receive. The error reports that the simulator is gone, which Receive can't distinguish from
// silence.
func (s *IBSim) Probe() error {
	d := Datagram{Address: directed()}
	p := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, 0, &mad.Path{})
	p.Append(d.MAD[:0])
	if _, err := s.Send([]Datagram{d}); err != nil {
		return fmt.Errorf("the simulator is gone: %w", err)
	}
	return nil
}

// Close implements [Transport].
func (s *IBSim) Close() error { return s.conn.Close() }
