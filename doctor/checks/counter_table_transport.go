package checks

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// sentPackets and receivedPackets are the counters of packets to compare errors with: of
// InfiniBand's PMA, which mlx5 has on Ethernet too, and of other drivers.
func sentPackets() []counterName {
	return append(countersIn(groupClassic, "port_xmit_packets"),
		countersIn(groupDriver, "tx_pkts", "OutSegs", "tcpOutSegs")...)
}

func receivedPackets() []counterName {
	return append(countersIn(groupClassic, "port_rcv_packets"), countersIn(groupDriver, "rx_pkts")...)
}

// retryCounterRules are those on what a reliable connection does without an answer, of InfiniBand
// and RoCE.
func retryCounterRules() []counterRule {
	return []counterRule{
		{
			id: "retries-exceeded", numbers: []int{36}, group: doctor.GroupTransport,
			title:    "connections of a compute port that gave up retrying",
			counters: countersIn(groupDriver, "req_transport_retries_exceeded", "max_retry_exceeded"),
			limits:   increase(doctor.OutcomeFail, "the work request fails with IBV_WC_RETRY_EXC_ERR"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				A queue pair repeated a packet as often as it may without any answer, and failed (error 12,
				transport retry counter exceeded). The job stops. The peer is dead or can't be reached, or
				packets are lost for longer than 4.096 µs x 2^timeout x retries.`),
			remedy: "Find the peer in the job's log, and check its port and the way to it; see also packets-lost and " +
				"ack-timeouts.",
			actions: peerActions, sources: []string{sourceMlx5, sourceBnxtRe},
		},
		{
			id: "rnr-retries-exceeded", numbers: []int{37}, group: doctor.GroupTransport,
			title:    "connections of a compute port that gave up waiting for a receiver",
			counters: countersIn(groupDriver, "req_rnr_retries_exceeded"),
			limits:   increase(doctor.OutcomeFail, "the work request fails with IBV_WC_RNR_RETRY_EXC_ERR"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The peer had no receive posted, again and again, and the queue pair failed (error 13, RNR retry
				counter exceeded). The program at the other end hangs or is too slow.`),
			remedy:  "Look at the peer's process: it did not post receives. The network is well.",
			actions: peerActions, sources: []string{sourceMlx5},
		},
		{
			id: "ack-timeouts", numbers: []int{38}, group: doctor.GroupTransport,
			title:    "compute port that waits for acknowledgements in vain",
			counters: countersIn(groupDriver, "local_ack_timeout_err", "to_retransmits", "retrans_timeout_events"),
			limits:   []counterLimit{{doctor.OutcomeWarn, 1, "1/s", toCalibrate}},
			explanation: prose.Join(`
				An acknowledgement did not arrive in time: the packet, or its acknowledgement, was lost and
				nothing behind it told so, or the peer is gone. Each costs a timeout, which is many
				milliseconds. While a peer ends such timeouts are normal.`),
			remedy: "If no peer ended, look for lost packets: packets-lost, discards on switches, and the links " +
				"between.",
			actions: peerActions, sources: []string{sourceMlx5, sourceBnxtRe, sourceEFA},
		},
		{
			id: "unresponsive-peers", numbers: []int{38}, group: doctor.GroupTransport,
			title:    "peers of an EFA device that don't answer",
			counters: countersIn(groupDriver, "unresponsive_remote_events", "impaired_remote_conn_events"),
			limits:   increase(doctor.OutcomeWarn, "SRD has lost a peer or all good paths to it"),
			explanation: prose.Join(`
				SRD, the protocol of EFA, repeats packets on other paths. A peer that does not answer on any is
				unresponsive, and one that answers on few is impaired. A job waits for them.`),
			remedy:  "Check the instances of the job: one has stopped, or its security group blocks traffic.",
			actions: peerActions, sources: []string{sourceEFA},
		},
		{
			id: "receiver-not-ready", numbers: []int{39}, group: doctor.GroupTransport,
			title: "receives that were missing on a compute port or its peers",
			counters: countersIn(groupDriver, "rnr_nak_retry_err", "out_of_buffer", "rnr_naks_rcvd",
				"rx_out_of_buffer", "rx_drops"),
			limits: []counterLimit{{doctor.OutcomeWarn, 10, "1/s", toCalibrate}},
			explanation: prose.Join(`
				A message arrived for which no receive was posted (out_of_buffer, here) or a peer said so
				(rnr_nak_retry_err). The sender waits and repeats. It is a property of the program, not of the
				network: rnr_nak_retry_err counts retries, not connections that gave up.`),
			remedy: "Let the program post more receives (UCX: UCX_RC_RX_QUEUE_LEN), or post them sooner: its " +
				"threads may wait for a processor.",
			actions: peerActions, sources: []string{sourceMlx5, sourceBnxtRe, sourceEFA},
		},
	}
}

