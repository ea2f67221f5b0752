package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs"
)

// Addresses that only this package uses: tests of other packages run at the same time.
const (
	clientDevice = "roce@127.0.42.1"
	serverDevice = "roce@127.0.42.2"
)

// flags returns the options of the tests. With the race detector, the server doesn't write while
// clients read: that is an intended data race, which the checksum detects.
func flags(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(append([]string{"-client", clientDevice, "-server", serverDevice, "-n", "300"}, args...),
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.write = o.write && !race.Enabled
	return o
}

func number(t *testing.T, pattern, text string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %q in the output", pattern)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), flags(t, "-clients", "3"), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	got := out.String()
	t.Log(got)
	for _, want := range []string{
		"server  " + serverDevice + ": 200 keys in 512 buckets of 2048 bytes",
		"client  " + clientDevice + ": 3 queue pairs\n",
		`user-0: 1933 bytes, version 2, "user-0 at version 2, lin"… (READs: 1)`,
		"nobody: not found (READs: ",
		"while the server sleeps: 900 lookups, all values correct, ",
		" READs, 0 of them torn",
		"the server's program during these lookups: 0 completions, 0 writes, CPU time ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the output doesn't contain %q", want)
		}
	}
	if race.Enabled {
		return
	}
	writes, reads := number(t, `the server writes \((\d+) writes\): 900 lookups, all`,
		got), number(t, `writes\): .*correct, (\d+) READs`, got)
	if writes == 0 || reads < 900 {
		t.Errorf("%d writes and %d READs while the server writes", writes, reads)
	}
}

// TestTornReads makes the server write without a pause, so that clients read half-written values.
func TestTornReads(t *testing.T) {
	if race.Enabled {
		t.Skip("writing while clients read is an intended data race")
	}
	o := flags(t, "-n", "500", "-keys", "8")
	s, g := pair(t, o)
	stop := s.startWriting(hotKeys)
	deadline := time.Now().Add(20 * time.Second)
	torn := 0
	for torn == 0 && time.Now().Before(deadline) {
		sum, err := g.lookups(t.Context(), o) // checks all values
		if err != nil {
			t.Fatal(err)
		}
		torn = sum.torn
	}
	writes, err := stop()
	if torn == 0 || writes == 0 || err != nil {
		t.Errorf("%d torn reads and %d writes, %v, want both above 0", torn, writes, err)
	}
}

// pair runs a server and clients.
func pair(t *testing.T, o options) (*server, *group) {
	t.Helper()
	table := newTable(o.keys)
	for i := range o.keys {
		if err := table.put(keyName(i), valueOf); err != nil {
			t.Fatal(err)
		}
	}
	return pairWith(t, o, table)
}

func pairWith(t *testing.T, o options, table *table) (*server, *group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	s, err := startServer(ctx, o.server, table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
		cancel()
	})
	g, err := openClients(ctx, o.client, s.address(), o.clients)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return s, g
}

