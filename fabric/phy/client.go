package phy

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// Caller sends a request, with retries, and overwrites it with the answer; [fabric.Client] is one,
// and so is [fabric.Caller]. The error matches [fabric.ErrNoAnswer], or is a *[fabric.StatusError]
// (the request is overwritten with the answer in this case), or comes from the transport or the
// context.
type Caller interface {
	Call(ctx context.Context, d *fabric.Datagram) error
}

// ErrNoClass is matched by the error for a node that doesn't answer the vendor class.
var ErrNoClass = errors.New("no answer to class 0x0a")

// SilentError is the error for a node that gave no answer at all. It matches [ErrNoClass].
type SilentError struct {
	Silence fabric.Silence // what was tried
	Err     error          // of the transport or the engine
}

// Error names the key that was tried, not its value; or the partition if that is the reason.
func (e *SilentError) Error() string {
	if e.Silence.WrongPartition() {
		return ErrNoClass.Error() + ": " + e.Silence.Causes()[0]
	}
	tried := "VS_Key 0"
	if len(e.Silence.Keys) > 0 && e.Silence.Keys[0] != 0 {
		tried = "the given VS_Key"
	}
	return ErrNoClass.Error() + " with " + tried + " (no such class, another key, or not NVIDIA)"
}

// Unwrap returns the error that the class has no answer, and its cause.
func (e *SilentError) Unwrap() []error { return []error{ErrNoClass, e.Err} }

// Port is a port of a node.
type Port struct {
	Node   ib.GUID // GUID of the node
	GUID   ib.GUID // GUID of the port: the first of both that has a key selects it
	LID    ib.LID  // of the port; of a switch that of its port 0
	Number uint8   // in the subnet, from 1
}

// String returns "port 3 at LID 7".
func (p Port) String() string { return fmt.Sprintf("port %d at LID %d", p.Number, uint16(p.LID)) }

// Client reads registers. Its Caller is required.
type Client struct {
	Caller Caller
	// Keys are the VS_Keys. C twin: the file guid2vskey of ibdiagnet and mstflint.
	Keys fabric.KeyTable
}

func (c *Client) key(to Port) uint64 { return c.Keys.Of(to.GUID, to.Node) }

// call sends a datagram of the class to a port and returns its bytes.
func (c *Client) call(ctx context.Context, to Port, message []byte) (mad.Header, []byte, error) {
	d := fabric.Datagram{Address: fabric.Address{LID: to.LID, QPN: 1, QKey: fabric.QKeyGSI}}
	copy(d.MAD[:], message)
	err := c.Caller.Call(ctx, &d)
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if _, refused := errors.AsType[*fabric.StatusError](err); refused {
		return h, d.MAD[:], errors.New(prm.StatusText(h.Result()))
	}
	return h, d.MAD[:], err
}

// Probe asks a node whether it answers registers. The error matches [ErrNoClass] if it doesn't
// answer, refuses, or reports that it has none; another error comes from the transport or the
// context.
func (c *Client) Probe(ctx context.Context, to Port) error {
	key := c.key(to)
	request := prm.NewGeneralInfo(key, 0)
	h, answer, err := c.call(ctx, to, request.Append(nil))
	switch {
	case err == nil:
		var info prm.GeneralInfo
		info.Decode(answer) //nolint:errcheck // a MAD is long enough
		if !info.HasAccessRegister() {
			return fmt.Errorf("%w: the device reports that it has no access to registers", ErrNoClass)
		}
		return nil
	case errors.Is(err, fabric.ErrNoAnswer):
		silence := fabric.SilenceOf(err, prm.Class, fabric.Address{LID: to.LID}, key)
		silence.Answered = true
		return &SilentError{Silence: silence, Err: err}
	case errors.Is(err, fabric.ErrRefused):
		return fmt.Errorf("%w: %w", ErrNoClass, err)
	case h.Method&mad.MethodResponse != 0:
		return fmt.Errorf("%w: %w", ErrNoClass, err)
	}
	return err
}

