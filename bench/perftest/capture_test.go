package perftest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// message is a line of a capture.
type message struct {
	from Role
	data []byte
}

// capture reads a file of testdata.
func capture(t testing.TB, test string) []message {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", test+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	var out []message
	for line := range strings.Lines(string(text)) {
		who, digits, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || who == "#" {
			continue
		}
		data, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		from := RoleServer
		if who == "C" {
			from = RoleClient
		}
		out = append(out, message{from, data})
	}
	return out
}

// plan describes how a program of perftest uses its session.
type plan struct {
	test    string
	keys    []string // in order: "keys" for each queue pair, or "sync" with the first
	finish  bool
	pairs   int
	outs    uint16
	reports bool
	version Version // of both ends; 0 is 6.06
}

// plans returns the captures: those of 6.06, and those with a negotiation.
func plans() []plan {
	list := oldPlans()
	for _, p := range oldPlans() {
		if p.test == "write_bw_q2" {
			continue
		}
		for _, p.version = range []Version{628, 629, 630} {
			if p.version == 628 && p.test != "write_bw" {
				continue
			}
			newer := p
			newer.test = fmt.Sprintf("%s_%d", p.test, p.version)
			list = append(list, newer)
		}
	}
	return list
}

func oldPlans() []plan {
	return []plan{
		{
			test: "write_bw", keys: []string{"keys", "keys", "sync", "sync"}, finish: true, pairs: 1, outs: 1,
			reports: true,
		},
		{
			test: "write_bw_q2", keys: []string{"keys", "keys", "sync", "sync"}, finish: true, pairs: 2, outs: 1,
			reports: true,
		},
		{
			test: "read_bw", keys: []string{"keys", "keys", "sync", "sync"}, finish: true, pairs: 1, outs: 128,
			reports: true,
		},
		{test: "send_bw", keys: []string{"keys", "sync", "keys", "sync"}, finish: true, pairs: 1, outs: 1},
		{test: "write_lat", keys: []string{"sync", "keys", "keys", "sync"}, pairs: 1, outs: 1},
		{test: "read_lat", keys: []string{"sync", "keys", "keys", "sync"}, finish: true, pairs: 1, outs: 128},
		{test: "send_lat", keys: []string{"keys", "sync", "keys", "sync"}, finish: true, pairs: 1, outs: 1},
	}
}

// TestReplay runs each end of each capture against the captured other end: the session must write
// the same bytes as perftest.
func TestReplay(t *testing.T) {
	for _, p := range plans() {
		for _, role := range []Role{RoleClient, RoleServer} {
			t.Run(p.test+"/"+role.String(), func(t *testing.T) { replay(t, p, role) })
		}
	}
}

