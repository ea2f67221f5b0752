// Package mad holds the codecs of InfiniBand management datagrams (MADs): the
// header that all have in common, the packets of subnet management (routed by LID or
// by directed route), subnet administration, performance management and the vendor
// class of ibping, and the attributes that they carry.
//
// A MAD is always [Len] (256) bytes. A packet type holds the header and the bytes of
// its attribute; an attribute is decoded from them and written into them:
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
// Decode reads from the start of a slice and returns how many bytes it took, or
// [ErrShort]; it judges no value, so what a broken or hostile node sent comes out as
// it was sent. Append writes the same bytes again: reserved bits are kept as they
// came, in fields named Reserved and, where there are several, the offset of their
// byte. Fields are named as in the InfiniBand Architecture Specification, volume 1;
// C twins are libibmad's infiniband/mad.h and OpenSM's iba/ib_types.h.
//
// Functions are pure and safe for concurrent use; a value that Decode writes to is
// not. Decode and Append allocate nothing where the slice has room. Reassembly of
// messages of several segments (RMPP) is the transport's: only the header is here.
// The package imports the standard library and wire/ib only.
package mad
