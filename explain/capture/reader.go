package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// ErrFormat is the error for input that is not a capture file that [Read] supports.
var ErrFormat = errors.New("not a capture file (pcap or pcapng)")

// bufferLen is how much of a file is read at a time.
const bufferLen = 1 << 20

// source is an open capture file.
type source struct {
	format string
	next   func() ([]byte, gopacket.CaptureInfo, error)
	link   layers.LinkType // of all packets, if the format has only one
	mixed  bool            // the link type is in the ancillary data of each packet
	snap   uint32          // snap length, if the format has only one
	// dropped is how many packets the capturing system reports as lost, by interface.
	dropped map[int]uint64
}

// foreign are formats of captures that are recognized, but not read.
func foreign(magic []byte) string {
	switch {
	case magic[0] == 0x1f && magic[1] == 0x8b:
		return "gzip-compressed"
	case string(magic) == "\x28\xb5\x2f\xfd":
		return "zstd-compressed"
	case string(magic) == "snoo":
		return "a snoop file"
	case string(magic) == "GMBU":
		return "a Network Monitor file"
	case string(magic) == "\x34\xcd\xb2\xa1":
		return "a pcap file with the modified header of 1998"
	}
	return ""
}

// open reads the file header.
func open(r io.Reader) (*source, error) {
	br := bufio.NewReaderSize(r, bufferLen)
	magic, err := br.Peek(4)
	switch {
	case errors.Is(err, io.EOF) && len(magic) == 0:
		return nil, fmt.Errorf("%w: empty", ErrFormat)
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, len(magic))
	case err != nil:
		return nil, fmt.Errorf("read capture: %w", err)
	}
	switch binary.LittleEndian.Uint32(magic) {
	case 0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1:
		return openPcap(br)
	case 0x0a0d0d0a:
		return openNg(br)
	}
	if name := foreign(magic); name != "" {
		return nil, fmt.Errorf("%w: %s", ErrFormat, name)
	}
	return nil, fmt.Errorf("%w: begins with %x", ErrFormat, magic)
}

func openPcap(br *bufio.Reader) (*source, error) {
	r, err := pcapgo.NewReader(br)
	if err != nil {
		return nil, fmt.Errorf("%w: header of a pcap file: %w", ErrFormat, unexpected(err))
	}
	return &source{
		format: "pcap", next: r.ZeroCopyReadPacketData, link: r.LinkType(), snap: r.Snaplen(),
	}, nil
}

func openNg(br *bufio.Reader) (*source, error) {
	s := &source{format: "pcapng", mixed: true, dropped: map[int]uint64{}}
	r, err := pcapgo.NewNgReader(br, pcapgo.NgReaderOptions{
		WantMixedLinkType: true,
		StatisticsCallback: func(i int, stats pcapgo.NgInterfaceStatistics) {
			if n := stats.PacketsDropped; n != math.MaxUint64 { // that is: no value
				s.dropped[i] = max(s.dropped[i], n)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: header of a pcapng file: %w", ErrFormat, unexpected(err))
	}
	s.next = r.ZeroCopyReadPacketData
	return s, nil
}

// linkOf returns the link type of a packet.
func (s *source) linkOf(ci *gopacket.CaptureInfo) layers.LinkType {
	if s.mixed && len(ci.AncillaryData) > 0 {
		if l, ok := ci.AncillaryData[0].(layers.LinkType); ok {
			return l
		}
	}
	return s.link
}

// unexpected returns io.ErrUnexpectedEOF for an end of file inside of a header.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// walk decodes all packets and calls visit with each, which is valid during the call. At the end of
// the file it returns nil.
func (s *source) walk(visit func(*packet)) error {
	var d decoder
	for n := 1; ; n++ {
		data, ci, err := s.next()
		if errors.Is(err, io.EOF) && ci.CaptureLength == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read capture: packet %d: %w", n, unexpected(err))
		}
		p := &d.packet
		*p = packet{number: n, at: ci.Timestamp.UnixNano(), captured: len(data), length: max(ci.Length, len(data))}
		p.noTime = ci.Timestamp.IsZero()
		d.decode(s.linkOf(&ci), data)
		visit(p)
	}
}
