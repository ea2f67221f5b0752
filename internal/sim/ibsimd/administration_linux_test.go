package ibsimd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/internal/sim/satest"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/internal/testkit/longmads"
	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// table returns a table of the SA.
func table[T any, P interface {
	*T
	Decode(b []byte) (int, error)
}](t *testing.T, c *sa.Client, q sa.Query,
) []T {
	t.Helper()
	answer, err := c.Table(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	list, err := sa.Records[T, P](answer)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// register registers a service, a subscription and two multicast members.
func register(t *testing.T, at *ibsimtest.Simulator, node string) {
	t.Helper()
	gid, set := satest.Setter(t, open(t, at, node))
	for i := range 3 {
		r := mad.ServiceRecord{
			ServiceID: 0x1000 + uint64(i%2), ServiceGID: gid, ServicePKey: 0xffff, ServiceLease: 1<<32 - 1,
			ServiceKey: [16]byte{1, 2, 15: 9}, ServiceData8: [16]uint8{3, 15: uint8(i)},
		}
		copy(r.ServiceName[:], "storage")
		set(mad.AttributeServiceRecord, 0xff_ffff_ffff, r.Append(nil))
	}
	all := mad.InformInfoRecord{Info: mad.InformInfo{
		LIDRangeBegin: 0xffff, IsGeneric: 1, Subscribe: 1, Type: 0xffff, TrapNumber: 0xffff, QPN: 1, RespTimeValue: 18,
		ProducerType: 4,
	}}
	set(3, 0, all.Append(nil)[24:])
	const join = mad.MCMemberRecordMaskMGID | mad.MCMemberRecordMaskPortGID | mad.MCMemberRecordMaskQKey |
		mad.MCMemberRecordMaskPKey | mad.MCMemberRecordMaskSL | mad.MCMemberRecordMaskFlowLabel |
		mad.MCMemberRecordMaskTClass | mad.MCMemberRecordMaskJoinState | mad.MCMemberRecordMaskMTU |
		mad.MCMemberRecordMaskMTUSelector | mad.MCMemberRecordMaskRate | mad.MCMemberRecordMaskRateSelector
	for _, last := range []byte{7, 7, 8} {
		group := mad.MCMemberRecord{
			MGID:    ib.GID{0: 0xff, 1: 0x12, 2: 0x40, 3: 0x1b, 4: 0xff, 5: 0xff, 15: last},
			PortGID: gid, QKey: 0xb1b, PKey: 0xffff, Scope: 2, JoinState: 1, MTUSelector: 2, MTU: 4,
			RateSelector: 2, Rate: 3,
		}
		set(mad.AttributeMCMemberRecord, join, group.Append(nil))
	}
}

// records returns the records in the output of saquery, sorted: OpenSM sorts by GUID.
func records(text string) []string {
	list := regexp.MustCompile(`(?m)^(?:\w.*dump:)$`).Split(strings.TrimSpace(text), -1)
	for i := range list {
		list[i] = strings.TrimRight(list[i], "\n")
	}
	slices.Sort(list)
	return list
}

// TestOpenSMRecords has OpenSM configure a subnet of ibsim, replays a sweep of it, and compares
// what the two administrations answer to the real saquery: OpenSM's tables reach it whole, ours in
// segments. What OpenSM doesn't read in ibsim, it has as zeros: the lanes of service levels without
// quality of service, and the ports of switches without a cable. The activity of a manager grows,
// the local port is that by which the manager or the sweep has reached the node, and ours has none
// of the capabilities of the SA, by which saquery prints a field more.
func TestOpenSMRecords(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "net")
	net := generate(t, "fat-tree:leaves=2,spines=2,hosts=3,radix=8")
	if err := os.WriteFile(file, []byte(written(t, net)), 0o600); err != nil {
		t.Fatal(err)
	}
	ref, relay := ibsimtest.Start(t, file), longmads.New(t)
	ref.Preload(relay.Library, relay.Env)
	ref.PreloadAfter(relay.After)
	ref.StartStillSM("host0", "-p", "5")
	again, managers, err := ibsimd.FromTopology(
		saved(t, discover(t, ref, "host1", fabric.Options{Routes: true, Multicast: true, SubnetManagers: true})))
	if err != nil {
		t.Fatal(err)
	}
	_, ours := serve(t, again, ibsimd.Options{Managers: managers})
	own := longmads.New(t)
	ours.Preload(own.Library, own.Env)
	ours.PreloadAfter(own.After)
	register(t, ref, "host2")
	register(t, ours, "host2")
	lanes := regexp.MustCompile(`(?m)^\s+VL:.*$`)
	changing := regexp.MustCompile(`(ActCount|LocalPort:)\.+\d+`)
	top := regexp.MustCompile(`(?m)^\s+MulticastFDBTop.*\n?`)
	const down = "LinkWidthSupported:..............undefined"
	for query, want := range map[string]int{
		"NR": 10, "NR 3": 1, "NR 99": 0, "PIR": 42, "PIR 3": 9, "PIR 3/1": 1, "SWIR": 4, "SMIR": 1, "LR": 20,
		"LR 3": 2, "LFTR": 4, "SL2VL": 330, "GIR": 28, "GIR 1": 4, "PR": 100, "PR --slid 1": 10,
		"PR --slid 1 --dlid 1": 1, "PR --slid 1 --dlid 3": 1, "PR --dlid 3": 10, "PR --slid 99": 0,
		"-p --slid 1 --dlid 4": 1, "-p -n 2 --slid 6": 10, "MCMR --smkey 1": 2, "-g": 3, "SR": 2,
		"SR --smkey 1": 2, "IIR": 1, "-s": 1, "--smkey 1 SMIR": 1, "-O 3": 0, "-L host1": 0,
		"NR --smkey 7 -t 200": 0,
	} {
		args := strings.Fields(query)
		wantOut, wantErr, wantCode := ref.Try("host1", "saquery", args...)
		gotOut, gotErr, gotCode := ours.Try("host1", "saquery", args...)
		a, b := records(top.ReplaceAllString(wantOut, "")), records(top.ReplaceAllString(gotOut, ""))
		if len(a) != len(b) || want > 0 && len(a)-1 != want {
			t.Errorf("saquery %s: %d records of OpenSM, %d of ours, want %d", query, len(a)-1, len(b)-1, want)
			continue
		}
		for i := range a {
			if strings.Contains(a[i], down) {
				a[i], b[i] = "", ""
			}
			for _, x := range []*string{&a[i], &b[i]} {
				*x = changing.ReplaceAllString(lanes.ReplaceAllString(*x, ""), "")
			}
		}
		slices.Sort(a)
		slices.Sort(b)
		if diff := cmp.Diff(a, b); diff != "" || wantCode != gotCode {
			t.Errorf("saquery %s: exit codes %d and %d, records (-OpenSM +ours):\n%s", query, wantCode, gotCode, diff)
		}
		if a, b := stable(wantErr), stable(gotErr); a != b && !strings.Contains(a, "bad width 0") {
			t.Errorf("saquery %s: standard error %q, of OpenSM %q", query, b, a)
		}
	}
}

// TestSaqueryPlain: the real saquery gets single records of a simulated manager without RMPP.
func TestSaqueryPlain(t *testing.T) {
	t.Parallel()
	n := generate(t, "fat-tree:leaves=2,spines=1,hosts=3")
	_, at := serve(t, n, ibsimd.Options{Managers: master("host5")})
	lid := strconv.Itoa(int(n.Find("host2").LIDs[1]))
	for query, want := range map[string]string{
		"NR " + lid: "host2 mlx5_0", "-p --slid 1 --dlid " + lid: "num_path_revers.........0x80",
		"CPI": "Response time value......0x10", "SMIR": "SMState...............3",
	} {
		out, errOut, code := at.Try("host0", "saquery", strings.Fields(query)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("saquery %s: exit code %d, %s%s, want %s", query, code, out, errOut, want)
		}
	}
	if out := at.Tool("host0", "ibqueryerrors"); !strings.Contains(out, "Summary") {
		t.Errorf("ibqueryerrors: %s", out)
	}
}

// tap records the datagrams of a transport.
type tap struct {
	fabric.Transport
	all    [][]byte
	change func(batch []fabric.Datagram) []fabric.Datagram // of what is sent
}

func (p *tap) Send(batch []fabric.Datagram) (int, error) {
	if p.change != nil {
		if rest := p.change(batch); len(rest) < len(batch) {
			return len(batch), nil
		}
	}
	n, err := p.Transport.Send(batch)
	for i := range n {
		p.all = append(p.all, slices.Clone(batch[i].MAD[:]))
	}
	return n, err
}

func (p *tap) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	n, err := p.Transport.Receive(ctx, batch, deadline)
	for i := range n {
		p.all = append(p.all, slices.Clone(batch[i].MAD[:]))
	}
	return n, err
}

