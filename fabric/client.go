package fabric

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Target is the destination of a request: a LID or, if that is 0, a directed route.
type Target struct {
	LID  ib.LID   // base LID of the port, or any other of its LIDs
	Path mad.Path // the port to leave each node by, beginning with the local node
	// Port and Node are the GUIDs of the port and of its node; zero if they aren't known. They
	// select its keys.
	Port, Node ib.GUID
}

// String returns "LID 7" or "directed route 0,1".
func (t Target) String() string {
	if t.LID != 0 {
		return fmt.Sprintf("LID %d", uint16(t.LID))
	}
	return "directed route " + t.Path.String()
}

// Client sends one request at a time. Its methods must not be called concurrently, nor during a
// sweep that uses the same transport. C twin: mad_rpc of libibmad.
type Client struct {
	Transport Transport // the transport of the requests
	// Timeout is how long to wait for the answer to each try; 0: 4 s for all tries, or longer: see
	// [Request].
	Timeout time.Duration
	// Retries is how often a request is sent again; 0: 2, as in libibmad; negative: never.
	Retries int
	// ReadPKeys has a request by LID that isn't answered followed by LearnPKeys, once for each LID:
	// if both ports are in another partition, the request is sent again in that.
	ReadPKeys bool
	// Keys are the keys of the subnet: M_Keys go into packets of subnet management, PM_Keys into
	// those of performance management.
	Keys Keys
	// Plain leaves the possible causes out of errors about requests without an answer, for programs
	// that print what a C tool does.
	Plain bool

	engine    *Engine // from the first request on
	keyReader keyReader
}

// SMP reads an attribute of subnet management, or writes it (method [mad.MethodSet] with data). The
// answer's attribute has [mad.SMPDataLen] bytes. Errors match [ErrNoAnswer] or are a *StatusError,
// both wrapped with the request; all others come from the transport.
func (c *Client) SMP(
	ctx context.Context, to Target, m mad.Method, a mad.Attribute, modifier uint32, data []byte,
) ([]byte, error) {
	var d Datagram
	if to.LID == 0 && to.Path.Len() == 0 && to.Port.IsZero() {
		to.Port = localGUID(c.Transport)
	}
	key := c.Keys.of(&c.Keys.M, to)
	if to.LID != 0 {
		p := mad.NewSMP(m, a, modifier, 0)
		p.MKey = key
		copy(p.Data[:], data)
		p.Append(d.MAD[:0])
		d.Address = Address{LID: to.LID}
	} else {
		p := mad.NewDirectedSMP(m, a, modifier, 0, &to.Path)
		p.MKey = key
		copy(p.Data[:], data)
		p.Append(d.MAD[:0])
		d.Address = directed()
	}
	if err := c.Call(ctx, &d); err != nil {
		err = c.silent(err, &d, key)
		return nil, fmt.Errorf("query %s for %s: %w", to, attributeName(mad.ClassSubnet, a, modifier), err)
	}
	return d.MAD[attributeOffset : attributeOffset+mad.SMPDataLen], nil
}

// Performance reads an attribute from the performance agent at a LID, or writes it. data holds the
// attribute's bytes; a read request uses only selectors such as PortSelect. The answer has all
// bytes after the MAD's header of 64 bytes.
func (c *Client) Performance(
	ctx context.Context, lid ib.LID, m mad.Method, a mad.Attribute, data []byte,
) ([]byte, error) {
	p := mad.NewPerformanceMAD(m, a, 0)
	p.PMKey = c.Keys.of(&c.Keys.PM, Target{LID: lid})
	copy(p.Data[:], data)
	d := Datagram{Address: Address{LID: lid, QPN: 1, QKey: QKeyGSI}}
	p.Append(d.MAD[:0])
	if err := c.Call(ctx, &d); err != nil {
		err = c.silent(err, &d, p.PMKey)
		return nil, fmt.Errorf("query performance agent at LID %d for %s: %w",
			uint16(lid), attributeName(mad.ClassPerformance, a, 0), err)
	}
	return d.MAD[attributeOffset:], nil
}

// SA queries the subnet administration at a LID for the one record that matches the given
// components (mask), and returns it. Package fabric/sa queries tables.
func (c *Client) SA(ctx context.Context, lid ib.LID, a mad.Attribute, mask uint64, record []byte) ([]byte, error) {
	p := mad.NewSA(mad.MethodGet, a, mask, 0)
	copy(p.Data[:], record)
	d := Datagram{Address: Address{LID: lid, QPN: 1, QKey: QKeyGSI}}
	p.Append(d.MAD[:0])
	if err := c.Call(ctx, &d); err != nil {
		err = c.silent(err, &d)
		return nil, fmt.Errorf("query subnet administration at LID %d for %s: %w",
			uint16(lid), attributeName(mad.ClassSA, a, 0), err)
	}
	return d.MAD[saRecordOffset:], nil
}

// silent adds the possible causes to the error of a request without an answer, which had the key.
func (c *Client) silent(err error, d *Datagram, keys ...uint64) error {
	if c.Plain {
		return err
	}
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	s := SilenceOf(err, h.MgmtClass, d.Address, keys...)
	s.Own = h.MgmtClass == mad.ClassSubnetDirected && uint8(h.ClassSpecific) == 0 // the hop count
	return silent(err, s)
}

