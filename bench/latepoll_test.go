package bench_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
)

// lateConn returns late from each write, as on a machine whose processors are busy.
type lateConn struct {
	net.Conn
	delay time.Duration
}

func (c lateConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	time.Sleep(c.delay)
	return n, err
}

// TestLateServer has a server of send_bw that polls only after all messages have arrived. Its
// result includes the time in which they did.
func TestLateServer(t *testing.T) {
	const delay = 30 * time.Millisecond
	d, e := open(t, "127.0.77.40"), open(t, "127.0.77.41")
	one, two := connected(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := bench.Config{Test: bench.SendBW, Size: 1 << 10, Iterations: 100}
	done := make(chan error, 1)
	go func() {
		cfg := cfg
		cfg.Role = perftest.RoleClient
		_, err := bench.Run(ctx, d, one, cfg)
		_ = one.Close()
		done <- err
	}()
	r, err := bench.Run(ctx, e, lateConn{two, delay}, cfg)
	_ = two.Close()
	if clientErr := <-done; err != nil || clientErr != nil || len(r.Bandwidth) != 1 {
		t.Fatalf("server: %+v, %v; client: %v", r.Bandwidth, err, clientErr)
	}
	if rate, most := r.Bandwidth[0].MessageRate, 100/delay.Seconds()/1e6; rate > most {
		t.Errorf("the server measured %g million messages per second, and at most %g are possible", rate, most)
	}
}

// connected returns both ends of a TCP connection.
func connected(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}
