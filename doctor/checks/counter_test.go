package checks_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// counterSituation is a node, mostly with two readings, and what a rule on counters must make of
// it.
type counterSituation struct {
	name, id, tree string
	change         change
	want           []string // "outcome object", without the objects that were not read
	says           string   // in one finding
}

func runCounters(t *testing.T, situations []counterSituation) {
	t.Helper()
	for _, s := range situations {
		t.Run(s.id+", "+s.name, func(t *testing.T) {
			r := diagnose(t, load(t, s.tree, s.change), s.id)
			r.Findings = slices.DeleteFunc(r.Findings, func(f doctor.Finding) bool {
				return strings.Contains(f.Summary, "its counters were not read")
			})
			if diff := cmp.Diff(s.want, brief(r)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s\n%v", s.id, diff, summaries(r))
			}
			for _, f := range r.Findings {
				checkFinding(t, check(t, f.CheckID), f)
			}
			says := func(f doctor.Finding) bool { return strings.Contains(text(f), s.says) }
			if !slices.ContainsFunc(r.Findings, says) {
				t.Errorf("%s: no finding says %q:\n%s", s.id, s.says, allText(r.Findings))
			}
		})
	}
}

const (
	ibTree   = "01_ib_8hca"
	roceTree = "02_rocev2_8hca"
	port0    = "mlx5_0:1"
)

func symbols(before, after uint64, elapsed time.Duration) change {
	return readings(readingsOf(port0, elapsed, two{"counters", "symbol_error", before, after}))
}

// What a single counter and the time between its readings can tell.
func TestCounterRates(t *testing.T) {
	pass, unknown := []string{"pass node"}, []string{"unknown " + port0}
	runCounters(t, []counterSituation{
		{"none in an hour", "symbol-errors", ibTree, symbols(9, 9, time.Hour), pass, "within the limits for 1h"},
		{"120 in an hour", "symbol-errors", ibTree, symbols(9, 129, time.Hour), pass, ""},
		{
			"121 in an hour", "symbol-errors", ibTree, symbols(9, 130, time.Hour),
			[]string{"fail " + port0},
			"rose by 121 in 1h, 121/h; the limit is 120",
		},
		{"240 in two hours", "symbol-errors", ibTree, symbols(9, 249, 2*time.Hour), pass, ""},
		{"241 in two hours", "symbol-errors", ibTree, symbols(9, 250, 2*time.Hour), []string{"fail " + port0}, ""},
		{
			"1 in 10 s may be chance", "symbol-errors", ibTree, symbols(9, 10, span),
			[]string{"info " + port0},
			"which takes an --interval of 1h to tell",
		},
		{
			"100 in 10 s are no more than 10 a second", "symbol-errors", ibTree, symbols(9, 109, span),
			[]string{"info " + port0},
			"rose by 100 in 10s",
		},
		{
			"101 in 10 s", "symbol-errors", ibTree, symbols(9, 110, span),
			[]string{"warn " + port0},
			"10.1/s; the limit is 10",
		},
		{
			"121 in 10 s are more than 120 in an hour", "symbol-errors", ibTree, symbols(9, 130, span),
			[]string{"fail " + port0},
			"the limit is 120/h",
		},
		{
			"both times and values are evidence", "symbol-errors", ibTree, symbols(9, 130, span),
			[]string{"fail " + port0},
			"/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error = 9 at 2026-11-25T20:00:00Z, " +
				"130 at 2026-11-25T20:00:10Z",
		},
		{
			"saturated all the time", "symbol-errors", ibTree, symbols(65535, 65535, span), unknown,
			"saturated at 65535: it counts nothing more until it is reset",
		},
		{
			"saturated meanwhile", "symbol-errors", ibTree, symbols(65500, 65535, span),
			[]string{"info " + port0},
			"at least 35",
		},
		{
			"saturated meanwhile, above the limit", "symbol-errors", ibTree, symbols(65000, 65535, span),
			[]string{"fail " + port0},
			"rose by at least 535",
		},
		{"reset to 0", "symbol-errors", ibTree, symbols(50, 0, span), unknown, "was reset between the readings"},
		{"reset, and below the limit", "rcv-errors", ibTree, readings(portReadings(port0, two{
			"counters", "port_rcv_errors", 50, 3,
		})), unknown, "at least 3"},
		{
			"reset, and above the limit", "symbol-errors", ibTree, symbols(900, 500, span),
			[]string{"fail " + port0},
			"at least 500",
		},
		{
			"32 bits of the extended counter", "symbol-errors", ibTree, symbols(1<<33, 1<<33+1, span),
			[]string{"info " + port0},
			"",
		},
		{
			"no first reading", "symbol-errors", ibTree, symbols(gone, 5, span), unknown,
			"was not in the first reading",
		},
		{
			"no second reading", "symbol-errors", ibTree, symbols(5, gone, span), unknown,
			"symbol_error is missing in the second reading",
		},
		{"readings at once", "rcv-errors", ibTree, readings(readingsOf(port0, 0, two{
			"counters", "port_rcv_errors", 5, 5,
		})), pass, ""},
		{"5 in a minute", "link-recoveries", ibTree, recoveries(5), pass, ""},
		{
			"6 in a minute", "link-recoveries", ibTree, recoveries(6),
			[]string{"warn " + port0},
			"6/min; the limit is 5",
		},
		{"10 in a minute", "pcie-corrected-errors", roceTree, readings(netFunction(time.Minute, 10)), pass, ""},
		{
			"11 in a minute", "pcie-corrected-errors", roceTree, readings(netFunction(time.Minute, 11)),
			[]string{"warn 0000:18:00.0"},
			"11/min",
		},
		{
			"2 in 10 s may be chance", "pcie-corrected-errors", roceTree, readings(netFunction(span, 2)),
			[]string{"info 0000:18:00.0"},
			"an --interval of 1m",
		},
		{"1 in 10 s", "pcie-corrected-errors", roceTree, readings(netFunction(span, 1)), pass, ""},
	})
}