// TestServedTable: a table in many segments crosses the sockets of ibsim, and tshark reads all of
// its packets.
func TestServedTable(t *testing.T) {
	t.Parallel()
	n := generate(t, "fat-tree:leaves=6,spines=3,hosts=20")
	_, at := serve(t, n, ibsimd.Options{Managers: master("host100")})
	p := &tap{Transport: open(t, at, "host3")}
	c := &sa.Client{Transport: p}
	list := table[mad.NodeRecord](t, c, sa.Query{Attribute: mad.AttributeNodeRecord})
	if len(list) != 129 {
		t.Fatalf("%d records, want 129", len(list))
	}
	for i, one := range n.Nodes {
		if list[i].Info.NodeGUID != one.GUID || list[i].Description.String() != one.Description {
			t.Errorf("record %d: %s %s, want %s", i, list[i].Info.NodeGUID, list[i].Description, one.Description)
		}
	}
	file := filepath.Join(t.TempDir(), "sa.pcap")
	if err := tshark.WriteMADs(file, p.all); err != nil {
		t.Fatal(err)
	}
	const f = "infiniband."
	frames, err := tshark.Values(t.Context(), file, f+"mad.mgmtclass", f+"mad.method", f+"mad.attributeid",
		f+"rmpp.rmpptype", f+"rmpp.segmentnumber", f+"sa.attributeoffset", f+"nodeinfo.nodeguid",
		"_ws.malformed")
	if err != nil {
		t.Fatal(err)
	}
	segments, acks := 0, 0
	guids := map[string]bool{}
	for i, frame := range frames {
		switch {
		case frame["_ws.malformed"] != "":
			t.Errorf("packet %d: %v", i, frame)
		case frame[f+"mad.mgmtclass"] != "0x03":
		case frame[f+"rmpp.rmpptype"] == "0x02":
			acks++
		case frame[f+"mad.method"] == "0x92":
			segments++
			guids[frame[f+"nodeinfo.nodeguid"]] = true
			number, _ := strconv.ParseUint(frame[f+"rmpp.segmentnumber"], 0, 32)
			if int(number) != segments || frame[f+"sa.attributeoffset"] != "0x000e" ||
				frame[f+"mad.attributeid"] != "0x0011" {
				t.Errorf("segment %d: %v", segments, frame)
			}
		}
	}
	if first := n.Nodes[0].GUID; !guids[fmt.Sprintf("0x%x", first[:])] {
		t.Errorf("tshark reads no record of %s in a first segment: %v", first, guids)
	}
	if segments != (129*112+199)/200 || acks != 11 && acks != 10 {
		t.Errorf("tshark reads %d segments and %d acknowledgements, want 73 and 10", segments, acks)
	}
}

