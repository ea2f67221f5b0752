package connect

import (
	"bufio"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// TestPushyClient goes on sending what a client may send once: the listener ends the run.
func TestPushyClient(t *testing.T) {
	attempt := Message{Kind: KindAttempt, Attempt: &Proposal{ListenerPort: "nosuch", Pings: 1, Writes: 1}}
	probe := Message{Kind: KindAttempt, Attempt: &Proposal{ListenerPort: "nosuch", Pings: 1, Writes: 1, Probe: true}}
	failed := Message{Kind: KindPort, Failure: &Failure{Stage: StageOpen, Code: CodeOpen}}
	finding := Message{Kind: KindFinding, Failure: &Failure{Stage: StageOpen, Code: CodeData}}
	for _, tt := range []struct {
		name    string
		send    []Message
		answers int // of kind port
	}{
		{"attempts", []Message{attempt, failed, attempt, failed, attempt, failed}, 1},
		{"probes", []Message{attempt, failed, probe, failed, probe, failed}, 1},
		{"findings", []Message{attempt, failed, finding, finding}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, port := listen(t)
			s := quick("node2")
			s.StepTimeout = 300 * time.Millisecond
			done := make(chan Report)
			go func() {
				r, err := Serve(t.Context(), l, []Port{enginePort("roce@127.0.65.43")}, false, s)
				if err != nil {
					t.Error(err)
				}
				done <- r
			}()
			conn, _ := introduce(t, port, Hello{Protocol: Protocol, Version: Version, Node: Node{Host: "node1"}})
			defer conn.Close()
			for _, m := range tt.send {
				if _, err := conn.Write([]byte(toJSON(t, m) + "\n")); err != nil {
					break // the listener has ended
				}
			}
			answers := 0
			for r := bufio.NewReader(conn); ; {
				line, err := r.ReadBytes('\n')
				if err != nil {
					break
				}
				var m Message
				if err := json.Unmarshal(line, &m); err != nil || m.Failure == nil || m.Failure.Code != CodeNoPort {
					t.Errorf("answer %s: %v, want that there is no such port", line, err)
				}
				answers++
			}
			r := <-done
			if answers > tt.answers || len(r.Attempts) != 1 {
				t.Errorf("%d answers, %d attempts, want at most %d and 1", answers, len(r.Attempts), tt.answers)
			}
			f := r.Attempts[0].Failure
			if f == nil || f.Code != CodeOpen {
				t.Errorf("failure = %+v, want that of the attempt", f)
			}
		})
	}
}

// TestTurns checks what a client may send in which order.
func TestTurns(t *testing.T) {
	lost := &Attempt{Failure: &Failure{Code: CodeLargeLost}}
	other := &Attempt{Failure: &Failure{Code: CodeRNR}}
	of := func(kind string, probe bool) *Message { return &Message{Kind: kind, Attempt: &Proposal{Probe: probe}} }
	attempt, probe := of(KindAttempt, false), of(KindAttempt, true)
	finding, tcp, bye := of(KindFinding, false), of(KindTCP, false), of(KindBye, false)
	for _, tt := range []struct {
		name   string
		result *Attempt
		list   []*Message
		ok     bool
	}{
		{"two attempts", other, []*Message{attempt, attempt, tcp, bye}, true},
		{"three attempts", other, []*Message{attempt, attempt, attempt}, false},
		{"with findings", lost, []*Message{attempt, probe, finding, attempt, probe, finding, tcp, bye}, true},
		{"a probe without findings", lost, []*Message{attempt, probe, attempt}, true},
		{"a probe of another failure", other, []*Message{attempt, probe}, false},
		{"a probe of a success", &Attempt{}, []*Message{attempt, probe}, false},
		{"a second probe", lost, []*Message{attempt, probe, probe}, false},
		{"a late probe", lost, []*Message{attempt, tcp, probe}, false},
		{"a finding without probe", lost, []*Message{attempt, finding}, false},
		{"a second finding", lost, []*Message{attempt, probe, finding, finding}, false},
		{"a finding at once", lost, []*Message{finding}, false},
		{"TCP twice", lost, []*Message{tcp, tcp}, false},
	} {
		turns, err := turns{limit: 2}, error(nil)
		for _, m := range tt.list {
			if err = turns.check(m); err != nil {
				break
			}
			if m.Kind == KindAttempt && !m.Attempt.Probe {
				turns.tried(tt.result)
			}
		}
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, errTurn) {
			t.Errorf("%s: %v, want success: %t", tt.name, err, tt.ok)
		}
	}
}

// TestFinding adds observations to the failure that both ends know, and to no other.
func TestFinding(t *testing.T) {
	cause := errors.New("cause")
	f := Failure{Stage: StageData, Code: CodeLargeLost, Cause: "here", err: cause}
	for _, other := range []Failure{{Stage: StageOpen, Code: CodeLargeLost}, {Stage: StageData, Code: CodeRNR}} {
		other.Observed = []string{"x"}
		if err := f.add(&other); !errors.Is(err, errTurn) || f.Observed != nil {
			t.Errorf("add(%+v) = %v, observed %q", other, err, f.Observed)
		}
	}
	more := Failure{
		Stage: StageData, Code: CodeLargeLost, Cause: "there", Observed: []string{"y"}, Possible: []string{"z"},
	}
	if err := f.add(&more); err != nil || len(f.Observed) != 1 || len(f.Possible) != 1 || f.Cause != "here" ||
		!errors.Is(&f, cause) {
		t.Errorf("add = %v: %+v", err, f)
	}
}