// register reads the first size bytes of a register, whose index fields are in request.
func (c *Client) register(ctx context.Context, to Port, r prm.Register, request []byte, size int) ([]byte, error) {
	out := make([]byte, 0, prm.Blocks(size)*prm.BlockLen)
	for block := range prm.Blocks(size) {
		p := prm.NewAccessRegister(r, uint16(block), c.key(to), 0)
		copy(p.Data[:], request)
		_, answer, err := c.call(ctx, to, p.Append(nil))
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", r, to, err)
		}
		var got prm.AccessRegister
		got.Decode(answer) //nolint:errcheck // a MAD is long enough
		if got.Block != uint16(block) {
			return nil, fmt.Errorf("read %s of %s: block %d instead of %d", r, to, got.Block, block)
		}
		out = append(out, got.Data[:]...)
	}
	return out[:size], nil
}

// decoder is a structure of wire/prm.
type decoder interface{ Decode(b []byte) (int, error) }

// counters reads a group of PPCNT into v, of size bytes.
func (c *Client) counters(ctx context.Context, to Port, group prm.Group, v decoder, size int) error {
	index := prm.PPCNT{Group: group, LocalPort: uint16(to.Number), PortAccess: prm.PortAccessIB}
	b, err := c.register(ctx, to, prm.RegisterPPCNT, index.Append(nil), prm.PPCNTHeaderLen+size)
	if err != nil {
		return err
	}
	var head prm.PPCNT
	head.Decode(b) //nolint:errcheck // register returned size bytes
	if head.Group != group {
		return fmt.Errorf("read PPCNT of %s: group 0x%02x instead of 0x%02x", to, uint8(head.Group), uint8(group))
	}
	_, err = v.Decode(b[prm.PPCNTHeaderLen:])
	return err
}

// Counters reads the counters and ratios of errors.
func (c *Client) Counters(ctx context.Context, to Port) (v prm.StatisticalCounters, err error) {
	err = c.counters(ctx, to, prm.GroupStatistical, &v, prm.StatisticalCountersLen)
	return v, err
}

// PhysicalCounters reads the counters of error correction and of link-downs.
func (c *Client) PhysicalCounters(ctx context.Context, to Port) (v prm.PhysicalCounters, err error) {
	err = c.counters(ctx, to, prm.GroupPhysical, &v, prm.PhysicalCountersLen)
	return v, err
}

// page reads a page of PDDR into v, of size bytes.
func (c *Client) page(ctx context.Context, to Port, page prm.Page, unit uint8, v decoder, size int) error {
	index := prm.PDDR{LocalPort: uint16(to.Number), PortAccess: prm.PortAccessIB, Page: page, PowerUnit: unit}
	b, err := c.register(ctx, to, prm.RegisterPDDR, index.Append(nil), prm.PDDRHeaderLen+size)
	if err != nil {
		return err
	}
	var head prm.PDDR
	head.Decode(b) //nolint:errcheck // register returned size bytes
	if head.Page != page {
		return fmt.Errorf("read PDDR of %s: page %d instead of %d", to, head.Page, page)
	}
	_, err = v.Decode(b[prm.PDDRHeaderLen:])
	return err
}

// Operation reads the state of the link: its error correction, speed and width.
func (c *Client) Operation(ctx context.Context, to Port) (v prm.OperationInfo, err error) {
	err = c.page(ctx, to, prm.PageOperation, 0, &v, prm.OperationInfoLen)
	return v, err
}

// Troubleshooting reads the device's finding about the link.
func (c *Client) Troubleshooting(ctx context.Context, to Port) (v prm.Troubleshooting, err error) {
	err = c.page(ctx, to, prm.PageTroubleshooting, 0, &v, prm.TroubleshootingLen)
	return v, err
}

// PhyInfo reads the state of the link's training.
func (c *Client) PhyInfo(ctx context.Context, to Port) (v prm.PhyInfo, err error) {
	err = c.page(ctx, to, prm.PagePhy, 0, &v, prm.PhyInfoLen)
	return v, err
}

// LinkDown reads why the link went down the last time.
func (c *Client) LinkDown(ctx context.Context, to Port) (v prm.LinkDownInfo, err error) {
	err = c.page(ctx, to, prm.PageLinkDown, 0, &v, prm.LinkDownInfoLen)
	return v, err
}
