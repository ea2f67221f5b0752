package ibdiags

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestPerfquery(t *testing.T) {
	t.Parallel()
	for _, net := range nets() {
		t.Run(net.name, func(t *testing.T) {
			sim := net.start(t)
			for _, args := range []string{"", "1", "-a", "-G 5"} { // no LIDs yet
				identical(t, sim, net.host, "perfquery", strings.Fields(args)...)
			}
			sim.StartSM(net.sm)
			host, leaf := lidAt(t, sim, net.host, "0"), lidAt(t, sim, net.host, "0,1")
			for _, operand := range []string{host, leaf} {
				for _, args := range []string{
					"", "0", "255", "300", "1,2,64,70", "3-1", "2-2", "1-400", ",1", ",", "1,", "x", "1 0xf", "1 0 x",
					"-x", "-x 1", "-x 255", "-x 1,2", "-x 1-3", "-x 1,70", "-a", "-a 1", "-a 1,2", "-a 1-3", "-a 3,x",
					"-l", "-l 1", "-l 1,2", "-l 1-3", "-xa 1-3", "-xl 1,2",
				} {
					identical(t, sim, net.host, "perfquery", strings.Fields(operand+" "+args)...)
				}
				for _, args := range []string{
					"-x -a", "-x -l", "-a -l", "-x -a -l", "-l {} 255", "-R {} 1", "-xR {} 1", "-Ra", "-r", "-xra",
					"-Rl {} 255", "-R {} 1 0x1", "-R {} 1 0",
				} {
					if !strings.Contains(args, "{}") {
						args += " {}"
					}
					identical(t, sim, net.host, "perfquery", strings.Fields(strings.ReplaceAll(args, "{}", operand))...)
				}
			}
			for _, args := range []string{
				"", "-x", "-a", "-l", "-xa", "-r", "-R", "-xr", "0", "77 1", "-G 0", "-G 1 1", "abc", "-C nosuch",
			} {
				identical(t, sim, net.host, "perfquery", strings.Fields(args)...)
			}
		})
	}
}

// TestPerfqueryTables compares all other tables. For tables that the simulator doesn't support, an
// agent of the test answers with random numbers.
func TestPerfqueryTables(t *testing.T) {
	t.Parallel()
	net := nets()[0]
	sim := net.start(t)
	sim.StartSM(net.sm)
	host, leaf, far := lidAt(t, sim, net.host, "0"), lidAt(t, sim, net.host, "0,1"), lidAt(t, sim, net.far, "0")
	tables := []string{
		"-X", "-S", "-D", "-E", "-T", "-c", "--oprcvcounters", "--flowctlcounters", "--vloppackets", "--vlopdata",
		"--vlxmitflowctlerrors", "--vlxmitcounters", "--swportvlcong", "--rcvcc", "--slrcvfecn", "--slrcvbecn",
		"--xmitcc", "--vlxmittimecc",
	}
	for _, console := range []string{
		"PortRcvErrorDetails.PortLocalPhysicalErrors=7", "PortXmitDiscardDetails.PortNeighborMTUDiscards=9",
		"PortOpRcvCounters.PortOpRcvPkts=11", "PortFlowCtlCounters.PortXmitFlowPkts=12",
		"PortVLOpPackets.PortVLOpPackets3=13", "PortVLOpData.PortVLOpData15=14",
		"PortVLXmitFlowCtlUpdateErrors.PortVLXmitFlowCtlUpdateErrors2=2", "PortVLXmitWaitCounters.PortVLXmitWait9=15",
	} {
		sim.Console(`PerformanceSet "leaf0"[1] %s`, console)
	}
	for _, table := range tables {
		for _, operands := range []string{
			"", host, host + " 1", leaf + " 1", leaf + " 255", "-a " + leaf, "-R " + leaf + " 1",
		} {
			identical(t, sim, net.host, "perfquery", strings.Fields(table+" "+operands)...)
		}
	}
	identical(t, sim, net.host, "perfquery", "-E", "-D", "-X", leaf, "1")
	serveCounters(t, sim.GetenvSM(net.far))
	for _, table := range tables {
		for _, operands := range []string{" 1", " 1 0xff", " 0"} {
			for _, option := range []string{"", "-r ", "-R "} {
				identical(t, sim, net.host, "perfquery", strings.Fields(table+" "+option+far+operands)...)
			}
		}
	}
}

