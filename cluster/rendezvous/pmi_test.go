package rendezvous_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/rendezvous"
)

// processManager answers one task of two as a process manager does, but the other one never comes
// to a barrier. It returns the environment of the task.
func processManager(t *testing.T) func(string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			command, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "cmd="), " ")
			_, _ = io.WriteString(conn, map[string]string{
				"initack":        "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n",
				"init":           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
				"get_maxes":      "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
				"get_my_kvsname": "cmd=my_kvsname kvsname=kvs_1\n",
				"put":            "cmd=put_result rc=0 msg=success\n",
				"finalize":       "cmd=finalize_ack\n",
			}[command])
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	env := map[string]string{"PMI_PORT": l.Addr().String(), "PMI_ID": "1"}
	return func(name string) string { return env[name] }
}

// TestPMIDeadline checks that a task doesn't wait longer for the others than its context, whatever
// it waits for, and leaves the process manager then.
func TestPMIDeadline(t *testing.T) {
	late := errors.New("the other task is late")
	for name, wait := range map[string]func(context.Context, *rendezvous.PMI) error{
		"Publish": func(ctx context.Context, p *rendezvous.PMI) error {
			return p.Publish(ctx, protocol.Invitation{Addr: "node1:7700", Secret: "secret"})
		},
		"Find": func(ctx context.Context, p *rendezvous.PMI) error {
			_, err := p.Find(ctx, nil)
			return err
		},
		"Pass": func(ctx context.Context, p *rendezvous.PMI) error { return p.Pass(ctx) },
	} {
		way, err := rendezvous.NewPMI(t.Context(), processManager(t))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
		began := time.Now()
		err = wait(ctx, way)
		cancel()
		if took := time.Since(began); !errors.Is(err, late) || took > 2*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
		if err := way.Pass(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s has not left the process manager: %v", name, err)
		}
	}
}
