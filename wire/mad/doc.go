// Package mad encodes and decodes InfiniBand management datagrams (MADs): the common
// header, the packets of subnet management (routed by LID or by directed route),
// subnet administration, performance management and the vendor class of ibping, and
// their attributes.
//
// The length of a MAD is always [Len] (256) bytes. A packet type has the header and the
// bytes of the attribute. The attribute is decoded from these bytes and encoded to them:
//
//	path, _ := mad.ParsePath("0,1,7")
//	smp := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, tid, &path)
//	b = smp.Append(b[:0]) // 256 bytes to send
//
//	var reply mad.DirectedSMP
//	n, err := reply.Decode(b)
//	if status := reply.Result(); status != 0 { … }
//	var info mad.NodeInfo
//	n, err = info.Decode(reply.Data[:])
//
//	info.Append(reply.Data[:0]) // writes in place: an attribute is never longer than Data
//
// Decode reads from the start of a slice and returns the number of bytes read, or
// [ErrShort]. It doesn't validate values: invalid values from a faulty or hostile node
// are returned as received. Append writes the same bytes again: reserved bits are kept
// as received, in fields named Reserved, followed by the offset of the byte if there
// are several. Fields are named as in the InfiniBand Architecture Specification,
// volume 1; C twins are in libibmad's infiniband/mad.h and OpenSM's iba/ib_types.h.
//
// Functions are pure and safe for concurrent use; a value that Decode writes to is
// not. Decode doesn't allocate, nor does Append if the slice has enough capacity. The
// package has the header of messages of several segments (RMPP); the protocol is in
// package fabric/rmpp. It imports only the standard library and wire/ib.
package mad
