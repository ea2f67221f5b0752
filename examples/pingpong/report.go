package main

import (
	"fmt"
	"slices"
	"time"
)

// Masks of the bytes of a message. A response has each byte of its ping inverted, so that a client
// can't mistake its own message for the response.
const (
	ping = 0x00
	pong = 0xff
)

// pattern returns byte i of a message; it differs between consecutive rounds.
func pattern(round, i int) byte { return byte(round*13 + i*7 + i>>8) }

func fill(b []byte, round int) {
	for i := range b {
		b[i] = pattern(round, i)
	}
}

func check(b []byte, round int, mask byte) error {
	for i, got := range b {
		if want := pattern(round, i) ^ mask; got != want {
			return fmt.Errorf("byte %d of %d is 0x%02x, not 0x%02x", i, len(b), got, want)
		}
	}
	return nil
}

// report prints the first round-trip times and the distribution of all.
func report(out *printer, took []time.Duration, size int) {
	for i, d := range took[:min(3, len(took))] {
		out.printf("ping %d: round trip %s\n", i, micro(d))
	}
	slices.Sort(took)
	at := func(share float64) string { return micro(took[int(share*float64(len(took)-1))]) }
	out.printf("%d round trips of %d bytes, every byte checked\n", len(took), size)
	out.printf("round trip: min %s, median %s, p99 %s, max %s (software, not line rate)\n",
		at(0), at(0.5), at(0.99), at(1))
}

func micro(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000) }
