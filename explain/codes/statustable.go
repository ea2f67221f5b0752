package codes

// Numbers of statuses that other tables refer to.
const (
	statusLength      = 1
	statusQPOperation = 2
	statusProtection  = 4
	statusFlushed     = 5
	statusBind        = 6
	statusBadResponse = 7
	statusAccess      = 8
	statusInvalid     = 9
	statusRemAccess   = 10
	statusRemOp       = 11
	statusRetry       = 12
	statusRNR         = 13
	statusInvalidRD   = 15
	statusAborted     = 16
	statusFatal       = 19
	statusTimeout     = 20
	statusGeneral     = 21
)

// statuses is indexed by number. Numbers and names: rdma-core, libibverbs/verbs.h; texts:
// libibverbs/enum_strs.c; syndromes: providers/mlx5/mlx5dv.h. Meanings: InfiniBand Architecture
// Specification volume 1, section 11.6.2. Causes: the threads that [statusSources] names.
var statuses = [...]WorkStatus{
	{
		Number: 0, Name: "IBV_WC_SUCCESS", Text: "success", Who: WhoNobody,
		Meaning: "The request has completed without error.",
	},
	{
		Number: 1, Name: "IBV_WC_LOC_LEN_ERR", Text: "local length error", Syndrome: 0x01, Who: WhoLocal,
		Meaning: "A message was longer than the buffer of the receive request, or than the queue pair allows.",
		Causes: []string{
			"the receive buffer is too small for what the peer sends",
			"the peers use different path MTUs",
		},
	},
	{
		Number: 2, Name: "IBV_WC_LOC_QP_OP_ERR", Text: "local QP operation error", Syndrome: 0x02, Who: WhoLocal,
		Meaning: "This node's card found the work request itself inconsistent and did not execute it.",
		Causes: []string{
			"a malformed work request",
			"more outstanding reads or atomics than the queue pair allows",
			"a defect of driver or firmware",
		},
	},
	{
		Number: 3, Name: "IBV_WC_LOC_EEC_OP_ERR", Text: "local EE context operation error", Who: WhoLocal,
		Meaning: "An end-to-end context was inconsistent. Only reliable datagrams have them, which no current " +
			"card offers.",
	},
	{
		Number: 4, Name: "IBV_WC_LOC_PROT_ERR", Text: "local protection error", Syndrome: 0x04, Who: WhoLocal,
		Meaning: "This node's card was refused access to the local memory of the request.",
		Causes: []string{
			"GPU memory that the card can't reach: ACS, the IOMMU, or the wrong module for peer memory",
			"memory that was freed, unmapped or deregistered while the request was under way",
			"a wrong local key, or an address outside the registered region",
		},
	},
	{
		Number: 5, Name: "IBV_WC_WR_FLUSH_ERR", Text: "Work Request Flushed Error", Syndrome: 0x05, Who: WhoNever,
		Meaning: "The queue pair was already in the error state, and the request was discarded.",
		Causes: []string{
			"an earlier error of the same queue pair: find its first other status",
			"the queue pair is being torn down on purpose",
		},
	},
	{
		Number: 6, Name: "IBV_WC_MW_BIND_ERR", Text: "memory management operation error", Syndrome: 0x06, Who: WhoLocal,
		Meaning: "Binding a memory window, or registering or invalidating memory by a work request, was refused.",
		Causes:  []string{"a key, range or access right of the operation is wrong", "a defect of the driver"},
	},
	{
		Number: 7, Name: "IBV_WC_BAD_RESP_ERR", Text: "bad response error", Syndrome: 0x10, Who: WhoPath,
		Meaning: "The answer of the responder had an unexpected opcode or syndrome.",
		Causes: []string{
			"a defect of the peer's firmware or software stack",
			"two queue pairs with the same number, or one that was reused too soon",
		},
	},
	{
		Number: 8, Name: "IBV_WC_LOC_ACCESS_ERR", Text: "local access error", Syndrome: 0x11, Who: WhoEither,
		Meaning: "As responder, this node's card refused an access of the peer to local memory.",
		Causes: []string{
			"the peer accessed memory outside the region, or without the right",
			"the peers use different path MTUs",
		},
	},
	{
		Number: 9, Name: "IBV_WC_REM_INV_REQ_ERR", Text: "remote invalid request error", Syndrome: 0x12, Who: WhoEither,
		Meaning: "The peer's card refused the request as invalid (NAK: invalid request).",
		Causes: []string{
			"the peers use different path MTUs",
			"the message is longer than the peer's receive buffer",
			"an operation that the peer's queue pair doesn't allow, or too many outstanding reads",
		},
	},
	{
		Number: 10, Name: "IBV_WC_REM_ACCESS_ERR", Text: "remote access error", Syndrome: 0x13, Who: WhoEither,
		Meaning: "The peer's card refused access to the peer's memory (NAK: remote access error).",
		Causes: []string{
			"the peer has freed or deregistered the memory",
			"a remote key of another device, protection domain or registration",
			"the region doesn't permit the operation, or the address is outside",
		},
	},
	{
		Number: 11, Name: "IBV_WC_REM_OP_ERR", Text: "remote operation error", Syndrome: 0x14, Who: WhoPeer,
		Meaning: "The peer could not complete the request because of an error of its own (NAK: remote " +
			"operational error).",
		Causes: []string{"the peer's own error, such as a local protection error: look at its log"},
	},
	{
		Number: 12, Name: "IBV_WC_RETRY_EXC_ERR", Text: "transport retry counter exceeded", Syndrome: 0x15,
		Who:     WhoPath,
		Meaning: "No acknowledgement came for the request, and all retries were used up.",
		Causes: []string{
			"the address (GID or LID) doesn't lead to the peer: wrong index, route, VLAN or subnet",
			"a filter drops the packets in one direction (UDP port 4791 for RoCE v2)",
			"the peer's process or card is gone",
			"loss: congestion without flow control, a bad cable, a link that went down",
			"packets larger than the path's MTU are dropped",
		},
	},
	{
		Number: 13, Name: "IBV_WC_RNR_RETRY_EXC_ERR", Text: "RNR retry counter exceeded", Syndrome: 0x16, Who: WhoPeer,
		Meaning: "The peer had no receive request posted, and all retries were used up (RNR NAK).",
		Causes: []string{
			"the peer's program hangs or is too slow to post receive buffers",
			"the two ends use queues of different depth",
		},
	},
	{
		Number: 14, Name: "IBV_WC_LOC_RDD_VIOL_ERR", Text: "local RDD violation error", Who: WhoLocal,
		Meaning: "The reliable datagram domains of queue pair and context differ. No current card offers them.",
	},
	{
		Number: 15, Name: "IBV_WC_REM_INV_RD_REQ_ERR", Text: "remote invalid RD request", Who: WhoPeer,
		Meaning: "The responder refused a reliable datagram; EFA reports a bad destination queue pair so, " +
			"qedr and hns other invalid requests.",
		Causes: []string{"EFA: the peer's queue pair doesn't exist or is in the error state"},
	},
	{
		Number: 16, Name: "IBV_WC_REM_ABORT_ERR", Text: "aborted error", Syndrome: 0x22, Who: WhoPeer,
		Meaning: "The operation was aborted, by the peer or by the card.",
		Causes: []string{
			"mlx5: a page fault of on-demand paging (vendor code 0x93)",
			"EFA: the peer has reset the connection",
		},
	},
	{
		Number: 17, Name: "IBV_WC_INV_EECN_ERR", Text: "invalid EE context number", Who: WhoLocal,
		Meaning: "An invalid end-to-end context. Only reliable datagrams have them, which no current card offers.",
	},
	{
		Number: 18, Name: "IBV_WC_INV_EEC_STATE_ERR", Text: "invalid EE context state", Who: WhoLocal,
		Meaning: "An end-to-end context in the wrong state. Only reliable datagrams have them.",
	},
	{
		Number: 19, Name: "IBV_WC_FATAL_ERR", Text: "fatal error", Who: WhoUnknown,
		Meaning: "An error after which the card or the queue pair can't go on.",
		Causes: []string{
			"the device was reset or removed: look in the kernel's log",
			"irdma: every reason that has no status of its own",
			"bnxt_re: receive requests flushed by the hardware",
		},
	},
	{
		Number: 20, Name: "IBV_WC_RESP_TIMEOUT_ERR", Text: "response timeout error", Who: WhoPath,
		Meaning: "The responder did not answer in time.",
		Causes:  []string{"EFA: the peer is unreachable or no longer responds: security group, dead process"},
	},
	{
		Number: 21, Name: "IBV_WC_GENERAL_ERR", Text: "general error", Who: WhoUnknown,
		Meaning: "An error that no other status describes.",
		Causes:  []string{"what the driver can't map to a status: only its vendor code says more"},
	},
	{
		Number: 22, Name: "IBV_WC_TM_ERR", Text: "TM error", Who: WhoLocal,
		Meaning: "An operation on the tag-matching list failed.",
	},
	{
		Number: 23, Name: "IBV_WC_TM_RNDV_INCOMPLETE", Text: "TM software rendezvous", Who: WhoNobody,
		Meaning: "A rendezvous message was matched by its tag, and the program must fetch the data itself.",
	},
}