// TestWrongValue checks that clients report a value that the server has not written.
func TestWrongValue(t *testing.T) {
	o := flags(t, "-keys", "3")
	table := newTable(3)
	for i := range 3 {
		err := table.put(keyName(i), func(key string, version uint64) []byte {
			b := valueOf(key, version)
			if i == 1 {
				b[len(b)/2] ^= 1 // the bucket's checksum is still correct
			}
			return b
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, g := pairWith(t, o, table)
	if _, err := g.lookups(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "look up user-1: the value of version 2 is wrong") {
		t.Errorf("lookups of a wrong value = %v", err)
	}
}

// TestLeftTorn looks up a bucket as a server leaves it that died while it was writing.
func TestLeftTorn(t *testing.T) {
	o := flags(t, "-keys", "3")
	table := newTable(3)
	if err := table.put("half", valueOf); err != nil {
		t.Fatal(err)
	}
	table.memory[bucketOf("half", 0, table.buckets())*bucketSize+atValue] ^= 1
	_, g := pairWith(t, o, table)
	if _, reads, err := g.clients[0].lookup(t.Context(), "half"); !errors.Is(err, errAlwaysTorn) || reads != maxReads {
		t.Errorf("lookup = %d reads, %v, want %d, %v", reads, err, maxReads, errAlwaysTorn)
	}
}

// TestReadOnly checks that a WRITE to the table is rejected.
func TestReadOnly(t *testing.T) {
	o := flags(t)
	s, g := pair(t, o)
	before := slices.Clone(s.table.memory)
	c := g.clients[0]
	_, err := c.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpWrite, Flags: verbs.SendSignaled, Segments: []verbs.Segment{c.mr.Segment(0, bucketSize)},
		RemoteAddr: c.server.Addr, RKey: c.server.RKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	var wc [1]verbs.WorkCompletion
	if n, err := c.cq.Wait(t.Context(), wc[:]); n != 1 || err != nil || wc[0].Status != verbs.WCRemoteInvalid {
		t.Errorf("Wait = %d, %v, %v, want %v", n, err, wc[0].Status, verbs.WCRemoteInvalid)
	}
	if !bytes.Equal(before, s.table.memory) {
		t.Error("the table was written")
	}
	if _, _, err := g.clients[1].lookup(t.Context(), keyName(1)); err != nil {
		t.Errorf("another client afterwards: %v", err)
	}
}

func TestErrors(t *testing.T) {
	parsed := func(args ...string) error {
		o, err := parse(args, io.Discard)
		if err != nil {
			return err
		}
		return run(t.Context(), o, io.Discard)
	}
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"extra"}, `unexpected argument "extra"`},
		{[]string{"-keys", "0"}, "-keys 0: not in 1 to 10000"},
		{[]string{"-clients", "65"}, "-clients 65: not in 1 to 64"},
		{[]string{"-n", "0"}, "-n 0 and -timeout 30s: not positive"},
		{[]string{"-client", serverDevice, "-server", serverDevice}, "UDP port 4791 of 127.0.42.2 is taken"},
		{
			[]string{"-client", clientDevice, "-server", "roce@203.0.113.7"},
			"203.0.113.7: no such address of this machine",
		},
		{
			[]string{"-client", "roce@203.0.113.7", "-server", serverDevice},
			"203.0.113.7: no such address of this machine",
		},
		{[]string{
			"-client", clientDevice, "-server", serverDevice, "-n", "10000000", "-write=false", "-timeout", "300ms",
		}, "not finished after 300ms (-timeout)"},
	}
	for _, tt := range tests {
		if err := parsed(tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("kvread %q = %v, want %q", tt.args, err, tt.want)
		}
	}
}

// TestStranger sends invalid messages over TCP: the server must keep serving other clients.
func TestStranger(t *testing.T) {
	o := flags(t)
	s, _ := pair(t, o)
	for _, tt := range []struct{ text, answer string }{
		{"", "EOF"},
		{"GET / HTTP/1.0\r\n\r\n", "invalid character"},
		{"{}\n", "the path has no destination"},
		{`{"Remote":{"QPN":20,"GID":"fd00::1"},"MTU":1024}` + "\n", "can't be reached from 127.0.42.2"},
		{strings.Repeat(" ", 10_000), ""}, // it closes with bytes unread, which may drop its reply
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.address())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, tt.text) // the server may already have closed the connection
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		b, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(string(b), tt.answer) {
			t.Errorf("after %.20q the server sends %q, %v, want %q and then closes", tt.text, b, err, tt.answer)
		}
		_ = conn.Close()
	}
	s.do(func() {
		if len(s.qps) != o.clients {
			t.Errorf("%d queue pairs, want those of %d clients", len(s.qps), o.clients)
		}
	})
}

func TestExplain(t *testing.T) {
	var b strings.Builder
	explain(&b, fs.ErrNotExist)
	if !strings.Contains(b.String(), "hint: a device is roce@ADDRESS") {
		t.Errorf("explain = %q", b.String())
	}
}

// TestFullDisk checks the error of an output that can't be written.
func TestFullDisk(t *testing.T) {
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), flags(t), w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("run = %v, want %v", err, io.ErrClosedPipe)
	}
}

// TestExample checks that the help ends with examples that parse.
func TestExample(t *testing.T) {
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) ||
		!strings.HasSuffix(help.String(), "\n"+example) {
		t.Errorf("parse(-h) = %v, prints %q, want an example at its end", err, &help)
	}
	commands := 0
	for line := range strings.Lines(example) {
		if args, ok := strings.CutPrefix(line, "  kvread "); ok {
			commands++
			if _, err := parse(strings.Fields(args), io.Discard); err != nil {
				t.Errorf("parse(%q) = %v", args, err)
			}
		}
	}
	if commands == 0 {
		t.Errorf("no command in %q", example)
	}
}
