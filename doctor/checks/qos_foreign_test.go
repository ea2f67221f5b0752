package checks_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// mlnxQoS converts the output of NVIDIA's mlnx_qos to what dcbnl answers, which the tool prints.
func mlnxQoS(t *testing.T, output string) func(netdev string) facts.DCB {
	t.Helper()
	mode := uint8(8)
	d := facts.DCB{DCBX: &mode, PFC: &facts.PFC{Capacity: 8}}
	numbers := func(text string, sep string) (list []uint64) {
		for word := range strings.SplitSeq(text, sep) {
			if n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32); err == nil {
				list = append(list, n)
			}
		}
		return list
	}
	trust := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "DCBX mode: OS controlled":
			mode |= 1
		case strings.HasPrefix(line, "Priority trust state: "):
			trust = strings.TrimPrefix(line, "Priority trust state: ")
		case strings.HasPrefix(line, "prio:"):
			prio, _ := strconv.ParseUint(strings.TrimPrefix(name, "prio:"), 10, 3)
			for _, dscp := range numbers(strings.TrimPrefix(rest, "dscp:"), ",") {
				d.Apps = append(d.Apps, facts.DCBApp{Selector: 5, Protocol: uint16(dscp), Priority: uint8(prio)})
			}
		case strings.HasPrefix(line, "Receive buffer size (bytes): "):
			d.Buffer = &facts.Buffer{}
			for i, n := range numbers(strings.TrimPrefix(line, "Receive buffer size (bytes): "), ",") {
				d.Buffer.Bytes[i] = uint32(n)
			}
		case strings.HasPrefix(line, "Cable len: "):
			d.PFC.Delay = uint16(numbers(strings.TrimPrefix(line, "Cable len: "), ",")[0])
		case name == "enabled":
			for i, n := range numbers(rest, " ") {
				d.PFC.Enabled |= uint8(n) << i
			}
		case name == "buffer" && d.Buffer != nil:
			for i, n := range numbers(rest, " ") {
				d.Buffer.Priority[i] = uint8(n)
			}
		}
	}
	if trust == "" || trust == "pcp" && len(d.Apps) > 0 {
		t.Fatalf("trust %q with %d DSCPs", trust, len(d.Apps))
	}
	return func(netdev string) facts.DCB {
		own := d
		own.Netdev = netdev
		return own
	}
}

// defaultMap is how mlnx_qos prints the map of a port that was switched to DSCP.
const defaultMap = `dscp2prio mapping:
	prio:0 dscp:07,06,05,04,03,02,01,00,
	prio:1 dscp:15,14,13,12,11,10,09,08,
	prio:2 dscp:23,22,21,20,19,18,17,16,
	prio:3 dscp:31,30,29,28,27,26,25,24,
	prio:4 dscp:39,38,37,36,35,34,33,32,
	prio:5 dscp:47,46,45,44,43,42,41,40,
	prio:6 dscp:55,54,53,52,51,50,49,48,
	prio:7 dscp:63,62,61,60,59,58,57,56,
`

// foreignQoS is what somebody published of a machine, and what the checks must say of it.
type foreignQoS struct {
	name, source string
	output       string // of mlnx_qos
	files        change // what was published beside it
	// bad are the checks that warn or fail, with a part of a summary; all others must not.
	bad map[string]string
	// told are checks with a finding of outcome info, with a part of a summary.
	told map[string]string
}

