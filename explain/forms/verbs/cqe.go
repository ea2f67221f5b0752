package verbs

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/ucx"
)

// A CQE dump is 64 bytes in four lines: of libmlx5 and of kernels until 4.x as four words, of DPDK
// and of later kernels as offset and 16 bytes, with "cqe_dump: " before it since Linux 6.1.
const (
	cqeLen  = 64
	rowLen  = 16
	cqeMore = 24 // lines that a follower waits for the rest of a dump
	maxOpen = 64 // dumps that are begun and not complete
)

// cqeHeads begin a dump.
var cqeHeads = []string{
	": got completion with error:", "MLX5 Error CQE: at [", "dump error cqe", "cqe_dump: 00000000: ",
}

// cqeOpcodes are the operations of the failed request (rdma-core, providers/mlx5/mlx5dv.h).
var cqeOpcodes = map[byte]string{
	0x08: "write", 0x09: "write-imm", 0x0a: "send", 0x0b: "send-imm", 0x10: "read", 0x11: "compare-swap",
	0x12: "fetch-add",
}

// cqeFollower collects the rows of dumps, by process: those of ranks are interleaved.
type cqeFollower struct {
	open map[evidence.Process]*cqeDump
	more int
}

type cqeDump struct {
	head evidence.Line
	data [cqeLen]byte
	rows int
}

// FollowCQE returns a reader of dumps of error completions of mlx5.
func FollowCQE() forms.Follower { return &cqeFollower{open: map[evidence.Process]*cqeDump{}} }

func (c *cqeFollower) Read(l *evidence.Line) (*evidence.Event, int) {
	c.more = max(c.more-1, 0)
	for _, head := range cqeHeads {
		if strings.Contains(l.Text, head) && len(c.open) < maxOpen {
			c.open[l.Process] = &cqeDump{head: *l}
			c.more = cqeMore
		}
	}
	var e *evidence.Event
	if d := c.open[l.Process]; d != nil && d.add(l.Text) {
		delete(c.open, l.Process)
		e = d.event()
	}
	if c.more == 0 || len(c.open) == 0 {
		clear(c.open)
		c.more = 0
	}
	return e, c.more
}

// add takes the next row of a dump and reports whether it was the last one.
func (d *cqeDump) add(text string) bool {
	row, offset, ok := dumpRow(text)
	if !ok || d.rows == cqeLen/rowLen || offset >= 0 && offset != d.rows*rowLen {
		return false
	}
	copy(d.data[d.rows*rowLen:], row)
	d.rows++
	return d.rows == cqeLen/rowLen
}

// dumpRow reads "00000000 93005204 0a0019a1 c0921cd2" or "00000030: 00 00 … D2 | …". The offset is
// -1 if there is none.
func dumpRow(text string) (row []byte, offset int, ok bool) {
	if _, after, cut := strings.Cut(text, "cqe_dump: "); cut {
		text = after
	}
	text, _, _ = strings.Cut(text, "|")
	words := strings.Fields(text)
	offset = -1
	if len(words) > rowLen && len(words[0]) == len("00000030:") && strings.HasSuffix(words[0], ":") {
		n, err := strconv.ParseUint(words[0][:8], 16, 31)
		if err != nil || n >= cqeLen {
			return nil, 0, false
		}
		offset, words = int(n), words[1:rowLen+1]
	} else if len(words) != rowLen/4 {
		return nil, 0, false
	}
	for _, w := range words {
		if len(w) != 2*rowLen/len(words) {
			return nil, 0, false
		}
	}
	row, err := hex.DecodeString(strings.Join(words, ""))
	return row, offset, err == nil
}

// event decodes the dump, whose layout is that of struct mlx5_err_cqe (rdma-core,
// providers/mlx5/mlx5dv.h; Linux, include/linux/mlx5/device.h). It returns nil if it isn't an error
// completion.
func (d *cqeDump) event() *evidence.Event {
	var side string
	switch d.data[63] >> 4 {
	case 0xd:
		side = "requester"
	case 0xe:
		side = "responder"
	default:
		return nil
	}
	status := ucx.StatusOfSyndrome(d.data[0x37])
	qpn := int(d.data[0x39])<<16 | int(d.data[0x3a])<<8 | int(d.data[0x3b])
	e := &evidence.Event{
		Kind: evidence.MLX5CQE, Form: "mlx5/cqe", Place: d.head.Place, Process: d.head.Process, Time: d.head.Time,
		Severity: evidence.Error, Text: strings.TrimSpace(d.head.Text),
		Fields: evidence.Fields{
			"cqe": hex.EncodeToString(d.data[:]), "status": strconv.Itoa(status),
			"vendor": strconv.Itoa(int(d.data[0x36])), "qpn": strconv.Itoa(qpn),
			"opcode": cqeOpcodes[d.data[0x38]], "side": side,
		},
	}
	if e.Fields["opcode"] == "" {
		delete(e.Fields, "opcode")
	}
	if _, rest, ok := strings.Cut(d.head.Text, "infiniband "); ok {
		e.Fields["device"], _, _ = strings.Cut(rest, ":")
	}
	return e
}
