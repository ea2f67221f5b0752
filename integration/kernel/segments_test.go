//go:build kernel

package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// The program of this file's tests, and its path in the guest.
const (
	segmentsPackage = "github.com/rdmakit/rdmakit/integration/kernel/testdata/segments"
	segments        = "/root/segments"
)

// Faults of answers, as in testdata/segments.
const (
	segmentLost = 1 + iota
	segmentTwice
	segmentsSwapped
	abortInstead
	stopInstead
	silentAfter
	slowAfter
)

// saCase is a query of subnet administration and what must come of it.
type saCase struct {
	Records, Fault, TimeoutMs, TotalMs, Retries int

	segments int    // of the answer; 0: there must be none
	problem  string // part of the error
	atLeast  int64  // milliseconds
}

// saResult is what the program prints of a query.
type saResult struct {
	Result, Right, Segments, Length int
	Error                           string
	Ms                              int64
}

// saPacket is what the program prints of a packet from the kernel.
type saPacket struct {
	Packet          string
	Fault           int
	TID             uint64
	Status          uint8
	Segment, Window uint32
	Ms              int64
}

// serviceLen is the length of a ServiceRecord, and segmentLen that of a segment's data, in bytes
// (specification sections 15.2.5 and 15.2.1.1).
const (
	serviceLen = 176
	segmentLen = 200
)

// patientTry is a time, in milliseconds, in which a busy machine answers a query.
const patientTry = 20_000

// saCases are tables of all lengths, and answers with faults that do no harm.
func saCases() []saCase {
	return []saCase{
		{Records: 0, TimeoutMs: patientTry, segments: 1},
		{Records: 1, TimeoutMs: patientTry, segments: 1},
		{Records: 2, TimeoutMs: patientTry, segments: 2},
		{Records: 7, TimeoutMs: patientTry, segments: 7},
		{Records: 100, TimeoutMs: patientTry, segments: 88},
		{Records: 2000, TimeoutMs: patientTry, segments: 1760},
		{Records: 100, Fault: segmentTwice, TimeoutMs: patientTry, segments: 88},
		{Records: 100, Fault: segmentsSwapped, TimeoutMs: patientTry, segments: 88},
		// With the default times, 1 s for a try: the segment comes again after 2 s.
		{Records: 100, Fault: segmentLost, segments: 88, atLeast: 1500},
	}
}

// segmentsRig is QP 1 of both ends of the link between guest and host.
type segmentsRig struct {
	g           *guest.Guest
	program     string // on this machine
	host, guest string // IPv6 addresses
}

func newSegmentsRig(t *testing.T) *segmentsRig {
	t.Helper()
	r := &segmentsRig{g: withProgram(t, segmentsPackage, segments), program: buildProgram(t, segmentsPackage)}
	r.g.Steady(t)
	out, err := r.g.HostCommand(t.Context(), "ip", "-j", "-6", "addr", "show", "dev", "tap0").Output()
	var links []struct {
		Addresses []struct{ Local, Scope string } `json:"addr_info"`
	}
	if err == nil {
		err = json.Unmarshal(out, &links)
	}
	for _, l := range links {
		for _, a := range l.Addresses {
			if a.Scope == "link" {
				r.host = a.Local
			}
		}
	}
	// The program uses GID 0: see TestUMADPing.
	gid, gidErr := netip.ParseAddr(strings.TrimSpace(output(t, r.g, "cat /sys/class/infiniband/rxe0/ports/1/gids/0")))
	if err != nil || gidErr != nil || r.host == "" || !gid.IsLinkLocalUnicast() {
		t.Fatalf("addresses: %v, %v, host %q, guest %v", err, gidErr, r.host, gid)
	}
	r.guest = gid.String()
	return r
}

// ask lets the program in the guest send queries, and checks their results.
func (r *segmentsRig) ask(t *testing.T, cases ...saCase) {
	t.Helper()
	out := output(t, r.g, segments+" query rxe0 "+r.host+" <<'END'\n"+saInput(t, cases)+"END\n")
	results, _ := saLines(t, out)
	checkSA(t, cases, results)
}

