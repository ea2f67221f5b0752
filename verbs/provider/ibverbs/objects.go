package ibverbs

// This file mirrors the structs of infiniband/verbs.h that objects and requests are made of; see
// layout.go.

// The indices of the functions of struct ibv_context_ops, which verbs.h calls inline.
const (
	opAllocMW     = 7
	opDeallocMW   = 9
	opPollCQ      = 11
	opReqNotifyCQ = 12
	opPostSRQRecv = 20
	opPostSend    = 25
	opPostRecv    = 26
)

// cMR is struct ibv_mr.
type cMR struct {
	Context uintptr `c:"context"`
	PD      uintptr `c:"pd"`
	Addr    uintptr `c:"addr"`
	Length  uint64  `c:"length"`
	Handle  uint32  `c:"handle"`
	LKey    uint32  `c:"lkey"`
	RKey    uint32  `c:"rkey"`
}

// cMW is struct ibv_mw.
type cMW struct {
	Context uintptr `c:"context"`
	PD      uintptr `c:"pd"`
	RKey    uint32  `c:"rkey"`
	Handle  uint32  `c:"handle"`
	Type    uint32  `c:"type"`
}

// cChannel is struct ibv_comp_channel.
type cChannel struct {
	Context uintptr `c:"context"`
	FD      int32   `c:"fd"`
	RefCnt  int32   `c:"refcnt"`
}

// cCQ is the beginning of struct ibv_cq.
type cCQ struct {
	Context   uintptr `c:"context"`
	Channel   uintptr `c:"channel"`
	CQContext uintptr `c:"cq_context"`
	Handle    uint32  `c:"handle"`
	CQE       int32   `c:"cqe"`
}

// cQP is the beginning of struct ibv_qp.
type cQP struct {
	Context   uintptr `c:"context"`
	QPContext uintptr `c:"qp_context"`
	PD        uintptr `c:"pd"`
	SendCQ    uintptr `c:"send_cq"`
	RecvCQ    uintptr `c:"recv_cq"`
	SRQ       uintptr `c:"srq"`
	Handle    uint32  `c:"handle"`
	QPNum     uint32  `c:"qp_num"`
	State     uint32  `c:"state"`
	QPType    uint32  `c:"qp_type"`
}

// cQPCap is struct ibv_qp_cap.
type cQPCap struct {
	MaxSendWR     uint32 `c:"max_send_wr"`
	MaxRecvWR     uint32 `c:"max_recv_wr"`
	MaxSendSGE    uint32 `c:"max_send_sge"`
	MaxRecvSGE    uint32 `c:"max_recv_sge"`
	MaxInlineData uint32 `c:"max_inline_data"`
}

// cQPInitAttr is struct ibv_qp_init_attr.
type cQPInitAttr struct {
	QPContext uintptr `c:"qp_context"`
	SendCQ    uintptr `c:"send_cq"`
	RecvCQ    uintptr `c:"recv_cq"`
	SRQ       uintptr `c:"srq"`
	Cap       cQPCap  `c:"cap"`
	QPType    uint32  `c:"qp_type"`
	SQSigAll  int32   `c:"sq_sig_all"`
}

// cAHAttr is struct ibv_ah_attr.
type cAHAttr struct {
	DGID         [16]byte `c:"grh.dgid"`
	FlowLabel    uint32   `c:"grh.flow_label"`
	SGIDIndex    uint8    `c:"grh.sgid_index"`
	HopLimit     uint8    `c:"grh.hop_limit"`
	TrafficClass uint8    `c:"grh.traffic_class"`
	_            uint8    // struct ibv_global_route ends at a multiple of 4
	DLID         uint16   `c:"dlid"`
	SL           uint8    `c:"sl"`
	SrcPathBits  uint8    `c:"src_path_bits"`
	StaticRate   uint8    `c:"static_rate"`
	IsGlobal     uint8    `c:"is_global"`
	PortNum      uint8    `c:"port_num"`
	_            uint8
}

// cQPAttr is struct ibv_qp_attr.
type cQPAttr struct {
	QPState          uint32  `c:"qp_state"`
	CurQPState       uint32  `c:"cur_qp_state"`
	PathMTU          uint32  `c:"path_mtu"`
	PathMigState     uint32  `c:"path_mig_state"`
	QKey             uint32  `c:"qkey"`
	RQPSN            uint32  `c:"rq_psn"`
	SQPSN            uint32  `c:"sq_psn"`
	DestQPNum        uint32  `c:"dest_qp_num"`
	QPAccessFlags    uint32  `c:"qp_access_flags"`
	Cap              cQPCap  `c:"cap"`
	AHAttr           cAHAttr `c:"ah_attr"`
	AltAHAttr        cAHAttr `c:"alt_ah_attr"`
	PKeyIndex        uint16  `c:"pkey_index"`
	AltPKeyIndex     uint16  `c:"alt_pkey_index"`
	EnSQDAsyncNotify uint8   `c:"en_sqd_async_notify"`
	SQDraining       uint8   `c:"sq_draining"`
	MaxRDAtomic      uint8   `c:"max_rd_atomic"`
	MaxDestRDAtomic  uint8   `c:"max_dest_rd_atomic"`
	MinRNRTimer      uint8   `c:"min_rnr_timer"`
	PortNum          uint8   `c:"port_num"`
	Timeout          uint8   `c:"timeout"`
	RetryCnt         uint8   `c:"retry_cnt"`
	RNRRetry         uint8   `c:"rnr_retry"`
	AltPortNum       uint8   `c:"alt_port_num"`
	AltTimeout       uint8   `c:"alt_timeout"`
	RateLimit        uint32  `c:"rate_limit"`
	_                uint32  // the struct ends at a multiple of 8
}

