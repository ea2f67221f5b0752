package connect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// relay runs client and listener with a relay between them, which passes what change makes of each
// message; nil closes the connection.
func relay(
	t *testing.T, c, s Config, change func(fromClient bool, m Message) *Message,
) (ofClient, ofListener Report) {
	t.Helper()
	network := packetnet.New(packetnet.Faults{})
	l, port := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if ofListener, err = Serve(t.Context(), l, []Port{plantedPort(listenerName, planted{network: network})}, false,
			s); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	between := standIn(t, func(client net.Conn) {
		to := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		listener, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		var both sync.WaitGroup
		pass := func(from, to net.Conn, fromClient bool) {
			defer to.Close()
			for r := bufio.NewReaderSize(from, maxLine); ; {
				m, err := readMessage(r)
				if err != nil {
					return
				}
				changed := change(fromClient, m)
				if changed == nil {
					return
				}
				line, err := encode(*changed)
				if err != nil {
					t.Error(err)
				}
				if _, err := to.Write(line); err != nil {
					return
				}
			}
		}
		both.Go(func() { pass(client, listener, true) })
		both.Go(func() { pass(listener, client, false) })
		both.Wait()
	})
	ofClient = dial(t, "127.0.0.1", between, []Port{plantedPort(clientName, planted{network: network})}, false, c)
	wg.Wait()
	return ofClient, ofListener
}

// relayed returns the configurations of a run through a relay.
func relayed() (client, listener Config) {
	client, listener = quick("node1"), quick("node2")
	client.Route, listener.Route = nil, nil
	return client, listener
}

// TestUnexplained lets an end give up because of a failure that the other one doesn't report: that
// is no success.
func TestUnexplained(t *testing.T) {
	t.Run("the peer gave up", func(t *testing.T) {
		c, s := relayed()
		client, _ := relay(t, c, s, func(fromClient bool, m Message) *Message {
			if !fromClient && m.Kind == KindStatus && m.Status.Stage == StageData {
				m.Status.Aborted = true
			}
			return &m
		})
		want := plantedCase{
			code: CodeProtocol, stage: StageData, end: listenerEnd,
			cause: listenerEnd + " gave up because of a failure of " + clientEnd,
		}
		want.check(t, client)
	})
	t.Run("this end gave up", func(t *testing.T) {
		c, s := relayed()
		c.plant.corrupt = func(b []byte) { b[0] ^= 1 }
		client, _ := relay(t, c, s, func(fromClient bool, m Message) *Message {
			if !fromClient && m.Kind == KindStatus {
				m.Failure = nil
			}
			return &m
		})
		want := plantedCase{
			code: CodeProtocol, stage: StageData, end: clientEnd,
			cause: clientEnd + " gave up because of a failure of " + listenerEnd + ", which reports none",
		}
		want.check(t, client)
	})
}

// TestClientDies ends a client after an attempt that succeeded, before it says so: the attempt
// stays good, and the run isn't.
func TestClientDies(t *testing.T) {
	c, s := relayed()
	_, listener := relay(t, c, s, func(_ bool, m Message) *Message {
		if m.Kind == KindBye {
			return nil
		}
		return &m
	})
	if len(listener.Attempts) != 1 || listener.Attempts[0].Failure != nil {
		t.Fatalf("attempts = %+v, want one that succeeded", listener.Attempts)
	}
	if f := listener.Lost; f == nil || f.Code != CodePeerEnded || f.End != "node2" || f.Object != "node1" {
		t.Errorf("Lost = %+v", f)
	}
	if err := listener.Err(); err == nil || err != error(listener.Lost) { //nolint:errorlint // the same one
		t.Errorf("Err = %v", err)
	}
}

