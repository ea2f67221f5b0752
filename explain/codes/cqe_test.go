package codes

import (
	"fmt"
	"strings"
	"testing"
)

// dumps are from public threads in which the program printed status, vendor code or queue pair
// beside the dump; want has these, and what follows from struct mlx5_err_cqe.
var dumps = []struct {
	source, text, want string
}{
	{
		"spdk/spdk#961: (4): local protection error", `mlx5: ogden-rust.west.isilon.com: got completion with error:
00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
000000b3 00000000 00000000 00000000
00000000 93005204 0a0019a1 c0921cd2`,
		"status 4 vendor 0x52 hw 0/147 requester send qp 0x19a1 wqe 0xc092 srq 0xb3",
	},
	{
		"spdk/spdk#1387, last line: remote access error", "00000000 00008813 08028f15 25322bd3",
		"status 10 vendor 0x88 hw 0/0 requester RDMA write qp 0x28f15 wqe 0x2532 srq 0x0",
	},
	{
		"spdk/spdk#500: (4): local protection error", `    mlx5: donsl202: got completion with error:
    00000000 00000000 00000000 00000000
    00000000 00000000 00000000 00000000
    00000001 00000000 00000000 00000000
    00000000 9d005304 0800011b 0008d0d2`,
		"status 4 vendor 0x53 hw 0/157 requester RDMA write qp 0x11b wqe 0x8 srq 0x1",
	},
	{
		"ofiwg/libfabric#4283: remote access error (10)", `mlx5: cn10: got completion with error:
00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
00000002 00000000 00000000 00000000
00000000 00008813 10012abe 0dd0c1d3`,
		"status 10 vendor 0x88 hw 0/0 requester RDMA read qp 0x12abe wqe 0xdd0 srq 0x2",
	},
	{
		"openucx/ucx#6414: local protection error qpn 0x82f wrid 0x1 vendor_err 0x52",
		`00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
00000001 00000000 00000000 00000000
00000000 92005204 0a00082f 0000c5d2`,
		"status 4 vendor 0x52 hw 0/146 requester send qp 0x82f wqe 0x0 srq 0x1",
	},
	{
		"openucx/ucx#1569, glued to the next line: error on qp 0x6214: remote access error syndrome 0x88",
		`00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
00000000 00008813 08006214 0000f6d2[1496344648.549828] [vegas06:14872:0]       dc_verbs.c:614  UCX  ERROR`,
		"status 10 vendor 0x88 hw 0/0 requester RDMA write qp 0x6214 wqe 0x0 srq 0x0",
	},
	{
		"openucx/ucx#1770, with times: error on qp 0x2a8af: remote invalid request error syndrome 0x8a",
		`19:34:56 mlx5: hpc-test-node2: got completion with error:
19:34:56 00000000 00000000 00000000 00000000
19:34:56 00000000 00000000 00000000 00000000
19:34:56 00000002 00000000 00000000 00000000
19:34:56 00000000 00008a12 1002a8af 0001a2d2`,
		"status 9 vendor 0x8a hw 0/0 requester RDMA read qp 0x2a8af wqe 0x1 srq 0x2",
	},
	{
		"a note on rnr_nak_retry_err: status 0xd, vendor syndrome: 0x87", "00000000 00008716 0a001f8e 000027d2",
		"status 13 vendor 0x87 hw 0/0 requester send qp 0x1f8e wqe 0x0 srq 0x0",
	},
	{
		"Intel MPI over DAPL: status 10, vendor_err 0x88", "00000000 00008813 100076ab 008ae4d3",
		"status 10 vendor 0x88 hw 0/0 requester RDMA read qp 0x76ab wqe 0x8a srq 0x0",
	},
	{
		"Juniper/warp17#81, bytes without the first four", "9D 00 53 04 0A 00 15 42 00 19 B0 D2",
		"status 4 vendor 0x53 hw 0/157 requester send qp 0x1542 wqe 0x19 srq 0x0",
	},
	{
		"linux-rdma, RDMA/mlx5: print wc status: WC error: 10, message: remote access error",
		`[166755.332323] infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe
[166755.332944] 00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.333574] 00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.334202] 00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.334837] 00000030: 00 00 00 00 00 00 88 13 08 03 61 b3 1e a1 42 d3`,
		"status 10 vendor 0x88 hw 0/0 requester RDMA write qp 0x361b3 wqe 0x1ea1 srq 0x0",
	},
	{
		"linux-nvme: WC error: 4, RECV failed with status local protection error (4); here with the newer prefix",
		`cqe_dump: 00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
cqe_dump: 00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
cqe_dump: 00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
cqe_dump: 00000030: 00 00 00 00 a9 00 56 04 00 00 01 e9 00 54 e8 e2`,
		"status 4 vendor 0x56 hw 0/169 responder  qp 0x1e9 wqe 0x54 srq 0x0",
	},
	{
		"Linux, RDMA/umem: Set iova in ODP flow: reg umr failed (6)",
		"00000030: 00 00 00 00 0f 00 78 06 25 00 00 58 00 da ac d2",
		"status 6 vendor 0x78 hw 0/15 requester UMR (memory key update) qp 0x58 wqe 0xda srq 0x0",
	},
}

