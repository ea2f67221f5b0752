package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// The bare ping-pong over UDP that latencies are compared with: 64 bytes between two processes, by
// Go's poller or by a loop of system calls that don't wait.
const (
	pingLength  = 64
	pingTimeout = 10 * time.Second
)

// ping runs one end: "-ping server" or "-ping client". The client prints the median of half a round
// trip in microseconds.
func ping(role string, busy bool, rounds int, stdout io.Writer) error {
	local, remote := netip.MustParseAddrPort("127.0.0.1:18603"), netip.MustParseAddrPort("127.0.0.2:18603")
	if role == "client" {
		local, remote = remote, local
	}
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(local))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(pingTimeout + time.Duration(rounds)*200*time.Microsecond)); err != nil {
		return err
	}
	receive := func(b []byte) error { _, _, err := conn.ReadFromUDPAddrPort(b); return err }
	if busy {
		raw, err := conn.SyscallConn()
		if err != nil {
			return err
		}
		receive = func(b []byte) error { return spin(raw, b) }
	}
	buf := make([]byte, pingLength)
	if role == "server" {
		for range rounds {
			if err := receive(buf); err != nil {
				return err
			}
			if _, err := conn.WriteToUDPAddrPort(buf, remote); err != nil {
				return err
			}
		}
		return nil
	}
	times := make([]time.Duration, rounds)
	for i := range times {
		start := time.Now()
		if _, err := conn.WriteToUDPAddrPort(buf, remote); err != nil {
			return err
		}
		if err := receive(buf); err != nil {
			return err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	_, err = fmt.Fprintln(stdout, float64(times[rounds/2].Nanoseconds())/2e3)
	return err
}

// udp measures the bare ping-pong.
func (b *runner) udp(busy bool) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	common := []string{self, "-rounds", strconv.Itoa(b.seconds * 10000), "-busy=" + strconv.FormatBool(busy), "-ping"}
	out, err := b.serverAndClient(append(slices.Clone(common), "server"), append(slices.Clone(common), "client"), nil)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(out[:len(out)-1]), 64)
}

// pingpong measures half a round trip of 64 bytes by events in one process: examples/pingpong.
func (b *runner) pingpong() (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := output(ctx, b.pingpongPath, "-n", strconv.Itoa(b.seconds*10000), "-wait", "event")
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`median ([0-9.]+) µs`).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("read result: %q", out)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	return v / 2, err
}
