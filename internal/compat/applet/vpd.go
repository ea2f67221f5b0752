package applet

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Tags of the resources in vital product data (PCI Local Bus Specification 3.0, appendix I).
const (
	vpdIdentifier = 0x82 // large resource: identifier string
	vpdReadOnly   = 0x90 // large resource: VPD-R, a list of keywords
	vpdLarge      = 0x80 // bit of large resources
)

// parseVPD reads the name of the card and its part number (PN) from the VPD of a PCI function.
// Missing or truncated values are "".
func parseVPD(b []byte) (name, part string) {
	for len(b) >= 3 && b[0]&vpdLarge != 0 {
		tag, n := b[0], int(binary.LittleEndian.Uint16(b[1:]))
		body := b[3:min(3+n, len(b))]
		b = b[min(3+n, len(b)):]
		switch tag {
		case vpdIdentifier:
			name = vpdText(body)
		case vpdReadOnly:
			part = vpdKeyword(body, "PN")
		}
	}
	return name, part
}

// vpdKeyword finds the value of a keyword: two letters, a length of one byte, the value.
func vpdKeyword(b []byte, keyword string) string {
	for len(b) >= 3 {
		n := min(3+int(b[2]), len(b))
		if string(b[:2]) == keyword {
			return vpdText(b[3:n])
		}
		b = b[n:]
	}
	return ""
}

func vpdText(b []byte) string { return strings.TrimSpace(string(bytes.TrimRight(b, "\x00"))) }
