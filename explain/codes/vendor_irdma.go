package codes

import "fmt"

// vendorIRDMA has a major code in the upper 16 bits and a minor one in the lower ones
// (irdma_process_cqe in providers/irdma/uverbs.c).
var vendorIRDMA = vendorTable{
	driver: "irdma", max: 1<<32 - 1, source: "rdma-core, providers/irdma/uverbs.c and user.h", compute: irdmaCode,
}

const (
	irdmaFlush    = 1      // IRDMA_FLUSH_MAJOR_ERR
	irdmaSRQFlush = 0xfffe // IRDMA_SRQFLUSH_RSVD_MAJOR_ERR
)

// irdmaReasons are the minor codes of flushed requests, by number (enum irdma_flush_opcode).
var irdmaReasons = [...]struct {
	name, meaning string
	status        int
}{
	{"FLUSH_INVALID", "no reason given", statusFatal},
	{"FLUSH_GENERAL_ERR", "flushed after another request had failed", statusFlushed},
	{"FLUSH_PROT_ERR", "no access to local memory", statusProtection},
	{"FLUSH_REM_ACCESS_ERR", "the peer refused access to its memory", statusRemAccess},
	{"FLUSH_LOC_QP_OP_ERR", "the request is inconsistent", statusQPOperation},
	{"FLUSH_REM_OP_ERR", "the peer could not complete the request", statusRemOp},
	{"FLUSH_LOC_LEN_ERR", "wrong length", statusLength},
	{"FLUSH_FATAL_ERR", "a fatal error", statusFatal},
	{"FLUSH_RETRY_EXC_ERR", "no acknowledgement; retries exceeded", statusRetry},
	{"FLUSH_MW_BIND_ERR", "a memory window could not be bound", statusBind},
	{"FLUSH_REM_INV_REQ_ERR", "the peer refused the request as invalid", statusInvalid},
	{"FLUSH_RNR_RETRY_EXC_ERR", "the peer had no receive request; retries exceeded", statusRNR},
}

func irdmaCode(code uint32) VendorCode {
	major, minor := code>>16, code&0xffff
	if major != irdmaFlush && major != irdmaSRQFlush {
		return VendorCode{
			Meaning: fmt.Sprintf("major code %#x, minor code %#x: not a flush; the driver reports all of them as "+
				"general errors", major, minor),
			Statuses: []int{statusGeneral},
		}
	}
	if minor >= uint32(len(irdmaReasons)) {
		return VendorCode{
			Meaning:  fmt.Sprintf("flushed for reason %d, which is not in the driver's list", minor),
			Statuses: []int{statusFatal},
		}
	}
	r := irdmaReasons[minor]
	return VendorCode{Name: r.name, Meaning: "flushed: " + r.meaning, Statuses: []int{r.status}}
}
