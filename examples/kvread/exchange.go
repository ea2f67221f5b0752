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

// maxHello is the maximum length of a message from a peer, which is not trusted.
const maxHello = 1024

func send(conn net.Conn, v any) error {
	if err := json.NewEncoder(conn).Encode(v); err != nil {
		return fmt.Errorf("send to %v: %w", conn.RemoteAddr(), err)
	}
	return nil
}

func receive(conn net.Conn, v any) error {
	if err := json.NewDecoder(io.LimitReader(conn, maxHello)).Decode(v); err != nil {
		return fmt.Errorf("receive from %v: %w", conn.RemoteAddr(), err)
	}
	return nil
}

// pathMTU returns an MTU that both ports support, and that is so small that a bucket needs several
// packets.
func pathMTU(a, b hello) ib.MTU { return min(a.MTU, b.MTU, ib.MTU1024) }

// cause returns the cause if ctx has ended, otherwise err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func micro(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000) }
