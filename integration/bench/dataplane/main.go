// Command dataplane measures RDMA WRITE of the engine in user space between two loopback addresses,
// as whole processes, and compares it with other programs over the same loopback: iperf3 over TCP,
// ucx_perftest's ucp_put_bw over UCX's tcp, and a bare ping-pong over UDP. Runs are interleaved, so
// that other load on the machine affects all of them; a ratio is the median of the ratios of each
// round.
//
//	integration/bench/dataplane/run -n 5
//
// The result is a Markdown table on standard output, including the project's targets. With -check a
// missed target makes the exit code 1.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/bench"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "dataplane:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("dataplane", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 5, "rounds")
	seconds := flags.Int("t", 2, "seconds of each run")
	rdmactl := flags.String("rdmactl", "bin/rdmactl", "program to measure")
	pingpong := flags.String("pingpong", "bin/pingpong", "examples/pingpong, to measure")
	check := flags.Bool("check", false, "fail when a target is missed")
	role := flags.String("ping", "", "run one end of the bare ping-pong over UDP: server or client")
	busy := flags.Bool("busy", false, "with -ping: poll without sleeping")
	rounds := flags.Int("rounds", 10000, "with -ping: round trips")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 || *seconds < 1 {
		return errors.New("-n and -t: want 1 or more")
	}
	if *role != "" {
		return ping(*role, *busy, *rounds, stdout)
	}
	b := runner{rdmactl: *rdmactl, pingpongPath: *pingpong, seconds: *seconds}
	figures := map[string][]float64{}
	for round := range *n {
		fmt.Fprintf(stderr, "round %d of %d\n", round+1, *n)
		for _, p := range b.programs() {
			v, err := p.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			figures[p.name] = append(figures[p.name], v)
		}
	}
	text, missed := report(figures, *n)
	if _, err := fmt.Fprint(stdout, text); err != nil {
		return err
	}
	if *check {
		return missed
	}
	return nil
}

// Names of the measurements; bandwidth is in Gbit/s, latency in µs.
const (
	write64K4096 = "write-bw 64 KiB, MTU 4096"
	write1M4096  = "write-bw 1 MiB, MTU 4096"
	write64K1024 = "write-bw 64 KiB, MTU 1024"
	iperf64K     = "iperf3 TCP 64 KiB"
	ucx64K       = "UCX tcp put_bw 64 KiB"
	ucx1M        = "UCX tcp put_bw 1 MiB"
	latEvent     = "send-lat 64 B, event"
	latHybrid    = "write-lat 64 B, hybrid"
	latBusy      = "write-lat 64 B, busy"
	latOne       = "ping-pong 64 B in one process, event"
	udpEvent     = "bare UDP ping-pong 64 B, Go"
	udpBusy      = "bare UDP ping-pong 64 B, busy"
)

type program struct {
	name    string
	measure func() (float64, error)
}

// runner starts programs.
type runner struct {
	rdmactl, pingpongPath string
	seconds               int
}

func (b *runner) programs() []program {
	write := func(size string, mtu int) func() (float64, error) {
		return func() (float64, error) { return b.write(size, mtu) }
	}
	latency := func(test, wait string) func() (float64, error) {
		return func() (float64, error) { return b.latency(test, wait) }
	}
	return []program{
		{write64K4096, write("64K", 4096)},
		{iperf64K, b.iperf},
		{ucx64K, func() (float64, error) { return b.ucx(64 << 10) }},
		{write1M4096, write("1M", 4096)},
		{ucx1M, func() (float64, error) { return b.ucx(1 << 20) }},
		{write64K1024, write("64K", 1024)},
		{latEvent, latency("send-lat", "event")},
		{udpEvent, func() (float64, error) { return b.udp(false) }},
		{latHybrid, latency("write-lat", "hybrid")},
		{latBusy, latency("write-lat", "busy")},
		{udpBusy, func() (float64, error) { return b.udp(true) }},
		{latOne, b.pingpong},
	}
}

