package rocev2

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// maskedLRH is the state of the CRC, in the form of crc32.Update, after the eight
// bytes of ones that replace the LRH, which RoCE v2 doesn't have.
const maskedLRH = ^uint32(0xdebb20e3)

// updateHeaders is crc32.Update with the IEEE table for a multiple of four bytes.
// The argument of crc32.Update escapes, so passing it headers on the stack would
// allocate for every packet. For less than 64 bytes the library uses no special
// instructions, but the same algorithm, eight bytes at a time.
func updateHeaders(crc uint32, b []byte) uint32 {
	table := slicingTables()
	crc = ^crc
	for ; len(b) >= 8; b = b[8:] {
		crc ^= binary.LittleEndian.Uint32(b)
		crc = table[7][byte(crc)] ^ table[6][byte(crc>>8)] ^ table[5][byte(crc>>16)] ^ table[4][crc>>24] ^
			table[3][b[4]] ^ table[2][b[5]] ^ table[1][b[6]] ^ table[0][b[7]]
	}
	if len(b) >= 4 {
		crc ^= binary.LittleEndian.Uint32(b)
		crc = table[3][byte(crc)] ^ table[2][byte(crc>>8)] ^ table[1][byte(crc>>16)] ^ table[0][crc>>24]
	}
	return ^crc
}

// slicingTables returns eight tables: entry i of table n is the CRC of byte i followed
// by n zero bytes.
var slicingTables = sync.OnceValue(func() *[8]crc32.Table {
	var tables [8]crc32.Table
	tables[0] = *crc32.IEEETable
	for n := 1; n < len(tables); n++ {
		for i, crc := range tables[n-1] {
			tables[n][i] = crc>>8 ^ crc32.IEEETable[byte(crc)]
		}
	}
	return &tables
})
