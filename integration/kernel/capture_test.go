//go:build kernel

package kernel

import (
	"testing"

	"github.com/rdmakit/rdmakit/explain/capture"
)

// netem returns a scene's fault at a port of the bridge: of what leaves it.
func netem(port, impairment string) (plant, undo string) {
	return "tc qdisc add dev " + port + " root netem limit 20000 " + impairment, "tc qdisc del dev " + port + " root"
}

// faulty completes a scene with a fault of netem.
func faulty(port, impairment string, s captureScene) captureScene {
	s.plant, s.undo = netem(port, impairment)
	return s
}

// countLoss compares what was dropped between the two points with what is missing behind them.
func countLoss(t *testing.T, near, far *capture.Report, dropped int) {
	t.Helper()
	lost := 0
	for i := range far.Flows {
		lost += far.Flows[i].Requests.Missing.Count
	}
	// A packet that has no successor, or that is lost again, leaves no second gap.
	if near.Packets-far.Packets != dropped || lost > dropped {
		t.Errorf("%d dropped, %d of %d packets arrived, %d were missing", dropped, far.Packets, near.Packets, lost)
	}
}

// The path drops packets of more than 1500 bytes, which the ends don't know: their MTU is 9000.
const (
	smallMTU = "ip link set vbm mtu 1500"
	largeMTU = "ip link set vbm mtu 9000"
)