func describe(c ErrorCQE) string {
	return fmt.Sprintf("status %d vendor %#x hw %d/%d %s %s qp %#x wqe %#x srq %#x", c.Status.Number, c.Vendor,
		c.HWSyndromeType, c.HWSyndrome, c.Side(), c.OpcodeName, c.QPN, c.WQECounter, c.SRQN)
}

func TestParseCQE(t *testing.T) {
	for _, d := range dumps {
		c, err := ParseCQE(d.text)
		if err != nil || describe(c) != d.want {
			t.Errorf("%s:\nParseCQE = %s, %v\nwant       %s", d.source, describe(c), err, d.want)
		}
		if whole := strings.Count(d.text, "\n") >= 3; c.Whole != whole {
			t.Errorf("%s: Whole = %v, want %v", d.source, c.Whole, whole)
		}
	}
}

// warp17 is the output of DPDK in Juniper/warp17#81: two completions.
const warp17 = `warp17> MLX5 Error CQE: at [0x7f6a7d20c000], len=64
00000000: 00 73 65 65 6E 00 00 00 00 00 00 00 00 00 00 00 | .seen...........
00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 | ................
00000020: 00 00 00 13 00 00 00 00 00 00 00 00 00 00 00 00 | ................
00000030: 00 00 00 00 9D 00 53 04 0A 00 15 42 00 19 B0 D2 | ......S....B....
MLX5 Error CQE: at [0x7f5b64e01080], len=64
00000000: 00 73 65 65 6E 00 00 00 00 00 00 00 00 00 00 00 | .seen...........
00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 | ................
00000020: 00 00 00 0C 00 00 00 00 00 00 00 00 00 00 00 00 | ................
00000030: 00 00 00 00 9D 00 53 04 0A 00 15 34 00 5A 98 D2 | ......S....4.Z..
[root@localhost warp17]#`

func TestParseSeveralCQEs(t *testing.T) {
	list, err := ParseCQEs(warp17)
	if err != nil || len(list) != 2 {
		t.Fatalf("ParseCQEs = %d, %v, want 2", len(list), err)
	}
	for i, want := range []string{
		"status 4 vendor 0x53 hw 0/157 requester send qp 0x1542 wqe 0x19 srq 0x13",
		"status 4 vendor 0x53 hw 0/157 requester send qp 0x1534 wqe 0x5a srq 0xc",
	} {
		if got := describe(list[i]); got != want {
			t.Errorf("completion %d = %s, want %s", i, got, want)
		}
	}
	if _, err := ParseCQE(warp17); err == nil || !strings.Contains(err.Error(), "2 completions") {
		t.Errorf("ParseCQE of two = %v", err)
	}
}

