package ibsim

import (
	"encoding/binary"
	"errors"
)

// MaxClients is the maximum number of clients of a server; their slots are 0 to MaxClients-1.
const MaxClients = maxClients

// Lengths of what a server's control messages carry, in bytes.
const (
	// AttributeLen is the length of a subnet management attribute.
	AttributeLen = controlDataLen
	vendorLen    = 24
)

// ServerConfig selects the sockets of a server. The zero value has the abstract names of
// [DefaultSocketName].
type ServerConfig struct {
	SocketName string // first part of the abstract names; empty: DefaultSocketName
	// Listen is the IPv4 address of UDP sockets instead of abstract names, such as "127.0.0.1".
	Listen string
	Port   int // the control socket's UDP port; 0: DefaultServerPort; the ten next ones are the clients'
}

// String describes the sockets for messages and errors.
func (c ServerConfig) String() string {
	client := Config{SocketName: c.SocketName, Server: c.Listen, ServerPort: c.Port}
	return client.String()
}

// ErrNoClient is the error of [Server.Send] for a slot whose client has left or is gone.
var ErrNoClient = errors.New("no such client")

// ErrInUse is the error of [Listen] if another simulator has the sockets.
var ErrInUse = errors.New("another simulator is running there")

// Backend is the simulated subnet behind a server. The server calls it from several goroutines, but
// for one slot never at the same time.
type Backend interface {
	// Attach places a client at the node with the given name, or at one of the backend's choice
	// for "", and returns the node's name. With an error the client is refused.
	Attach(slot int, c Client) (node string, err error)
	// Detach is called when a client has left or is gone.
	Detach(slot int)
	// SetSM marks a client as a subnet manager, which receives requests, or as none.
	SetSM(slot int, isSM bool)
	// Node returns what a client's node is like. The port is 0 for the one that it is attached to.
	Node(slot int, port uint8) NodeState
	// Handle receives a packet from a client. Until it returns, no more of that client's are read.
	Handle(slot int, p *Packet)
}

// Client is what a client says of itself when it joins.
type Client struct {
	ID   uint32 // a process identifier or a UDP port
	Node string // name of a node; empty: any
	QP   uint32 // the queue pair from which it sends; 0 and 1 for all management classes
	IsSM bool   // it receives requests
}

// NodeState is the state of a client's node, as bytes of management attributes.
type NodeState struct {
	NodeInfo, PortInfo, PKeys [AttributeLen]byte
}

// client reads the data of a connect message.
func (c *control) client() Client {
	_, node := c.connected()
	return Client{
		ID: binary.NativeEndian.Uint32(c.data[0:]), QP: binary.NativeEndian.Uint32(c.data[4:]),
		IsSM: binary.NativeEndian.Uint32(c.data[clientInfoIsSM:]) != 0, Node: node,
	}
}

// accept turns a connect message into the response to it.
func (c *control) accept(slot int, node string) {
	binary.NativeEndian.PutUint32(c.data[0:], uint32(slot))
	name := c.data[clientInfoNode : clientInfoNode+clientInfoNodeN]
	clear(name)
	copy(name[:clientInfoNodeN-1], node)
}

// answer writes the part of a node's state that a message requests. It reports whether the type of
// message is known.
func (c *control) answer(s *NodeState) bool {
	switch c.kind {
	case controlPort: // struct sim_port
		lid := binary.BigEndian.Uint16(s.PortInfo[16:])
		binary.NativeEndian.PutUint16(c.data[0:], lid)
		c.data[2] = s.PortInfo[32] & 15
	case controlVendor: // struct sim_vendor
		v := c.data[:vendorLen]
		clear(v)
		vendor := uint32(s.NodeInfo[37])<<16 | uint32(s.NodeInfo[38])<<8 | uint32(s.NodeInfo[39])
		binary.NativeEndian.PutUint32(v[0:], vendor)
		binary.NativeEndian.PutUint32(v[4:], uint32(binary.BigEndian.Uint16(s.NodeInfo[30:])))
		binary.NativeEndian.PutUint32(v[8:], binary.BigEndian.Uint32(s.NodeInfo[32:]))
		binary.NativeEndian.PutUint64(v[16:], 1) // version of the firmware
	case controlGID:
		copy(c.data[:8], s.PortInfo[8:16])
		copy(c.data[8:16], s.NodeInfo[12:20])
	case controlGUID:
		copy(c.data[:8], s.NodeInfo[12:20])
	case controlNodeInfo:
		c.data = s.NodeInfo
	case controlPortInfo:
		c.data = s.PortInfo
	case controlPKeys:
		c.data = s.PKeys
	default:
		return false
	}
	return true
}