func netFunction(elapsed time.Duration, n uint64) facts.Readings {
	return readingsOf("0000:18:00.0", elapsed,
		two{facts.CountersAER, "aer_dev_correctable:TOTAL_ERR_COR", 5, 5 + n})
}

func recoveries(n uint64) change {
	return readings(readingsOf(port0, time.Minute, two{"counters", "link_error_recovery", 1, 1 + n}))
}

// A port that disappears is a link that failed; nothing is known of its errors.
func TestCountersOfALostPort(t *testing.T) {
	lost := portReadings(port0, two{"counters", "symbol_error", 0, gone}, two{"counters", "link_downed", 0, gone})
	lost.Lost = "/sys/class/infiniband/mlx5_0/ports/1 does not exist any more"
	both := readings(lost, portReadings("mlx5_1:1", two{"counters", "symbol_error", 0, 0},
		two{"counters", "link_downed", 1, 1}))
	runCounters(t, []counterSituation{
		{"lost", "link-downed", ibTree, both, []string{"pass node", "fail " + port0}, "ports/1 = does not exist"},
		{
			"lost", "symbol-errors", ibTree, both,
			[]string{"pass node", "unknown " + port0},
			"was removed between the readings",
		},
	})
}

// Without an interval a value that is not 0 is at most a note, and only where one event matters.
func TestCountersReadOnce(t *testing.T) {
	const class = "sys/class/infiniband/mlx5_0/ports/1/"
	classic := func(name, value string) change { return port("mlx5_0", "counters/"+name, value) }
	ethtool := func(stats map[string]uint64) change {
		return recorded(facts.Facts{Ethtool: known([]facts.Ethtool{{Netdev: "ens0np0", Stats: stats}})})
	}
	aer := func(value string) change { return set("sys/bus/pci/devices/0000:18:00.0/aer_dev_fatal", value) }
	runCounters(t, []counterSituation{
		{"all 0", "symbol-errors", ibTree, nil, []string{"pass node"}, "8 counters of 8 compute ports: 0 since"},
		{
			"not 0", "symbol-errors", ibTree, classic("symbol_error", "9"),
			[]string{"pass node", "not-applicable " + port0},
			"whether it grows can be told with --interval only",
		},
		{
			"a single one matters", "local-link-integrity", ibTree, classic("local_link_integrity_errors", "2"),
			[]string{"info " + port0, "not-applicable node"},
			"rdmactl doctor --only local-link-integrity --interval 10s",
		},
		{
			"saturated", "counter-saturated", ibTree, classic("excessive_buffer_overrun_errors", "15"),
			[]string{"pass node", "info " + port0},
			"excessive_buffer_overrun_errors is saturated at 15",
		},
		{"just not saturated", "counter-saturated", ibTree, classic("link_downed", "254"), []string{"pass node"}, ""},
		{
			"denied", "symbol-errors", ibTree, fail(class+"counters/symbol_error", syscall.EACCES),
			[]string{"pass node", "needs-privilege " + port0},
			"permission denied",
		},
		{
			"unreadable", "symbol-errors", ibTree, fail(class+"counters/symbol_error", syscall.EIO),
			[]string{"pass node", "unknown " + port0},
			"input/output error",
		},
		{
			"the kernel has none", "symbol-errors", ibTree, eight("counters/symbol_error", "N/A (no PMA)"),
			[]string{"not-applicable node"},
			"mlx5_0:1, mlx5_1:1, mlx5_2:1, mlx5_3:1 and 4 more: mlx5_core has no such counter",
		},
		{
			"no number", "symbol-errors", ibTree, classic("symbol_error", "many"),
			[]string{"pass node", "unknown " + port0},
			`holds "many"`,
		},
		{
			"another driver's names", "retries-exceeded", "66_bnxt_counters", nil,
			[]string{"pass node", "info bnxt_re0:1"},
			"max_retry_exceeded is 6",
		},
		{
			"a driver without them", "rnr-retries-exceeded", "66_bnxt_counters", nil,
			[]string{"not-applicable node"},
			"ports/1/hw_counters/req_rnr_retries_exceeded = does not exist",
		},
		{
			"efa", "receiver-not-ready", "48_efa", nil, []string{"pass node"}, "rx_drops = 0",
		},
		{"statistics of ethtool", "pause-storm", roceTree, ethtool(map[string]uint64{
			"tx_pause_storm_error_events": 3,
		}), []string{"info ens0np0", "not-applicable node"}, "ethtool:ens0np0:tx_pause_storm_error_events = 3"},
		{"fatal errors", "pcie-errors", roceTree, aer("Malformed TLP 2\nTOTAL_ERR_FATAL 2"), []string{
			"info 0000:18:00.0", "not-applicable node",
		}, "/sys/bus/pci/devices/0000:18:00.0/aer_dev_fatal:TOTAL_ERR_FATAL = 2"},
		{"no errors", "pcie-errors", roceTree, aer("Malformed TLP 0\nTOTAL_ERR_FATAL 0"), []string{
			"pass node", "not-applicable node",
		}, "no AER"},
		{"not a list of errors", "pcie-errors", roceTree, aer("x"), []string{
			"unknown 0000:18:00.0", "not-applicable node",
		}, "parse"},
		{"ratios need two readings", "packets-lost", ibTree, nil, []string{"not-applicable node"}, "--interval"},
	})
}

