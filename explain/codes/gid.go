package codes

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// NCCLGID returns the GID whose halves NCCL prints in the lines of queue pairs, such as "GID 3
// (0/A10B0A0AFFFF0000)": hi and lo are the hexadecimal numbers before and after the slash. They are
// the subnet prefix and the interface ID as a little-endian machine reads them, without leading
// zeros (%lX of gid.global in src/transport/net_ib*).
func NCCLGID(hi, lo string) (ib.GID, error) {
	var g ib.GID
	for i, s := range [...]string{hi, lo} {
		v, err := strconv.ParseUint(s, 16, 64)
		if err != nil || strings.ContainsAny(s, "+_") {
			return ib.GID{}, fmt.Errorf("gid %q/%q of NCCL: want two hexadecimal numbers of up to 16 digits", hi, lo)
		}
		binary.LittleEndian.PutUint64(g[8*i:], v)
	}
	return g, nil
}