// captureScenes are the scenes. The findings were written down before any of these captures was
// read, from what is planted and from the specification; comments name where rxe differs from that.
// -u 18 waits a second for an answer: the guest may be slow.
func captureScenes(r *captureRig) []captureScene {
	const mtu, again, loss = capture.NameMTU, capture.NameRetransmission, capture.NameLoss
	const silent, oneWay, answers = capture.NameNoAnswer, capture.NameOneWay, capture.NameAnswersLost
	type names = []capture.Name
	return []captureScene{
		{name: "healthy-write", script: r.perftest("ib_write_bw", "-n 5 -s 4000 -m 1024 -u 18")},
		{name: "healthy-send", script: r.perftest("ib_send_bw", "-n 5 -s 4000 -m 1024 -u 18")},
		{name: "healthy-read", script: r.perftest("ib_read_lat", "-n 8 -s 3000 -m 1024 -u 18")},
		{name: "healthy-atomic", script: r.perftest("ib_atomic_lat", "-n 20 -u 18")},
		{name: "healthy-ud", script: r.perftest("ib_send_bw", "-c UD -n 20 -s 512")},
		faulty("vbm", "loss 3%", captureScene{
			name: "loss-requests", script: r.perftest("ib_write_bw", "-n 40 -s 512 -m 256 -u 16"),
			near: names{loss, again}, far: names{loss, again}, drops: "vbm", check: countLoss,
		}),
		faulty("vam", "loss 20%", captureScene{
			name: "loss-answers", script: r.verbs("writes"),
			near: names{again}, far: names{answers, again}, drops: "vam",
		}),
		faulty("vam", "loss 10%", captureScene{
			name: "loss-responses", script: r.verbs("reads"),
			near: names{loss, again}, far: names{answers, again}, drops: "vam",
		}),
		faulty("vbm", "loss 3%", captureScene{
			name: "loss-uc", script: r.perftest("ib_write_bw", "-c UC -n 60 -s 512 -m 256"),
			far: names{loss}, drops: "vbm",
		}),
		{
			name: "mtu", plant: smallMTU, undo: largeMTU, status: 12,
			script: r.verbs("large"), near: names{mtu, silent, again},
		},
		{
			// rxe takes a retry count of 7, which perftest uses, for unlimited: no status ever.
			name: "mtu-perftest", plant: smallMTU, undo: largeMTU, fails: true,
			script: r.hanging("ib_write_bw", "-a -n 5 -m 4096 -u 17"), near: names{mtu, silent, again},
		},
		{
			name: "mtu-last-fits", plant: smallMTU, undo: largeMTU, status: 12,
			// The responder asks for the first packet once; after that it waits for that one.
			script: r.verbs("sizes"), near: names{mtu, silent, loss, again}, far: names{silent, loss, again},
		},
		{
			name: "no-right", script: r.verbs("right"), status: 10,
			near: names{capture.NameNAKAccess}, far: names{capture.NameNAKAccess},
		},
		{
			name: "no-right-qp", script: r.verbs("access"), status: 9,
			near: names{capture.NameNAKInvalid}, far: names{capture.NameNAKInvalid},
		},
		{
			name: "wrong-key", script: r.verbs("key"), status: 10,
			near: names{capture.NameNAKAccess}, far: names{capture.NameNAKAccess},
		},
		{
			name: "out-of-range", script: r.verbs("range"), status: 10,
			near: names{capture.NameNAKAccess}, far: names{capture.NameNAKAccess},
		},
		{
			name: "not-ready", script: r.verbs("ready"), status: 13,
			near: names{capture.NameRNR, again}, far: names{capture.NameRNR, again},
		},
		{
			name: "ready-late", script: r.verbs("late"),
			near: names{capture.NameRNR, again}, far: names{capture.NameRNR, again},
		},
		{
			// The specification asks for status 9, rxe answers with NAK 0x63.
			name: "too-long", script: r.verbs("length"), status: 11,
			near: names{capture.NameNAKOperation}, far: names{capture.NameNAKOperation},
		},
		faulty("vbm", "loss 100%", captureScene{
			name: "one-way", script: r.verbs("first"), status: 12,
			near: names{oneWay, again}, far: names{capture.NameNoRoCE}, drops: "vbm",
		}),
		faulty("vbm", "loss 100%", captureScene{
			name: "one-way-perftest", script: r.hanging("ib_write_bw", "-n 5 -s 512 -m 1024 -u 16"), fails: true,
			near: names{oneWay, again}, far: names{capture.NameNoRoCE}, drops: "vbm",
		}),
		faulty("vam", "loss 100%", captureScene{
			name: "one-way-back", script: r.verbs("first"), status: 12,
			near: names{oneWay, again}, far: names{answers, again}, drops: "vam",
		}),
		{
			name: "peer-gone", script: r.verbs("gone"), status: 12,
			near: names{silent, again}, far: names{silent, again},
		},
		faulty("vbm", "duplicate 20%", captureScene{
			name: "duplicates", script: r.perftest("ib_write_bw", "-n 40 -s 512 -m 256 -u 18"),
			far: names{capture.NameDuplicates},
		}),
		faulty("vbm", "delay 1ms reorder 93%", captureScene{
			name: "reordering", script: r.perftest("ib_write_bw", "-n 20 -s 1024 -m 256 -t 1 -u 18"),
			near: names{loss, again}, far: names{capture.NameReordering, again},
		}),
		{
			name: "classes", script: r.verbs("classes"),
			near: names{capture.NameDSCP}, far: names{capture.NameDSCP},
		},
		{
			name: "no-neighbor", script: r.verbs("first"), fails: true,
			plant: "ip neigh del " + farAddress + " dev va; tc qdisc add dev vbm root netem loss 100%",
			undo: "tc qdisc del dev vbm root; ip neigh replace " + farAddress +
				" lladdr $(cat /sys/class/net/vb/address) dev va nud permanent",
			near: names{capture.NameARPUnanswered, capture.NameNoRoCE}, far: names{capture.NameNoRoCE},
		},
		{name: "healthy-cm", script: r.rping(true)},
		{
			name: "cm-rejected", script: r.rping(false), fails: true,
			near: names{capture.NameCMRejected}, far: names{capture.NameCMRejected},
		},
	}
}

// quickScenes are those that run even without allVariable.
var quickScenes = map[string]bool{
	"loss-requests": true, "mtu": true, "no-right": true, "not-ready": true, "one-way": true,
}

// TestCaptureExplained plants faults between two devices of the kernel's rxe, and explains captures
// of their traffic.
func TestCaptureExplained(t *testing.T) {
	r := newCaptureRig(t)
	for _, s := range captureScenes(r) {
		if !wantAll() && !quickScenes[s.name] {
			continue
		}
		t.Run(s.name, func(t *testing.T) { r.try(t, &s) })
	}
}
