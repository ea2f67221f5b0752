// Package sa queries subnet administration (SA): the records that the subnet manager has about
// nodes, ports, links, paths, multicast groups and services (InfiniBand Architecture Specification
// volume 1, chapter 15; C twins: ibdiag_sa.c of infiniband-diags, libosmvendor).
//
//	client := sa.Client{Transport: transport} // a fabric.Transport
//	table, err := client.Table(ctx, sa.Query{Attribute: mad.AttributeNodeRecord})
//	nodes, err := sa.Records[mad.NodeRecord](table)
//
//	query := sa.Query{
//		Attribute: mad.AttributePathRecord,
//		Mask:      mad.PathRecordMaskSLID | mad.PathRecordMaskDLID | mad.PathRecordMaskNumPath,
//		Record:    (&mad.PathRecord{SLID: 1, DLID: 7, NumPath: 1}).Append(nil),
//	}
//	record, err := client.Get(ctx, query)
//
// The client finds the SA at the LID and service level that the local port has from its subnet
// manager. Tables of any length are reassembled by the kernel, or by package fabric/rmpp where the
// transport delivers single datagrams. The kernel doesn't tell a transfer from silence: see
// Client.Timeout and [StalledError]. A status of the SA is a [*StatusError], with its name and
// meaning.
//
// A [Client] serves one query at a time, and nothing else may use its transport meanwhile.
package sa
