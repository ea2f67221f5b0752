package fabric

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Ping sends one vendor ping, as ibping does, and returns what the server calls itself and the time
// to its answer. The address is that of queue pair 1 there: a LID or a GID, QPN 1 and [QKeyGSI]. It
// is asked once: [Client.Retries] doesn't count. The error matches [ErrNoAnswer] when nothing came.
func (c *Client) Ping(
	ctx context.Context, to Address, oui mad.OUI,
) (server string, roundTrip time.Duration, err error) {
	once := Client{Transport: c.Transport, Timeout: c.Timeout, Retries: -1, tid: c.tid}
	defer func() { c.tid = once.tid }()
	p := mad.NewPing(0)
	p.OUI = oui
	d := Datagram{Address: to}
	p.Append(d.MAD[:0])
	start := time.Now()
	if err := once.Call(ctx, &d); err != nil {
		where := fmt.Sprintf("LID %d", uint16(to.LID))
		if to.LID == 0 {
			where = "GID " + to.GID.String()
		}
		return "", 0, fmt.Errorf("ping %s: %w", where, err)
	}
	roundTrip = time.Since(start)
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.OUI != oui {
		return "", 0, fmt.Errorf("ping LID %d: the answer is one of OUI %x", uint16(to.LID), p.OUI)
	}
	name, _, _ := bytes.Cut(p.Data[:], []byte{0})
	return plain(name), roundTrip, nil
}

// plain returns printable ASCII with spaces for the rest, as mad.NodeDescription does: a server
// can't write to a terminal what it likes.
func plain(text []byte) string {
	for i, c := range text {
		if c < 0x20 || c > 0x7e {
			text[i] = ' '
		}
	}
	return string(text)
}

// PingAddress returns the address of queue pair 1 at the port of a GID. On Ethernet the kernel
// finds the way by the GID itself, and index is that of the own GID in the port's table; elsewhere
// the subnet administration tells the LID, and a global route header leads into other subnets.
func (c *Client) PingAddress(ctx context.Context, to ib.GID, index uint8) (Address, error) {
	a := Address{QPN: 1, QKey: QKeyGSI, HasGRH: true, GIDIndex: index, GID: to}
	if u, ok := c.Transport.(*UMAD); ok && u.IsEthernet() {
		return a, nil
	}
	path, err := c.Path(ctx, to, 0)
	if err != nil {
		return Address{}, fmt.Errorf("find the port of GID %s: %w", to, err)
	}
	a.LID, a.SL = path.DLID, path.SL
	a.HasGRH = path.DGID.SubnetPrefix() != path.SGID.SubnetPrefix()
	return a, nil
}

// Server is a [Transport] that must know which unasked datagrams to deliver.
type Server interface {
	Transport
	// Serve has the transport also receive datagrams of a class that nobody asked for, with these
	// methods. It comes before the first datagram of that class is sent. The error says why the
	// port can't have them.
	Serve(class mad.Class, oui mad.OUI, methods ...mad.Method) error
}

// PingServer answers vendor pings. C twin: ibping -S.
type PingServer struct {
	OUI  mad.OUI // vendor of the pings: mad.OUIPing as ibping has it
	Name string  // what answers say, at most 215 bytes
	// Ready, if set, is called once pings are answered from then on.
	Ready func()
	// OnPing, if set, is called behind each answer with the requester's address.
	OnPing func(from Address)
}

// ServePing answers vendor pings with a name: a [PingServer] without Ready.
func ServePing(ctx context.Context, t Server, oui mad.OUI, name string, onPing func(from Address)) error {
	return (&PingServer{OUI: oui, Name: name, OnPing: onPing}).Serve(ctx, t)
}

// prober is a transport that doesn't notice by itself when what it leads into is gone.
type prober interface {
	// Probe returns an error when it is.
	Probe() error
}

// probeEvery is how often a server without requests looks whether it can have any.
const probeEvery = 2 * time.Second

// Serve answers until the context ends, and returns its cause. A requester to whom no answer can be
// sent, since the transport refuses its address, is left without. A simulator that ended is noticed
// within a few seconds.
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
			// An error is that of one address, which anybody can write into a request: Receive
			// tells when the port is gone.
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

// answerPing makes a request its own answer; false when it is none.
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

// sendAll hands over one datagram, and waits while the transport takes none; false at the deadline.
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
		time.Sleep(time.Millisecond) // back-pressure: what is in the way is our own, and drains
	}
}
