package conformance

import "github.com/rdmakit/rdmakit/verbs/provider/providertest"

// What iWARP does otherwise than InfiniBand, for which the rules are written (RFC 5040 and 5041).
const (
	noAcknowledgement = "iWARP has no acknowledgements: a SEND or WRITE has completed when TCP has it, whatever " +
		"the peer says then; the peer's Terminate message ends the connection, and flushes READs (RFC 5040, " +
		"section 7)"
	noWaiting = "iWARP has no RNR NAK: a SEND without a receive request doesn't wait, and ends the connection " +
		"(RFC 5041, section 7)"
	closes = "an iWARP queue pair that leaves RTS closes its TCP connection, and so the peer's goes to ERR"
)

// The reasons of faults of siw that violate several rules.
const (
	accessIgnored = "siw doesn't look at the access flags of the queue pair (nothing reads SIW_RDMA_WRITE_ENABLED), " +
		"and answers READs of regions without remote read access (siw_check_sgl_tx with permission 0)"
	notSolicited = "siw doesn't note which messages are solicited, takes no failure for it, and of two calls of " +
		"ibv_req_notify_cq the later one counts (siw_rqe_complete, siw_cq_notify_now; siw_notify_cq of libsiw)"
	noEventsIWARP = "siw has no asynchronous event of a failed queue pair whose connection has ended (siw_qp_event)"
	noQuerySRQ    = "libsiw has no ibv_query_srq"
)

// faultsIWARP returns what is known to be wrong with siw, or different on iWARP.
func faultsIWARP() (list []providertest.Fault) {
	different := func(reason string, rules ...string) {
		for _, r := range rules {
			list = append(list, providertest.Fault{Rule: r, Reason: reason})
		}
	}
	add := func(reason string, rules ...string) {
		for _, r := range rules {
			list = append(list, providertest.Fault{Rule: r, Reason: reason, Until: known})
		}
	}
	for _, op := range []string{"write-", "read-"} {
		for _, what := range []string{
			"before", "beyond", "after", "address-0", "address-wraps", "unknown-key", "next-key", "closed-region",
			"other-domain",
		} {
			different(noAcknowledgement, "protection/"+op+what)
		}
		for _, right := range []string{
			"of-qp-for-nothing", "of-qp-for-read", "of-qp-for-write", "of-qp-for-read-write", "zero-length",
		} {
			add(accessIgnored, "access/"+op+right)
		}
	}
	different(noAcknowledgement,
		"completion/unsignaled-failure", "completion/error-fields", "completion/failure-in-the-middle",
		"protection/receive-too-short", "protection/receive-region-closed", "in-flight/send-remote-region-closed",
		"in-flight/write-remote-region-closed", "in-flight/read-remote-region-closed", "in-flight/peer-qp-closed")
	different(noWaiting,
		"states/flush", "queue/send-full", "inline/buffer-is-free", "inline/region-is-free", "rnr/send-ends",
		"rnr/send-posted-late", "rnr/holds-later-requests", "wait/busy-wakes-all", "wait/event-wakes-all",
		"wait/hybrid-wakes-all", "srq/rnr")
	different(closes, "states/quiet-failure")
	add(accessIgnored, "attributes/access-while-running", "connector/access")
	add("siw raises the limit of READs that it answers to what the peer asks for (relaxed_ird_negotiation)",
		"order/reads-not-allowed")
	add(notSolicited, "channel/solicited", "channel/failure-is-solicited", "channel/wider-counts")
	add(noEventsIWARP,
		"event/access-error", "event/request-error", "event/order", "event/closed-object", "srq/last-request")
	add("siw reports an overrun queue only if the kernel finds no room, which libsiw's flags hide", "event/overrun")
	add("siw doesn't flush a send request that is posted in ERR (siw_post_send returns ENOTCONN)", "channel/waiters")
	add("siw leaves requests behind one with a local error in the queue until the connection ends (siw_qp_sq_process)",
		"in-flight/read-own-region-closed")
	add("libsiw creates not all queue pairs of a shared receive queue that others use already, without an errno and "+
		"without a system call that fails; the cause wasn't found", "srq/several-queue-pairs")
	list = append(list, providertest.Fault{
		Rule: "completion/order", Sometimes: true, Until: known,
		Reason: "siw completes SEND and WRITE when TCP has them, even if a READ before them isn't complete",
	})
	add(noQuerySRQ, "srq/full", "srq/limit", "srq/limit-values")
	return list
}
