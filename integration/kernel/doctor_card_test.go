//go:build kernel

package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// card is what the driver rdmakit_card makes of a PCI function of QEMU.
type card struct{ netdev, device, function, port string }

// withCard returns the guest with an RDMA card that has no data path; see integration/guest/card.
// The guest's other devices are not for jobs then, because they are software.
func withCard(t *testing.T) (*guest.Guest, card) {
	t.Helper()
	g := withRdmactl(t)
	g.Exclusive(t)
	fields := strings.Fields(output(t, g, `modprobe rdmakit_card && ip link set card0 up &&
		ip addr replace 203.0.113.77/24 dev card0 && dir=$(readlink -f /sys/class/net/card0/device) &&
		echo card0 $(ls $dir/infiniband) $(basename $dir) $(basename $(dirname $dir))`))
	if len(fields) != 4 {
		t.Fatalf("the card is %q, want names of network device, RDMA device, function and port", fields)
	}
	settle(t, g)
	return g, card{fields[0], fields[1], fields[2], fields[3]}
}

// removeCard is for defer: the context of the test is over in its cleanup.
func removeCard(t *testing.T, g *guest.Guest) {
	t.Helper()
	output(t, g, "modprobe -r rdmakit_card")
}

// dcbETS is the output of dcb -j ets show.
type dcbETS struct {
	Willing bool     `json:"willing"`
	TC      []uint8  `json:"prio_tc"`
	TxBW    []uint8  `json:"tc_bw"`
	TSA     []string `json:"tc_tsa"`
}

// dcbPFC is the output of dcb -j -s pfc show.
type dcbPFC struct {
	Cap         uint8    `json:"pfc_cap"`
	Delay       uint16   `json:"delay"`
	Prio        []bool   `json:"prio_pfc"`
	Requests    []uint64 `json:"requests"`
	Indications []uint64 `json:"indications"`
}

// dcbBuffer is the output of dcb -j buffer show.
type dcbBuffer struct {
	Prio  []uint8  `json:"prio_buffer"`
	Size  []uint32 `json:"buffer_size"`
	Total uint32   `json:"total_size"`
}

// dcbApp is the output of dcb -j -N app show: pairs of protocol and priority.
type dcbApp struct {
	Default []uint8     `json:"default_prio"`
	EtherID [][2]uint16 `json:"ethtype_prio"`
	Stream  [][2]uint16 `json:"stream_port_prio"`
	Dgram   [][2]uint16 `json:"dgram_port_prio"`
	Any     [][2]uint16 `json:"port_prio"`
	DSCP    [][2]uint16 `json:"dscp_prio"`
}

// DCB_CAP_DCBX_* by the names of dcb.
var dcbxModes = map[string]uint8{"host": 1, "lld-managed": 2, "cee": 4, "ieee": 8, "static": 16}

// readDCB returns what Debian's program dcb shows of a network device, as facts.
func readDCB(t *testing.T, g *guest.Guest, netdev string) facts.DCB {
	t.Helper()
	var ets dcbETS
	var pfc dcbPFC
	var buffer dcbBuffer
	var apps dcbApp
	dcbx := map[string]bool{}
	texts := outputs(t, g, "dcb -j ets show dev "+netdev, "dcb -j -s pfc show dev "+netdev,
		"dcb -j buffer show dev "+netdev, "dcb -j -N app show dev "+netdev, "dcb -j dcbx show dev "+netdev)
	for i, into := range []any{&ets, &pfc, &buffer, &apps, &dcbx} {
		decode(t, texts[i], into)
	}
	d := facts.DCB{
		Netdev: netdev, DCBX: new(uint8), ETS: &facts.ETS{Willing: ets.Willing},
		PFC:    &facts.PFC{Capacity: pfc.Cap, Delay: pfc.Delay},
		Buffer: &facts.Buffer{Total: buffer.Total},
	}
	for name, set := range dcbx {
		if set {
			*d.DCBX |= dcbxModes[strings.ReplaceAll(name, "_", "-")]
		}
	}
	copy(d.ETS.PriorityTC[:], ets.TC)
	copy(d.ETS.Bandwidth[:], ets.TxBW)
	copy(d.PFC.Requests[:], pfc.Requests)
	copy(d.PFC.Indications[:], pfc.Indications)
	copy(d.Buffer.Priority[:], buffer.Prio)
	copy(d.Buffer.Bytes[:], buffer.Size)
	for i := range 8 {
		d.ETS.Algorithm[i] = map[string]uint8{"strict": 0, "cbs": 1, "ets": 2, "vendor": 255}[ets.TSA[i]]
		if pfc.Prio[i] {
			d.PFC.Enabled |= 1 << i
		}
	}
	for _, prio := range apps.Default {
		d.Apps = append(d.Apps, facts.DCBApp{Selector: 1, Priority: prio})
	}
	for selector, list := range [][][2]uint16{1: apps.EtherID, apps.Stream, apps.Dgram, apps.Any, apps.DSCP} {
		for _, app := range list {
			d.Apps = append(d.Apps, facts.DCBApp{
				Selector: uint8(selector), Protocol: app[0], Priority: uint8(app[1]),
			})
		}
	}
	sortApps(d.Apps)
	return d
}