func foreignQoSNodes() []foreignQoS {
	const srcTCPECN = "a user's notes on tcp_ecn and RoCE, ConnectX-6, MLNX_OFED (mlnx_qos -i ens6)"
	const srcDSCP = "a user's notes on DSCP, ConnectX, MLNX_OFED (mlnx_qos -i ens14f0)"
	return []foreignQoS{
		{
			name: "ConnectX from the factory", source: srcTCPECN, files: tclasses(""),
			output: `DCBX mode: OS controlled
Priority trust state: pcp
Receive buffer size (bytes): 262016,0,0,0,0,0,0,0,
Cable len: 7
PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   0   0   0   0   0   
        buffer      0   0   0   0   0   0   0   0   `,
			told: map[string]string{"roce-trust": "as from the factory", "pfc-priority": "PFC is off on 8 RoCE ports"},
		},
		{
			name: "trust switched to DSCP, nothing else", source: srcTCPECN, files: tclasses(""),
			output: "DCBX mode: OS controlled\nPriority trust state: dscp\n" + defaultMap +
				`Receive buffer size (bytes): 524160,0,0,0,0,0,0,0,
Cable len: 7
PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   0   0   0   0   0   
        buffer      0   0   0   0   0   0   0   0   `,
			told: map[string]string{"pfc-priority": "RoCE runs lossy"},
		},
		{
			name: "buffers set by hand, lossless priority in the smallest", source: srcDSCP,
			files: tclasses("Global tclass=106"),
			output: "DCBX mode: OS controlled\nPriority trust state: dscp\n" +
				strings.Replace(strings.Replace(defaultMap, "31,30,", "31,", 1), "prio:6 dscp:", "prio:6 dscp:30,", 1) +
				`Receive buffer size (bytes): 80256,80256,896,80256,896,896,896,896,
Cable len: 7
PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   1   0   0   0   0   
        buffer      0   2   5   7   1   2   3   6   `,
			bad:  map[string]string{"pfc-buffer": "the buffer of the lossless priority 3 on ens0np0 has 896 bytes"},
			told: map[string]string{"traffic-class": "DSCP 26"},
		},
		{
			name: "the same, trust switched back to pcp", source: srcDSCP, files: tclasses("Global tclass=106"),
			output: `DCBX mode: OS controlled
Priority trust state: pcp
Receive buffer size (bytes): 80256,80256,896,80256,896,896,896,896,
Cable len: 7
PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   1   0   0   0   0   
        buffer      0   2   5   7   1   2   3   6   `,
			bad:  map[string]string{"roce-trust": "but PFC is on priority 3", "pfc-buffer": "896 bytes"},
			told: map[string]string{"traffic-class": "DSCP 26"},
		},
		{
			// The bandwidth of a job fell to a fraction after an update; the maintainers named the
			// fabric without flow control, and the user found no dropped packets on the host.
			name: "a job that became slow on a fabric without flow control", source: "a user's report to " +
				"NVIDIA/nccl, " +
				"ConnectX on a switch without PFC; the output is that of the factory settings", files: tclasses(""),
			output: "DCBX mode: OS controlled\nPriority trust state: pcp\nPFC configuration:\nenabled 0 0 0 0 0 0 0 0",
			told: map[string]string{
				"roce-trust": "RoCE runs lossy", "pfc-priority": "the fabric drops packets under congestion unless ECN",
			},
		},
		{
			name: "priority 5 by a script", source: "spidernet-io/spiderpool, docs/usage: rdma-qos.sh q",
			files: all(tclasses("Global tclass=160"), rdmaCMs("160"), ecn("1"),
				onPorts("ecn/roce_np/cnp_dscp", "48")),
			output: "Priority trust state: dscp\n" + defaultMap + `PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   0   0   1   0   0   
        buffer      0   0   0   0   0   1   0   0   `,
			told: map[string]string{"traffic-class": "DSCP 40"},
		},
		{
			name:   "taken over from the switch",
			source: "a user's guide for RoCE v2 with DCBX, ConnectX at 100 Gb/s (mlnx_qos -i mce0)",
			files: all(tclasses("Global tclass=106"), rdmaCMs("106"), onPorts("mtu", "9000"),
				rates("100 Gb/sec (4X EDR)")),
			output: "DCBX mode: Firmware controlled\nPriority trust state: dscp\n" + defaultMap +
				`Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016
Cable len: 7
PFC configuration:
        priority    0   1   2   3   4   5   6   7
        enabled     0   0   0   1   0   0   0   0   
        buffer      0   0   0   1   0   0   0   0   `,
			told: map[string]string{"traffic-class": "DSCP 26"},
		},
		{
			name: "four priorities, as an example", source: "Mellanox community, mlnx_qos (document 2792)",
			files: onPorts("ecn/roce_np/cnp_dscp", "48"),
			output: "DCBX mode: OS controlled\nPriority trust state: dscp\n" + defaultMap + `Cable len: 10
PFC configuration:
priority 0 1 2 3 4 5 6 7
enabled 1 0 1 0 0 0 1 1`,
			bad: map[string]string{
				"pfc-priority": "PFC of ens0np0 is on priorities 0, 2, 6 and 7",
				"cnp-class":    "on priority 6, which is lossless",
			},
			told: map[string]string{"dscp-lossless": "DSCP 26 (assumed) have priority 3"},
		},
		{
			// GPU-driven queue pairs had DSCP 0, beside the lossless priority 5, and failed with
			// exceeded retries; with NCCL_GIN_IB_TC=236 they didn't.
			name:   "the driver forces the lossless class, and GPUs don't get it",
			source: "a user's report to NVIDIA/nccl, 8 × ConnectX-7 400 Gb/s",
			files:  tclasses("Global tclass=236"), output: gpuQueuePairs,
			told: map[string]string{
				"traffic-class": "only the driver gives RoCE packets DSCP 59 (mlx5_7:1); no file of this host " +
					"sets it " +
					"for libraries, so that queue pairs of GPUs (NCCL GIN, NVSHMEM IBGDA) send with DSCP 0",
			},
		},
		{
			name:   "the same without the driver's class: what these queue pairs meet",
			source: "a user's report to NVIDIA/nccl, as above",
			files:  all(tclasses(""), set("etc/nccl.conf", "NCCL_IB_TC=0")), output: gpuQueuePairs,
			bad: map[string]string{
				"dscp-lossless": "RoCE packets with DSCP 0 (NCCL_IB_TC=0 in /etc/nccl.conf) have priority 0 on " +
					"ens0np0, " +
					"which is lossy: PFC is on priority 5, for DSCP 59",
			},
		},
		{
			name: "the same as recommended", source: "a user's report to NVIDIA/nccl, as above",
			files: all(tclasses("Global tclass=236"), set("etc/nccl.conf", "NCCL_IB_TC=236")), output: gpuQueuePairs,
		},
	}
}

