// Package tshark decodes captured RoCE v2 packets with Wireshark's dissector, and returns
// the same fields from rdmakit's decoder. Tests compare the two.
//
//	packets, err := tshark.Dissect(ctx, "session.pcap")
//	…
//	want := packets[0].Fields           // tshark
//	got := tshark.Fields(&packet, icrc) // wire/ib
//
// It requires the program tshark (Debian: tshark) and reads the pcap files that tcpdump
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

// Packet is a frame of a capture with the fields that tshark has decoded.
type Packet struct {
	Frame []byte // from the Ethernet header on
	// Fields maps a field's name in tshark, without "infiniband.", to its value as
	// a big-endian number. It has only the fields of headers that the packet has.
	Fields map[string]uint64
	// Payload is the data between headers and ICRC, including the padding.
	Payload []byte
}

// payloadField is tshark's name for bytes without a dissector.
const payloadField = "data.data"

// Dissect returns the packets of a capture file in their order. The error matches
// [exec.ErrNotFound] if tshark is not installed.
func Dissect(ctx context.Context, file string) ([]Packet, error) {
	capture, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("dissect: %w", err)
	}
	frames, err := ReadCapture(capture)
	if err != nil {
		return nil, fmt.Errorf("dissect %s: %w", file, err)
	}
	packets, err := DissectFields(ctx, file)
	if err != nil {
		return nil, err
	}
	return withFrames(packets, frames)
}

// DissectFields returns the packets of a capture file of any format and link type that tshark
// reads, without their frames. A packet that isn't RDMA has no fields. Further protocols, whose
// ports clash with those of RDMA packets, may be disabled by their names.
func DissectFields(ctx context.Context, file string, disabled ...string) ([]Packet, error) {
	// Without name resolution and heuristic dissectors for the payload.
	args := []string{"-n", "-r", file}
	for _, name := range append(guessers(), disabled...) {
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
	return parse(string(out))
}

// guessers returns the protocols with heuristic dissectors, which would decode the payload
// under other names (tshark -G heuristic-decodes).
func guessers() []string {
	return []string{
		"smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband.eoib", "infiniband_sdp", "fcoib",
	}
}

// parse reads tshark's output, a line for each packet.
func parse(text string) ([]Packet, error) {
	var packets []Packet
	for line := range strings.Lines(text) {
		p, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("tshark: frame %d: %w", len(packets)+1, err)
		}
		packets = append(packets, p)
	}
	return packets, nil
}

// withFrames sets the frames of packets.
func withFrames(packets []Packet, frames [][]byte) ([]Packet, error) {
	if len(packets) != len(frames) {
		return nil, fmt.Errorf("tshark: %d lines for %d frames", len(packets), len(frames))
	}
	for i := range packets {
		packets[i].Frame = frames[i]
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

// ErrCapture is the error for a file that is not a capture of Ethernet frames in the pcap
// format of little-endian machines, or has a truncated frame.
var ErrCapture = errors.New("not a capture of whole Ethernet frames")