// serveCounters answers the requests that the simulator passes to its node.
func serveCounters(t *testing.T, getenv func(string) string) {
	t.Helper()
	transport, err := fabric.OpenIBSim(t.Context(), getenv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
		transport.Close() //nolint:errcheck // a test's end
	})
	go func() {
		defer close(ended)
		var in [4]fabric.Datagram
		for ctx.Err() == nil {
			n, err := transport.Receive(ctx, in[:], time.Now().Add(time.Second))
			if err != nil {
				return
			}
			for i := range n {
				answerCounters(&in[i])
				transport.Send(in[i : i+1]) //nolint:errcheck // the client complains
			}
		}
	}()
}

// answerCounters fills an attribute with numbers that depend on the attribute only;
// PortSelect stays.
func answerCounters(d *fabric.Datagram) {
	var p mad.PerformanceMAD
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	random := rand.New(rand.NewPCG(1, uint64(p.AttributeID)))
	p.Method = mad.MethodGetResp
	for i := range p.Data {
		// C's buffer holds the many counters of PortExtendedSpeedsCounters only if they are short.
		if long := p.AttributeID == 0x1f && i > 16 && i%4 != 3 && (i > 43 || i%2 == 0); i != 1 && !long {
			p.Data[i] = byte(random.Uint32())
		}
	}
	p.Append(d.MAD[:0])
}

// TestPerfqueryCounters compares counters with preset values, at a port without traffic so that
// they don't change between the two programs.
func TestPerfqueryCounters(t *testing.T) {
	t.Parallel()
	net := nets()[0]
	sim := net.start(t)
	sim.StartSM(net.sm)
	leaf := lidAt(t, sim, net.host, "0,1")
	values := map[string][2]string{
		"SymbolErrorCounter": {"321", "65000"}, "LinkErrorRecoveryCounter": {"200", "100"},
		"LinkDownedCounter": {"3", "4"}, "PortRcvErrors": {"40000", "40000"}, "PortRcvRemotePhysicalErrors": {"6", "7"},
		"PortRcvSwitchRelayErrors": {"8", "9"}, "PortXmitDiscards": {"10", "11"},
		"PortXmitConstraintErrors": {"255", "1"}, "PortRcvConstraintErrors": {"12", "13"},
		"LocalLinkIntegrityErrors": {"14", "3"}, "ExcessiveBufferOverrunErrors": {"5", "6"},
		"PortXmitData": {"4294967295", "1"}, "PortRcvData": {"17", "18"}, "PortXmitPkts": {"19", "20"},
		"PortRcvPkts": {"21", "22"}, "PortXmitWait": {"23", "24"},
	}
	for name, v := range values {
		sim.Console(`PerformanceSet "leaf0"[40] PortCounters.%s=%s`, name, v[0])
		sim.Console(`PerformanceSet "leaf0"[41] PortCounters.%s=%s`, name, v[1])
	}
	for _, args := range []string{
		"{} 40", "-x {} 40", "-a {} 40,41", "-xa {} 40,41", "-l {} 40-41", "-xl {} 40,41", "-R {} 40 0x1", "{} 40",
		"-r {} 40 0x00f0", "{} 40", "-R {} 40 0xf000", "{} 40", "-R {} 40 0x10000", "{} 40", "-x {} 41",
		"-xR {} 41 0x1", "-x {} 41", "-xr {} 41", "-x {} 41", "-r {} 40", "{} 40", "-ra {} 40,41", "-l {} 40,41",
	} {
		words := strings.Fields(strings.ReplaceAll(args, "{}", leaf))
		if strings.Contains(args, "-r") || strings.Contains(args, "-R") || strings.Contains(args, "-xr") ||
			strings.Contains(args, "-xR") {
			got := ours(t, sim, net.host, "perfquery", words...) // the C program then reads the result
			if got.Code != 0 {
				t.Errorf("perfquery %s: exit code %d: %s", args, got.Code, got.Stderr)
			}
			continue
		}
		theirs := sim.Tool(net.host, "perfquery", words...)
		if got := ours(t, sim, net.host, "perfquery", words...).Stdout; got != theirs {
			t.Errorf("perfquery %s = %s\nwant %s", args, got, theirs)
		}
	}
}

