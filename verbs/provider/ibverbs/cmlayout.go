package ibverbs

// This file mirrors the structs of rdma/rdma_cma.h; see layout.go.

// cEventChannel is struct rdma_event_channel.
type cEventChannel struct {
	FD int32 `c:"fd"`
}

// cCMID is the beginning of struct rdma_cm_id.
type cCMID struct {
	Verbs    uintptr           `c:"verbs"`
	Channel  uintptr           `c:"channel"`
	Context  uintptr           `c:"context"`
	QP       uintptr           `c:"qp"`
	Src      [sockaddrMax]byte `c:"route.addr.src_storage"`
	Dst      [sockaddrMax]byte `c:"route.addr.dst_storage"`
	SGID     [16]byte          `c:"route.addr.addr.ibaddr.sgid"`
	DGID     [16]byte          `c:"route.addr.addr.ibaddr.dgid"`
	PKey     [2]byte           `c:"route.addr.addr.ibaddr.pkey"` // big endian
	PathRec  uintptr           `c:"route.path_rec"`
	NumPaths int32             `c:"route.num_paths"`
	_        uint32            // struct rdma_route ends at a multiple of 8
	PS       uint32            `c:"ps"`
	PortNum  uint8             `c:"port_num"`
}

// cConnParam is struct rdma_conn_param.
type cConnParam struct {
	PrivateData        uintptr `c:"private_data"`
	PrivateDataLen     uint8   `c:"private_data_len"`
	ResponderResources uint8   `c:"responder_resources"`
	InitiatorDepth     uint8   `c:"initiator_depth"`
	FlowControl        uint8   `c:"flow_control"`
	RetryCount         uint8   `c:"retry_count"`
	RNRRetryCount      uint8   `c:"rnr_retry_count"`
	SRQ                uint8   `c:"srq"`
	QPNum              uint32  `c:"qp_num"`
}

// cUDParam is struct rdma_ud_param.
type cUDParam struct {
	PrivateData    uintptr `c:"private_data"`
	PrivateDataLen uint8   `c:"private_data_len"`
	_              [7]byte // union ibv_gid is aligned to 8
	AHAttr         cAHAttr `c:"ah_attr"`
	QPNum          uint32  `c:"qp_num"`
	QKey           uint32  `c:"qkey"`
}

// cCMEvent is struct rdma_cm_event. Its union holds parameters of connections or of datagrams, as
// the port space of the identifier says.
type cCMEvent struct {
	ID       uintptr  `c:"id"`
	ListenID uintptr  `c:"listen_id"`
	Event    uint32   `c:"event"`
	Status   int32    `c:"status"`
	UD       cUDParam `c:"param"`
}

// cmEventType is enum rdma_cm_event_type.
type cmEventType uint32

// The events.
const (
	cmAddrResolved cmEventType = iota
	cmAddrError
	cmRouteResolved
	cmRouteError
	cmConnectRequest
	cmConnectResponse
	cmConnectError
	cmUnreachable
	cmRejected
	cmEstablished
	cmDisconnected
	cmDeviceRemoval
	cmMulticastJoin
	cmMulticastError
	cmAddrChange
	cmTimewaitExit
)

// Options of rdma_set_option.
const (
	cmOptionID    = 0 // RDMA_OPTION_ID, a level
	cmOptionIDTOS = 0 // RDMA_OPTION_ID_TOS
)

// maxPrivateData is RDMA_MAX_PRIVATE_DATA of the library: lengths have 8 bits.
const maxPrivateData = 255

// connParam is a cConnParam with its private data, one object for a call of C.
type connParam struct {
	c    cConnParam
	data [maxPrivateData]byte
}