// Ratios need traffic, and enough of it.
func TestCounterRatios(t *testing.T) {
	lost := func(n, packets uint64) change {
		return readings(portReadings(port0, two{"hw_counters", "packet_seq_err", 1, 1 + n},
			two{"counters", "port_xmit_packets", 1000, 1000 + packets}))
	}
	idle := []string{"not-applicable " + port0}
	runCounters(t, []counterSituation{
		{"no traffic", "packets-lost", roceTree, lost(0, 0), idle, "no packets between the readings"},
		{"losses without packets", "packets-lost", roceTree, lost(1, 0), []string{"info " + port0}, "too few"},
		{"little traffic, none lost", "packets-lost", roceTree, lost(0, 10), []string{"pass node"}, ""},
		{"little traffic", "packets-lost", roceTree, lost(3, 99), []string{"info " + port0}, "too few"},
		{
			"at the limit of a fault", "packets-lost", roceTree, lost(1000, 1e6),
			[]string{"warn " + port0},
			"limit is 1e-05",
		},
		{"more", "packets-lost", roceTree, lost(1001, 1e6), []string{"fail " + port0}, "0.001; the limit is 0.001"},
		{
			"enough to see a fault, not to see less", "packets-lost", roceTree, lost(2, 1000),
			[]string{"fail " + port0},
			"",
		},
		{"not to see less", "packets-lost", roceTree, lost(1, 1000), []string{"info " + port0}, "too few"},
		{
			"packets were reset", "packets-lost", roceTree, readings(portReadings(port0,
				two{"hw_counters", "packet_seq_err", 1, 1}, two{"counters", "port_xmit_packets", 1000, 20})),
			[]string{"unknown " + port0},
			"port_xmit_packets was reset",
		},
		{"no counter of packets", "packets-lost", roceTree, readings(portReadings(port0,
			two{"hw_counters", "packet_seq_err", 1, 1})), idle, "counts no packets"},
		{
			"overtaken packets are never a fault", "out-of-sequence", roceTree, readings(portReadings(port0,
				two{"hw_counters", "out_of_sequence", 1, 1e5}, two{"counters", "port_rcv_packets", 1, 1e6})),
			[]string{"warn " + port0},
			"",
		},
		{
			"irdma", "packets-lost", roceTree, readings(portReadings(port0,
				two{"hw_counters", "RetransSegs", 0, 2000}, two{"hw_counters", "OutSegs", 0, 1e6})),
			[]string{"fail " + port0},
			"RetransSegs",
		},
		{
			"irdma of old kernels", "packets-lost", roceTree, readings(portReadings(port0,
				two{"hw_counters", "tcpRetransSegs", 0, 2000}, two{"hw_counters", "tcpOutSegs", 0, 1e6})),
			[]string{"fail " + port0},
			"tcpRetransSegs",
		},
		{
			"bnxt_re", "out-of-sequence", "66_bnxt_counters", readings(portReadings("bnxt_re0:1",
				two{"hw_counters", "oos_drop_count", 27110, 37110}, two{"hw_counters", "rx_pkts", 0, 1e6})),
			[]string{"warn bnxt_re0:1"},
			"oos_drop_count",
		},
		{
			"bnxt_re", "packets-lost", "66_bnxt_counters", readings(portReadings("bnxt_re0:1",
				two{"hw_counters", "seq_err_naks_rcvd", 1933, 3933},
				two{"hw_counters", "tx_pkts", 2205912090, 2205912090 + 1e6})),
			[]string{"fail bnxt_re0:1"},
			"seq_err_naks_rcvd rose by 2000",
		},
	})
}

