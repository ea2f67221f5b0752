package guest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// fakeMonitor answers one connection as QEMU's monitor does, with an event in between, and returns
// what it received.
func fakeMonitor(t *testing.T, g *Guest, reply string) <-chan string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(g.state.Dir, monitorName))
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 1)
	go func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		_, _ = io.WriteString(conn, `{"QMP": {"version": {}, "capabilities": ["oob"]}}`+"\n")
		first, _ := in.ReadString('\n')
		_, _ = io.WriteString(conn, `{"return": {}}`+"\n"+`{"event": "NIC_RX_FILTER_CHANGED", "data": {}}`+"\n")
		second, _ := in.ReadString('\n')
		_, _ = io.WriteString(conn, reply)
		received <- first + second
	}()
	return received
}

func TestMonitor(t *testing.T) {
	want := `{"execute":"qmp_capabilities"}` + "\n" +
		`{"arguments":{"command-line":"info name"},"execute":"human-monitor-command"}` + "\n"
	tests := []struct{ name, reply, want, err string }{
		{"output", `{"return": "rdmakit\r\n"}` + "\n", "rdmakit\r\n", ""},
		{"error", `{"error": {"class": "CommandNotFound", "desc": "no such command"}}` + "\n", "", "no such command"},
		{"end", "", "", "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &Guest{state: state{Dir: t.TempDir()}}
			received := fakeMonitor(t, g, tt.reply)
			got, err := g.Monitor(t.Context(), "info name")
			if got != tt.want || (err == nil) != (tt.err == "") ||
				err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Monitor = %q, %v, want %q, error %q", got, err, tt.want, tt.err)
			}
			if sent := <-received; sent != want {
				t.Errorf("Monitor sent %q, want %q", sent, want)
			}
		})
	}
	g := &Guest{state: state{Dir: t.TempDir()}}
	if _, err := g.Monitor(t.Context(), "info name"); !errors.Is(err, ErrEnded) {
		t.Errorf("Monitor of a guest that has ended = %v, want ErrEnded", err)
	}
}

// A monitor that doesn't answer, because another client uses it, must not block.
func TestMonitorCanceled(t *testing.T) {
	g := &Guest{state: state{Dir: t.TempDir()}}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(g.state.Dir, monitorName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	go func() {
		conn, err := l.Accept()
		cancel(cause)
		if err == nil {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1)) // until Monitor closes it
		}
	}()
	if _, err := g.Monitor(ctx, "info name"); !errors.Is(err, cause) {
		t.Errorf("Monitor without an answer = %v, want %v", err, cause)
	}
}
