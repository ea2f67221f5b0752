package rping_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/testkit/connectors"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// engine opens the engine of a loopback address.
func engine(t *testing.T, addr string) *verbs.Device {
	t.Helper()
	d, err := verbs.Open(t.Context(), roce.Prefix+addr, connectors.Checked{Provider: roce.Provider{}, T: t})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// serve runs a server with one session and returns its address, and the error of the session.
func serve(t *testing.T, d *verbs.Device) (netip.AddrPort, <-chan error) {
	t.Helper()
	s, err := rping.Listen(t.Context(), d, netip.AddrPort{}, rping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := limit(t)
	done := make(chan error, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		session, err := s.Accept(ctx)
		if err != nil {
			done <- err
			return
		}
		for err == nil {
			err = session.Next(ctx)
		}
		if closeErr := session.Close(); closeErr != nil {
			err = closeErr
		}
		done <- err
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-finished
	})
	return s.Addr(), done
}

func TestPing(t *testing.T) {
	a, b := engine(t, "127.0.62.10"), engine(t, "127.0.62.11")
	for _, size := range []int{rping.MinSize, rping.DefaultSize, 4096, rping.MaxSize} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			addr, done := serve(t, b)
			c, err := rping.Dial(limit(t), a, addr, rping.Options{Size: size})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 70 {
				rping.Fill(c.Source(), n)
				if err := c.Ping(limit(t)); err != nil {
					t.Fatalf("ping %d: %v", n, err)
				}
				if !bytes.Equal(c.Source(), c.Sink()) {
					t.Fatalf("ping %d: sink = %q, want %q", n, c.Sink(), c.Source())
				}
			}
			if err := c.Disconnect(limit(t)); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; !errors.Is(err, io.EOF) {
				t.Errorf("the session ended with %v, want EOF", err)
			}
		})
	}
}

// TestTexts compares pings with those that the C program sends.
func TestTexts(t *testing.T) {
	for n, want := range map[int]string{
		0:  "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr",
		1:  "rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs",
		57: "rdma-ping-57: zABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnop",
		58: "rdma-ping-58: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopq",
	} {
		b := make([]byte, rping.DefaultSize)
		rping.Fill(b, n)
		if got := string(rping.Text(b)); got != want || len(got) != len(b)-1 {
			t.Errorf("ping %d = %q, want %q", n, got, want)
		}
	}
	short := []byte("xxxx")
	if rping.Fill(short, 0); string(short) != "rdm\x00" {
		t.Errorf("ping of 4 bytes = %q", short)
	}
	rping.Fill(nil, 0)
	if got := rping.Text([]byte("whole")); string(got) != "whole" {
		t.Errorf("Text without a zero byte = %q", got)
	}
}

func TestOptions(t *testing.T) {
	a := engine(t, "127.0.62.12")
	for _, size := range []int{-1, 1, rping.MinSize - 1, rping.MaxSize + 1} {
		_, dialErr := rping.Dial(t.Context(), a, netip.MustParseAddrPort("127.0.62.13:1"), rping.Options{Size: size})
		_, listenErr := rping.Listen(t.Context(), a, netip.AddrPort{}, rping.Options{Size: size})
		if dialErr == nil || listenErr == nil || !strings.Contains(dialErr.Error(), "are not 23 to 65535") {
			t.Errorf("size %d: %v, %v", size, dialErr, listenErr)
		}
	}
}

func FuzzBuffer(f *testing.F) {
	f.Add(rping.Buffer{Addr: 1 << 40, RKey: 7, Len: 64}.Append(nil))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m rping.Buffer
		n, err := m.Decode(b)
		var size *rping.SizeError
		switch {
		case len(b) == rping.BufferLen:
			if err != nil || n != len(b) || !bytes.Equal(m.Append(nil), b) {
				t.Errorf("Decode(%x) = %+v, %d, %v", b, m, n, err)
			}
		case !errors.As(err, &size) || size.Got != len(b):
			t.Errorf("Decode(%x) = %v, want a SizeError", b, err)
		}
	})
}