// Marked packets and notifications as on a real port (28 to 1), and as they should not be.
func TestCounterNotifications(t *testing.T) {
	cnp := func(marked, sent uint64) change {
		return readings(portReadings(port0, two{"hw_counters", "np_ecn_marked_roce_packets", 0, marked},
			two{"hw_counters", "np_cnp_sent", 0, sent}))
	}
	runCounters(t, []counterSituation{
		{"no mark", "cnp-missing", roceTree, cnp(0, 1333), []string{"not-applicable " + port0}, "no marked packet"},
		{"few marks", "cnp-missing", roceTree, cnp(999, 0), []string{"info " + port0}, "too few to tell"},
		{"many marks", "cnp-missing", roceTree, cnp(1000, 0), []string{"warn " + port0}, "no notification"},
		{"one for 10000", "cnp-missing", roceTree, cnp(10000, 1), []string{"pass node"}, ""},
		{"one for 10001", "cnp-missing", roceTree, cnp(10001, 1), []string{"warn " + port0}, "the limit is 10000"},
		{"irdma", "cnp-missing", roceTree, readings(portReadings(port0, two{"hw_counters", "RxECNMrkd", 0, 5000},
			two{"hw_counters", "cnpSent", 0, 0})), []string{"warn " + port0}, ""},
		{
			"marks only", "cnp-missing", roceTree, readings(portReadings(port0,
				two{"hw_counters", "np_ecn_marked_roce_packets", 0, 5000})),
			[]string{"not-applicable " + port0},
			"not both",
		},
	})
}

func TestCounterCompletions(t *testing.T) {
	cqe := func(failed, flushed uint64) change {
		return readings(portReadings(port0, two{"hw_counters", "resp_cqe_error", 8109, 8109 + failed},
			two{"hw_counters", "resp_cqe_flush_error", 4708, 4708 + flushed}))
	}
	runCounters(t, []counterSituation{
		{"none", "completion-errors", roceTree, cqe(0, 0), []string{"pass node"}, ""},
		{"a program that ended", "completion-errors", roceTree, cqe(64, 64), []string{"pass node"}, ""},
		{"one before the flush", "completion-errors", roceTree, cqe(65, 64), []string{"warn " + port0}, "rose by 1"},
		{"more flushes than errors", "completion-errors", roceTree, cqe(3, 64), []string{"pass node"}, ""},
		{"no flushes counted", "completion-errors", roceTree, readings(portReadings(port0,
			two{"hw_counters", "resp_cqe_error", 0, 5})), []string{"not-applicable " + port0}, "flushed"},
	})
}
