// Package umad is the edge to Linux's user MAD devices, /dev/infiniband/umadN: one for each port
// whose RDMA device has a management agent in the kernel.
//
//	ports, err := umad.Ports(ctx, root)
//	conn, err := umad.Open(ports[0])
//	defer conn.Close()
//	id, err := conn.Register(umad.Agent{Class: 0x81, ClassVersion: 1, QPN: 0})
//	n, err := conn.Send([]umad.Packet{{AgentID: id, …}})
//	n, err = conn.Receive(ctx, packets, deadline)
//
// The kernel owns the high half of a transaction ID and matches an answer with the request by it. A
// request without answer comes back with ETIMEDOUT in Status and only the common header of its MAD.
// Agents are unregistered when the file is closed.
//
// One goroutine may send while another receives; Register is the sender's. Source:
// include/uapi/rdma/ib_user_mad.h and drivers/infiniband/core/user_mad.c.
package umad
