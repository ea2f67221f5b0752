package tshark

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// capture returns a capture file of frames.
func capture(magic, link uint32, frames ...string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = append(b, make([]byte, 16)...) // version, time zone, accuracy, maximum frame length
	b = binary.LittleEndian.AppendUint32(b, link)
	for _, f := range frames {
		b = append(b, make([]byte, 8)...) // time
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

func TestReadCapture(t *testing.T) {
	for _, magic := range []uint32{magicMicro, magicNano} {
		got, err := ReadCapture(capture(magic, linkEthernet, "one", "", "three"))
		if diff := cmp.Diff([][]byte{[]byte("one"), {}, []byte("three")}, got); diff != "" || err != nil {
			t.Errorf("ReadCapture: %v (-want +got):\n%s", err, diff)
		}
	}
	whole := capture(magicMicro, linkEthernet, "frame")
	cut := append([]byte(nil), whole...)
	cut[fileHeaderLen+12]++ // the original frame was one byte longer
	huge := append([]byte(nil), whole...)
	binary.LittleEndian.PutUint64(huge[fileHeaderLen+8:], 1<<64-1)
	for name, b := range map[string][]byte{
		"nothing":        nil,
		"half a header":  whole[:fileHeaderLen-1],
		"another magic":  capture(0x0a0d0d0a, linkEthernet),
		"another link":   capture(magicMicro, 101),
		"half a record":  whole[:fileHeaderLen+3],
		"half a frame":   whole[:len(whole)-1],
		"frame cut off":  cut,
		"frame of 4 GiB": huge,
	} {
		if frames, err := ReadCapture(b); !errors.Is(err, ErrCapture) || frames != nil {
			t.Errorf("ReadCapture(%s) = %d frames, %v, want ErrCapture", name, len(frames), err)
		}
	}
}

func FuzzReadCapture(f *testing.F) {
	f.Add(capture(magicMicro, linkEthernet, "one", "two"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, err := ReadCapture(b)
		if err != nil && !errors.Is(err, ErrCapture) {
			t.Errorf("ReadCapture(%x) = %v, want ErrCapture", b, err)
		}
		total := fileHeaderLen
		for _, frame := range frames {
			total += recordHeaderLen + len(frame)
		}
		if err == nil && total != len(b) {
			t.Errorf("ReadCapture(%x) accounts for %d bytes", b, total)
		}
	})
}

// line returns tshark's output for a packet with the given values.
func line(payload string, values map[string]string) string {
	words := []string{payload}
	for _, f := range fields() {
		words = append(words, values[f.name])
	}
	return strings.Join(words, "|")
}

// join parses text and adds frames.
func join(text string, frames ...[]byte) ([]Packet, error) {
	packets, err := parse(text)
	if err != nil {
		return nil, err
	}
	return withFrames(packets, frames)
}

func TestJoin(t *testing.T) {
	text := line(
		"0102", map[string]string{"bth.opcode": "6", "bth.destqp": "0x00002b", "immdt": "01020304", "reserved": "80"},
	) + "\n" + line("", nil)
	got, err := join(text, []byte{1}, []byte{2})
	want := []Packet{
		{Frame: []byte{1}, Payload: []byte{1, 2}, Fields: map[string]uint64{
			"bth.opcode": 6, "bth.destqp": 0x2b, "immdt": 0x01020304, "reserved": 0x80,
		}},
		{Frame: []byte{2}, Payload: []byte{}, Fields: map[string]uint64{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("join: %v (-want +got):\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"two lines":      line("", nil) + "\n" + line("", nil),
		"a value more":   line("", nil) + "|",
		"odd payload":    line("012", nil),
		"not a number":   line("", map[string]string{"bth.opcode": "RC"}),
		"nothing at all": "",
	} {
		if got, err := join(text, []byte{1}); err == nil {
			t.Errorf("join(%s) = %v, want an error", name, got)
		}
	}
}

// A packet has the fields of its headers, and no others.
func TestFields(t *testing.T) {
	p := ib.Packet{
		BTH: ib.BTH{
			Opcode: ib.OpcodeRCFetchAdd, Solicited: true, BECN: true, Reserved: 1, PKey: 0xffff, DestQP: 2,
			AckReq: true, PSN: 3,
		},
		RETH:      ib.RETH{VirtualAddress: 1, RKey: 1},
		AtomicETH: ib.AtomicETH{VirtualAddress: 4, RKey: 5, SwapAdd: 6, Compare: 7},
	}
	want := map[string]uint64{
		"bth.opcode": 0x14, "bth.se": 1, "bth.m": 0, "bth.padcnt": 0, "bth.tver": 0, "bth.p_key": 0xffff,
		"reserved":   0x41,
		"bth.destqp": 2, "bth.a": 1, "bth.reserved7": 0, "bth.psn": 3,
		"reth.va": 4, "reth.r_key": 5, "atomiceth.swapdt": 6, "atomiceth.cmpdt": 7, "invariant.crc": 0x04030201,
	}
	if diff := cmp.Diff(want, Fields(&p, 0x01020304)); diff != "" {
		t.Errorf("Fields (-want +got):\n%s", diff)
	}
}

func TestDissectErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "session.pcap")
	if _, err := Dissect(t.Context(), file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Dissect of no file = %v, want ErrNotExist", err)
	}
	if err := os.WriteFile(file, capture(magicMicro, linkEthernet, "frame"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	if _, err := Dissect(t.Context(), file); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Dissect without tshark = %v, want ErrNotFound", err)
	}
}
