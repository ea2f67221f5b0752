package codes

// vendorERDMA has numbers of its own (enum erdma_vendor_err in providers/erdma/erdma_hw.h);
// statuses: map_cqe_status in erdma_verbs.c.
var vendorERDMA = vendorTable{
	driver: "erdma", max: 0xff, source: "rdma-core, providers/erdma/erdma_hw.h and erdma_verbs.c",
	other: "not in the driver's list",
	codes: []VendorCode{
		erdmaCode(0, "NO_ERR", "no details", 0, statusGeneral, statusFlushed, statusRetry),
		erdmaCode(1, "INVALID_RQE", "a receive request has the wrong format", statusGeneral),
		erdmaCode(2, "RQE_INVALID_STAG", "receive side: invalid key", statusRemAccess),
		erdmaCode(3, "RQE_ADDR_VIOLATION", "receive side: address outside the region", statusRemAccess),
		erdmaCode(4, "RQE_ACCESS_RIGHT_ERR", "receive side: the region doesn't permit the access", statusRemAccess),
		erdmaCode(5, "RQE_INVALID_PD", "receive side: another protection domain", statusRemAccess),
		erdmaCode(6, "RQE_WRAP_ERR", "receive side: the address wraps around", statusRemAccess),
		erdmaCode(0x20, "INVALID_SQE", "a send request has the wrong format", statusQPOperation),
		erdmaCode(0x21, "ZERO_ORD", "no outstanding reads are allowed", statusGeneral),
		erdmaCode(0x30, "SQE_INVALID_STAG", "send side: invalid key", statusAccess),
		erdmaCode(0x31, "SQE_ADDR_VIOLATION", "send side: address outside the region", statusAccess),
		erdmaCode(0x32, "SQE_ACCESS_ERR", "send side: the region doesn't permit the access", statusAccess),
		erdmaCode(0x33, "SQE_INVALID_PD", "send side: another protection domain", statusAccess),
		erdmaCode(0x34, "SQE_WARP_ERR", "send side: the address wraps around", statusAccess),
	},
}

func erdmaCode(code uint32, name, meaning string, statuses ...int) VendorCode {
	return VendorCode{Code: code, Name: "ERDMA_WC_VENDOR_" + name, Meaning: meaning, Statuses: statuses}
}

// vendorIONIC is the status of the completion, whose numbers follow those of ibv_wc_status without
// that of end-to-end contexts (enum ionic_status in providers/ionic/ionic_fw_types.h); statuses:
// ionic_to_ibv_status in ionic_fw.h.
var vendorIONIC = vendorTable{
	driver: "ionic", max: 1<<32 - 1, source: "rdma-core, providers/ionic/ionic_fw_types.h and ionic_fw.h",
	other: "not in the driver's list, which reports it as a general error",
	codes: []VendorCode{
		ionicCode(1, "LOCAL_LEN_ERR", "wrong length", statusLength),
		ionicCode(2, "LOCAL_QP_OPER_ERR", "the request is inconsistent", statusQPOperation),
		ionicCode(3, "LOCAL_PROT_ERR", "no access to local memory", statusProtection),
		ionicCode(4, "WQE_FLUSHED_ERR", "flushed", statusFlushed),
		ionicCode(5, "MEM_MGMT_OPER_ERR", "a memory operation was refused", statusBind),
		ionicCode(6, "BAD_RESP_ERR", "unexpected answer of the responder", statusBadResponse),
		ionicCode(7, "LOCAL_ACC_ERR", "the peer's access to local memory was refused", statusAccess),
		ionicCode(8, "REMOTE_INV_REQ_ERR", "the peer refused the request as invalid", statusInvalid),
		ionicCode(9, "REMOTE_ACC_ERR", "the peer refused access to its memory", statusRemAccess),
		ionicCode(10, "REMOTE_OPER_ERR", "the peer could not complete the request", statusRemOp),
		ionicCode(11, "RETRY_EXCEEDED", "no acknowledgement; retries exceeded", statusRetry),
		ionicCode(12, "RNR_RETRY_EXCEEDED", "the peer had no receive request; retries exceeded", statusRNR),
		ionicCode(13, "XRC_VIO_ERR", "a violation of the rules of XRC", statusGeneral),
	},
}

func ionicCode(code uint32, name, meaning string, status int) VendorCode {
	return VendorCode{Code: code, Name: "IONIC_STS_" + name, Meaning: meaning, Statuses: []int{status}}
}