// TestSlowEnd lets the client end a stage at once, and the listener only after its repetitions: the
// client must wait for what it found.
func TestSlowEnd(t *testing.T) {
	n := packetnet.New(packetnet.Faults{})
	unacknowledged := func(e udpio.Outbound) error {
		if e.Data[0] == 0x11 { // the opcode of RC Acknowledge
			return errLost
		}
		return nil
	}
	client, listener := pairUp(t, []Port{plantedPort(clientName, planted{network: n, filter: unacknowledged})},
		[]Port{plantedPort(listenerName, planted{network: n})}, false, func(c, s *Config) {
			c.Route, s.Route = nil, nil
			c.StepTimeout = 300 * time.Millisecond
			c.Timeout, s.Timeout = 14, 14 // 67 ms, 8 times
		})
	want := plantedCase{code: CodeUnacknowledged, stage: StageFirstSend, end: listenerEnd, cause: "no acknowledgement"}
	want.check(t, client)
	want.check(t, listener)
}

// introduce sends the first message of a client and returns the connection and the answer.
func introduce(t *testing.T, port int, h Hello) (conn net.Conn, answer []byte) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	line, err := encode(Message{Kind: KindHello, Hello: &h})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(line); err != nil {
		t.Fatal(err)
	}
	answer, err = bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	return conn, answer
}

// TestSilentClient introduces itself and proposes nothing: the listener doesn't wait forever.
func TestSilentClient(t *testing.T) {
	l, port := listen(t)
	s := quick("node2")
	s.StepTimeout = 50 * time.Millisecond
	done := make(chan Report)
	go func() {
		r, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.61.40")}, false, s)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	conn, _ := introduce(t, port, Hello{Protocol: Protocol, Version: Version, Node: Node{Host: "node1"}})
	defer conn.Close()
	select {
	case r := <-done:
		if f := r.Attempts[0].Failure; f == nil || f.Code != CodeExchangeSilent ||
			!strings.Contains(f.Cause, `no message "attempt" from the peer within 300ms`) {
			t.Errorf("failure = %+v", f)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the listener still waits")
	}
}

// TestOtherVersion introduces another version: it learns the listener's version, and nothing about
// its node.
func TestOtherVersion(t *testing.T) {
	l, port := listen(t)
	s := quick("node2")
	s.Node = Node{Software: "v8", Kernel: "6.1", Ports: []PortFacts{{Name: "mlx5_0:1"}}}
	noted := make(chan string, 4)
	s.Progress = func(format string, args ...any) { noted <- fmt.Sprintf(format, args...) }
	done := make(chan error)
	go func() {
		_, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.61.41")}, false, s)
		done <- err
	}()
	conn, line := introduce(t, port, Hello{Protocol: Protocol, Version: 2, Node: Node{Software: "v9"}})
	defer conn.Close()
	var m Message
	if err := json.Unmarshal(line, &m); err != nil || m.Hello == nil || m.Hello.Version != Version ||
		m.Hello.Node.Software != "v8" {
		t.Errorf("answer %s: %v", line, err)
	}
	for _, fact := range []string{"node2", "mlx5_0", "6.1"} {
		if bytes.Contains(line, []byte(fact)) {
			t.Errorf("answer %s has %s", line, fact)
		}
	}
	for text := range noted {
		if strings.Contains(text, "version 2 at the peer (v9)") {
			break
		}
	}
	_ = l.Close()
	if err := <-done; err == nil {
		t.Error("Serve = nil after its listener was closed")
	}
}

// TestManyPorts introduces nodes with more ports than fit into a message.
func TestManyPorts(t *testing.T) {
	const ports = 8000
	c := quick("node1")
	for i := range ports {
		name := fmt.Sprintf("mlx5_%d:1", i)
		c.Node.Ports = append(c.Node.Ports, PortFacts{
			Name: name, Offered: i%1000 == 0, Netdev: "ens" + strconv.Itoa(i),
			Model: strings.Repeat("m", 60), Reason: strings.Repeat("r", 60),
		})
	}
	if err := c.Validate(); err != nil {
		t.Errorf("Validate = %v", err)
	}
	if got := len(c.introduction().Hello.Node.Ports); got != ports/1000 {
		t.Errorf("%d ports are named, want the %d offered ones", got, ports/1000)
	}
	few := c
	few.Node.Ports = c.Node.Ports[:300]
	if got := len(few.introduction().Hello.Node.Ports); got != 300 {
		t.Errorf("%d of 300 ports are named", got)
	}
	for i := range c.Node.Ports {
		c.Node.Ports[i].Offered = true
	}
	p := []Port{enginePort("roce@127.0.61.42")}
	_, err := Dial(t.Context(), "127.0.0.1", 1, p, false, c)
	if want := "connect to 127.0.0.1: facts about the node with 8000 ports"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("Dial = %v, want %s", err, want)
	}
}

// TestInvalidConfig is rejected before anything is opened.
func TestInvalidConfig(t *testing.T) {
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Timeout: 32}, "the code 32 of the acknowledgement timeout is not 1 to 31"},
		{Config{StepTimeout: -1}, "the limit of a step is negative"},
		{Config{Pings: -1}, "-1 pings"},
		{Config{Writes: 10001}, "10001 writes"},
		{Config{MTU: 1500}, "MTU 1500"},
		{Config{Timeout: 31}, ""},
		{Config{Timeout: verbs.TimeoutInfinite}, ""},
		{Config{}, ""},
	} {
		err := tt.cfg.Validate()
		if tt.want == "" {
			if err != nil {
				t.Errorf("Validate(%+v) = %v", tt.cfg, err)
			}
			continue
		}
		p := Port{Name: "unopened"} // Open is nil
		_, ofLocal := Local(t.Context(), p, p, tt.cfg)
		_, ofDial := Dial(t.Context(), "127.0.0.1", 1, []Port{p}, false, tt.cfg)
		_, ofServe := Serve(t.Context(), nil, []Port{p}, false, tt.cfg)
		for _, err := range []error{err, ofLocal, ofDial, ofServe} {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		}
	}
}