func (b *runner) write(size string, mtu int) (float64, error) {
	common := []string{"bench", "write-bw", "-s", size, "-m", strconv.Itoa(mtu), "-n", strconv.Itoa(b.messages(size))}
	r, err := b.pair(common)
	if err != nil {
		return 0, err
	}
	if len(r.Bandwidth) != 1 {
		return 0, errors.New("no bandwidth in the result")
	}
	return r.Bandwidth[0].AverageGbps, nil
}

// messages returns the number of messages that 10 Gbit/s carry in the time of a run.
func (b *runner) messages(size string) int {
	if size == "1M" {
		return b.seconds * 1200
	}
	return b.seconds * 19000
}

func (b *runner) latency(test, wait string) (float64, error) {
	r, err := b.pair([]string{"bench", test, "-s", "64", "-n", strconv.Itoa(b.seconds * 20000), "--wait", wait})
	if err != nil {
		return 0, err
	}
	if len(r.Latency) != 1 {
		return 0, errors.New("no latency in the result")
	}
	return r.Latency[0].P50, nil
}

// pair runs rdmactl as server and as client on two loopback addresses.
func (b *runner) pair(common []string) (bench.Result, error) {
	var r bench.Result
	out, err := b.serverAndClient(
		append([]string{b.rdmactl}, append(common, "-q", "-d", "roce@127.0.0.1")...),
		append([]string{b.rdmactl}, append(common, "-q", "-o", "json", "-d", "roce@127.0.0.2", "127.0.0.1")...), nil)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("read result: %w", err)
	}
	return r, nil
}

func (b *runner) iperf() (float64, error) {
	out, err := b.serverAndClient(
		[]string{"iperf3", "-s", "-1", "-p", "18601"},
		[]string{"iperf3", "-c", "127.0.0.1", "-p", "18601", "-l", "64K", "-t", strconv.Itoa(b.seconds), "-J"}, nil)
	if err != nil {
		return 0, err
	}
	var r struct {
		End struct {
			Received struct {
				Bits float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, fmt.Errorf("read result: %w", err)
	}
	return r.End.Received.Bits / 1e9, nil
}

// ucx returns the overall bandwidth that ucx_perftest prints, in MB (2^20 bytes) per second.
func (b *runner) ucx(size int) (float64, error) {
	iterations := strconv.Itoa(b.seconds * (800 << 20) / size)
	out, err := b.serverAndClient(
		[]string{"ucx_perftest", "-p", "18602"},
		[]string{
			"ucx_perftest", "127.0.0.1", "-p", "18602", "-t", "ucp_put_bw", "-s", strconv.Itoa(size), "-n", iterations,
			"-w", "100", "-f",
		},
		[]string{"UCX_TLS=tcp"})
	if err != nil {
		return 0, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	const overall = 5 // iterations, percentile, average and overall time, average and overall bandwidth
	if len(fields) <= overall {
		return 0, fmt.Errorf("read result: %q", lines[len(lines)-1])
	}
	v, err := strconv.ParseFloat(fields[overall], 64)
	if err != nil {
		return 0, fmt.Errorf("read result: %w", err)
	}
	return v * (1 << 20) * 8 / 1e9, nil
}

// output runs a program and returns what it printed.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// serverAndClient runs a server until its client has ended, and returns what the client printed.
func (b *runner) serverAndClient(server, client, environment []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(b.seconds*10+20)*time.Second)
	defer cancel()
	s := exec.CommandContext(ctx, server[0], server[1:]...)
	s.Env = append(os.Environ(), environment...)
	if err := s.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = s.Process.Kill() // most have ended
		_ = s.Wait()
	}()
	var stderr bytes.Buffer
	var err error
	for range 20 { // the server may not listen yet
		time.Sleep(100 * time.Millisecond)
		c := exec.CommandContext(ctx, client[0], client[1:]...)
		c.Env = append(os.Environ(), environment...)
		stderr.Reset()
		c.Stderr = &stderr
		var out []byte
		if out, err = c.Output(); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%s: %w: %s", strings.Join(client, " "), err, bytes.TrimSpace(stderr.Bytes()))
}