// TestPerfqueryResets lets each program reset a different port with the same preset values.
func TestPerfqueryResets(t *testing.T) {
	t.Parallel()
	net := nets()[0]
	sim := net.start(t)
	sim.StartSM(net.sm)
	leaf := lidAt(t, sim, net.host, "0,1")
	for _, args := range []string{
		"-R {} P", "-r {} P", "-R {} P 0x1", "-R {} P 0xf000", "-R {} P 0", "-R {} P 0x10000", "-R {} P 0xfff",
		"-x -R {} P", "-x -R {} P 0x3", "-E -R {} P", "-D -r {} P",
	} {
		var after [2]string
		for i, port := range []string{"40", "41"} {
			for _, counter := range []string{
				"PortCounters.SymbolErrorCounter=321", "PortCounters.PortRcvErrors=5",
				"PortCounters.PortXmitDiscards=6", "PortCounters.PortXmitData=7",
				"PortCounters.PortRcvPkts=8", "PortCounters.PortXmitWait=9", "PortCounters.VL15Dropped=10",
				"PortRcvErrorDetails.PortLocalPhysicalErrors=7",
				"PortXmitDiscardDetails.PortNeighborMTUDiscards=9",
			} {
				sim.Console(`PerformanceSet "leaf0"[%s] %s`, port, counter)
			}
			words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(args, "{}", leaf), "P", port))
			if i == 0 {
				sim.Tool(net.host, "perfquery", words...)
			} else if got := ours(t, sim, net.host, "perfquery", words...); got.Code != 0 {
				t.Errorf("perfquery %s: exit code %d: %s", args, got.Code, got.Stderr)
			}
			for _, table := range []string{"-l", "-x", "-E", "-D"} {
				after[i] += strings.ReplaceAll(sim.Tool(net.host, "perfquery", table, leaf, port), port, "P")
			}
		}
		if after[0] != after[1] {
			t.Errorf("perfquery %s leaves\n%s\nthe C program\n%s", args, after[1], after[0])
		}
	}
}

// TestQP1Dropped checks the counter that the C program prints incorrectly.
func TestQP1Dropped(t *testing.T) {
	t.Parallel()
	net := nets()[2]
	sim := net.start(t)
	sim.StartSM(net.sm)
	sim.Console(`PerformanceSet "leaf0"[40] PortCounters.VL15Dropped=25`)
	leaf := lidAt(t, sim, net.host, "0,1")
	theirs := sim.Tool(net.host, "perfquery", leaf, "40")
	got := ours(t, sim, net.host, "perfquery", leaf, "40").Stdout
	const wrong, right = "QP1Dropped:......................25\n", "QP1Dropped:......................0\n"
	if !strings.Contains(theirs, wrong) {
		t.Errorf("perfquery of C no longer shows VL15Dropped as QP1Dropped, which our text says:\n%s", theirs)
	}
	if want := strings.Replace(theirs, wrong, right, 1); got != want {
		t.Errorf("perfquery = %s\nwant %s", got, want)
	}
}

func TestAddStopsAtTheHighest(t *testing.T) {
	sum := mad.PortCounters{
		LocalLinkIntegrityErrors: 9, LinkDownedCounter: 250, SymbolErrorCounter: 65535, PortXmitData: 1<<32 - 3,
	}
	addCounters(&sum,
		&mad.PortCounters{LocalLinkIntegrityErrors: 7, LinkDownedCounter: 5, SymbolErrorCounter: 1, PortXmitData: 2})
	if sum.LocalLinkIntegrityErrors != 15 || sum.LinkDownedCounter != 255 || sum.SymbolErrorCounter != 65535 ||
		sum.PortXmitData != 1<<32-1 {
		t.Errorf("sum = %+v", sum)
	}
	extended := mad.PortCountersExtended{PortXmitData: 1<<64 - 1, QP1Dropped: 1}
	addExtended(&extended, &mad.PortCountersExtended{PortXmitData: 5, QP1Dropped: 2})
	if extended.PortXmitData != 1<<64-1 || extended.QP1Dropped != 3 {
		t.Errorf("sum of extended counters = %+v", extended)
	}
}