// statusSources are where the table comes from, and threads in which the causes were found.
var statusSources = []string{
	"rdma-core, libibverbs/verbs.h and enum_strs.c", "rdma-core, providers/mlx5/cq.c",
	"InfiniBand Architecture Specification volume 1, section 11.6.2",
}

// statusThreads are public threads about a status.
var statusThreads = map[int][]string{
	statusLength:     {"kvcache-ai/Mooncake#3868"},
	statusProtection: {"NVIDIA/nccl#304", "NVIDIA/nccl#928"},
	statusAccess:     {"NVIDIA/nccl#1524"},
	statusInvalid:    {"NVIDIA/nccl#1524", "kvcache-ai/Mooncake#3868"},
	statusRemAccess:  {"chimera-nas/libevpl#89"},
	statusRetry:      {"NVIDIA/nccl#426", "pytorch/pytorch#81628", "uccl-project/uccl#803", "sgl-project/sglang#29127"},
	statusRNR:        {"ydb-platform/nbs#5790"},
}

// statusWords are other texts than that of libibverbs for a status, in the form of [words]. They
// are recognized only as a whole, or before "on DEVICE".
var statusWords = []struct {
	text   string
	number int
	source string
}{
	// UCX, src/uct/ib/mlx5/ib_mlx5_log.c
	{"transport retry count exceeded", statusRetry, "UCX"},
	{"receive no ready retry count exceeded", statusRNR, "UCX"},
	{"wr flushed because qp in error state", statusFlushed, "UCX"},
	{"memory window bind error", statusBind, "UCX"},
	{"bad response", statusBadResponse, "UCX"},
	{"invalid request", statusInvalid, "UCX"},
	{"remote qp", statusRemOp, "UCX up to 1.8: openucx/ucx#5472"},
	{"remote side aborted", statusAborted, "UCX"},
	// Linux, ib_wc_status_msg in drivers/infiniband/core/verbs.c, where it isn't libibverbs' text
	{"wr flushed", statusFlushed, "Linux"},
	{"memory bind operation error", statusBind, "Linux"},
	{"operation aborted", statusAborted, "Linux"},
	{"invalid request error", statusInvalid, "Linux 4.2"},
}