func replay(t *testing.T, p plan, role Role) {
	messages := capture(t, p.test)
	ours, theirs := net.Pipe()
	defer ours.Close()
	failed := make(chan string, 1)
	go func() {
		defer close(failed)
		defer theirs.Close()
		if problem := act(theirs, messages, role, p.finish); problem != "" {
			failed <- problem
		}
	}()
	own, peers, report := fromCapture(t, messages, role, p.pairs)
	version := cmp.Or(p.version, 606)
	s := NewSession(ours, Config{Role: role, Version: version})
	ctx := t.Context()
	agreed, err := s.Hello(ctx, Hello{CycleBuffer: 4096, CacheLine: 64, MTU: ib.MTU4096})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Agreed{Hello{4096, 64, ib.MTU4096}, version}); agreed != want {
		t.Errorf("Hello = %+v, want %+v", agreed, want)
	}
	if _, err := s.Negotiate(ctx, agreed.Peer, negotiated(t, messages, role, version)); err != nil {
		t.Fatal(err)
	}
	for _, k := range p.keys {
		if k == "sync" {
			err = s.Sync(ctx, k, own[0])
		} else {
			var got []Destination
			got, err = s.ExchangeKeys(ctx, own)
			if diff := gocmp.Diff(peers, got); err == nil && diff != "" {
				t.Errorf("keys of the peer differ (-want +got):\n%s", diff)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if p.reports {
		if _, err := s.ExchangeReports(ctx, report); err != nil {
			t.Fatal(err)
		}
	}
	if p.finish {
		if err := s.Finish(ctx, own[0]); err != nil {
			t.Fatal(err)
		}
	}
	if problem := <-failed; problem != "" {
		t.Error(problem)
	}
}

// act is the other end: it writes the captured data and compares the data that it reads.
//
// Newer versions of perftest close the connection without a last message, which a session sends.
func act(conn net.Conn, messages []message, role Role, finish bool) (problem string) {
	for i, m := range messages {
		if string(m.data) == done { // both ends write it at once: an unbuffered pipe needs an order
			if m.from == role || messages[i-1].from != role && string(messages[i-1].data) == done {
				got := make([]byte, len(done))
				if _, err := conn.Read(got); err != nil || string(got) != done {
					return "last message: " + string(got)
				}
				_, _ = conn.Write([]byte(done))
				return ""
			}
			continue
		}
		if m.from != role {
			if _, err := conn.Write(m.data); err != nil {
				return err.Error()
			}
			continue
		}
		got := make([]byte, len(m.data))
		n := 0
		for n < len(got) {
			k, err := conn.Read(got[n:])
			if err != nil {
				return err.Error()
			}
			n += k
		}
		if diff := gocmp.Diff(parsed(m.data), parsed(got)); diff != "" {
			return "message differs (-captured +ours):\n" + diff
		}
	}
	if finish {
		_, _ = io.ReadFull(conn, make([]byte, len(done)))
	}
	return ""
}

// fromCapture decodes the data of both ends, which the session must write again.
func fromCapture(t *testing.T, messages []message, role Role, pairs int) (own, peers []Destination, report Report) {
	t.Helper()
	var fields []uint64
	for _, m := range messages {
		switch {
		case len(m.data) == keyGIDLen:
			var d Destination
			if _, err := KeyWithGID.Decode(m.data, &d); err != nil {
				t.Fatal(err)
			}
			if m.from == role {
				own = append(own, d)
			} else {
				peers = append(peers, d)
			}
		case len(m.data) == fieldLen && m.from == role:
			var v uint64
			for _, c := range m.data {
				v = v<<8 | uint64(c)
			}
			fields = append(fields, v)
		}
	}
	if len(fields) == reportFields {
		report.set([reportFields]uint64(fields))
	}
	if len(own) < pairs+1 || len(peers) < pairs+1 {
		t.Fatalf("%d and %d key lines for %d queue pairs", len(own), len(peers), pairs)
	}
	if len(own) > 1 && own[0] == own[1] { // a sync comes first
		return own[len(own)-pairs:][:pairs], peers[:pairs], report
	}
	return own[:pairs], peers[:pairs], report
}

// isList reports whether a message is a list of parameters.
func isList(b []byte) bool { return bytes.HasPrefix(b, []byte("test_method=")) }

// parsed returns what must be equal in a message: of a struct its parameters and its one attribute
// of the device, of a list its pairs, whose order is free.
func parsed(b []byte) any {
	switch {
	case isList(b):
		pairs := strings.Split(string(b), ";")
		slices.Sort(pairs)
		return pairs
	case len(b) == structMLX5Len:
		return append(bytes.Clone(b[:80]), b[structMaxReads:structMaxReads+4]...)
	}
	return b
}

// negotiated returns the parameters that one end of a capture has.
func negotiated(t *testing.T, messages []message, role Role, version Version) (p Parameters) {
	t.Helper()
	found := version < VersionStruct
	for _, m := range messages {
		switch {
		case m.from != role:
		case isList(m.data):
			found = true
			if err := p.DecodeList(m.data); err != nil {
				t.Fatal(err)
			}
			if again := p.AppendList(nil); gocmp.Diff(parsed(m.data), parsed(again)) != "" {
				t.Errorf("AppendList = %s, want the pairs of %s", again, m.data)
			}
		case len(m.data) == structMLX5Len:
			found = true
			p.decodeStruct(m.data, version)
			p.Set(ParamMaxReads, uint64(binary.LittleEndian.Uint32(m.data[structMaxReads:])))
		}
	}
	if !found {
		t.Fatalf("no parameters in the capture of version %v", version)
	}
	return p
}

// TestCapturedParameters checks values that the command lines of the captures give.
func TestCapturedParameters(t *testing.T) {
	for _, p := range plans() {
		if p.version < VersionStruct {
			continue
		}
		got := negotiated(t, capture(t, p.test), RoleClient, p.version)
		latency := strings.Contains(p.test, "lat")
		want := map[Parameter]uint64{
			ParamSize: 1024, ParamIterations: 100, ParamQueuePairs: 1, ParamConnectionType: ConnectionRC,
			ParamDuration: DefaultDuration, ParamReportFormat: ReportMBps, ParamTest: TestBandwidth,
			ParamVerb: VerbSend, ParamTestMethod: MethodOneSize, ParamTestType: TypeIterations, ParamMaxReads: 128,
		}
		if latency {
			want[ParamTest] = TestLatency
		}
		if strings.HasPrefix(p.test, "write") {
			want[ParamVerb] = VerbWrite
		} else if strings.HasPrefix(p.test, "read") {
			want[ParamVerb] = VerbRead
		}
		for name, v := range want {
			if n, ok := got.Get(name); !ok || n != v {
				t.Errorf("%s: %v = %d (%t), want %d", p.test, name, n, ok, v)
			}
		}
	}
}
