package connect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
)

// relay runs client and listener with a relay between them, which passes what change makes of each
// message; nil closes the connection.
func relay(
	t *testing.T, c, s Config, change func(fromClient bool, m Message) *Message,
) (ofClient, ofListener Report) {
	t.Helper()
	network := packetnet.New(packetnet.Faults{})
	p := planted{network: network}
	client, listener := []Port{plantedPort(clientName, p)}, []Port{plantedPort(listenerName, p)}
	return relayPorts(t, c, s, client, listener, false, change)
}

// relayPorts is like relay, with the ports of both ends.
func relayPorts(
	t *testing.T, c, s Config, client, listener []Port, all bool, change func(fromClient bool, m Message) *Message,
) (ofClient, ofListener Report) {
	t.Helper()
	l, port := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if ofListener, err = Serve(t.Context(), l, listener, all, s); err != nil {
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
	ofClient = dial(t, "127.0.0.1", between, client, all, c)
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
// stays good, and so does the run unless something was left to try.
func TestClientDies(t *testing.T) {
	without := func(kind string) func(bool, Message) *Message {
		return func(_ bool, m Message) *Message {
			if m.Kind == kind {
				return nil
			}
			return &m
		}
	}
	t.Run("nothing is left", func(t *testing.T) {
		c, s := relayed()
		var noted []string
		s.Progress = func(format string, args ...any) { noted = append(noted, fmt.Sprintf(format, args...)) }
		_, listener := relay(t, c, s, without(KindBye))
		checkGood(t, listener, 1)
		text := strings.Join(noted, "\n")
		if listener.Lost != nil || !strings.Contains(text, "the client did not say") {
			t.Errorf("Lost = %+v, noted %q", listener.Lost, text)
		}
	})
	lost := func(t *testing.T, listener Report) {
		t.Helper()
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
	t.Run("TCP is left", func(t *testing.T) {
		c, s := relayed()
		c.AllowTCP, s.AllowTCP = true, true
		client, listener := relay(t, c, s, without(KindTCP))
		lost(t, listener)
		r := client.TCP
		if r == nil || r.Failure == nil || r.Failure.Code != CodePeerEnded || r.Failure.Stage != StageData {
			t.Fatalf("over TCP at the client: %+v, want its failure", r)
		}
		if err := client.Err(); err == nil || err != error(r.Failure) { //nolint:errorlint // the same one
			t.Errorf("Err of the client = %v, want %v", err, r.Failure)
		}
	})
	for _, allow := range []bool{false, true} {
		t.Run(fmt.Sprintf("ports are left, TCP %t", allow), func(t *testing.T) {
			c, s, client, listener := rails(3)
			c.AllowTCP, s.AllowTCP = allow, allow
			attempts := 0
			ofClient, ofListener := relayPorts(t, c, s, client, listener, true, func(_ bool, m Message) *Message {
				if m.Kind == KindAttempt {
					attempts++
				}
				if attempts == 2 {
					return nil
				}
				return &m
			})
			lost(t, ofListener)
			want := []string{"roce@192.0.2.3 with roce@198.51.100.3 of the peer: the exchange ended"}
			if allow {
				want = append(want, "the measurement over TCP: the exchange ended")
			}
			if len(ofClient.Attempts) != 2 || !slices.Equal(ofClient.Skipped, want) {
				t.Errorf("%d attempts, skipped %q, want %q", len(ofClient.Attempts), ofClient.Skipped, want)
			}
		})
	}
}

// rails returns a run between nodes with n rails each.
func rails(n int) (c, s Config, client, listener []Port) {
	c, s = relayed()
	p := planted{network: packetnet.New(packetnet.Faults{})}
	for i := range n {
		a := plantedPort(fmt.Sprintf("roce@192.0.2.%d", i+1), p)
		b := plantedPort(fmt.Sprintf("roce@198.51.100.%d", i+1), p)
		a.Rail, b.Rail = &i, &i
		client, listener = append(client, a), append(listener, b)
		c.Node.Ports = append(c.Node.Ports, PortFacts{Name: a.Name, Rail: &i, Offered: true, Reason: "compute"})
		s.Node.Ports = append(s.Node.Ports, PortFacts{Name: b.Name, Rail: &i, Offered: true, Reason: "compute"})
	}
	return c, s, client, listener
}

// TestAllWithOne tries all rails of a client with a listener of one port: it is paired with the
// port of its own rail, and the others are named with the reason.
func TestAllWithOne(t *testing.T) {
	c, s, client, listener := rails(3)
	l, port := listen(t)
	var ofListener Report
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if ofListener, err = Serve(t.Context(), l, listener[1:], false, s); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	r := dial(t, "127.0.0.1", port, client, true, c)
	wg.Wait()
	checkGood(t, r, 1)
	checkGood(t, ofListener, 1)
	if a := r.Attempts[0]; a.Local.Port != client[1].Name || a.Remote.Port != listener[1].Name {
		t.Errorf("connected %s with %s, want the ports of rail 1", a.Local.Port, a.Remote.Port)
	}
	const only = ": the listener offers only roce@198.51.100.2"
	want := []string{
		"roce@192.0.2.1: the peer doesn't offer its port roce@198.51.100.1 of rail 0" + only,
		"roce@192.0.2.3: the peer doesn't offer its port roce@198.51.100.3 of rail 2" + only,
		"more ports of the peer: it runs without --all, and rdmactl connect --listen --all offers all of them",
	}
	if !slices.Equal(r.Skipped, want) {
		t.Errorf("skipped %q, want %q", r.Skipped, want)
	}
	if !s.Node.Ports[0].Offered {
		t.Error("Serve has changed the configuration of its caller")
	}
}

// TestOfferOne offers a port that the node doesn't name, such as an engine.
func TestOfferOne(t *testing.T) {
	facts := []PortFacts{{Name: "a", Offered: true, Reason: "compute"}, {Name: "b", Reason: "storage"}}
	got := offerOne(facts, Port{Name: "c"})
	want := []PortFacts{
		{Name: "a", Reason: "the listener offers only c"}, {Name: "b", Reason: "storage"}, {Name: "c", Offered: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("offerOne (-want +got):\n%s", diff)
	}
}

// TestLateFinding replaces the end of a good run by a finding, which must not make it a failed one.
func TestLateFinding(t *testing.T) {
	c, s := relayed()
	_, listener := relay(t, c, s, func(_ bool, m Message) *Message {
		if m.Kind == KindBye {
			m = Message{Kind: KindFinding, Failure: &Failure{Stage: StageData, Code: CodeLargeLost}}
		}
		return &m
	})
	checkGood(t, listener, 1)
}

// TestFigures lets the peer report other figures than this end has counted, or none.
func TestFigures(t *testing.T) {
	change := func(ofClient bool, to func(*Status)) func(bool, Message) *Message {
		return func(fromClient bool, m Message) *Message {
			if fromClient == ofClient && m.Kind == KindStatus && m.Status.Stage == StageData {
				to(m.Status)
			}
			return &m
		}
	}
	c, s := relayed()
	invented := func(s *Status) { s.Write.Count, s.Write.Verified, s.Write.Bytes = 9, 9, 9 }
	client, _ := relay(t, c, s, change(false, invented))
	checkGood(t, client, 1)
	if w := client.Attempts[0].Writes[1]; w.Count != 2 || w.Verified != 2 {
		t.Errorf("writes of the peer = %+v, want the 2 that have arrived", w)
	}
	missing := plantedCase{code: CodeProtocol, stage: StageData, cause: "reports success without its figures"}
	client, _ = relay(t, c, s, change(false, func(s *Status) { s.Write = nil }))
	missing.check(t, client)
	_, listener := relay(t, c, s, change(true, func(s *Status) { s.Write = nil }))
	missing.check(t, listener)
	_, listener = relay(t, c, s, change(true, func(s *Status) { s.Ping = nil }))
	missing.check(t, listener)
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

// TestSlowerEnd gives the ends different timeouts: the client, whose own requests fail soon, must
// wait for what the listener finds.
func TestSlowerEnd(t *testing.T) {
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
			c.StepTimeout = 200 * time.Millisecond
			c.Timeout, s.Timeout = 8, 15 // 1 ms and 134 ms, 8 times
		})
	want := plantedCase{code: CodeUnacknowledged, stage: StageFirstSend, end: listenerEnd, cause: "no acknowledgement"}
	want.check(t, client)
	want.check(t, listener)
}

// TestPatience waits as long as the slower end.
func TestPatience(t *testing.T) {
	const step = time.Second
	long := step + 16*ackTimeout(20)
	for _, tt := range []struct {
		own, peer uint8
		want      time.Duration
	}{
		{14, 20, long},
		{20, 14, long},
		{20, 0, long},
		{verbs.TimeoutInfinite, 20, long},
		{verbs.TimeoutInfinite, 0, step},
		{20, 20, long},
	} {
		tr := &trial{cfg: Config{Timeout: tt.own, StepTimeout: step}, peer: &Endpoint{Timeout: tt.peer}}
		if got := tr.patience(); got != tt.want {
			t.Errorf("patience with codes %d and %d = %v, want %v", tt.own, tt.peer, got, tt.want)
		}
	}
	for own, want := range map[uint8]uint8{14: 14, 31: 31, verbs.TimeoutInfinite: 0} {
		p := Port{Name: "x", Open: func(context.Context) (*verbs.Device, error) { return nil, errLost }}
		if got := prepare(t.Context(), p, Config{Timeout: own}).own.Timeout; got != want {
			t.Errorf("the peer of timeout %d learns %d, want %d", own, got, want)
		}
	}
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
		r, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.65.40")}, false, s)
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
		_, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.65.41")}, false, s)
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
		if strings.Contains(text, `version 2 at the peer ("v9")`) {
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
	p := []Port{enginePort("roce@127.0.65.42")}
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
		"port":    {Port: validEndpoint()},
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

// TestEndpointCheck rejects what an end can't compare or print.
func TestEndpointCheck(t *testing.T) {
	if err := validEndpoint().check(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", maxName+1)
	for name, change := range map[string]func(*Endpoint){
		"no active MTU":       func(e *Endpoint) { e.ActiveMTU = 0 },
		"active MTU 1500":     func(e *Endpoint) { e.ActiveMTU = 1500 },
		"MTU 1500":            func(e *Endpoint) { e.MTU = 1500 },
		"no link layer":       func(e *Endpoint) { e.LinkLayer = "" },
		"another link layer":  func(e *Endpoint) { e.LinkLayer = "ethernet" },
		"no P_Key":            func(e *Endpoint) { e.PKey = 0 },
		"P_Key 0x8000":        func(e *Endpoint) { e.PKey = 0x8000 },
		"timeout 32":          func(e *Endpoint) { e.Timeout = 32 },
		"a long host":         func(e *Endpoint) { e.Host = long },
		"a long port":         func(e *Endpoint) { e.Port = long },
		"a long kind of GID":  func(e *Endpoint) { e.GIDs[0].Kind = Kind(long) },
		"QPN of 25 bits":      func(e *Endpoint) { e.QPN = 1 << 24 },
		"GID at a high index": func(e *Endpoint) { e.GIDs[0].Index = 1 << 17 },
	} {
		e := validEndpoint()
		change(e)
		if err := e.check(); err == nil || len(err.Error()) > 200 {
			t.Errorf("check with %s = %v", name, err)
		}
	}
	e := validEndpoint()
	e.Host, e.LinkLayer, e.PKey, e.Timeout = long[:maxName], "InfiniBand", 1, 0
	if err := e.check(); err != nil {
		t.Errorf("check(%+v) = %v", e, err)
	}
	for name, m := range map[string]Message{
		"host":          {Kind: KindHello, Hello: &Hello{Node: Node{Host: long}}},
		"port":          {Kind: KindHello, Hello: &Hello{Node: Node{Ports: []PortFacts{{Name: "a"}, {Name: long}}}}},
		"wanted port":   {Kind: KindAttempt, Attempt: &Proposal{Pings: 1, Writes: 1, ListenerPort: long}},
		"endpoint host": {Kind: KindPort, Port: &Endpoint{Host: long}},
	} {
		if err := m.check(); err == nil {
			t.Errorf("a message with a long %s is valid", name)
		}
	}
}

// TestHangingCounters connects ports whose driver doesn't return its counters: they are unknown.
func TestHangingCounters(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	n := planted{network: packetnet.New(packetnet.Faults{})}
	hanging := func(name string, after int32) Port {
		p := plantedPort(name, n)
		var calls atomic.Int32
		p.Counters = func(context.Context) (map[string]uint64, error) {
			if calls.Add(1) > after {
				<-release
			}
			return map[string]uint64{"timeouts": 0}, nil
		}
		return p
	}
	for _, after := range []int32{0, 1} { // when the device is opened, or after the first message
		done := make(chan struct{})
		var client, listener Report
		go func() {
			defer close(done)
			client, listener = pairUp(t, []Port{hanging(clientName, after)}, []Port{plantedPort(listenerName, n)},
				false, func(c, s *Config) { c.Route, s.Route, c.StepTimeout = nil, nil, 400*time.Millisecond })
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("the run waits for the counters")
		}
		for _, r := range []Report{client, listener} {
			if err := r.Err(); err != nil || len(r.Attempts) != 1 ||
				!slices.Equal(r.Attempts[0].CountersUnknown, []string{clientEnd}) {
				t.Errorf("%v, report %+v, want no counters of %s", err, r.Attempts, clientEnd)
			}
		}
	}
}
