package codes

// vendorEFA is the status of the completion. Numbers: providers/efa/efa_io_defs.h; statuses:
// to_ibv_status in verbs.c.
var vendorEFA = vendorTable{
	driver: "efa", max: 0xff, source: "rdma-core, providers/efa/efa_io_defs.h and verbs.c",
	other: "not in the driver's list, which reports it as a general error",
	codes: []VendorCode{
		efaCode(1, "FLUSHED", "flushed because the queue pair was destroyed", statusFlushed),
		efaCode(2, "LOCAL_ERROR_QP_INTERNAL_ERROR", "an internal error of the queue pair", statusQPOperation),
		efaCode(3, "LOCAL_ERROR_UNSUPPORTED_OP", "the device doesn't support the operation", statusQPOperation),
		efaCode(4, "LOCAL_ERROR_INVALID_AH", "the address handle is invalid", statusQPOperation),
		efaCode(5, "LOCAL_ERROR_INVALID_LKEY", "the local key is unknown or doesn't cover the address",
			statusProtection),
		efaCode(6, "LOCAL_ERROR_BAD_LENGTH", "the message is too long", statusLength),
		efaCode(7, "REMOTE_ERROR_BAD_ADDRESS", "the remote key is unknown or doesn't cover the address",
			statusRemAccess),
		efaCode(8, "REMOTE_ERROR_ABORT", "the peer has reset the connection", statusAborted),
		efaCode(9, "REMOTE_ERROR_BAD_DEST_QPN",
			"the destination queue pair doesn't exist or is in the error state", statusInvalidRD),
		efaCode(10, "REMOTE_ERROR_RNR", "the peer had no receive request posted", statusRNR),
		efaCode(11, "REMOTE_ERROR_BAD_LENGTH", "the peer's receive buffer is too short", statusInvalid),
		efaCode(12, "REMOTE_ERROR_BAD_STATUS", "the peer answered with an unexpected status", statusBadResponse),
		efaCode(13, "LOCAL_ERROR_UNRESP_REMOTE", "the peer answered before and no longer does", statusTimeout),
		efaCode(14, "REMOTE_ERROR_UNKNOWN_PEER", "the peer has no address handle for this node", statusRemOp),
		efaCode(15, "LOCAL_ERROR_UNREACH_REMOTE",
			"the peer has never answered: often a security group that doesn't allow it in both directions",
			statusTimeout),
		efaCode(18, "REMOTE_ERROR_FEATURE_MISMATCH", "the two ends support different features", statusInvalid),
	},
}

func efaCode(code uint32, name, meaning string, status int) VendorCode {
	return VendorCode{Code: code, Name: "EFA_IO_COMP_STATUS_" + name, Meaning: meaning, Statuses: []int{status}}
}
