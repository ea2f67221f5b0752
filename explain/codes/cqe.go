package codes

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// cqeLen and cqeRow are the length of a completion of mlx5 and of a row of its dumps, in bytes.
const (
	cqeLen = 64
	cqeRow = 16
)

// Opcodes of error completions (MLX5_CQE_REQ_ERR and MLX5_CQE_RESP_ERR of mlx5dv.h).
const (
	cqeRequesterError = 13
	cqeResponderError = 14
)

// ErrorCQE is an error completion of mlx5 (struct mlx5_err_cqe of mlx5dv.h; its bytes 0x34 and 0x35
// are named by UCX, uct_ib_mlx5_err_cqe_t).
type ErrorCQE struct {
	Whole           bool   // all 64 bytes were there
	SRQN            uint32 // number of the SRQ, or the queue pair's user index; only if whole
	Status          WorkStatus
	Syndrome        uint8
	SyndromeKnown   bool // else Status is general error
	Vendor          uint8
	HWSyndrome      uint8 // UCX prints hw_synd TYPE/SYNDROME
	HWSyndromeType  uint8
	Responder       bool   // a receive request or a request of the peer failed, else a send request
	Opcode          uint8  // of the send request; not valid for a responder
	OpcodeName      string // such as "RDMA write"; empty if unknown or not valid
	QPN             uint32
	WQECounter      uint16 // index of the request in its queue
	Signature       uint8
	OperationAndBit uint8 // byte 0x3f: opcode, format and owner bit
}

// cqeOpcodes are the opcodes of send requests (MLX5_OPCODE_* of mlx5dv.h).
var cqeOpcodes = map[uint8]string{
	0x00: "no operation", 0x01: "send with invalidate", 0x08: "RDMA write", 0x09: "RDMA write with immediate",
	0x0a: "send", 0x0b: "send with immediate", 0x0e: "TSO send", 0x10: "RDMA read", 0x11: "compare and swap",
	0x12: "fetch and add", 0x14: "masked compare and swap", 0x15: "masked fetch and add",
	0x19: "fast memory registration",
	0x1b: "local invalidate", 0x1f: "config command", 0x20: "set PSV", 0x25: "UMR (memory key update)",
	0x28: "tag matching", 0x2c: "flow table access", 0x2f: "MMO",
}

var (
	// offsetRow is a row of a hex dump: an offset and up to 16 bytes, as DPDK and the kernel print
	// it.
	offsetRow = regexp.MustCompile(`(?i)\b([0-9a-f]{2,8}):((?:[ \t]+[0-9a-f]{2}\b){16})`)
	// wordRow is four words, as libmlx5 and older kernels print them.
	wordRow = regexp.MustCompile(`(?i)\b([0-9a-f]{8})[ \t]+([0-9a-f]{8})[ \t]+([0-9a-f]{8})[ \t]+([0-9a-f]{8})\b`)
)

// errNoCQE says which forms are accepted.
var errNoCQE = errors.New("no error completion of mlx5: want 64 bytes or the last 16 or 12 of them, as four lines of " +
	"four words (libmlx5), rows such as \"00000030: 00 00 …\" (DPDK, kernel), or hexadecimal digits")

// ParseCQE reads the dump of one error completion; see [ParseCQEs].
func ParseCQE(text string) (ErrorCQE, error) {
	list, err := ParseCQEs(text)
	if err != nil {
		return ErrorCQE{}, err
	}
	if len(list) > 1 {
		return ErrorCQE{}, fmt.Errorf("parse error completion: %d completions instead of one", len(list))
	}
	return list[0], nil
}