// TestMessageFields checks each kind with each field.
func TestMessageFields(t *testing.T) {
	fields := map[string]Message{
		"hello":   {Hello: &Hello{}},
		"attempt": {Attempt: &Proposal{Pings: 1, Writes: 1}},
		"port":    {Port: &Endpoint{MTU: 1024, GIDs: []GIDChoice{{GID: ib.GID{15: 1}}}}},
		"status":  {Status: &Status{}},
		"failure": {Failure: &Failure{}},
	}
	valid := map[string][]string{ // kind: fields of which it needs one
		KindHello: {"hello"}, KindAttempt: {"attempt"}, KindPort: {"port", "failure"}, KindStatus: {"status"},
		KindFinding: {"failure"},
	}
	with := func(kind string, names ...string) error {
		m := Message{Kind: kind}
		for _, name := range names {
			f := fields[name]
			switch name {
			case "hello":
				m.Hello = f.Hello
			case "attempt":
				m.Attempt = f.Attempt
			case "port":
				m.Port = f.Port
			case "status":
				m.Status = f.Status
			case "failure":
				m.Failure = f.Failure
			}
		}
		return m.check()
	}
	for kind, needed := range valid {
		for _, base := range needed {
			if err := with(kind, base); err != nil {
				t.Errorf("%s with %s: %v", kind, base, err)
			}
			for other := range fields {
				allowed := other == base || kind == KindStatus && other == "failure"
				if err := with(kind, base, other); (err == nil) != allowed {
					t.Errorf("%s with %s and %s: %v", kind, base, other, err)
				}
			}
		}
		if err := with(kind); err == nil {
			t.Errorf("%s without a field is valid", kind)
		}
	}
	for _, kind := range []string{KindBye, KindTCP} {
		for name := range fields {
			if with(kind, name) == nil {
				t.Errorf("%s with %s is valid", kind, name)
			}
		}
		if err := with(kind); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if (&Message{Kind: KindPort, Port: &Endpoint{}}).check() == nil ||
		(&Message{Kind: KindAttempt, Attempt: &Proposal{}}).check() == nil {
		t.Error("a port or an attempt of zeros is valid")
	}
}
