package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math/bits"
	"runtime"
)

// A bucket holds one key with its value:
//
//	   0  version, 8 bytes: 0 if never written, odd while it is being written
//	   8  CRC-32C of bytes 12 to 2039 and of the version
//	  12  length of the key, 2 bytes
//	  14  length of the value, 2 bytes
//	  16  key, 32 bytes
//	  48  value
//	2040  version again
//
// Numbers are big-endian. An RDMA READ may copy a bucket while the server is writing it, in an
// unspecified order. So the server makes the version odd, writes, and makes it even again. A reader
// accepts a bucket only if both versions are equal and even and the checksum is correct. The
// versions alone would suffice if memory were read from the first byte to the last; the checksum
// is valid for any order.
const (
	bucketSize = 2048

	atChecksum = 8
	atLengths  = 12
	atKey      = 16
	atValue    = atKey + maxKey
	atTail     = bucketSize - 8

	maxKey   = 32
	maxValue = atTail - atValue
)

// Errors of decode.
var (
	errEmpty = errors.New("bucket is empty")
	errTorn  = errors.New("bucket is being written")
)

// value is the content of a bucket.
type value struct {
	key     string
	data    []byte
	version uint64
}

// decode decodes a copy of a bucket. The data of the value is a part of b.
func decode(b []byte) (value, error) {
	if len(b) != bucketSize {
		return value{}, fmt.Errorf("decode bucket: %d bytes, not %d", len(b), bucketSize)
	}
	version := binary.BigEndian.Uint64(b)
	switch {
	case version != binary.BigEndian.Uint64(b[atTail:]), version%2 != 0:
		return value{}, errTorn
	case version == 0:
		return value{}, errEmpty
	case binary.BigEndian.Uint32(b[atChecksum:]) != checksum(b, version):
		return value{}, errTorn
	}
	keyLen, dataLen := int(binary.BigEndian.Uint16(b[atLengths:])), int(binary.BigEndian.Uint16(b[atLengths+2:]))
	if keyLen > maxKey || dataLen > maxValue { // invalid in spite of a correct checksum
		return value{}, fmt.Errorf("decode bucket: key of %d bytes and value of %d: at most %d and %d",
			keyLen, dataLen, maxKey, maxValue)
	}
	return value{key: string(b[atKey : atKey+keyLen]), data: b[atValue : atValue+dataLen], version: version}, nil
}

// encode writes a value in place. Clients may read the bucket at any time.
func encode(b []byte, v value) {
	binary.BigEndian.PutUint64(b, v.version-1)
	binary.BigEndian.PutUint16(b[atLengths:], uint16(len(v.key)))
	binary.BigEndian.PutUint16(b[atLengths+2:], uint16(len(v.data)))
	copy(b[atKey:atValue], v.key)
	half := len(v.data) / 2
	copy(b[atValue:atTail], v.data[:half])
	runtime.Gosched() // for the example: give clients a chance to read a half-written bucket
	copy(b[atValue+half:atTail], v.data[half:])
	binary.BigEndian.PutUint32(b[atChecksum:], checksum(b, v.version))
	binary.BigEndian.PutUint64(b[atTail:], v.version)
	binary.BigEndian.PutUint64(b, v.version)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte, version uint64) uint32 {
	var v [8]byte
	binary.BigEndian.PutUint64(v[:], version)
	return crc32.Update(crc32.Checksum(b[atLengths:atTail], castagnoli), castagnoli, v[:])
}

// table is the memory that clients read: a hash table with open addressing whose size is a power of
// two. A key is in the bucket of its hash, or in one of the following ones up to the first empty
// one.
type table struct {
	memory []byte
	writes int
}

// newTable creates a table that is at most half full with the given number of keys.
func newTable(keys int) *table {
	return &table{memory: make([]byte, bucketSize<<bits.Len(uint(2*keys-1)))}
}

func (t *table) buckets() int { return len(t.memory) / bucketSize }

// put writes the next version of a key.
func (t *table) put(key string, next func(key string, version uint64) []byte) error {
	if len(key) > maxKey {
		return fmt.Errorf("put %s: key of %d bytes, at most %d", key, len(key), maxKey)
	}
	for probe := range t.buckets() {
		at := bucketOf(key, probe, t.buckets()) * bucketSize
		b := t.memory[at : at+bucketSize]
		v, err := decode(b)
		if err != nil && !errors.Is(err, errEmpty) {
			return fmt.Errorf("put %s: %w", key, err)
		}
		if err == nil && v.key != key {
			continue
		}
		w := value{key: key, version: v.version + 2}
		if w.data = next(key, w.version); len(w.data) > maxValue {
			return fmt.Errorf("put %s: value of %d bytes, at most %d", key, len(w.data), maxValue)
		}
		encode(b, w)
		t.writes++
		return nil
	}
	return fmt.Errorf("put %s: all %d buckets are in use", key, t.buckets())
}

// bucketOf returns the bucket of a key at the given probe: the bucket of its hash plus probe.
func bucketOf(key string, probe, buckets int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	return int((h.Sum64() + uint64(probe)) & uint64(buckets-1))
}
