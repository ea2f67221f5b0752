package fabric

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Ping sends one vendor ping, as ibping does, and returns the server's name and the round-trip
// time. The address is that of the server's queue pair 1: a LID or a GID, QPN 1 and [QKeyGSI]. The
// ping is sent once ([Client.Retries] is ignored), and is lost after [Client.Timeout], or 1 s. The
// error matches [ErrNoAnswer] if no answer came.
func (c *Client) Ping(
	ctx context.Context, to Address, oui mad.OUI,
) (server string, roundTrip time.Duration, err error) {
	p := mad.NewPing(0)
	p.OUI = oui
	d := Datagram{Address: to}
	p.Append(d.MAD[:0])
	start := time.Now()
	if err := c.call(ctx, &d, cmp.Or(c.Timeout, time.Second), -1); err != nil {
		where := fmt.Sprintf("LID %d", uint16(to.LID))
		if to.LID == 0 {
			where = "GID " + to.GID.String()
		}
		return "", 0, fmt.Errorf("ping %s: %w", where, c.silent(err, &d))
	}
	roundTrip = time.Since(start)
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.OUI != oui {
		return "", 0, fmt.Errorf("ping LID %d: the answer has OUI %x", uint16(to.LID), p.OUI)
	}
	name, _, _ := bytes.Cut(p.Data[:], []byte{0})
	return plain(name), roundTrip, nil
}

// plain replaces everything but printable ASCII with spaces, as mad.NodeDescription does, so that a
// server can't send control sequences to a terminal.
func plain(text []byte) string {
	for i, c := range text {
		if c < 0x20 || c > 0x7e {
			text[i] = ' '
		}
	}
	return string(text)
}

// PingAddress returns the address of queue pair 1 at the port of a GID. On Ethernet the kernel
// resolves the GID itself, and index is the index of the local GID in the port's table. Elsewhere
// subnet administration returns the LID, and a global route header is used for other subnets.
func (c *Client) PingAddress(ctx context.Context, to ib.GID, index uint8) (Address, error) {
	a := Address{QPN: 1, QKey: QKeyGSI, HasGRH: true, GIDIndex: index, GID: to}
	if u, ok := c.Transport.(*UMAD); ok && u.IsEthernet() {
		return a, nil
	}
	path, err := c.Path(ctx, to, 0)
	if err != nil {
		return Address{}, fmt.Errorf("find the port of GID %s: %w", to, err)
	}
	if addressing := AddressingOf(c.Transport); addressing != nil {
		addressing.LearnPaths([]mad.PathRecord{path})
	}
	a.LID, a.SL = path.DLID, path.SL
	a.HopLimit, a.TrafficClass, a.FlowLabel = path.HopLimit, path.TClass, path.FlowLabel
	a.HasGRH = path.HopLimit > 1 || path.DGID.SubnetPrefix() != path.SGID.SubnetPrefix()
	return a, nil
}

// Server is a [Transport] that can also deliver requests.
type Server interface {
	Transport
	// Serve makes the transport also receive requests of a class, with these methods. It must be
	// called before the first datagram of that class is sent. The error is the reason why the port
	// can't receive them.
	Serve(class mad.Class, oui mad.OUI, methods ...mad.Method) error
}

// PingServer answers vendor pings. C twin: ibping -S.
type PingServer struct {
	OUI  mad.OUI // vendor of the pings: mad.OUIPing for ibping
	Name string  // the text of the answers, at most 215 bytes
	// Ready, if set, is called when the server has begun to answer pings.
	Ready func()
	// OnPing, if set, is called after each answer with the requester's address.
	OnPing func(from Address)
}

// ServePing answers vendor pings with a name: a [PingServer] without Ready.
func ServePing(ctx context.Context, t Server, oui mad.OUI, name string, onPing func(from Address)) error {
	return (&PingServer{OUI: oui, Name: name, OnPing: onPing}).Serve(ctx, t)
}

// prober is a transport that doesn't notice by itself when its peer is gone.
type prober interface {
	// Probe returns an error if the peer is gone.
	Probe() error
}

// probeEvery is how often an idle server checks that its transport still works.
const probeEvery = 2 * time.Second

// Serve answers until the context ends, and returns its cause. A requester gets no answer if the
// transport rejects its address. A simulator that ended is noticed within a few seconds.
func (s *PingServer) Serve(ctx context.Context, t Server) error {
	if err := t.Serve(mad.ClassPing, s.OUI, mad.MethodGet); err != nil {
		return fmt.Errorf("serve pings: %w", err)
	}
	if s.Ready != nil {
		s.Ready()
	}
	var in [batch]Datagram
	for {
		n, err := t.Receive(ctx, in[:], time.Now().Add(probeEvery))
		if p, ok := t.(prober); ok && n == 0 && err == nil {
			err = p.Probe()
		}
		for i := range n {
			d := &in[i]
			if d.Lost || !answerPing(d, s.OUI, s.Name) {
				continue
			}
			// The error concerns one address, which any requester can choose: if the port is gone,
			// Receive reports it.
			sent, err := sendAll(ctx, t, d, time.Now().Add(time.Second))
			if sent && err == nil && s.OnPing != nil {
				s.OnPing(d.Address)
			}
		}
		if err != nil {
			return err
		}
	}
}

// answerPing turns a request into its answer; false if the datagram is not a ping.
func answerPing(d *Datagram, oui mad.OUI, name string) bool {
	var p mad.VendorMAD
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.MgmtClass != mad.ClassPing || p.Method != mad.MethodGet || p.OUI != oui {
		return false
	}
	p.Method, p.Status = mad.MethodGetResp, 0
	clear(p.Data[:])
	copy(p.Data[:len(p.Data)-1], name)
	p.Append(d.MAD[:0])
	d.Address.QKey, d.Timeout = QKeyGSI, 0
	return true
}

// sendAll sends one datagram, and waits while the transport accepts none; false at the deadline.
func sendAll(ctx context.Context, t Transport, d *Datagram, deadline time.Time) (bool, error) {
	for {
		n, err := t.Send([]Datagram{*d})
		if n == 1 || err != nil {
			return err == nil, err
		}
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		if !time.Now().Before(deadline) {
			return false, nil
		}
		time.Sleep(time.Millisecond) // back-pressure: the queue holds only our own datagrams and drains
	}
}
