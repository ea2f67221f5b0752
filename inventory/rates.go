package inventory

import (
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/wire/counters"
)

// Change is the change of a counter between two readings.
type Change struct {
	Counter Counter `json:"counter"` // the later reading
	counters.Change
}

// Changes compares two readings of a port's counters. elapsed is the time between them.
// The result is in the order of the later reading. For saturated counters and those that
// were reset see [counters.Compare].
func Changes(before, after []Counter, elapsed time.Duration) []Change {
	out := make([]Change, 0, len(after))
	for _, c := range after {
		ch := Change{Counter: c}
		i := slices.IndexFunc(before, func(b Counter) bool { return b.Name == c.Name && b.Group == c.Group })
		if i >= 0 && c.Value != nil && before[i].Value != nil {
			earlier := counters.Reading{Value: *before[i].Value, Bits: c.bits()}
			later := counters.Reading{Value: *c.Value, Bits: c.bits()}
			ch.Change = counters.Compare(earlier, later, elapsed)
		}
		out = append(out, ch)
	}
	return out
}

// driverErrors are the error counters of drivers.
var driverErrors = []string{
	"local_ack_timeout_err", "out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "rnr_nak_retry_err",
	"out_of_buffer",
	"duplicate_request", "req_transport_retries_exceeded", "req_rnr_retries_exceeded", "req_remote_access_errors",
	"resp_remote_access_errors", "rx_icrc_encapsulated", "roce_slow_restart", "roce_adp_retrans_to",
	"completer_retry_err", "rcvd_seq_err", "rcvd_rnr_err", "retry_exceeded_err", "retry_rnr_exceeded_err",
	"send_err", "send_rnr_err",
	"out_of_seq_request", "link_downed",
	// bnxt_re (drivers/infiniband/hw/bnxt_re/hw_counters.c)
	"to_retransmits", "seq_err_naks_rcvd", "max_retry_exceeded", "rnr_naks_rcvd", "missing_resp", "unrecoverable_err",
	"bad_resp_err", "local_qp_op_err", "local_protection_err", "mem_mgmt_op_err", "remote_invalid_req_err",
	"remote_access_err", "remote_op_err", "dup_req", "res_exceed_max", "res_length_mismatch", "res_exceeds_wqe",
	"res_opcode_err", "res_rx_invalid_rkey", "res_rx_domain_err", "res_rx_no_perm", "res_rx_range_err",
	"res_tx_invalid_rkey", "res_tx_domain_err", "res_tx_no_perm", "res_tx_range_err", "res_irrq_oflow",
	"res_unsup_opcode", "res_unaligned_atomic", "res_rem_inv_err", "res_mem_error", "res_srq_err", "res_cmp_err",
	"recoverable_errors",
}

// IsError reports whether the counter counts errors of the link or the transport.
func (c Counter) IsError() bool {
	if c.Group == classicCounters {
		known, ok := counters.ByFile(c.Name)
		return ok && known.Kind == counters.KindError
	}
	return slices.Contains(driverErrors, c.Name)
}

// dataUnit is the unit of port_rcv_data and port_xmit_data in bytes (specification
// volume 1, section 16.1.4.4).
const dataUnit = 4

// Bytes converts a value of a data counter to bytes. It returns false for other counters.
func (c Counter) Bytes(n float64) (float64, bool) {
	if c.Group == classicCounters && (c.Name == "port_rcv_data" || c.Name == "port_xmit_data") {
		return n * dataUnit, true
	}
	return 0, false
}
