// Package conformance is a test binary for the guest of package kernel: it runs the conformance
// suite of providers on devices of the kernel, through libibverbs.
package conformance

import "github.com/rdmakit/rdmakit/verbs/provider/providertest"

// known is the last version of the kernel that the faults were seen on, in drivers/infiniband/sw/rxe
// of its source as well.
const known = "6.1"

// The reasons of faults that violate several rules.
const (
	noEvents = "rxe has asynchronous events of overrun queues, shared queues' limits, drained queues " +
		"and ports only (IB_EVENT_ in rxe_*.c)"
	noDoorbell = "rxe doesn't flush a receive request that is posted in ERR: posting one is a store to " +
		"shared memory that wakes no task of the kernel"
	consumed = "rxe completes the receive request of the message with the requester's status, as if it had " +
		"been used, and flushes only those after it (do_class_ac_error, then RESPST_COMPLETE in rxe_resp.c)"
)

// faults returns what is known to be wrong with rxe.
func faults() (list []providertest.Fault) {
	add := func(reason string, rules ...string) {
		for _, r := range rules {
			list = append(list, providertest.Fault{Rule: r, Reason: reason, Until: known})
		}
	}
	add(noEvents,
		"event/access-error", "event/request-error", "event/established", "event/order", "event/closed-object",
		"srq/last-request")
	add("rxe reports an overrun queue again with each completion that is lost (rxe_cq_post)", "event/overrun")
	add(noDoorbell, "states/post", "queue/full-in-err")
	add(consumed,
		"access/write-imm-of-qp-for-write", "access/write-imm-of-qp-for-read-write",
		"protection/write-imm-before", "protection/write-imm-beyond", "protection/write-imm-after",
		"protection/write-imm-address-0", "protection/write-imm-address-wraps", "protection/write-imm-unknown-key",
		"protection/write-imm-next-key", "protection/write-imm-closed-region", "protection/write-imm-other-domain")
	add("rxe reports a message that is longer than the receive request as a failure of the responder: copy_data "+
		"returns EINVAL, which is taken for a malformed request (rxe_mr.c, send_data_in in rxe_resp.c)",
		"protection/receive-too-short")
	add("rxe reports memory of a receive request that it can't use as local queue pair operation error "+
		"(RESPST_ERR_MALFORMED_WQE in rxe_resp.c)", "protection/receive-region-closed")
	add("rxe doesn't compare a P_Key index with the length of the table (rxe_qp_chk_attr)",
		"attributes/pkey-index-beyond")
	add("rxe never takes the completion of a send request for solicited (do_complete in rxe_comp.c)",
		"channel/failure-is-solicited")
	add("rxe checks access through a window against the region, not the window (check_rkey in rxe_resp.c)",
		"window/type-2")
	add("rxe passes the kernel's flag IB_WC_WITH_INVALIDATE to programs, for which the bit means IBV_WC_IP_CSUM_OK "+
		"(do_complete in rxe_resp.c)", "window/send-with-invalidate")
	add("rxe starts requests that were posted in SQD with the next post only, not with the change to RTS "+
		"(rxe_qp_from_attr)", "drain/requests-wait")
	return list
}