// ParseCQEs reads the dumps of error completions in a text, in order. Other lines, and time stamps
// before a row, are ignored. A dump can be cut to its last row. It is an error if there is none, or
// if one isn't that of an error completion.
func ParseCQEs(text string) ([]ErrorCQE, error) {
	dumps := dumpsOf(text)
	if len(dumps) == 0 {
		return nil, fmt.Errorf("parse error completion: %w", errNoCQE)
	}
	list := make([]ErrorCQE, 0, len(dumps))
	for _, b := range dumps {
		c, err := DecodeCQE(b)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// dumpsOf returns the bytes of each dump.
func dumpsOf(text string) [][]byte {
	var rows cqeRows
	for line := range strings.Lines(text) {
		if strings.Contains(line, "got completion with error") || strings.Contains(line, "dump error cqe") ||
			strings.Contains(line, "Error CQE") {
			rows.flush()
		}
		if m := offsetRow.FindStringSubmatch(line); m != nil {
			offset, _ := strconv.ParseUint(m[1], 16, 32) // at most eight digits
			b, _ := hex.DecodeString(strings.Join(strings.Fields(m[2]), ""))
			rows.add(b, int(offset%cqeLen)/cqeRow)
			continue
		}
		for _, m := range wordRow.FindAllStringSubmatch(line, -1) {
			b, _ := hex.DecodeString(strings.Join(m[1:], ""))
			rows.add(b, -1)
		}
	}
	rows.flush()
	if len(rows.dumps) == 0 {
		if b := plainHex(text); b != nil {
			return [][]byte{b}
		}
	}
	return rows.dumps
}

// cqeRows puts rows together to dumps.
type cqeRows struct {
	dumps [][]byte
	row   []byte // of the dump that isn't complete
	next  int    // number of the next row
}

// add takes a row: its number in the dump, or -1 if the row doesn't say.
func (r *cqeRows) add(b []byte, number int) {
	if number == 0 || number > 0 && number != r.next {
		r.flush()
	}
	r.row = append(r.row, b...)
	r.next = number + 1
	if number == cqeLen/cqeRow-1 || len(r.row) == cqeLen {
		r.flush()
	}
}

func (r *cqeRows) flush() {
	if len(r.row) > 0 {
		r.dumps = append(r.dumps, r.row)
	}
	r.row, r.next = nil, 0
}

// plainHex reads digits with blanks, commas and 0x between them: 64, 16 or 12 bytes.
func plainHex(text string) []byte {
	t := strings.NewReplacer("0x", "", "0X", "", ",", " ").Replace(text)
	b, err := hex.DecodeString(strings.Join(strings.Fields(t), ""))
	if err != nil || len(b) != cqeLen && len(b) != cqeRow && len(b) != cqeRow-4 {
		return nil
	}
	return b
}

// DecodeCQE decodes an error completion from its bytes as they are in memory, or from the last of
// them: at least 12.
func DecodeCQE(b []byte) (ErrorCQE, error) {
	if len(b) < cqeRow-4 || len(b) > cqeLen {
		return ErrorCQE{}, fmt.Errorf("decode error completion of %d bytes: want 12 to 64", len(b))
	}
	end := b[len(b)-12:]
	c := ErrorCQE{
		HWSyndrome: end[0], HWSyndromeType: end[1] >> 4, Vendor: end[2], Syndrome: end[3],
		QPN: be24(end[5:]), WQECounter: uint16(end[8])<<8 | uint16(end[9]), Signature: end[10],
		OperationAndBit: end[11],
	}
	switch op := c.OperationAndBit >> 4; op {
	case cqeRequesterError:
		c.Opcode, c.OpcodeName = end[4], cqeOpcodes[end[4]]
	case cqeResponderError:
		c.Responder = true
	default:
		return ErrorCQE{}, fmt.Errorf("decode completion: opcode %#x in the last byte is not an error (want 0xd, "+
			"requester, or 0xe, responder)", op)
	}
	c.Status, c.SyndromeKnown = StatusBySyndrome(c.Syndrome)
	if len(b) == cqeLen {
		c.Whole, c.SRQN = true, be24(b[0x21:])
	}
	return c, nil
}

func be24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// Side returns "requester" or "responder".
func (c ErrorCQE) Side() string {
	if c.Responder {
		return "responder"
	}
	return "requester"
}