const gpuQueuePairs = `Priority trust state: dscp
dscp2prio mapping:
	prio:0 dscp:07,06,05,04,03,02,01,00,
	prio:5 dscp:59,
PFC configuration:
	enabled 0 0 0 0 0 1 0 0`

// rates sets the rate of all eight ports.
func rates(rate string) change {
	var list []change
	for i := range 8 {
		list = append(list, port(fmt.Sprintf("mlx5_%d", i), "rate", rate))
	}
	return all(list...)
}

// TestForeignQoS runs the checks over settings that users and vendors published.
func TestForeignQoS(t *testing.T) {
	for _, n := range foreignQoSNodes() {
		t.Run(n.name, func(t *testing.T) {
			tree := load(t, qosTree, n.files, dcbOf(mlnxQoS(t, n.output), nil))
			for _, id := range qosIDs() {
				var faults, notes []string
				for _, f := range diagnose(t, tree, id).Findings {
					switch f.Outcome {
					case doctor.OutcomeFail, doctor.OutcomeWarn, doctor.OutcomeUnknown:
						faults = append(faults, f.Summary)
					case doctor.OutcomeInfo:
						notes = append(notes, f.Summary)
					}
				}
				compareSummaries(t, id, "faults", faults, n.bad[id])
				compareSummaries(t, id, "notes", notes, n.told[id])
			}
		})
	}
}

func compareSummaries(t *testing.T, id, what string, got []string, want string) {
	t.Helper()
	found := slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) })
	if (len(got) > 0) != (want != "") || want != "" && !found {
		t.Errorf("%s of %s: %q, want %q", what, id, got, want)
	}
}