func sortApps(apps []facts.DCBApp) {
	slices.SortFunc(apps, func(a, b facts.DCBApp) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// TestDoctorCard loads the driver of the card once for all that it can show, because that takes
// seconds. Errors of PCI Express come last: the module aer_inject hides the port's own registers.
func TestDoctorCard(t *testing.T) {
	g, c := withCard(t)
	defer removeCard(t, g)
	t.Run("settings as made", func(t *testing.T) { compareDCB(t, g, c) })
	t.Run("faults", func(t *testing.T) {
		for _, s := range cardSituations {
			s.do = dcbAgain + s.do
			t.Run(s.name, func(t *testing.T) { s.find(t, g) })
		}
	})
	t.Run("settings", func(t *testing.T) {
		output(t, g, dcbAgain+setDCB)
		compareDCB(t, g, c)
	})
	t.Run("PCI registers", func(t *testing.T) { testPCIRegisters(t, g, c) })
	t.Run("PCI errors", func(t *testing.T) { testPCIErrors(t, g, c) })
}

// dcbAgain makes a script repeat the program dcb when it fails for a reason of its own: dcb numbers
// its requests by the seconds of the clock, and rejects the answer if a second begins between two
// of them.
const dcbAgain = `dcb() {
		local said tries
		for tries in 1 2 3 4; do
			said=$(command dcb "$@" 2>&1) && return
			case $said in *"Protocol error"*) ;; *) break ;; esac
		done
		echo "dcb $*: $said" >&2
		return 1
	}
	`

// setDCB sets priorities and flow control with Debian's program dcb.
const setDCB = `dcb pfc set dev card0 prio-pfc all:off 3:on 5:on macsec-bypass on delay 4711 &&
	dcb ets set dev card0 willing on tc-tsa all:ets 7:strict 6:vendor tc-bw 0:1 1:2 2:3 3:4 4:5 5:6 6:79 7:0 \
		pg-bw all:12 prio-tc 0:1 1:0 2:2 3:3 4:6 5:5 6:7 7:4 &&
	dcb buffer set dev card0 prio-buffer 0:7 1:6 2:5 3:4 4:3 5:2 6:1 7:0 buffer-size all:4096 3:70000 &&
	dcb app add dev card0 dscp-prio 26:3 48:6 63:7 ethtype-prio 0x8915:4 \
		dgram-port-prio 4791:3 stream-port-prio 860:4 port-prio 53:1 default-prio 2 &&
	dcb dcbx set dev card0 lld-managed static cee`

// compareDCB compares what dcb, ethtool and devlink show of the card with what rdmactl records.
// What the switch announces, which dcb doesn't show, is that of the driver's source.
func compareDCB(t *testing.T, g *guest.Guest, c card) {
	t.Helper()
	f := gathered(t, g, facts.KindDCB, facts.KindEthtool, facts.KindDevlink)
	if err := f.DCB.State(); err != nil || len(f.DCB.Value) != 1 {
		t.Fatalf("state of DCB: %v, of %d network devices, want of 1", err, len(f.DCB.Value))
	}
	got := f.DCB.Value[0]
	sortApps(got.Apps)
	want := readDCB(t, g, c.netdev)
	want.PeerPFC = &facts.PFC{Capacity: want.PFC.Capacity, Enabled: 1 << 3}
	want.PeerETS = &facts.ETS{Willing: !want.ETS.Willing}
	for i := range 8 {
		want.PeerETS.PriorityTC[i] = want.ETS.PriorityTC[7-i]
		want.PeerETS.Bandwidth[i] = want.ETS.Bandwidth[7-i]
		want.PeerETS.Algorithm[i] = want.ETS.Algorithm[7-i]
	}
	want.PeerApps = []facts.DCBApp{{Selector: 3, Protocol: 4791, Priority: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("DCB differs (-dcb +rdmactl):\n%s", diff)
	}
	compareSettings(t, g, settingsOf(t, f, c.netdev))
	compareDevlink(t, g, f, "pci/"+c.function)
}

const cardChecks = "--only pfc-priority,dcbx-peer,global-pause,fec,devlink-health"

// cardSituations are settings and faults of the card, and what doctor reports of them. The third
// one has several, because each run of doctor takes seconds here.
var cardSituations = []situation{
	{
		"no priority is lossless", "true", "true", "--only pfc-priority",
		"INFO     pfc-priority: PFC is off on 1 RoCE port",
	},
	{"no fault", "dcb pfc set dev card0 prio-pfc 3:on", "true", cardChecks, "5 checks: 5 passed"},
	{
		"global pause, classes unlike the switch, FEC off, a reporter's fault",
		"ethtool -A card0 autoneg off rx on tx off; dcb ets set dev card0 prio-tc 2:3; " +
			"ethtool --set-fec card0 encoding off; echo 1 >/sys/class/net/card0/device/fault; true",
		"ethtool -A card0 autoneg off rx off tx off; dcb ets set dev card0 prio-tc 2:2; " +
			"ethtool --set-fec card0 encoding rs; " +
			"devlink health recover pci/$(basename $(readlink -f /sys/class/net/card0/device)) reporter card",
		cardChecks,
		`WARN     global-pause card0: global pause is on (rx on tx off) beside PFC on priorities 0x08
WARN     dcbx-peer card_0:1: the card puts priority 2 into the traffic class of the lossless priority 3 of card0
INFO     fec card0: FEC is off at 25 Gb/s for each lane
FAIL     devlink-health card_0: the health reporter card is in the state error, after 1 error and 0 recoveries
5 checks: 1 failed, 2 warnings, 1 info, 1 passed`,
	},
	{
		"PFC unlike the switch, a fault in the past", "dcb pfc set dev card0 prio-pfc 3:off 4:on",
		"dcb pfc set dev card0 prio-pfc 3:on 4:off", cardChecks,
		`FAIL     dcbx-peer card_0:1: PFC of card0 is on priority 4, but the switch has it on priority 3
INFO     devlink-health card_0: the health reporter card has seen 1 error since the driver was loaded
5 checks: 1 failed, 1 info, 3 passed`,
	},
}