// saInput returns the program's input.
func saInput(t *testing.T, cases []saCase) string {
	t.Helper()
	var b strings.Builder
	for _, c := range cases {
		if err := json.NewEncoder(&b).Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// saLines decodes the program's output.
func saLines(t *testing.T, text string) (results []saResult, packets []saPacket) {
	t.Helper()
	for line := range strings.Lines(text) {
		var err error
		if strings.HasPrefix(line, `{"Packet"`) {
			packets = append(packets, saPacket{})
			err = json.Unmarshal([]byte(line), &packets[len(packets)-1])
		} else {
			results = append(results, saResult{})
			err = json.Unmarshal([]byte(line), &results[len(results)-1])
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return results, packets
}

func checkSA(t *testing.T, cases []saCase, results []saResult) {
	t.Helper()
	if len(results) != len(cases) {
		t.Fatalf("%d results of %d queries", len(results), len(cases))
	}
	for i, c := range cases {
		got, want := results[i], saResult{Segments: c.segments}
		if c.segments > 0 {
			want.Result, want.Right, want.Length = c.Records, c.Records, c.Records*serviceLen
		}
		took, problem := got.Ms, got.Error
		got.Ms, got.Error = 0, ""
		if got != want || (problem != "") != (c.problem != "") || !strings.Contains(problem, c.problem) ||
			took < c.atLeast {
			t.Errorf("%+v: %+v, %q after %d ms, want %+v", c, got, problem, took, want)
		}
	}
}

// kernelACKs returns the acknowledgements that the kernel sends of a message (mad_rmpp.c,
// start_rmpp and continue_rmpp): of the first segment, of the last one of each window, and of the
// last one. The window is an eighth of the receive queue, which has 512 places
// (IB_MAD_QP_RECV_SIZE).
func kernelACKs(n uint32) (acks [][2]uint32) {
	const window = 512 / 8
	if n == 1 {
		return [][2]uint32{{1, 1}}
	}
	last := uint32(1)
	for ; last < n; last += window {
		acks = append(acks, [2]uint32{last, last + window})
	}
	return append(acks, [2]uint32{n, last})
}

// TestKernelRMPP carries tables of subnet administration between this project's RMPP, at the host's
// end of the link, and the kernel's in the guest, in both directions.
func TestKernelRMPP(t *testing.T) {
	t.Parallel()
	r := newSegmentsRig(t)
	t.Run("kernel receives", r.kernelReceives)
	t.Run("kernel sends", r.kernelSends)
}

// kernelReceives queries an SA on the host through the kernel's agent with RMPP.
func (r *segmentsRig) kernelReceives(t *testing.T) {
	var out, why bytes.Buffer
	server := r.g.HostCommand(t.Context(), r.program, "serve", r.host+"%tap0")
	server.Stdout, server.Stderr = &out, &why
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceFunc(func() { stopSA(t, server, &why) })
	defer wait()
	if ready, err := r.g.HostCommand(t.Context(), "bash", "-c",
		await("ss -Hlun 'sport = :4791' | grep -qF "+r.host)).CombinedOutput(); err != nil {
		t.Fatalf("no SA: %v, %s", err, ready)
	}
	good := saCases()
	r.ask(t, good...)
	r.ask(t, saCase{Records: 2000, Fault: slowAfter, segments: 1760, atLeast: 1400})
	// The kernel tells nobody about these, but the SA answers another query meanwhile.
	var group sync.WaitGroup
	for _, fault := range []int{abortInstead, stopInstead, silentAfter} {
		group.Go(func() {
			r.ask(t, saCase{
				Records: 100, Fault: fault, TimeoutMs: 4000, TotalMs: 5000, Retries: -1, atLeast: 5000,
				problem: "subnet administration answers another query, but no whole answer to this one arrived in 5",
			})
		})
	}
	group.Wait()
	wait()
	_, packets := saLines(t, out.String())
	checkACKs(t, good, packets)
}

// stopSA ends an SA on this machine.
func stopSA(t *testing.T, server *exec.Cmd, why *bytes.Buffer) {
	t.Helper()
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil || why.String() != "serving\n" {
		t.Errorf("SA: %v, %s", err, why.String())
	}
}

// checkACKs compares the packets that the kernel has sent for the first queries with its source.
func checkACKs(t *testing.T, cases []saCase, packets []saPacket) {
	t.Helper()
	acks := map[uint64][][2]uint32{}
	var queries []uint64
	for _, p := range packets {
		switch ack := [2]uint32{p.Segment, p.Window}; {
		case p.Packet == "query":
			queries = append(queries, p.TID)
		case p.Packet != "ACK" || p.Status != 0:
			t.Errorf("the kernel sends %+v", p)
		case len(acks[p.TID]) == 0 || acks[p.TID][len(acks[p.TID])-1] != ack: // not of a repeated segment
			acks[p.TID] = append(acks[p.TID], ack)
		}
	}
	if len(queries) < len(cases) {
		t.Fatalf("%d queries arrived, want at least %d", len(queries), len(cases))
	}
	for i, c := range cases {
		if diff := cmp.Diff(kernelACKs(uint32(c.segments)), acks[queries[i]]); diff != "" {
			t.Errorf("%+v: segments and NewWindowLast of acknowledgements (-source +kernel):\n%s", c, diff)
		}
	}
}

// kernelSends queries an SA in the guest, of whose answers the kernel makes segments.
func (r *segmentsRig) kernelSends(t *testing.T) {
	const why = "/tmp/segments.log"
	ended := make(chan error, 1)
	go func() {
		_, err := r.g.Output(t.Context(), segments+" kernel-serve rxe0 2>"+why)
		ended <- err
	}()
	defer func() {
		text, err := r.g.Output(t.Context(), "pkill -TERM -x segments; cat "+why)
		if err := errors.Join(err, <-ended); err != nil || text != "serving\n" {
			t.Errorf("SA in the guest: %v, %s", err, text)
		}
	}()
	output(t, r.g, await("grep -q serving "+why))
	cases := saCases()
	client := r.g.HostCommand(t.Context(), r.program, "link-query", r.host+"%tap0", r.guest+"%tap0")
	var complaint bytes.Buffer
	client.Stdin, client.Stderr = strings.NewReader(saInput(t, cases)), &complaint
	out, err := client.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaint.String())
	}
	results, packets := saLines(t, string(out))
	checkSA(t, cases, results)
	checkDATA(t, cases, packets)
}

// checkDATA compares the lengths in segments of the kernel with its source (mad_rmpp.c,
// send_next_seg): 20 bytes of header count for each segment, and the first has the length of all.
func checkDATA(t *testing.T, cases []saCase, packets []saPacket) {
	t.Helper()
	lengths := map[uint64]map[uint32]uint32{}
	var order []uint64
	for _, p := range packets {
		if p.Packet != "DATA" || p.Status != 0 {
			t.Errorf("the kernel sends %+v", p)
		}
		if lengths[p.TID] == nil {
			lengths[p.TID] = map[uint32]uint32{}
			order = append(order, p.TID)
		}
		lengths[p.TID][p.Segment] = p.Window
	}
	if len(order) != len(cases) {
		t.Fatalf("%d answers, want %d", len(order), len(cases))
	}
	for i, c := range cases {
		want := map[uint32]uint32{}
		for n := range c.segments {
			want[uint32(n+1)] = 0
		}
		const header = 20
		want[1] = uint32(c.Records*serviceLen + c.segments*header)
		want[uint32(c.segments)] = uint32(c.Records*serviceLen - (c.segments-1)*segmentLen + header)
		if diff := cmp.Diff(want, lengths[order[i]]); diff != "" {
			t.Errorf("%+v: PayloadLength of segments (-source +kernel):\n%s", fmt.Sprint(c), diff)
		}
	}
}
