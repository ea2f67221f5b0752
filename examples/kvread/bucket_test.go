package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func bucket(v value) []byte {
	b := make([]byte, bucketSize)
	encode(b, v)
	return b
}

func TestDecode(t *testing.T) {
	tests := []value{
		{key: "k", data: []byte("v"), version: 2},
		{key: "", data: []byte{}, version: 4},
		{key: strings.Repeat("k", maxKey), data: bytes.Repeat([]byte{0xff}, maxValue), version: 1<<63 + 2},
	}
	for _, want := range tests {
		got, err := decode(bucket(want))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(value{})); diff != "" || err != nil {
			t.Errorf("decode(encode(%q)) = %v (-want +got):\n%s", want.key, err, diff)
		}
	}
	if _, err := decode(make([]byte, bucketSize)); !errors.Is(err, errEmpty) {
		t.Errorf("decode(zeros) = %v, want %v", err, errEmpty)
	}
	if _, err := decode(make([]byte, bucketSize-1)); err == nil {
		t.Error("decode(too short) = nil, want an error")
	}
}

// TestTorn mixes two versions of a bucket at every offset, and at random.
func TestTorn(t *testing.T) {
	old, young := value{"key", valueOf("key", 2), 2}, value{"key", valueOf("key", 4), 4}
	a, b := bucket(old), bucket(young)
	check := func(mixed []byte, how string) {
		t.Helper()
		v, err := decode(mixed)
		switch {
		case errors.Is(err, errTorn):
		case err == nil &&
			(bytes.Equal(v.data, old.data) && v.version == 2 || bytes.Equal(v.data, young.data) && v.version == 4):
		default:
			t.Fatalf("%s: decode = version %d, %v, want one of two versions, or torn", how, v.version, err)
		}
	}
	for cut := range bucketSize + 1 {
		check(slices.Concat(a[:cut], b[cut:]), fmt.Sprintf("old up to %d", cut))
		check(slices.Concat(b[:cut], a[cut:]), fmt.Sprintf("young up to %d", cut))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 { // in the middle only, so that the versions agree
		mixed := slices.Clone(a)
		from := atChecksum + r.IntN(atTail-atChecksum)
		to := from + r.IntN(atTail-from)
		copy(mixed[from:to], b[from:to])
		check(mixed, fmt.Sprintf("mix %d", i))
	}
	for at := range bucketSize {
		damaged := slices.Clone(a)
		damaged[at] ^= 0x10
		if v, err := decode(damaged); !errors.Is(err, errTorn) {
			t.Fatalf("decode with byte %d changed = %q, %v, want %v", at, v.key, err, errTorn)
		}
	}
}

// TestWritten decodes buckets whose writer has not finished.
func TestWritten(t *testing.T) {
	begun := bucket(value{"key", valueOf("key", 2), 2})
	binary.BigEndian.PutUint64(begun, 3)
	odd := bucket(value{"key", valueOf("key", 3), 3}) // correct but for the odd version
	for _, b := range [][]byte{begun, odd} {
		if _, err := decode(b); !errors.Is(err, errTorn) {
			t.Errorf("decode(being written) = %v, want %v", err, errTorn)
		}
	}
}

func TestTable(t *testing.T) {
	table := newTable(100)
	if got := table.buckets(); got != 256 {
		t.Fatalf("newTable(100) has %d buckets, want 256", got)
	}
	read := func(bucket int) (value, int, error) {
		v, err := decode(table.memory[bucket*bucketSize:][:bucketSize])
		return v, 1, err
	}
	for i := range 256 { // fill the table, so that most keys are not in the bucket of their hash
		if err := table.put(keyName(i), valueOf); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 256 {
		v, reads, err := search(keyName(i), 256, read)
		if err != nil || reads < 1 || !bytes.Equal(v.data, valueOf(keyName(i), 2)) {
			t.Errorf("search(%s) = version %d, %d reads, %v", keyName(i), v.version, reads, err)
		}
	}
	if _, reads, err := search("nobody", 256, read); !errors.Is(err, errNotFound) || reads != 256 {
		t.Errorf("search(nobody) in a full table = %d reads, %v, want 256, %v", reads, err, errNotFound)
	}
	if err := table.put("one more", valueOf); err == nil ||
		!strings.Contains(err.Error(), "all 256 buckets are in use") {
		t.Errorf("put into a full table = %v", err)
	}
	if err := table.put(strings.Repeat("k", maxKey+1), valueOf); err == nil {
		t.Error("put of a long key = nil, want an error")
	}
	if err := table.put(keyName(0), func(string, uint64) []byte { return make([]byte, maxValue+1) }); err == nil {
		t.Error("put of a long value = nil, want an error")
	}
}

func TestSettle(t *testing.T) {
	whole, broken := bucket(value{"key", []byte("v"), 2}), errors.New("connection lost")
	tests := []struct {
		name  string
		torn  int // number of torn reads before a consistent one
		err   error
		reads int
		want  error
	}{
		{"whole", 0, nil, 1, nil},
		{"torn twice", 2, nil, 3, nil},
		{"consistent at the last read", maxReads - 1, nil, maxReads, nil},
		{"always torn", maxReads, nil, maxReads, errAlwaysTorn},
		{"torn, then failed", 1, broken, 2, broken},
	}
	for _, tt := range tests {
		n := 0
		v, reads, err := readConsistent(func() ([]byte, error) {
			n++
			if n <= tt.torn {
				torn := slices.Clone(whole)
				torn[atValue] ^= 1
				return torn, nil
			}
			return whole, tt.err
		})
		if reads != tt.reads || !errors.Is(err, tt.want) || err == nil && v.key != "key" {
			t.Errorf("%s: %q, %d reads, %v, want %d reads, %v", tt.name, v.key, reads, err, tt.reads, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(bucket(value{"key", []byte("value"), 2}))
	f.Add(make([]byte, bucketSize))
	long := bucket(value{"key", []byte("value"), 2})
	binary.BigEndian.PutUint16(long[atLengths+2:], maxValue+1) // invalid, with a correct checksum
	binary.BigEndian.PutUint32(long[atChecksum:], checksum(long, 2))
	f.Add(long)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(bucket(v))
		if diff := cmp.Diff(v, again, cmp.AllowUnexported(value{})); diff != "" || err != nil {
			t.Errorf("decode(encode(decode)) = %v\n%s", err, diff)
		}
	})
}
