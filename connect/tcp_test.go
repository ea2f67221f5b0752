package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
)

// TestTCPWrongData damages data of the measurement over TCP, of each end: both fail.
func TestTCPWrongData(t *testing.T) {
	damage := func(b []byte) { b[4096] ^= 1 }
	for name, plant := range map[string]func(c, s *Config){
		"of the client":   func(c, _ *Config) { c.plant.corruptTCP = damage },
		"of the listener": func(_, s *Config) { s.plant.corruptTCP = damage },
	} {
		t.Run(name, func(t *testing.T) {
			n := planted{network: packetnet.New(packetnet.Faults{})}
			a, b := plantedPort(clientName, n), plantedPort(listenerName, n)
			client, listener := pairUp(t, []Port{a}, []Port{b}, false,
				func(c, s *Config) {
					c.Route, s.Route, c.AllowTCP, s.AllowTCP = nil, nil, true, true
					plant(c, s)
				})
			causes := ""
			for _, r := range []Report{client, listener} {
				if r.TCP == nil || r.TCP.Failure == nil || r.TCP.Failure.Code != CodeData || r.TCP.Failure.End == "" {
					t.Fatalf("over TCP: %+v, want the wrong data", r.TCP)
				}
				err := r.Err()
				if f, ok := errors.AsType[*Failure](err); !ok || f != r.TCP.Failure || r.Attempts[0].Failure != nil {
					t.Errorf("Err = %v, want %v", err, r.TCP.Failure)
				}
				causes += r.TCP.Failure.Cause + "\n"
			}
			for _, want := range []string{"the peer found wrong data\n", "differs from byte 4096 on"} {
				if !strings.Contains(causes, want) {
					t.Errorf("causes %q, want %q at one of the ends", causes, want)
				}
			}
		})
	}
}

// TestTCPPeerDies closes the listener's connection in the middle of the measurement over TCP.
func TestTCPPeerDies(t *testing.T) {
	n := planted{network: packetnet.New(packetnet.Faults{})}
	l, port := listen(t)
	s := quick("node2").withDefaults()
	s.Route, s.AllowTCP = nil, true
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		s.plant.corruptTCP = func([]byte) { _ = conn.Close() }
		p := plantedPort(listenerName, n)
		e := &end{cfg: s, ports: []Port{p}, first: prepare(t.Context(), p, s), report: &Report{}}
		_ = e.serve(t.Context(), conn)
	}()
	c := quick("node1")
	c.Route, c.AllowTCP = nil, true
	r := dial(t, "127.0.0.1", port, []Port{plantedPort(clientName, n)}, false, c)
	<-done
	if r.TCP == nil || r.TCP.Failure == nil || r.TCP.Failure.Code != CodePeerEnded {
		t.Errorf("over TCP: %+v, want the end of the peer", r.TCP)
	}
}

// TestGone recognizes the end of the peer's connection.
func TestGone(t *testing.T) {
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, errClosed, io.ErrClosedPipe} {
		err = fmt.Errorf("receive: %w", err)
		if !gone(err) || exchangeFailure(err, "node2").Code != CodePeerEnded {
			t.Errorf("%v is not the end of the peer", err)
		}
	}
	if err := context.Canceled; gone(err) {
		t.Errorf("%v is the end of the peer", err)
	}
}

// TestTCPNoFigures has a peer that reports success without its figures.
func TestTCPNoFigures(t *testing.T) {
	write := &WriteResult{Direction: ToPeer, Bytes: WriteSize, Count: 1, Verified: 1}
	for name, status := range map[string]Status{
		"nothing": {Stage: StageData}, "no ping": {Stage: StageData, Write: write},
	} {
		a, b := net.Pipe()
		s, peer := newSession(a, false, 5*time.Second), newSession(b, true, 5*time.Second)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _, _ = peer.barrier(t.Context(), 5*time.Second, status, nil)
		}()
		e := &end{cfg: Config{StepTimeout: 5 * time.Second}, s: s}
		err := e.share(t.Context(), &TCPResult{Writes: []WriteResult{*write}})
		if !errors.Is(err, errNoFigures) || tcpFailure(err, "node1").Code != CodeProtocol {
			t.Errorf("%s: share = %v", name, err)
		}
		<-done
		_, _ = s.close(), peer.close()
	}
}