// The bits of enum ibv_qp_attr_mask.
const (
	maskState           = 1 << 0
	maskSQDAsyncNotify  = 1 << 2
	maskAccess          = 1 << 3
	maskPKeyIndex       = 1 << 4
	maskPort            = 1 << 5
	maskQKey            = 1 << 6
	maskAV              = 1 << 7
	maskPathMTU         = 1 << 8
	maskTimeout         = 1 << 9
	maskRetryCnt        = 1 << 10
	maskRNRRetry        = 1 << 11
	maskRQPSN           = 1 << 12
	maskMaxQPRDAtomic   = 1 << 13
	maskMinRNRTimer     = 1 << 15
	maskSQPSN           = 1 << 16
	maskMaxDestRDAtomic = 1 << 17
	maskDestQPN         = 1 << 20
)

// cSRQAttr is struct ibv_srq_attr.
type cSRQAttr struct {
	MaxWR    uint32 `c:"max_wr"`
	MaxSGE   uint32 `c:"max_sge"`
	SRQLimit uint32 `c:"srq_limit"`
}

// cSRQInitAttr is struct ibv_srq_init_attr.
type cSRQInitAttr struct {
	SRQContext uintptr  `c:"srq_context"`
	Attr       cSRQAttr `c:"attr"`
}

// maskSRQLimit is IBV_SRQ_LIMIT.
const maskSRQLimit = 1 << 1

// cSGE is struct ibv_sge.
type cSGE struct {
	Addr   uint64 `c:"addr"`
	Length uint32 `c:"length"`
	LKey   uint32 `c:"lkey"`
}

// cSendWR is struct ibv_send_wr, with the fields of its unions for atomics and windows. Word is
// also the rkey of WRITE and READ, and with remote_addr the destination of datagrams.
type cSendWR struct {
	WRID       uint64  `c:"wr_id"`
	Next       uintptr `c:"next"`
	SGList     uintptr `c:"sg_list"`
	NumSGE     int32   `c:"num_sge"`
	Opcode     uint32  `c:"opcode"`
	SendFlags  uint32  `c:"send_flags"`
	Imm        [4]byte `c:"imm_data"` // big endian; or invalidate_rkey
	RemoteAddr uint64  `c:"wr.atomic.remote_addr"`
	Word       [8]byte `c:"wr.atomic.compare_add"`
	Swap       uint64  `c:"wr.atomic.swap"`
	AtomicRKey uint32  `c:"wr.atomic.rkey"`
	_          uint32
	_          uint64  // qp_type
	BindMW     uintptr `c:"bind_mw.mw"`
	BindRKey   uint32  `c:"bind_mw.rkey"`
	BindMR     uintptr `c:"bind_mw.bind_info.mr"`
	BindAddr   uint64  `c:"bind_mw.bind_info.addr"`
	BindLength uint64  `c:"bind_mw.bind_info.length"`
	BindAccess uint32  `c:"bind_mw.bind_info.mw_access_flags"`
}

// cRecvWR is struct ibv_recv_wr.
type cRecvWR struct {
	WRID   uint64  `c:"wr_id"`
	Next   uintptr `c:"next"`
	SGList uintptr `c:"sg_list"`
	NumSGE int32   `c:"num_sge"`
}

// cWC is struct ibv_wc.
type cWC struct {
	WRID         uint64  `c:"wr_id"`
	Status       uint32  `c:"status"`
	Opcode       uint32  `c:"opcode"`
	VendorErr    uint32  `c:"vendor_err"`
	ByteLen      uint32  `c:"byte_len"`
	Imm          [4]byte `c:"imm_data"` // big endian; or invalidated_rkey
	QPNum        uint32  `c:"qp_num"`
	SrcQP        uint32  `c:"src_qp"`
	WCFlags      uint32  `c:"wc_flags"`
	PKeyIndex    uint16  `c:"pkey_index"`
	SLID         uint16  `c:"slid"`
	SL           uint8   `c:"sl"`
	DLIDPathBits uint8   `c:"dlid_path_bits"`
}

// cAsyncEvent is struct ibv_async_event. Element is a pointer, or a port number in an int.
type cAsyncEvent struct {
	Element   [8]byte `c:"element"`
	EventType uint32  `c:"event_type"`
	_         uint32
}
