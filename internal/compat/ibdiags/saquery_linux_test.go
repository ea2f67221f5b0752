package ibdiags

import (
	"context"
	stdhex "encoding/hex"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/satest"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/internal/testkit/longmads"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// saQueriesOf returns command lines of saquery for a subnet with LIDs 1 to 17 or more, whose node
// host1 exists.
func saQueriesOf(net testNet) []string {
	return []string{
		"", "-N", "NR", "nr 1", "NodeRecord 2", "NR 999", "noderecord 0x3", "--list", "-D", "-c", "CPI", "-s",
		"-g", "-m", "-m 0xc000", "-m 49153", "-m abc", "PIR", "PIR 1", "PIR 1/1", "PIR 2/3", "PIR 2/1/0",
		"PIR 2//", "PIR 2/x", "-K PIR 1", "PR --slid 1", "-p --slid 1 --dlid 3", "-p --slid 1 -n 2",
		"-p --slid 1 --dlid 3 -r 1 -n 5", "-p --slid 1 --dlid 3 --pkey 0xffff", "-p --slid 1 --dlid 3 --pkey 1",
		"-p --slid 1 --sl 0", "-p --slid 1 --sl 3", "-p --slid 1 -M 0x84", "-p --slid 1 -M 1",
		"-p --slid 1 -R 0x83", "-p --slid 1 --pkt_lifetime 0x92", "-p --slid 1 -H 0", "-p --slid 1 -T 1",
		"-p --slid 1 -F 5", "-p --slid 1 -Q 1", "-p --slid 1 --service_id 7", "--src-to-dst 1:3",
		"--src-to-dst 1:999", "--src-to-dst 3:", "--src-to-dst abc", "--src-to-dst nosuch:1", "--src-to-dst 0:1",
		"--sgid-to-dgid fe80::10:1-fe80::20:0", "--sgid-to-dgid x-y", "--sgid-to-dgid fe80::1",
		"-p --sgid fe80::10:1 --slid 1", "-p --sgid zz", "-p --dgid fe80::20:0 --slid 1", "MCMR",
		"MCMR --mlid 0xc000", "MCMR --mlid 0xc001", "MCMR --mgid ff12:401b:ffff::ffff:ffff", "MCMR --gid ::1",
		"MCMR -q 0xb1b", "MCMR --smkey 1", "-m --smkey 1", "-m 0xc000 --smkey 1", "MCMR -M 0x84", "MCMR -R 0x83",
		"MCMR --sl 0", "MCMR --scope 2", "MCMR -J 1", "MCMR -X 0", "MCMR -H 0", "MCMR -F 0", "MCMR --pkey 0xffff",
		"MCMR -T 0", "-g --smkey 1", "SR", "-S", "-S -K", "IIR", "-I", "IIR fe80::10:1", "IIR zz", "-I -K", "SMIR",
		"SMIR 1", "SMIR 2", "SWIR", "SWIR 2", "SWIR 1", "LFTR", "LFTR 2", "LFTR 2/0", "LFTR 2/1", "LFTR 1", "MFTR",
		"MFTR 2", "MFTR 2/0/0", "MFTR 2/1", "SL2VL", "SL2VL 2", "SL2VL 2/1", "SL2VL 2/1/2", "SL2VL 1", "PKTR",
		"PKTR 1", "PKTR 2/1", "PKTR 2/1/0", "VLAR", "VLAR 1", "VLAR 2/1", "VLAR 2/1/1", "GIR", "GIR 1", "GIR 1/0",
		"GIR 1/1", "LR", "-x", "LR 2", "LR 2/1", "LR 2/1 1", "LR 1 2", "LR 2/1 1/1", "-x 2/1", "-L " + net.host,
		"-L nosuch", "-l nosuch", "-G nosuch", "-O 1", "-O 999", "-O 0", "-O", "-L", "-l", "-G", "-U",
		"-U 0x100001", "-U 0", "-N nosuch", "-O abc", "nosuch", "NR nosuch", "NR 0", "NR -1", "NR 65536", "NR 1x",
		"NR /1", "-p -N 1", "-d NR 1", "-e NR 1", "-v NR 1", "-t 500 NR 1", "--nosuch", "-s -g",
	}
}

// identicalSA is identical for saquery, whose standard error is compared too: ours adds the cause.
func identicalSA(
	t *testing.T, sim *ibsimtest.Simulator, node string, wrap func(fabric.Transport) fabric.Transport,
	args ...string,
) bool {
	t.Helper()
	got := oursThrough(t, sim, node, wrap, "saquery", args...)
	line := "saquery " + strings.Join(args, " ")
	stable := func(text string) string {
		text = regexp.MustCompile(`ActCount\.+\d+`).ReplaceAllString(text, "ActCount N")
		text = regexp.MustCompile(`ServiceLease\.+0x[0-9A-F]+`).ReplaceAllString(text, "ServiceLease N")
		text = regexp.MustCompile(`(?m)^ibwarn: .*\n\n?`).ReplaceAllString(text, "")
		return regexp.MustCompile(`\[\d+\]`).ReplaceAllString(working.ReplaceAllString(text, ""), "[PID]")
	}
	for attempt := 1; ; attempt++ {
		theirs, theirErrors, code := sim.Try(node, "saquery", args...)
		diff := cmp.Diff(stable(theirs), stable(got.Stdout))
		errorsToo := contains(stable(got.Stderr), stable(theirErrors))
		switch {
		case got.Code == code && diff == "" && errorsToo:
			return true
		case attempt < 4 && strings.Contains(theirErrors, "timed out"):
			continue // a busy machine
		}
		t.Errorf("%s: exit code %d, the C program's is %d (-C +ours):\n%.2000s", line, got.Code, code, diff)
		t.Errorf("ours on standard error: %.500s\ntheirs: %.500s", got.Stderr, theirErrors)
		return false
	}
}

// contains reports whether a text has all lines of another one, in their order.
func contains(text, lines string) bool {
	for line := range strings.Lines(lines) {
		_, after, ok := strings.Cut("\n"+text, "\n"+line)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// oursThrough is ours with a transport around that of the simulator.
func oursThrough(
	t testing.TB, sim *ibsimtest.Simulator, node string, wrap func(fabric.Transport) fabric.Transport, name string,
	args ...string,
) output {
	t.Helper()
	p, _ := Find(name)
	var stdout, stderr strings.Builder
	code := p.Run(t.Context(), Host{
		Name: name, Args: args, Stdout: &stdout, Stderr: &stderr, PID: os.Getpid(), ReadFile: os.ReadFile,
		Open: func(ctx context.Context, device string, port int) (fabric.Transport, error) {
			tr, err := fabric.Open(ctx, fabric.OpenOptions{Device: device, Port: port, Getenv: sim.Getenv(node)})
			if err == nil && wrap != nil {
				tr = wrap(tr)
			}
			return tr, err
		},
	})
	return output{stdout.String(), stderr.String(), code}
}

// register adds records to the subnet administration of a simulated subnet: services,
// subscriptions, and members of multicast groups.
func register(t *testing.T, sim *ibsimtest.Simulator, node string) {
	t.Helper()
	tr, err := fabric.Open(t.Context(), fabric.OpenOptions{Getenv: sim.Getenv(node)})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	gid, set := satest.Setter(t, tr)
	for i := range 3 {
		r := mad.ServiceRecord{
			ServiceID: 0x1000 + uint64(i), ServiceGID: gid, ServicePKey: 0xffff, ServiceLease: 1<<32 - 1,
			ServiceKey: [16]byte{1, 2, 15: 9}, ServiceData8: [16]uint8{3, 15: 4}, ServiceData16: [8]uint16{5, 7: 0x600},
			ServiceData32: [4]uint32{7, 3: 8}, ServiceData64: [2]uint64{9, 10},
		}
		copy(r.ServiceName[:], "storage"+strings.Repeat("x", i))
		set(mad.AttributeServiceRecord, 0xff_ffff_ffff, r.Append(nil))
	}
	all := mad.InformInfoRecord{Info: mad.InformInfo{
		LIDRangeBegin: 0xffff, IsGeneric: 1, Subscribe: 1, Type: 0xffff, TrapNumber: 0xffff, QPN: 1, RespTimeValue: 18,
		ProducerType: 4,
	}}
	set(3, 0, all.Append(nil)[24:]) // InformInfo
	group := mad.MCMemberRecord{
		MGID:    ib.GID{0: 0xff, 1: 0x12, 2: 0x40, 3: 0x1b, 4: 0xff, 5: 0xff, 15: 7},
		PortGID: gid, QKey: 0xb1b, PKey: 0xffff, Scope: 2, JoinState: 1, MTUSelector: 2, MTU: 4,
		RateSelector: 2, Rate: 3, PacketLifeTimeSelector: 2, PacketLifeTime: 18,
	}
	const join = mad.MCMemberRecordMaskMGID | mad.MCMemberRecordMaskPortGID | mad.MCMemberRecordMaskQKey |
		mad.MCMemberRecordMaskPKey | mad.MCMemberRecordMaskSL | mad.MCMemberRecordMaskFlowLabel |
		mad.MCMemberRecordMaskTClass | mad.MCMemberRecordMaskJoinState
	set(mad.AttributeMCMemberRecord, join, group.Append(nil))
}

// TestSaquery compares all queries with the C program, whose tables are whole: as the kernel
// delivers them, and for ours also in segments.
func TestSaquery(t *testing.T) {
	t.Parallel()
	for _, net := range nets() {
		sim := net.start(t)
		relay := longmads.New(t)
		sim.Preload(relay.Library, relay.Env)
		sim.StartSM(net.sm)
		register(t, sim, net.host)
		equal, total := 0, 0
		for i, line := range saQueriesOf(net) {
			if net.name != "dualsm" && i%4 != 0 {
				continue // the same queries in a larger subnet take longer
			}
			wrap := asKernel(relay)
			if i%8 < 4 {
				wrap = inSegments(relay)
			}
			total++
			if identicalSA(t, sim, net.host, wrap, strings.Fields(line)...) {
				equal++
			}
		}
		t.Logf("%s: %d of %d queries are equal", net.name, equal, total)
		for args, want := range map[string]string{ // otherwise empty tables would be equal
			"SR": "3 ServiceRecord", "IIR": "1 InformInfoRecord", "MCMR --smkey 1": "1 MCMember Record",
			"-g": "2 MCMemberRecord group",
		} {
			count, title, _ := strings.Cut(want, " ")
			got := oursThrough(t, sim, net.host, asKernel(relay), "saquery", strings.Fields(args)...)
			if n := strings.Count(got.Stdout, title+" dump:"); strconv.Itoa(n) != count {
				t.Errorf("%s: saquery %s prints %d records, want %s", net.name, args, n, want)
			}
		}
	}
}

// TestSaqueryPlanted compares the text of records with any bits, and of all statuses: OpenSM's
// answers are replaced for both programs.
func TestSaqueryPlanted(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	relay := longmads.New(t)
	sim.Preload(relay.Library, relay.Env)
	sim.StartSM("host0", "-p", "5")
	equal, total := 0, 0
	compare := func(p *mad.SA, data []byte, args ...string) {
		total++
		message := append(p.SAHeader.Append(nil), data...)
		relay.Plant(t, message)
		if identicalSA(t, sim, "host1", withPlanted(message), args...) {
			equal++
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, q := range saQueries() {
		if q.attribute == mad.AttributeClassPortInfo {
			continue
		}
		const records, words = 7, 22 // of the longest record, 176 bytes
		p := mad.NewSA(mad.MethodGetTableResp, q.attribute, 0, 0)
		p.AttributeOffset = words
		data := make([]byte, records*words*8)
		for i := range data {
			data[i] = byte(random.Uint32())
			if i/(words*8) < 2 && random.IntN(3) > 0 { // zeros, also at the beginning of GIDs
				data[i] = 0
			}
		}
		for i := range records {
			data[i*words*8+3] = data[i*words*8+2] // C prints the bytes of the block in PKTR in host order
		}
		compare(&p, data, q.alias)
		compare(&p, data, "-K", q.alias)
		switch q.alias {
		case "NR":
			for _, args := range []string{"--list", "-N", "-L x", "-G x", "-O 1", "-U 1"} {
				compare(&p, data, strings.Fields(args)...)
			}
		case "MCMR":
			compare(&p, data, "-g")
		case "PIR":
			compare(&p, data, "-s")
		}
		p.AttributeOffset = 0
		compare(&p, data, q.alias)
	}
	for code := range 8 {
		for flags := range 4 {
			p := mad.NewSA(mad.MethodGetTableResp, mad.AttributeNodeRecord, 0, 0)
			p.Status = mad.Status(code<<2 | flags)
			if p.Status != 0 && p.Status&mad.StatusBusy == 0 { // ours asks a busy manager again
				compare(&p, make([]byte, mad.SADataLen), "NR")
			}
		}
	}
	for high := 1; high < 256; high = high*3/2 + 1 {
		p := mad.NewSA(mad.MethodGetTableResp, mad.AttributeNodeRecord, 0, 0)
		p.Status = mad.Status(high << 8)
		compare(&p, make([]byte, mad.SADataLen), "NR")
		p.AttributeID = mad.AttributePortInfoRecord
		compare(&p, make([]byte, mad.SADataLen), "-s")
	}
	p := mad.NewSA(mad.MethodGetTableResp, mad.AttributeNodeRecord, 0, 0)
	p.Status = 0x7f60
	compare(&p, make([]byte, mad.SADataLen), "NR", "nosuch")
	t.Logf("%d of %d answers are equal", equal, total)
}

// TestSaqueryQueries compares the queries that both programs send, byte for byte except for the
// transaction ID, also those that OpenSM answers in the same way.
func TestSaqueryQueries(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	relay := longmads.New(t)
	sim.Preload(relay.Library, relay.Env)
	sim.StartSM("host0", "-p", "5")
	equal, total := 0, 0
	for _, line := range append(saQueriesOf(nets()[2]),
		"-p -r 1", "-p -r 0", "-p -H 300", "-p -F 0x123", "-p -n 200", "-p -r 255", "-p --sl 17 -Q 4095",
		"-p --pkey 0x12345", "-p --service_id 0x123456789abcdef0", "MCMR --proxy_join 255",
		"MCMR -X 1 -J 15 --scope 14 -F 257 -H 64 --sl 3", "MCMR -q 0xffffffff -T 255",
		"MCMR --mgid ff12::1 --gid fe80::1", "PIR 1/255/255", "SL2VL 1/256", "MFTR 1/15/511",
		"MFTR 1/16/65535", "PKTR 1/3/65536", "LFTR 1/65535", "VLAR 1/2/3", "LR 1/2 3/4", "GIR 1/7",
		"--smkey 1 NR 7") {
		args := strings.Fields(line)
		var got []byte
		ours := oursThrough(t, sim, "host1", keepingQuery(&got), "saquery", args...)
		if ours.Code != 0 || got == nil {
			continue // no query was sent
		}
		sim.Try("host1", "saquery", args...)
		want := relay.Query(t)
		copy(want[8:16], got[8:16])
		total++
		if diff := cmp.Diff(stdhex.Dump(want), stdhex.Dump(got)); diff != "" {
			t.Errorf("saquery %s (-C +ours):\n%s", line, diff)
			continue
		}
		equal++
	}
	t.Logf("%d of %d queries are equal", equal, total)
	if total < 120 {
		t.Errorf("only %d queries are compared", total)
	}
}

// TestSaqueryThroughIBSim compares what both programs do without RMPP: tables end after 256 bytes,
// and ours says so on standard error. LR is not compared: the C program prints other bytes than
// OpenSM sent.
func TestSaqueryThroughIBSim(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	sim.StartSM("host0", "-p", "5")
	config := t.TempDir() + "/ibdiag.conf"
	if err := os.WriteFile(config, []byte("sa_key=1\nPort=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"", "-N", "NR 1", "NR 2", "--list", "-c", "-s", "-g", "-m", "PIR", "PIR 1/1", "-p --slid 1 --dlid 3",
		"SMIR", "SR", "LFTR 2/0", "SL2VL 2/1/2", "-O 1", "-U 0x100001", "-z " + config + " MCMR",
		"-z " + config + " --smkey 0x1 MCMR", "--smkey 2 MCMR", "-C ibsim0 NR 1", "-P 1 NR 1", "-t 0 NR 1",
		"-t abc NR 1", "-h", "-V", "-j", "-t", "--help", "--si",
	} {
		identicalSA(t, sim, "host1", nil, strings.Fields(line)...)
	}
	got := ours(t, sim, "host1", "saquery", "-N")
	if strings.Count(got.Stdout, "NodeRecord dump:") != 1 || !strings.Contains(got.Stderr, "records may be missing") {
		t.Errorf("saquery -N through ibsim: %+v", got)
	}
	if got := ours(t, sim, "host1", "saquery", "NR", "1"); got.Stderr != "" {
		t.Errorf("saquery NR 1: %+v", got)
	}
}

// TestSaqueryWithoutManager compares exit code and message where no subnet manager runs; ours adds
// the cause.
func TestSaqueryWithoutManager(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	for _, args := range []string{"", "-c", "PIR 1", "-h"} {
		identicalSA(t, sim, "host1", nil, strings.Fields(args)...)
	}
	got := ours(t, sim, "host1", "saquery")
	if got.Code != 255 || !strings.Contains(got.Stderr, "\nsaquery: find subnet administration: ") {
		t.Errorf("without a manager: %+v", got)
	}
	got = ours(t, sim, "host1", "saquery", "-C", "nosuch")
	if got.Code != 255 || !strings.Contains(got.Stderr, `no device "nosuch"`) {
		t.Errorf("no such device: %+v", got)
	}
	for _, key := range []string{"--smkey x", "--pkey x", "-q -"} { // where C prompts
		if got := ours(t, sim, "host1", "saquery", strings.Fields(key)...); got.Code != 2 ||
			!strings.HasPrefix(got.Stderr, "cannot get ") {
			t.Errorf("saquery %s: %+v", key, got)
		}
	}
}