// sequenceCounterRules are those on packets that are lost, overtaken or repeated.
func sequenceCounterRules() []counterRule {
	return []counterRule{
		{
			id: "packets-lost", numbers: []int{40}, group: doctor.GroupTransport,
			title:    "packets of a compute port that were lost on the way and repeated",
			counters: countersIn(groupDriver, "packet_seq_err", "seq_err_naks_rcvd", "RetransSegs", "tcpRetransSegs"),
			per:      sentPackets(),
			limits: []counterLimit{
				{doctor.OutcomeWarn, 1e-5, "ratio", toCalibrate},
				{doctor.OutcomeFail, 1e-3, "ratio", toCalibrate},
			},
			compares: "packets that were repeated because a peer missed one, divided by the packets sent",
			historic: never,
			explanation: prose.Join(`
				Peers answered that a packet was missing (NAK, sequence error), and this port repeated it with
				all that followed. RDMA is made for networks that lose nothing: at one in a thousand little of
				the bandwidth is left.`),
			remedy: "Find where packets are lost: errors of links, discards of switches, or RoCE without flow " +
				"control (PFC or ECN) on the way.",
			actions: lossActions, sources: []string{sourceMlx5, sourceBnxtRe, sourceIrdma},
		},
		{
			id: "out-of-sequence", numbers: []int{40}, group: doctor.GroupTransport,
			title:    "packets that reached a compute port out of sequence",
			counters: countersIn(groupDriver, "out_of_sequence", "oos_drop_count"),
			per:      receivedPackets(),
			limits:   []counterLimit{{doctor.OutcomeWarn, 1e-5, "ratio", toCalibrate}},
			compares: "packets out of sequence, divided by the packets received",
			historic: never,
			explanation: prose.Join(`
				A packet came after one that was sent later, or one before it was lost. With adaptive routing
				packets overtake each other by design, and a card that accepts that loses nothing; the node
				can't see whether the fabric uses it. So this is never a fault by itself: the peers' check
				packets-lost shows what had to be repeated.`),
			remedy:  "Without adaptive routing: find where packets are lost, as for packets-lost.",
			actions: lossActions, sources: []string{sourceMlx5, sourceBnxtRe},
		},
		{
			id: "repeated-requests", numbers: []int{41}, group: doctor.GroupTransport,
			title: "requests that a compute port or its peers had to repeat",
			counters: countersIn(groupDriver, "implied_nak_seq_err", "duplicate_request", "dup_req",
				"missing_resp"),
			limits: []counterLimit{{doctor.OutcomeWarn, 10, "1/s", toCalibrate}},
			explanation: prose.Join(`
				A response to an RDMA read was missing (implied NAK), or a peer repeated a request that had been
				executed: its acknowledgement was lost or late. The way back loses packets, or the timeout of
				the queue pairs is too short for the load.`),
			remedy:  "Look for lost packets in the other direction, and raise the timeout (NCCL_IB_TIMEOUT).",
			actions: lossActions, sources: []string{sourceMlx5, sourceBnxtRe},
		},
	}
}