// attributeName returns the attribute's name, and the modifier unless that is 0, for errors:
// "PortInfo 3".
func attributeName(class mad.Class, a mad.Attribute, modifier uint32) string {
	switch name := a.Name(class); {
	case modifier == 0:
		return name
	case modifier <= math.MaxUint16:
		return fmt.Sprintf("%s %d", name, modifier)
	default: // a modifier of several fields, easier to read in hexadecimal
		return fmt.Sprintf("%s 0x%x", name, modifier)
	}
}

// OwnPort reads the PortInfo of the local port: LID, LID of the subnet manager, subnet prefix.
func (c *Client) OwnPort(ctx context.Context) (mad.PortInfo, error) {
	var info mad.PortInfo
	data, err := c.SMP(ctx, Target{}, mad.MethodGet, mad.AttributePortInfo, 0, nil)
	if err == nil {
		_, err = info.Decode(data)
	}
	return info, err
}

// OwnGID returns the first GID of the local port.
func (c *Client) OwnGID(ctx context.Context) (ib.GID, error) {
	own, err := c.OwnPort(ctx)
	if err != nil {
		return ib.GID{}, err
	}
	return c.gidOf(ctx, &own)
}

// gidOf returns the first GID of the local port, whose PortInfo is own.
func (c *Client) gidOf(ctx context.Context, own *mad.PortInfo) (ib.GID, error) {
	data, err := c.SMP(ctx, Target{}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
	if err != nil {
		return ib.GID{}, err
	}
	var node mad.NodeInfo
	node.Decode(data) //nolint:errcheck // SMP has the length
	return gidOf(cmp.Or(own.GIDPrefix, ib.SubnetPrefixDefault), binary.BigEndian.Uint64(node.PortGUID[:])), nil
}

// ErrNoSubnetManager is the cause if the local port has no LID of a subnet manager.
var ErrNoSubnetManager = errors.New("the local port has no subnet manager, which is needed to find the LID")

// Path queries the subnet administration for the path from the local port to the port of a GID; a
// GID prefix of zeros stands for the local subnet's prefix. sm is the LID of the subnet manager; 0
// takes it from the local port. The error matches [ErrNoSubnetManager] if the local port has none.
// C twin: ib_path_query_via.
func (c *Client) Path(ctx context.Context, to ib.GID, sm ib.LID) (mad.PathRecord, error) {
	var path mad.PathRecord
	own, err := c.OwnPort(ctx)
	if err != nil {
		return path, err
	}
	if sm = cmp.Or(sm, own.MasterSMLID); sm == 0 {
		return path, ErrNoSubnetManager
	}
	gid, err := c.gidOf(ctx, &own)
	if err != nil {
		return path, err
	}
	query := mad.PathRecord{SGID: gid, DGID: to, NumPath: 1}
	if to.SubnetPrefix() == 0 {
		copy(query.DGID[:8], query.SGID[:8])
	}
	const mask = mad.PathRecordMaskDGID | mad.PathRecordMaskSGID | mad.PathRecordMaskNumPath
	record, err := c.SA(ctx, sm, mad.AttributePathRecord, mask, query.Append(nil))
	if err != nil {
		return path, err
	}
	_, err = path.Decode(record)
	return path, err
}

// saRecordOffset is the offset of the record in packets of subnet administration.
const saRecordOffset = 56

// Call sends a request, with retries, and overwrites it with the answer. The client sets the
// transaction ID. The error matches [ErrNoAnswer], or is a *StatusError (the request is overwritten
// in this case), or comes from the transport or the context.
func (c *Client) Call(ctx context.Context, d *Datagram) error {
	return c.call(ctx, d, c.Timeout, cmp.Or(c.Retries, 2))
}

func (c *Client) call(ctx context.Context, d *Datagram, timeout time.Duration, retries int) error {
	if !c.ReadPKeys {
		return c.once(ctx, d, timeout, retries)
	}
	c.keyReader.keys, c.keyReader.addressing = &c.Keys, AddressingOf(c.Transport)
	return c.keyReader.call(ctx, d, timeout, retries, c.once)
}

// LearnPKeys reads the partition table of the port at a LID, waiting for up to 1 s for each block,
// and reports whether later requests to it therefore have another P_Key. SMPs are in no partition,
// so that an answer also shows that the port is alive.
func (c *Client) LearnPKeys(ctx context.Context, lid ib.LID) (changed bool, err error) {
	r := keyReader{keys: &c.Keys, addressing: AddressingOf(c.Transport)}
	return r.learn(ctx, lid, c.once)
}

func (c *Client) once(ctx context.Context, d *Datagram, timeout time.Duration, retries int) error {
	if c.engine == nil {
		c.engine = NewEngine(c.Transport, 1)
	}
	reply, err := c.engine.Do(ctx, &Request{Address: d.Address, MAD: d.MAD, Timeout: timeout, Retries: retries})
	if reply.Answer != nil {
		*d = *reply.Answer
	}
	return err
}
