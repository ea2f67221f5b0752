package inventory

import (
	"slices"
	"time"
)

// Change is what a counter did between two readings.
type Change struct {
	Counter Counter `json:"counter"` // the later reading
	// Delta is nil when it can't be told: the counter is new, has no value, was
	// reset in between (Reset), or stood at its end before (Counter.Saturated).
	Delta *uint64 `json:"delta,omitempty"`
	// AtLeast tells that Delta is a lower bound, for the counter reached its end.
	AtLeast bool `json:"atLeast,omitempty"`
	Reset   bool `json:"reset,omitempty"` // it is smaller than before
	// PerSecond is Delta over the time between the readings; nil as Delta.
	PerSecond *float64 `json:"perSecond,omitempty"`
}

// Changes compares two readings of a port's counters, taken elapsed apart, in
// the order of the later one. A rate is never negative.
func Changes(before, after []Counter, elapsed time.Duration) []Change {
	out := make([]Change, 0, len(after))
	for _, c := range after {
		ch := Change{Counter: c}
		i := slices.IndexFunc(before, func(b Counter) bool { return b.Name == c.Name && b.Group == c.Group })
		if i >= 0 && c.Value != nil && before[i].Value != nil {
			was, is := *before[i].Value, *c.Value
			switch {
			case is < was:
				ch.Reset = true
			case c.Saturated && is == was:
			default:
				ch.AtLeast = c.Saturated
				ch.Delta = new(is - was)
				if elapsed > 0 {
					ch.PerSecond = new(float64(is-was) / elapsed.Seconds())
				}
			}
		}
		out = append(out, ch)
	}
	return out
}

// errorCounters are the counters whose growth means trouble, by group.
var errorCounters = map[string][]string{
	"counters": {
		"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors", "port_xmit_discards", "port_xmit_constraint_errors", "port_rcv_constraint_errors",
		"local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped",
	},
	"hw_counters": {
		"local_ack_timeout_err", "out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "rnr_nak_retry_err", "out_of_buffer",
		"duplicate_request", "req_transport_retries_exceeded", "req_rnr_retries_exceeded", "req_remote_access_errors",
		"resp_remote_access_errors", "rx_icrc_encapsulated", "roce_slow_restart", "roce_adp_retrans_to",
		"completer_retry_err", "rcvd_seq_err", "rcvd_rnr_err", "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err", "send_rnr_err",
		"out_of_seq_request", "link_downed",
		// bnxt_re (drivers/infiniband/hw/bnxt_re/hw_counters.c)
		"to_retransmits", "seq_err_naks_rcvd", "max_retry_exceeded", "rnr_naks_rcvd", "missing_resp", "unrecoverable_err",
		"bad_resp_err", "local_qp_op_err", "local_protection_err", "mem_mgmt_op_err", "remote_invalid_req_err",
		"remote_access_err", "remote_op_err", "dup_req", "res_exceed_max", "res_length_mismatch", "res_exceeds_wqe",
		"res_opcode_err", "res_rx_invalid_rkey", "res_rx_domain_err", "res_rx_no_perm", "res_rx_range_err",
		"res_tx_invalid_rkey", "res_tx_domain_err", "res_tx_no_perm", "res_tx_range_err", "res_irrq_oflow",
		"res_unsup_opcode", "res_unaligned_atomic", "res_rem_inv_err", "res_mem_error", "res_srq_err", "res_cmp_err",
		"recoverable_errors",
	},
}

// IsError reports that growth of the counter means trouble on link or transport.
func (c Counter) IsError() bool {
	group := c.Group
	if group == deviceCounters {
		group = "hw_counters"
	}
	return slices.Contains(errorCounters[group], c.Name)
}

// dataUnit is the size in bytes of what port_rcv_data and port_xmit_data count
// (specification volume 1, section 16.1.4.4).
const dataUnit = 4

// Bytes returns what a data counter counts in bytes, false for other counters.
func (c Counter) Bytes(n float64) (float64, bool) {
	if c.Group == "counters" && (c.Name == "port_rcv_data" || c.Name == "port_xmit_data") {
		return n * dataUnit, true
	}
	return 0, false
}
