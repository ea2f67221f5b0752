package ib

import (
	"fmt"
	"strconv"
	"strings"
)

// LID is a local identifier, the address of a port within its subnet; 0 means
// that no subnet manager has assigned one. Decimal in text, as in the C tools.
type LID uint16

// PKey is a partition key: the low 15 bits are the partition number, the high bit
// is set for full membership (specification volume 1, section 10.9).
type PKey uint16

// PKeyDefault is the default partition with full membership.
const PKeyDefault PKey = 0xffff

// ParsePKey reads "0xffff", as sysfs prints it.
func ParsePKey(s string) (PKey, error) {
	v, err := strconv.ParseUint(strings.TrimSpace(s), 0, 16)
	if err != nil {
		return 0, fmt.Errorf("parse pkey %q: not a 16-bit number", s)
	}
	return PKey(v), nil
}

// Full reports whether the key has full membership. Limited members can't
// communicate with each other.
func (k PKey) Full() bool { return k&0x8000 != 0 }

// String returns 0x and four hexadecimal digits.
func (k PKey) String() string { return fmt.Sprintf("0x%04x", uint16(k)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [PKey.String].
func (k PKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; see [ParsePKey].
func (k *PKey) UnmarshalText(b []byte) error {
	v, err := ParsePKey(string(b))
	if err == nil {
		*k = v
	}
	return err
}

// QPN is a queue pair number, 24 bits; hexadecimal in text.
type QPN uint32

// String returns 0x and six hexadecimal digits.
func (q QPN) String() string { return fmt.Sprintf("0x%06x", uint32(q)) }

// MTU is a path MTU in bytes of payload: 256, 512, 1024, 2048 or 4096; 0 if
// unknown (C twin: enum ibv_mtu, whose codes are 1 to 5).
type MTU int

// The five values of an InfiniBand MTU.
const (
	MTU256  MTU = 256
	MTU512  MTU = 512
	MTU1024 MTU = 1024
	MTU2048 MTU = 2048
	MTU4096 MTU = 4096
)

// roceOverhead is the number of bytes that the kernel reserves for headers when it
// derives the RoCE MTU from the MTU of the network device: GRH 40, UDP 8, BTH 12,
// XRC ETH 4, atomic ETH 28, ICRC 4 (iboe_get_mtu in include/rdma/ib_addr.h).
const roceOverhead = 40 + 8 + 12 + 4 + 28 + 4

// MTUFit returns the largest MTU that is at most n bytes, or 0 if n is less than 256.
func MTUFit(n int) MTU {
	for m := MTU4096; m >= MTU256; m /= 2 {
		if n >= int(m) {
			return m
		}
	}
	return 0
}

// MTUFromNetdev returns the active MTU that a RoCE port derives from the MTU of its
// network device, both in bytes, or 0 if it is too small for an MTU of 256.
func MTUFromNetdev(mtu int) MTU { return MTUFit(mtu - roceOverhead) }

// NetdevMTU returns the smallest MTU of a network device, in bytes, with which a
// RoCE port can use m.
func (m MTU) NetdevMTU() int { return int(m) + roceOverhead }

// MTUFromCode returns the MTU for a code of PortInfo, PathRecord and enum ibv_mtu: 256 for
// 1 … 4096 for 5; 0 for an invalid code. See [MTU.Code].
func MTUFromCode(code int) MTU {
	if code < 1 || code > MTU4096.Code() {
		return 0
	}
	return MTU256 << (code - 1)
}

// Code returns the encoding of enum ibv_mtu (1 for 256 … 5 for 4096), or 0.
func (m MTU) Code() int {
	for code, v := 1, MTU256; v <= MTU4096; code, v = code+1, v*2 {
		if m == v {
			return code
		}
	}
	return 0
}