// programCounterRules are those on faults of programs, and on the counters themselves.
func programCounterRules() []counterRule {
	return []counterRule{
		{
			id: "completion-errors", numbers: []int{44}, group: doctor.GroupTransport,
			title: "work requests of a compute port that failed",
			counters: countersIn(groupDriver, "req_cqe_error", "resp_cqe_error", "req_cqe_flush_error",
				"resp_cqe_flush_error"),
			limits:   increase(doctor.OutcomeWarn, "a program whose work requests fail has a fault"),
			compares: "increase of req_cqe_error and resp_cqe_error, without flush errors,",
			measure:  measureCompletions, historic: never,
			explanation: prose.Join(`
				Completions with an error other than flush. Flush errors are those of work requests that were
				still queued when a queue pair was closed or failed; they are normal when a program ends, and
				are not counted here.`),
			remedy:  "Look into the job's log for the status of the completion: it names the cause.",
			actions: peerActions, sources: []string{sourceMlx5},
		},
		{
			id: "remote-access-errors", numbers: []int{44}, group: doctor.GroupTransport,
			title: "accesses to remote memory that were refused",
			counters: countersIn(groupDriver, "req_remote_access_errors", "resp_remote_access_errors",
				"remote_access_err", "rdma_read_wr_err", "rdma_write_wr_err"),
			limits: increase(doctor.OutcomeWarn, "the queue pair fails with IBV_WC_REM_ACCESS_ERR"),
			explanation: prose.Join(`
				A program used an rkey or an address that the owner of the memory has not registered, or not any
				more. The queue pair fails. It is a fault of a program or a library, for instance after a rank
				has restarted.`),
			remedy:  "Look into the logs of the job for the rank that restarted or failed first.",
			actions: peerActions, sources: []string{sourceMlx5, sourceBnxtRe, sourceEFA},
		},
		{
			id: "counter-lifespan", numbers: []int{47}, group: doctor.GroupTransport,
			title:    "driver's counters that are read from the card seldom",
			counters: countersIn(groupDriver, "lifespan"),
			more: []doctor.Threshold{{
				Name: "counter-lifespan", Value: 1000, Unit: "ms", What: "age that a counter's value may have",
				Source: "the kernel's default is 10 ms (RDMA_HW_STATS_DEFAULT_LIFESPAN)",
			}},
			measure: measureLifespan, once: measureLifespan, good: "fresh", historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The kernel keeps the counters of hw_counters for the lifespan and reads them from the card only
				after that. Two readings within that time are equal, whatever happened.`),
			remedy:  "Write a smaller number of milliseconds to lifespan.",
			actions: lifespanActions,
			sources: []string{
				"Documentation/ABI/stable/sysfs-class-infiniband (hw_counters/lifespan)", "include/rdma/ib_verbs.h",
			},
		},
	}
}

// peerActions find the other end of a connection.
func peerActions(s *sample) []doctor.Action {
	return []doctor.Action{
		doctor.Shell("rdma resource show qp link %s/%d   # queue pairs, their peers and processes",
			quote(s.port.dev.Name), s.port.port.Number),
		doctor.Note("look into the job's log for the peer and the status of the completion"),
	}
}

// lossActions find where packets are lost.
func lossActions(s *sample) []doctor.Action {
	if s.port.roce() {
		return []doctor.Action{
			doctor.Shell("rdmactl doctor --interval 10s --only lossless-discards,pause-time,uncorrected-errors"),
			doctor.Note("look at the discards of the switch port at the other end and of those on the way"),
		}
	}
	return []doctor.Action{
		doctor.Shell("rdmactl doctor --interval 10s --only symbol-errors,rcv-errors,remote-physical-errors"),
		doctor.Note("look for links with errors in the fabric: rdmactl fabric errors"),
	}
}

func lifespanActions(s *sample) []doctor.Action {
	return []doctor.Action{{Do: doctor.DoWrite, Object: s.counters[0].Path, Value: "10"}}
}
