package codes

// vendorMLX5 has no documented codes but the one for page faults: the others are pairs of status
// and code that logs show together, with a thread as the source of each. The field is one byte
// (vendor_err_synd of struct mlx5_err_cqe).
var vendorMLX5 = vendorTable{
	driver: "mlx5", max: 0xff, source: "rdma-core, providers/mlx5/mlx5dv.h",
	other: "not documented, and not in the public logs that this table was made from",
	codes: []VendorCode{
		{
			Code: 0x32, Statuses: []int{statusProtection}, Side: "responder",
			Meaning: "seen with local protection errors of receive requests", Source: "openucx/ucx#9167",
		},
		{
			Code: 0x51, Statuses: []int{statusProtection}, Meaning: "seen with local protection errors",
			Source: "openucx/ucx#7774",
		},
		{
			Code: 0x52, Statuses: []int{statusProtection}, Meaning: "seen with local protection errors of requests",
			Source: "openucx/ucx#6414",
		},
		{
			Code: 0x53, Statuses: []int{statusProtection}, Meaning: "seen with local protection errors of requests",
			Source: "spdk/spdk#500",
		},
		{
			Code: 0x56, Statuses: []int{statusProtection}, Side: "responder",
			Meaning: "seen with a local protection error of a receive request, after a fault of the IOMMU",
			Source:  "linux-nvme mailing list, AMD-Vi IO_PAGE_FAULT with mlx5_0",
		},
		{
			Code: 0x78, Statuses: []int{statusBind},
			Meaning: "seen when updating a memory key by a work request failed",
			Source:  "Linux, commit message of \"RDMA/umem: Set iova in ODP flow\"",
		},
		{
			Code: 0x81, Statuses: []int{statusRetry},
			Meaning: "no acknowledgement: seen with exceeded transport retries",
			Source:  "ruihong123/dLSM#7",
		},
		{
			Code: 0x83, Statuses: []int{statusRetry},
			Meaning: "seen when only the answer of an atomic operation was missing",
			Source:  "NVIDIA/nccl#2383",
		},
		{
			Code: 0x87, Statuses: []int{statusRNR},
			Meaning: "the peer had no receive request: seen with exceeded RNR retries",
			Source:  "a log with counter rnr_nak_retry_err and status 0xd",
		},
		{
			Code: 0x88, Statuses: []int{statusRemAccess},
			Meaning: "the peer refused the access: seen with remote access errors",
			Source:  "openucx/ucx#1569",
		},
		{
			Code: 0x89, Statuses: []int{statusRemOp}, Meaning: "seen with remote operation errors",
			Source: "openucx/ucx#5472",
		},
		{
			Code: 0x8a, Statuses: []int{statusInvalid}, Meaning: "the peer refused the request: seen with remote " +
				"invalid request errors",
			Source: "openucx/ucx#1770",
		},
		{
			Code: 0x93, Name: "MLX5_CQE_VENDOR_SYNDROME_ODP_PFAULT", Statuses: []int{statusAborted},
			Meaning: "a page fault of on-demand paging, which the driver repairs itself",
		},
		{
			Code: 0x99, Name: "UCT_IB_MLX5_CQE_VENDOR_SYND_PSN", Statuses: []int{statusAborted}, Side: "responder",
			Meaning: "a receive segment was aborted over packet sequence numbers; UCX treats it as no error",
			Source:  "openucx/ucx, src/uct/ib/mlx5/ib_mlx5.h",
		},
		{
			Code: 0xd6, Statuses: []int{statusQPOperation}, Meaning: "a malformed work request (RDE_MAL_WQE)",
			Source: "openucx/ucx#11444",
		},
		{
			Code: 0xf9, Statuses: []int{statusFlushed}, Meaning: "flushed: seen with every flushed request",
			Source: "linux-nvme/nvme-cli#3268",
		},
	},
}

// vendorMLX4 is a byte of the completion that isn't documented.
var vendorMLX4 = vendorTable{
	driver: "mlx4", max: 0xff, source: "rdma-core, providers/mlx4/mlx4dv.h",
	other: "not documented",
	codes: []VendorCode{{
		Code: 0x88, Statuses: []int{statusRemAccess},
		Meaning: "the peer refused the access: seen with remote access errors",
		Source:  "NVIDIA developer forum, topic 207715 (ConnectX-2)",
	}},
}

// vendorHNS is CQE_SUB_STATUS, which isn't documented.
var vendorHNS = vendorTable{
	driver: "hns", max: 0xff, source: "rdma-core, providers/hns/hns_roce_u_hw_v2.c",
	other: "the sub-status of the completion, which is not documented",
}

// vendorQEDR isn't set at all.
var vendorQEDR = vendorTable{
	driver: "qedr", max: 1<<32 - 1, source: "rdma-core, providers/qedr/qelr_verbs.c",
	other: "the driver doesn't set this field: the value is a leftover in the program's memory",
}

// vendorRXE is always 0.
var vendorRXE = vendorTable{
	driver: "rxe", max: 1<<32 - 1, source: "Linux, drivers/infiniband/sw/rxe/rxe_resp.c",
	other: "the driver always reports 0 here",
}

// vendorSIW is always 0.
var vendorSIW = vendorTable{
	driver: "siw", max: 1<<32 - 1, source: "rdma-core, providers/siw/siw.c",
	other: "the driver always reports 0 here",
}
