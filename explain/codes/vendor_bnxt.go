package codes

// vendorBNXT is the status of the completion, numbered differently for requests and receives.
// Numbers: providers/bnxt_re/bnxt_re-abi.h; statuses: bnxt_re_to_ibv_wc_status in main.h.
var vendorBNXT = vendorTable{
	driver: "bnxt_re", max: 0xff, source: "rdma-core, providers/bnxt_re/bnxt_re-abi.h and main.h",
	other: "not in the driver's list, which reports it as a general error",
	codes: []VendorCode{
		bnxtRequest(0x01, "BAD_RESP", "unexpected answer of the responder", statusBadResponse),
		bnxtRequest(0x02, "LOC_LEN", "wrong length of a request", statusLength),
		bnxtRequest(0x03, "LOC_QP_OP", "the request is inconsistent", statusQPOperation),
		bnxtRequest(0x04, "PROT", "no access to local memory", statusProtection),
		bnxtRequest(0x05, "MEM_OP", "a memory operation was refused", statusBind),
		bnxtRequest(0x06, "REM_INVAL", "the peer refused the request as invalid", statusInvalid),
		bnxtRequest(0x07, "REM_ACC", "the peer refused access to its memory", statusRemAccess),
		bnxtRequest(0x08, "REM_OP", "the peer could not complete the request", statusRemOp),
		bnxtRequest(0x09, "RNR_NAK_XCED", "the peer had no receive request; retries exceeded", statusRNR),
		bnxtRequest(0x0a, "TRNSP_XCED", "no acknowledgement; retries exceeded", statusRetry),
		bnxtRequest(0x0b, "WR_FLUSH", "flushed", statusFlushed),
		bnxtReceive(0x01, "LOC_ACC", "the peer's access to local memory was refused", statusAccess),
		bnxtReceive(0x02, "LOC_LEN", "a message was longer than the receive buffer", statusLength),
		bnxtReceive(0x03, "LOC_PROT", "no access to the receive buffer", statusProtection),
		bnxtReceive(0x04, "LOC_QP_OP", "the receive request is inconsistent", statusQPOperation),
		bnxtReceive(0x05, "MEM_OP", "a memory operation was refused", statusBind),
		bnxtReceive(0x06, "REM_INVAL", "invalid request of the peer", statusInvalid),
		bnxtReceive(0x07, "WR_FLUSH", "flushed", statusFlushed),
		bnxtReceive(0x08, "HW_FLUSH", "flushed by the hardware", statusFatal),
	},
}

func bnxtRequest(code uint32, name, meaning string, status int) VendorCode {
	return VendorCode{
		Code: code, Name: "BNXT_RE_REQ_ST_" + name, Side: "requester", Meaning: meaning, Statuses: []int{status},
	}
}

func bnxtReceive(code uint32, name, meaning string, status int) VendorCode {
	return VendorCode{
		Code: code, Name: "BNXT_RE_RSP_ST_" + name, Side: "responder", Meaning: meaning, Statuses: []int{status},
	}
}
