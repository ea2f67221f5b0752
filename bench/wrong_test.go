package bench_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
)

// TestOtherTest runs different tests at the two ends, which the exchange can't detect: both must
// end in time, and with an error unless the tests look the same on the wire.
func TestOtherTest(t *testing.T) {
	for i, a := range bench.Tests() {
		for j, b := range bench.Tests() {
			if a == b {
				continue
			}
			t.Run(fmt.Sprintf("client %v, server %v", a, b), func(t *testing.T) {
				t.Parallel()
				client, server := open(t,
					fmt.Sprintf("127.1.%d.%d", i+1, j+1)), open(t, fmt.Sprintf("127.2.%d.%d", i+1, j+1))
				one, two := net.Pipe()
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					_, err := bench.Run(t.Context(), server, two,
						bench.Config{Test: b, Iterations: 20, StepTimeout: time.Second, Role: perftest.RoleServer})
					_ = two.Close()
					done <- err
				}()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := bench.Run(ctx, client, one,
					bench.Config{Test: a, Iterations: 20, StepTimeout: time.Second, Role: perftest.RoleClient})
				_ = one.Close()
				serverErr := <-done
				t.Logf("after %v: client: %v; server: %v", time.Since(began).Round(time.Millisecond), err, serverErr)
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it took %v", took)
				}
				if err == nil && serverErr == nil {
					t.Error("neither end saw that the tests differ")
				}
			})
		}
	}
}
