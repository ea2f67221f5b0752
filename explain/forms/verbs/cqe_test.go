package verbs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/verbs"
	"github.com/rdmakit/rdmakit/explain/logline"
)

// The last rows are those of public reports: spdk/spdk#961 (whose text names status 4),
// spdk/spdk#507, Juniper/warp17#81, and the kernel's list, 2021-12-27 (status 10 in its text).
const (
	libmlx5 = `mlx5: node1: got completion with error:
00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
000000b3 00000000 00000000 00000000
00000000 93005204 0a0019a1 c0921cd2
`
	dpdk = `MLX5 Error CQE: at [0x7f00], len=64
00000000: 00 73 65 65 6E 00 00 00 00 00 00 00 00 00 00 00 | .seen...........
00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 | ................
00000020: 00 00 00 13 00 00 00 00 00 00 00 00 00 00 00 00 | ................
00000030: 00 00 00 00 9D 00 53 04 0A 00 15 42 00 19 B0 D2 | ......S....B....
`
	kernel = `[166755.332323] infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe
[166755.332944] 00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.333000] nvme nvme0: another line
[166755.333573] 00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.334202] 00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.334837] 00000030: 00 00 00 00 00 00 88 13 08 03 61 b3 1e a1 42 d3
`
	newKernel = `cqe_dump: 00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
cqe_dump: 00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
cqe_dump: 00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
cqe_dump: 00000030: 00 00 00 00 00 00 93 22 10 00 00 07 1e a1 42 e3
`
)

// dumps returns "status/vendor/qpn/opcode side device" of each dump in a text, read as an input is.
func dumps(text string) []string {
	matcher := forms.NewMatcher(verbs.Other())
	lines := logline.NewReader(strings.NewReader(text), "f")
	lines.Wanted = matcher.Wants
	var got []string
	for lines.Next() {
		for _, e := range matcher.Read(lines.Line()) {
			if e.Kind == evidence.MLX5CQE {
				f := e.Fields
				got = append(got, fmt.Sprintf("%s/%s/%s/%s %s %s %d:%d", f["status"], f["vendor"], f["qpn"],
					f["opcode"],
					f["side"], f["device"], e.Place.Line, len(f["cqe"])))
			}
		}
	}
	return got
}

func TestCQE(t *testing.T) {
	tagged := ""
	one, two := strings.Split(libmlx5, "\n"), strings.Split(strings.ReplaceAll(libmlx5, "93005204 0a0019a1",
		"9d005304 080003f7"), "\n")
	for i := range 5 { // two ranks write at the same time
		tagged += "[1,0]<stderr>:" + one[i] + "\n[1,1]<stderr>:" + two[i] + "\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"libmlx5", libmlx5, "[4/82/6561/send requester  1:128]"},
		{"DPDK", dpdk, "[4/83/5442/send requester  1:128]"},
		{"kernel", kernel, "[10/136/221619/write requester mlx5_0 1:128]"},
		{"kernel 6.1", newKernel, "[16/147/7/read responder  1:128]"},
		{"two in a row", libmlx5 + dpdk, "[4/82/6561/send requester  1:128 4/83/5442/send requester  6:128]"},
		{"two ranks", tagged, "[4/82/6561/send requester  1:128 4/83/1015/write requester  2:128]"},
		{"cut off", libmlx5[:len(libmlx5)-40] + "\nend\n", "[]"},
		{"rows without a head", libmlx5[len("mlx5: node1: got completion with error:\n"):], "[]"},
		{"no error", strings.Replace(libmlx5, "c0921cd2", "c0921c02", 1), "[]"},
		{"row missing", strings.Replace(dpdk, "00000010:", "00000011:", 1), "[]"},
		{"far away", strings.Replace(libmlx5, "000000b3", strings.Repeat("x\n", 30)+"000000b3", 1), "[]"},
		{"unknown syndrome", strings.Replace(libmlx5, "93005204", "93005277", 1), "[21/82/6561/send requester  1:128]"},
	} {
		if got := fmt.Sprint(dumps(c.text)); got != c.want {
			t.Errorf("%s: dumps = %s, want %s", c.name, got, c.want)
		}
	}
}

func FuzzCQE(f *testing.F) {
	f.Add(libmlx5 + dpdk + kernel + newKernel)
	f.Fuzz(func(_ *testing.T, s string) { dumps(s) })
}
