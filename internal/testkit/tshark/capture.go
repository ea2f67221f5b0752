package tshark

import (
	"encoding/binary"
	"fmt"
)

// The pcap format: a file header of 24 bytes, then for each frame a header of 16 bytes and
// the frame (draft-ietf-opsawg-pcap).
const (
	fileHeaderLen   = 24
	recordHeaderLen = 16
	magicMicro      = 0xa1b2c3d4 // times in microseconds
	magicNano       = 0xa1b23c4d
	linkEthernet    = 1
)

// ReadCapture returns the frames of a capture file. They are parts of b. The error
// matches [ErrCapture].
func ReadCapture(b []byte) ([][]byte, error) {
	if len(b) < fileHeaderLen {
		return nil, fmt.Errorf("%w: %d bytes", ErrCapture, len(b))
	}
	magic, link := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[20:])
	if magic != magicMicro && magic != magicNano || link != linkEthernet {
		return nil, fmt.Errorf("%w: magic number %#x, link type %d", ErrCapture, magic, link)
	}
	var frames [][]byte
	for b = b[fileHeaderLen:]; len(b) > 0; {
		if len(b) < recordHeaderLen {
			return nil, fmt.Errorf("%w: %d bytes after frame %d", ErrCapture, len(b), len(frames))
		}
		captured, original := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
		b = b[recordHeaderLen:]
		if captured != original || uint64(captured) > uint64(len(b)) {
			return nil, fmt.Errorf("%w: frame %d has %d of %d bytes",
				ErrCapture, len(frames)+1, min(uint64(captured), uint64(len(b))), original)
		}
		frames = append(frames, b[:captured:captured])
		b = b[captured:]
	}
	return frames, nil
}
