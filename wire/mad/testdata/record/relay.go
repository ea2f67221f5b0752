package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Sizes and numbers of ibsim's protocol (ibsim.h): a control message, a packet, where
// its MAD and status are, and the control types that matter here.
const (
	controlLen    = 80
	controlData   = 16
	packetLen     = 288
	packetStatus  = 16
	packetMAD     = 32
	ctlConnect    = 1
	ctlDisconnect = 2
)

// relay forwards messages between one client and ibsim, and records the MADs.
type relay struct {
	server, base string // socket name of ibsim, and prefix of the relay's socket names

	mu  sync.Mutex
	log []string

	inject  []mad.DirectedSMP // sent before the next client's packets, and not recorded
	control *net.UnixConn     // receives the client's control messages
}

// address returns an abstract name as ibsim forms it: with a zero byte at its end.
func address(base, name string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: "@" + base + ":" + name + "\x00"}
}

func newRelay(server, base string) (*relay, error) {
	control, err := net.ListenUnixgram("unixgram", address(base, "ctl"))
	if err != nil {
		return nil, err
	}
	return &relay{server: server, base: base, control: control}, nil
}

// take returns the MADs that were recorded since the last call.
func (r *relay) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

// serve relays one client after another until the control socket is closed.
func (r *relay) serve() error {
	for {
		err := r.client()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// client relays one client from its CONNECT to its DISCONNECT.
func (r *relay) client() error {
	var b [controlLen]byte
	if _, err := io.ReadFull(r.control, b[:]); err != nil {
		return err
	}
	if kind := binary.NativeEndian.Uint32(b[8:]); kind != ctlConnect {
		return fmt.Errorf("control message of type %d before a CONNECT", kind)
	}
	id := binary.NativeEndian.Uint32(b[controlData:])
	up, err := net.DialUnix("unixgram", address(r.server, fmt.Sprintf("ctl%d", id)), address(r.server, "ctl"))
	if err != nil {
		return err
	}
	defer up.Close()
	in, err := net.ListenUnixgram("unixgram", address(r.server, fmt.Sprintf("in%d", id)))
	if err != nil {
		return err
	}
	defer in.Close()
	back := address(r.base, fmt.Sprintf("ctl%d", id))
	if err := r.answer(up, b[:]); err != nil {
		return err
	}
	slot := binary.NativeEndian.Uint32(b[controlData:])
	out, err := net.ListenUnixgram("unixgram", address(r.base, fmt.Sprintf("out%d", slot)))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := r.reply(b[:], back); err != nil {
		return err
	}
	if err := r.sendInjected(in, address(r.server, fmt.Sprintf("out%d", slot))); err != nil {
		return err
	}
	go r.forward(">", out, in, address(r.server, fmt.Sprintf("out%d", slot)))
	go r.forward("<", in, out, address(r.base, fmt.Sprintf("in%d", id)))
	for {
		if _, err := io.ReadFull(r.control, b[:]); err != nil {
			return err
		}
		kind := binary.NativeEndian.Uint32(b[8:])
		if err := r.answer(up, b[:]); err != nil && kind != ctlDisconnect {
			return err
		}
		_ = r.reply(b[:], back) // after a DISCONNECT the client may have ended
		if kind == ctlDisconnect {
			return nil
		}
	}
}

// answer forwards a control message and replaces it with ibsim's response.
func (*relay) answer(up *net.UnixConn, b []byte) error {
	if _, err := up.Write(b); err != nil {
		return err
	}
	if err := up.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	_, err := io.ReadFull(up, b)
	return err
}

func (r *relay) reply(b []byte, to *net.UnixAddr) error {
	_, err := r.control.WriteToUnix(b, to)
	return err
}

// sendInjected sends r.inject like a client, and receives the responses.
func (r *relay) sendInjected(in *net.UnixConn, to *net.UnixAddr) error {
	for i := range r.inject {
		b := make([]byte, packetMAD, packetLen)
		for _, lid := range [...]int{0, 4} { // destination and source: by directed route
			binary.BigEndian.PutUint16(b[lid:], uint16(mad.LIDPermissive))
		}
		binary.BigEndian.PutUint64(b[packetMAD-8:], mad.Len)
		if _, err := in.WriteToUnix(r.inject[i].Append(b), to); err != nil {
			return err
		}
		b = b[:packetLen]
		var answer mad.DirectedSMP
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		if _, err := answer.Decode(b[packetMAD:]); err != nil || answer.Result() != 0 || !answer.IsReturning() {
			return fmt.Errorf("injected packet: %s, %w", answer.Result(), err)
		}
	}
	r.inject = nil
	return nil
}

// forward forwards packets from one side to the other until from is closed.
func (r *relay) forward(mark string, from, via *net.UnixConn, to *net.UnixAddr) {
	b := make([]byte, packetLen)
	for {
		n, err := from.Read(b)
		if err != nil || n != packetLen {
			return
		}
		r.mu.Lock()
		r.log = append(r.log, fmt.Sprintf("%s %d %x", mark, binary.BigEndian.Uint32(b[packetStatus:]), b[packetMAD:]))
		r.mu.Unlock()
		if _, err := via.WriteToUnix(b, to); err != nil {
			fmt.Fprintln(os.Stderr, "relay", mark, err)
			return
		}
	}
}
