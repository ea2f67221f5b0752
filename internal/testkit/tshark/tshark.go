// Package tshark asks Wireshark's dissector for its opinion of captured RoCE v2
// packets, and says what rdmakit's own decoder makes of the same fields. Tests
// compare the two.
//
//	packets, err := tshark.Dissect(ctx, "session.pcap")
//	…
//	want := packets[0].Fields           // tshark
//	got := tshark.Fields(&packet, icrc) // wire/ib
//
// It needs the program tshark (Debian: tshark) and reads the pcap files that tcpdump
// writes. All functions are safe for concurrent use.
package tshark

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Packet is a frame of a capture with what tshark found in it.
type Packet struct {
	Frame []byte // from the Ethernet header on
	// Fields maps a field's name in tshark, without "infiniband.", to its value as
	// a big-endian number. A header that the packet hasn't has no fields.
	Fields map[string]uint64
	// Payload is what stands between headers and ICRC, padding included.
	Payload []byte
}

// payloadField is what tshark calls bytes that no dissector has claimed.
const payloadField = "data.data"

// Dissect returns the packets of a capture file in their order. The error matches
// [exec.ErrNotFound] when there is no tshark.
func Dissect(ctx context.Context, file string) ([]Packet, error) {
	capture, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("dissect: %w", err)
	}
	frames, err := ReadCapture(capture)
	if err != nil {
		return nil, fmt.Errorf("dissect %s: %w", file, err)
	}
	// Without name resolution, and without guesses at what the payload might be.
	args := []string{"-n", "-r", file}
	for _, name := range guessers() {
		args = append(args, "--disable-protocol", name)
	}
	args = append(args, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f", "-e", payloadField)
	for _, f := range fields() {
		args = append(args, "-e", prefix+f.name)
	}
	cmd := exec.CommandContext(ctx, "tshark", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dissect %s: tshark: %w: %s", file, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return join(frames, strings.TrimSuffix(string(out), "\n"))
}

// guessers are the protocols that tshark looks for in any payload, whose bytes
// would then have other names (tshark -G heuristic-decodes).
func guessers() []string {
	return []string{
		"smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband.eoib", "infiniband_sdp", "fcoib",
	}
}

// join puts the frames and the lines of tshark's output together.
func join(frames [][]byte, text string) ([]Packet, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != len(frames) {
		return nil, fmt.Errorf("tshark: %d lines for %d frames", len(lines), len(frames))
	}
	packets := make([]Packet, len(frames))
	for i, line := range lines {
		p, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("tshark: frame %d: %w", i+1, err)
		}
		p.Frame = frames[i]
		packets[i] = p
	}
	return packets, nil
}

func parseLine(line string) (Packet, error) {
	values, table := strings.Split(line, "|"), fields()
	if len(values) != len(table)+1 {
		return Packet{}, fmt.Errorf("%d values, want %d", len(values), len(table)+1)
	}
	payload, err := hex.DecodeString(values[0])
	if err != nil {
		return Packet{}, fmt.Errorf("payload: %w", err)
	}
	p := Packet{Payload: payload, Fields: map[string]uint64{}}
	for i, f := range table {
		text := values[i+1]
		if text == "" {
			continue
		}
		base := 0
		if f.bytes {
			base = 16
		}
		n, err := strconv.ParseUint(text, base, 64)
		if err != nil {
			return Packet{}, fmt.Errorf("field %s: %w", f.name, err)
		}
		p.Fields[f.name] = n
	}
	return p, nil
}

// ErrCapture is the error for a file that is no capture of Ethernet frames in the
// pcap format of little-endian machines, or one with a frame that was cut off.
var ErrCapture = errors.New("not a capture of whole Ethernet frames")