// TestDumpsCutAtTheStart has the rows that are left when a log begins within a dump.
func TestDumpsCutAtTheStart(t *testing.T) {
	whole := strings.Split(dumps[0].text, "\n")
	for first := 2; first <= 4; first++ {
		c, err := ParseCQE(strings.Join(whole[first:], "\n"))
		if err != nil || c.QPN != 0x19a1 || c.Vendor != 0x52 || c.Whole {
			t.Errorf("from row %d: %s, %v", first, describe(c), err)
		}
	}
	two := strings.Join(whole[4:], "\n") + "\n" + dumps[2].text
	if list, err := ParseCQEs(two); err != nil || len(list) != 2 || list[1].QPN != 0x11b || !list[1].Whole {
		t.Errorf("a cut dump and a whole one: %v, %v", list, err)
	}
	rows := strings.Split(warp17, "\n")
	if list, err := ParseCQEs(rows[4] + "\n" + strings.Join(rows[6:10], "\n")); err != nil || len(list) != 2 ||
		list[0].Whole || !list[1].Whole {
		t.Errorf("a last row and a whole dump: %v, %v", list, err)
	}
}

func TestCQEForms(t *testing.T) {
	for _, text := range []string{
		"0000000093005204" + "0a0019a1c0921cd2",
		"0x00000000, 0x93005204, 0x0a0019a1, 0xc0921cd2",
		strings.Repeat("00", 48) + "00000000930052040a0019a1c0921cd2",
		strings.ReplaceAll(strings.TrimPrefix(dumps[0].text, "mlx5: ogden-rust.west.isilon.com: "), "\n", " "),
	} {
		if c, err := ParseCQE(text); err != nil || c.QPN != 0x19a1 || c.Syndrome != 4 || c.WQECounter != 0xc092 {
			t.Errorf("ParseCQE(%q) = %s, %v", text, describe(c), err)
		}
	}
}

// TestHardwareSyndrome has the form of UCX, hw_synd TYPE/SYNDROME with TYPE = byte 0x35 >> 4
// (src/uct/ib/mlx5/ib_mlx5_log.c).
func TestHardwareSyndrome(t *testing.T) {
	c, err := ParseCQE("00000000 93205204 0a0019a1 c0921cd2")
	if err != nil || c.HWSyndromeType != 2 || c.HWSyndrome != 0x93 {
		t.Errorf("hw_synd %d/%d, %v, want 2/147", c.HWSyndromeType, c.HWSyndrome, err)
	}
}

// TestDumpWithoutItsLastRow isn't joined with the next dump.
func TestDumpWithoutItsLastRow(t *testing.T) {
	rows := strings.Split(warp17, "\n")
	if list, err := ParseCQEs(rows[3] + "\n" + strings.Join(rows[7:10], "\n")); err == nil {
		t.Errorf("ParseCQEs = %v, want an error", list)
	}
}

func TestNoErrorCQE(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "want 64 bytes",
		"hello":                               "want 64 bytes",
		"00000000 00000000 00000000 00000000": "opcode 0x0 in the last byte",
		"00000000 93005204 0a0019a1 c0921c02": "not an error",
		"93005204":                            "want 64 bytes",
	} {
		if _, err := ParseCQE(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseCQE(%q) = %v, want an error with %q", text, err, want)
		}
	}
	for _, n := range []int{0, 11, 65} {
		if _, err := DecodeCQE(make([]byte, n)); err == nil {
			t.Errorf("DecodeCQE of %d bytes succeeded", n)
		}
	}
}

func FuzzParseCQEs(f *testing.F) {
	for _, d := range dumps {
		f.Add(d.text)
	}
	f.Add(warp17)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseCQEs(text)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("ParseCQEs = %d completions, %v", len(list), err)
		}
		for _, c := range list {
			if op := c.OperationAndBit >> 4; op != 13 && op != 14 || c.Responder != (op == 14) {
				t.Errorf("not an error completion: %+v", c)
			}
		}
	})
}
