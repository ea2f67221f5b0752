package worker

import "github.com/rdmakit/rdmakit/cluster/result"

// Canonical returns the counters of a driver, or of the engine, by the names of package result.
// Several counters of a driver that stand for one name are added; those without one are left out.
func Canonical(counters map[string]uint64) map[string]uint64 {
	if counters == nil {
		return nil
	}
	out := map[string]uint64{}
	for name, v := range counters {
		if to := canonicalName(name); to != "" {
			out[to] += v
		}
	}
	return out
}

// canonicalName returns the name of package result for a counter: of the engine (first in each
// line), of InfiniBand's PMA (counters/ in sysfs), and of drivers' hw_counters: mlx5
// (drivers/infiniband/hw/mlx5/counters.c), rxe (rxe_hw_counters.c), bnxt_re (hw_counters.c), irdma
// (hw.c). It is "" for a counter that says nothing about a fault.
func canonicalName(name string) string {
	switch name {
	case "retransmits", "packet_seq_err", "seq_err_naks_rcvd", "rcvd_seq_err", "implied_nak_seq_err",
		"roce_adp_retrans":
		return result.CounterRetransmits
	case "timeouts", "local_ack_timeout_err", "roce_adp_retrans_to", "to_retransmits",
		"retry_exceeded_err", "completer_retry_err", "max_retry_exceeded":
		return result.CounterTimeouts
	case "outOfOrder", "out_of_sequence", "out_of_seq_request", "oos_drop_count":
		return result.CounterOutOfSeq
	case "badICRC", "rx_icrc_encapsulated", "icrc_error":
		return result.CounterICRC
	case "np_cnp_sent", "tx_cnp_pkts", "cnpSent":
		return result.CounterCNPSent
	case "cnps", "rp_cnp_handled", "rx_cnp_pkts", "cnpHandled":
		return result.CounterCNPReceived
	case "ecnMarks", "np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd":
		return result.CounterECN
	case "port_xmit_discards", "port_rcv_discards", "rx_roce_discard_pkts":
		return result.CounterDiscards
	case "symbol_error":
		return result.CounterSymbol
	case "link_downed":
		return result.CounterDowned
	case "rnrNAKs", "rnr_nak_retry_err", "out_of_buffer", "rnr_naks_rcvd", "rcvd_rnr_err":
		return result.CounterRNR
	}
	return ""
}
