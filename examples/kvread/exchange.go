package main

import (
	"context"
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
