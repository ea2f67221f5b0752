package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// maxHello bounds what a peer, who may be anybody, tells us.
const maxHello = 1024

func send(conn net.Conn, v any) error {
	if err := json.NewEncoder(conn).Encode(v); err != nil {
		return fmt.Errorf("tell %v: %w", conn.RemoteAddr(), err)
	}
	return nil
}

func receive(conn net.Conn, v any) error {
	if err := json.NewDecoder(io.LimitReader(conn, maxHello)).Decode(v); err != nil {
		return fmt.Errorf("hear from %v: %w", conn.RemoteAddr(), err)
	}
	return nil
}

// randomPSN makes the number of the first packet. Nobody should be able to guess it: packets
// with other numbers are dropped.
func randomPSN() ib.PSN {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: it would end the process
	return ib.PSN(binary.BigEndian.Uint32(b[:]) & 0xffffff)
}

// pathMTU is one that both ports take, and small enough here for a bucket to need several
// packets.
func pathMTU(a, b hello) ib.MTU { return min(a.MTU, b.MTU, ib.MTU1024) }

// cause returns why ctx ended, where that explains err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func micro(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000) }