// TestServedLoss: a client that loses acknowledgements gets the segments again; one that sends none
// gets the end of the transfer, and other queries are answered meanwhile.
func TestServedLoss(t *testing.T) {
	t.Parallel()
	n := generate(t, "fat-tree:leaves=3,spines=1,hosts=20")
	lies := 0
	n.Find("host50").Lie = func(*fabric.Datagram) int { lies++; return min(1, lies%7) }
	_, at := serve(t, n, ibsimd.Options{
		Managers: master("host50"), Segments: rmpp.SenderOptions{Timeout: 100 * time.Millisecond, Retries: 20},
	})
	sent := 0
	p := &tap{Transport: open(t, at, "host3"), change: func(batch []fabric.Datagram) []fabric.Datagram {
		if mad.Class(batch[0].MAD[1]) == mad.ClassSA && batch[0].MAD[25] == byte(mad.RMPPAck) {
			if sent++; sent%3 == 1 {
				return nil
			}
		}
		return batch
	}}
	c := &sa.Client{Transport: p}
	if list := table[mad.NodeRecord](t, c, sa.Query{Attribute: mad.AttributeNodeRecord}); len(list) != 64 || sent < 5 {
		t.Errorf("%d records after %d acknowledgements", len(list), sent)
	}

	// A simulator of its own net: the first one still serves the other.
	_, at = serve(t, generate(t, "fat-tree:leaves=3,spines=1,hosts=20"), ibsimd.Options{
		Managers: master("host50"), Segments: rmpp.SenderOptions{Timeout: 50 * time.Millisecond, Retries: 2},
	})
	mute := open(t, at, "host1")
	own, err := (&fabric.Client{Transport: mute}).OwnPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := mad.NewSA(mad.MethodGetTable, mad.AttributeNodeRecord, 0, 0x77)
	d := fabric.Datagram{Address: fabric.Address{LID: own.MasterSMLID, QPN: 1, QKey: fabric.QKeyGSI}}
	q.Append(d.MAD[:0])
	if n, err := mute.Send([]fabric.Datagram{d}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	var types []string
	in := make([]fabric.Datagram, 8)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		n, err := mute.Receive(t.Context(), in, time.Now().Add(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			var r mad.SA
			r.Decode(in[i].MAD[:]) //nolint:errcheck // long enough
			types = append(types, r.RMPP.Type.String())
		}
	}
	if got := strings.Join(types, " "); got != strings.Repeat("DATA ", 3)+"ABORT" {
		t.Errorf("a client without acknowledgements gets %s, want three times the segment and an ABORT", got)
	}
	c = &sa.Client{Transport: mute}
	if list := table[mad.NodeRecord](t, c, sa.Query{Attribute: mad.AttributeNodeRecord}); len(list) != 64 {
		t.Errorf("%d records afterwards", len(list))
	}
}

// TestNoAdministration: a standby manager has no administration, nor has a simulated master at
// whose node a program is the subnet manager, nor another node.
func TestNoAdministration(t *testing.T) {
	t.Parallel()
	n := generate(t, "fat-tree:leaves=2,spines=1,hosts=3")
	managers := append(master("host5"), ibsimd.Manager{Node: "host4", State: mad.SMStateStandby})
	_, at := serve(t, n, ibsimd.Options{Managers: managers})
	tr := open(t, at, "host0")
	ask := func(node string) error {
		c := sa.Client{Transport: tr, LID: n.Find(node).LIDs[1], Timeout: 100 * time.Millisecond, Retries: -1}
		_, err := c.ClassPortInfo(t.Context())
		return err
	}
	if err := ask("host5"); err != nil {
		t.Errorf("master: %v", err)
	}
	for _, node := range []string{"host4", "host3"} {
		if err := ask(node); !errors.Is(err, fabric.ErrNoAnswer) {
			t.Errorf("%s: %v, want no answer", node, err)
		}
	}
	env := at.Getenv("host5")
	program, err := fabric.Open(t.Context(), fabric.OpenOptions{Getenv: func(name string) string {
		if name == "SIM_SET_ISSM" {
			return "1"
		}
		return env(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if err := ask("host5"); !errors.Is(err, fabric.ErrNoAnswer) {
		t.Errorf("master with a program that is the subnet manager: %v, want no answer", err)
	}
}

// TestServedDead: a dead node has no records, nor has its cable; and the tables of a leaf divide
// the destinations among the spines.
func TestServedDead(t *testing.T) {
	t.Parallel()
	n := generate(t, "fat-tree:leaves=2,spines=2,hosts=4")
	n.Find("host6").Dead = true
	_, at := serve(t, n, ibsimd.Options{Managers: master("host0")})
	c := &sa.Client{Transport: open(t, at, "host1")}
	nodes := table[mad.NodeRecord](t, c, sa.Query{Attribute: mad.AttributeNodeRecord})
	links := table[mad.LinkRecord](t, c, sa.Query{Attribute: mad.AttributeLinkRecord})
	if len(nodes) != 11 || len(links) != 2*11 {
		t.Errorf("%d nodes and %d links, want 11 and 22: all but host6", len(nodes), len(links))
	}
	leaf := n.Find("leaf0").LIDs[0]
	blocks := table[mad.LinearForwardingTableRecord](t, c, sa.Query{
		Attribute: mad.AttributeLinearForwardingTableRecord, Mask: 1, Record: []byte{byte(leaf >> 8), byte(leaf)},
	})
	up := map[uint8]int{}
	for i := 4; i < 8; i++ {
		up[blocks[0].Ports[n.Find(fmt.Sprintf("host%d", i)).LIDs[1]]]++
	}
	if len(blocks) != 1 || len(up) != 2 {
		t.Errorf("%d blocks; hosts behind the other leaf by port: %v, want both spines", len(blocks), up)
	}
}
