// Package umad uses Linux's user MAD devices, /dev/infiniband/umadN: one for each port whose RDMA
// device has a management agent in the kernel.
//
//	ports, err := umad.Ports(ctx, root)
//	conn, err := umad.Open(ports[0])
//	defer conn.Close()
//	id, err := conn.Register(umad.Agent{Class: 0x81, ClassVersion: 1, QPN: 0})
//	n, err := conn.Send([]umad.Packet{{AgentID: id, …}})
//	n, err = conn.Receive(ctx, packets, deadline)
//
// The kernel sets the high half of a transaction ID and uses it to match responses with requests. A
// request without response is returned with ETIMEDOUT in Status and only the common header of its
// MAD. Agents are unregistered when the file is closed.
//
// One goroutine may send while another receives; only the sending one may call Register. Source:
// include/uapi/rdma/ib_user_mad.h and drivers/infiniband/core/user_mad.c.
package umad
