package rping

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Defaults and limits of rping.
const (
	DefaultPort = 7174       // in port space TCP
	DefaultSize = 64         // bytes of a ping
	MinSize     = 23         // the smallest ping that rping sends
	MaxSize     = 64<<10 - 1 // the largest one
)

// BufferLen is the length of a message in bytes.
const BufferLen = 16

// Buffer is the message of the protocol: memory of the client that the server reads or writes (C
// twin: struct rping_rdma_info).
type Buffer struct {
	Addr uint64 // as the peer's requests name it
	RKey uint32
	Len  uint32 // bytes
}

// Append appends the message to b.
func (m Buffer) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, m.Addr)
	b = binary.BigEndian.AppendUint32(b, m.RKey)
	return binary.BigEndian.AppendUint32(b, m.Len)
}

// Decode reads a message, which is all of b, and returns its length.
func (m *Buffer) Decode(b []byte) (int, error) {
	if len(b) != BufferLen {
		return 0, &SizeError{Got: len(b)}
	}
	m.Addr = binary.BigEndian.Uint64(b)
	m.RKey = binary.BigEndian.Uint32(b[8:])
	m.Len = binary.BigEndian.Uint32(b[12:])
	return BufferLen, nil
}

// SizeError is the error of a message that has another length than those of the protocol: the peer
// is another program.
type SizeError struct{ Got int }

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("a message of %d bytes arrived, and those of rping have %d: the peer is another program",
		e.Got, BufferLen)
}

// firstLetter and lastLetter are the range of characters that fill a ping.
const (
	firstLetter = 'A'
	lastLetter  = 'z'
)

// Fill writes the text of ping n, counted from 0, into b: its name and a running alphabet that
// begins one letter later with each ping. The last byte is zero.
func Fill(b []byte, n int) {
	if len(b) == 0 {
		return
	}
	at := copy(b, fmt.Sprintf("rdma-ping-%d: ", n))
	const letters = lastLetter - firstLetter + 1
	for i, k := at, n%letters; i < len(b); i, k = i+1, (k+1)%letters {
		b[i] = byte(firstLetter + k)
	}
	b[len(b)-1] = 0
}

// Text returns the bytes before the first zero byte, or all if there is none.
func Text(b []byte) []byte {
	text, _, _ := bytes.Cut(b, []byte{0})
	return text
}
