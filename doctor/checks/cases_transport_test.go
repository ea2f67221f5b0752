package checks_test

import (
	"syscall"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// transportCases are those of the RDMA transport.
func transportCases() []numberCase {
	const roce = "02_rocev2_8hca"
	hw := func(number int, id, counter string, good, bad uint64, want doctor.Outcome) numberCase {
		return counterCase(number, id, roce, "mlx5_0:1", "hw_counters", counter, 0, good, bad, want)
	}
	ratio := func(number int, id, counter, packets string, good, bad uint64, want doctor.Outcome) numberCase {
		with := func(n uint64) change {
			return readings(portReadings("mlx5_0:1", two{"hw_counters", counter, 100, 100 + n},
				two{"counters", packets, 5, 5 + 1e6}))
		}
		return numberCase{
			number, id, roce, nil, with(good), with(bad), recorded(facts.Facts{Rates: failed[facts.Rates]()}),
			want, "mlx5_0:1", doctor.OutcomeUnknown,
		}
	}
	list := []numberCase{
		hw(36, "retries-exceeded", "req_transport_retries_exceeded", 0, 1, doctor.OutcomeFail),
		hw(36, "retries-exceeded", "max_retry_exceeded", 0, 1, doctor.OutcomeFail), // bnxt_re
		hw(37, "rnr-retries-exceeded", "req_rnr_retries_exceeded", 0, 1, doctor.OutcomeFail),
		hw(38, "ack-timeouts", "local_ack_timeout_err", 10, 11, doctor.OutcomeWarn),
		hw(38, "ack-timeouts", "to_retransmits", 10, 11, doctor.OutcomeWarn),         // bnxt_re
		hw(38, "ack-timeouts", "retrans_timeout_events", 10, 11, doctor.OutcomeWarn), // efa
		hw(38, "unresponsive-peers", "unresponsive_remote_events", 0, 1, doctor.OutcomeWarn),
		hw(39, "receiver-not-ready", "rnr_nak_retry_err", 100, 101, doctor.OutcomeWarn),
		hw(39, "receiver-not-ready", "out_of_buffer", 100, 101, doctor.OutcomeWarn),
		hw(38, "unresponsive-peers", "impaired_remote_conn_events", 0, 1, doctor.OutcomeWarn),
		hw(39, "receiver-not-ready", "rnr_naks_rcvd", 100, 101, doctor.OutcomeWarn),    // bnxt_re
		hw(39, "receiver-not-ready", "rx_out_of_buffer", 100, 101, doctor.OutcomeWarn), // bnxt_re
		hw(39, "receiver-not-ready", "rx_drops", 100, 101, doctor.OutcomeWarn),         // efa
		hw(41, "repeated-requests", "dup_req", 100, 101, doctor.OutcomeWarn),           // bnxt_re
		hw(41, "repeated-requests", "missing_resp", 100, 101, doctor.OutcomeWarn),      // bnxt_re
		hw(44, "remote-access-errors", "req_remote_access_errors", 0, 1, doctor.OutcomeWarn),
		hw(44, "remote-access-errors", "remote_access_err", 0, 1, doctor.OutcomeWarn), // bnxt_re
		hw(44, "remote-access-errors", "rdma_read_wr_err", 0, 1, doctor.OutcomeWarn),  // efa
		hw(44, "remote-access-errors", "rdma_write_wr_err", 0, 1, doctor.OutcomeWarn), // efa
		ratio(40, "packets-lost", "packet_seq_err", "port_xmit_packets", 10, 11, doctor.OutcomeWarn),
		ratio(40, "packets-lost", "packet_seq_err", "port_xmit_packets", 10, 1001, doctor.OutcomeFail),
		ratio(40, "out-of-sequence", "out_of_sequence", "port_rcv_packets", 10, 11, doctor.OutcomeWarn),
		hw(41, "repeated-requests", "implied_nak_seq_err", 100, 101, doctor.OutcomeWarn),
		hw(41, "repeated-requests", "duplicate_request", 100, 101, doctor.OutcomeWarn),
		hw(42, "roce-slow-restart", "roce_slow_restart", 100, 101, doctor.OutcomeWarn),
		hw(42, "roce-retransmission-timeouts", "roce_adp_retrans_to", 0, 1, doctor.OutcomeWarn),
		hw(43, "icrc-errors", "rx_icrc_encapsulated", 0, 1, doctor.OutcomeFail),
		hw(44, "remote-access-errors", "resp_remote_access_errors", 0, 1, doctor.OutcomeWarn),
		hw(45, "cnp-ignored", "rp_cnp_ignored", 0, 1, doctor.OutcomeWarn),
		hw(45, "cnp-ignored", "cnpIgnored", 0, 1, doctor.OutcomeWarn), // irdma
	}
	two44 := func(failed, flushed uint64) change {
		return readings(portReadings("mlx5_0:1", two{"hw_counters", "req_cqe_error", 3481, 3481 + failed},
			two{"hw_counters", "req_cqe_flush_error", 80, 80 + flushed}))
	}
	two46 := func(marked, sent uint64) change {
		return readings(portReadings("mlx5_0:1", two{"hw_counters", "np_ecn_marked_roce_packets", 5, 5 + marked},
			two{"hw_counters", "np_cnp_sent", 7, 7 + sent}))
	}
	return append(list,
		numberCase{
			44, "completion-errors", roce, nil, two44(64, 64), two44(65, 64),
			recorded(facts.Facts{Rates: failed[facts.Rates]()}), doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		numberCase{
			46, "cnp-missing", roce, nil, two46(286733949, 10284520), two46(286733949, 0),
			recorded(facts.Facts{Rates: failed[facts.Rates]()}), doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		numberCase{
			47, "counter-lifespan", roce, eight("hw_counters/lifespan", "10"), nil,
			set("sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "1001"),
			failEight("hw_counters/lifespan", syscall.EIO), doctor.OutcomeInfo, "mlx5_0:1", doctor.OutcomeUnknown,
		},
	)
}
