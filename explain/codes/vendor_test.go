package codes

import (
	"slices"
	"testing"
)

// TestVendorCodesInLogs has codes that public logs show with a status, and the drivers' mappings in
// rdma-core.
func TestVendorCodesInLogs(t *testing.T) {
	for _, c := range []struct {
		source, driver string
		code           uint32
		status         int
	}{
		{"ruihong123/dLSM#7", "mlx5", 0x81, 12},
		{"ruihong123/dLSM#7", "mlx5", 0xf9, 5},
		{"openucx/ucx#7774", "mlx5", 0x51, 4},
		{"openucx/ucx#6414", "mlx5", 0x52, 4},
		{"spdk/spdk#500", "mlx5", 0x53, 4},
		{"openucx/ucx#9167", "mlx5", 0x32, 4},
		{"openucx/ucx#1569", "mlx5", 0x88, 10},
		{"openucx/ucx#1770", "mlx5", 0x8a, 9},
		{"charmplusplus/charm#2532: 138", "mlx5", 138, 9},
		{"openucx/ucx#5472", "mlx5", 0x89, 11},
		{"rdma-core, is_odp_pfault_err", "mlx5", 0x93, 16},
		{"UCX, rc_mlx5_iface.c", "mlx5", 0x99, 16},
		{"uccl-project/uccl#617", "bnxt_re", 0xa, 12},
		{"uccl-project/uccl#972", "bnxt_re", 0x3, 2},
		{"bnxt_re_to_ibv_wc_status, responder", "bnxt_re", 0x8, 19},
		{"bnxt_re_to_ibv_wc_status, responder", "bnxt_re", 0x1, 8},
		{"bnxt_re_to_ibv_wc_status, requester", "bnxt_re", 0x1, 7},
		{"irdma_flush_err_to_ib_wc_status", "irdma", 1<<16 | 8, 12},
		{"irdma_flush_err_to_ib_wc_status", "irdma", 1<<16 | 1, 5},
		{"irdma_flush_err_to_ib_wc_status", "irdma", 0xfffe<<16 | 11, 13},
		{"irdma_flush_err_to_ib_wc_status, default", "irdma", 1<<16 | 12, 19},
		{"irdma_process_cqe, not flushed", "irdma", 0x0103<<16 | 2, 21},
		{"to_ibv_status", "efa", 9, 15},
		{"to_ibv_status", "efa", 13, 20},
		{"to_ibv_status", "efa", 15, 20},
		{"to_ibv_status", "efa", 18, 9},
		{"map_cqe_status", "erdma", 0x34, 8},
		{"map_cqe_status", "erdma", 0, 12},
		{"map_cqe_status", "erdma", 6, 10},
		{"ionic_to_ibv_status", "ionic", 11, 12},
		{"ionic_to_ibv_status", "ionic", 4, 5},
		{"NVIDIA forum 207715: status 0x13 vendor syndrome 0x88", "mlx4", 0x88, 10},
	} {
		list := Vendor(c.driver, c.code, c.status)
		if len(list) == 0 || list[0].Fit != FitYes || list[0].Driver != c.driver || list[0].Code != c.code ||
			list[0].Meaning == "" || list[0].Source == "" {
			t.Errorf("%s: Vendor(%s, %#x, %d) = %+v", c.source, c.driver, c.code, c.status, list)
		}
		other := c.status%23 + 1
		if slices.Contains(list[0].Statuses, other) {
			continue
		}
		if list := Vendor(c.driver, c.code, other); list[0].Fit == FitYes && list[0].Statuses[0] != other {
			t.Errorf("%s: Vendor(%s, %#x, %d) fits: %+v", c.source, c.driver, c.code, other, list)
		}
	}
}

func TestVendorOrder(t *testing.T) {
	// bnxt_re's code 1 is a bad response for requests and an access error for receives
	both := Vendor("bnxt_re", 1, 8)
	if len(both) != 2 || both[0].Side != "responder" || both[1].Fit != FitNo {
		t.Errorf("Vendor(bnxt_re, 1, 8) = %+v", both)
	}
	if list := Vendor("bnxt_re", 1, StatusUnknown); len(list) != 2 || list[0].Fit != FitUnknown {
		t.Errorf("Vendor(bnxt_re, 1, unknown) = %+v", list)
	}
	// without a driver every one that has the code, those that fit first
	list := Vendor("", 13, 20)
	var drivers []string
	for _, v := range list {
		drivers = append(drivers, v.Driver)
	}
	if !slices.Equal(drivers, []string{"efa", "ionic"}) || list[0].Fit != FitYes || list[1].Fit != FitNo {
		t.Errorf("Vendor(\"\", 13, 20) = %+v", list)
	}
	if list := Vendor("mlx5", 0x129, 12); list != nil {
		t.Errorf("a code beyond the field: %+v", list)
	}
	if list := Vendor("nvme", 1, 12); list != nil {
		t.Errorf("another driver: %+v", list)
	}
	for _, driver := range Drivers() {
		list := Vendor(driver, 0x7e, 12)
		if len(list) != 1 || list[0].Meaning == "" || list[0].Fit == FitYes {
			t.Errorf("Vendor(%s, 0x7e, 12), which no table has = %+v", driver, list)
		}
	}
}

// TestVendorTablesAreNotShared protects the tables from callers.
func TestVendorTablesAreNotShared(t *testing.T) {
	Vendor("mlx5", 0x81, 12)[0].Statuses[0] = 99
	if list := Vendor("mlx5", 0x81, 12); list[0].Fit != FitYes {
		t.Error("a caller could change the table")
	}
}

func TestReadings(t *testing.T) {
	for _, c := range []struct {
		text string
		base Base
		want []uint32
	}{
		{"129", BaseUnknown, []uint32{129, 0x129}},
		{"129", BaseDecimal, []uint32{129}},
		{"81", BaseHexadecimal, []uint32{0x81}},
		{"0x81", BaseDecimal, []uint32{0x81}},
		{"0X81", BaseUnknown, []uint32{0x81}},
		{"f9", BaseUnknown, []uint32{0xf9}},
		{"f9", BaseDecimal, []uint32{0xf9}},
		{"5", BaseUnknown, []uint32{5}},
		{" 10 ", BaseUnknown, []uint32{10, 16}},
	} {
		list, err := Readings(c.text, c.base)
		var got []uint32
		for _, r := range list {
			got = append(got, r.Value)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Readings(%q, %d) = %v, %v, want %v", c.text, c.base, got, err, c.want)
		}
	}
	for _, text := range []string{"", "0x", "-1", "1g", "0x123456789", "99999999999", "+5", "1_0"} {
		if list, err := Readings(text, BaseUnknown); err == nil {
			t.Errorf("Readings(%q) = %v", text, list)
		}
	}
}

// TestDecimalOrHexadecimal is the confusion of NVIDIA/nccl#214: 81 is 0x51 as NCCL prints it, and
// 129 is 0x81.
func TestDecimalOrHexadecimal(t *testing.T) {
	for _, c := range []struct {
		driver, code, program string
		status                int
		want                  []uint32
	}{
		{"mlx5", "81", "nccl", 4, []uint32{0x51}},
		{"mlx5", "81", "UCX", 12, []uint32{0x81}},
		{"mlx5", "81", "", 12, []uint32{0x81, 0x51}},
		{"mlx5", "81", "", 4, []uint32{0x51, 0x81}},
		{"mlx5", "129", "", 12, []uint32{0x81}}, // 0x129 is more than a byte
		{"", "129", "", 12, []uint32{0x81}},
		{"mlx5", "51", "", 4, []uint32{0x51, 51}}, // 51 is 0x33, of which nothing is known
		{"bnxt_re", "10", "", 12, []uint32{10, 16}},
		{"mlx5", "0x81", "nccl", 12, []uint32{0x81}},
	} {
		list, err := VendorText(c.driver, c.code, BaseOf(c.program), c.status)
		var got []uint32
		for _, r := range list {
			got = append(got, r.Value)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("VendorText(%q, %q, %q, %d) = %#x, %v, want %#x", c.driver, c.code, c.program, c.status,
				got, err, c.want)
		}
	}
}

func TestDriverOf(t *testing.T) {
	for device, want := range map[string]string{
		"mlx5_0": "mlx5", "mlx5_bond_0": "mlx5", "mlx5_0:1/RoCE": "mlx5", "bnxt_re12": "bnxt_re", "mlx5": "mlx5",
		"mlx5_core": "mlx5", "rxe0": "rxe", "efa_0": "efa", "erdma_0": "erdma", "hns_0": "hns", "MLX4_1": "mlx4",
		"siw0":      "siw",
		"rdmap0s31": "", "rocep94s0f0": "", "ib0": "", "": "", "mlx5_a": "",
	} {
		if got, ok := DriverOf(device); got != want || ok != (want != "") {
			t.Errorf("DriverOf(%q) = %q, %v, want %q", device, got, ok, want)
		}
	}
}

func FuzzVendorText(f *testing.F) {
	f.Add("mlx5", "129", 12)
	f.Add("", "0x81", -1)
	f.Fuzz(func(t *testing.T, driver, code string, status int) {
		list, err := VendorText(driver, code, BaseUnknown, status)
		if (err == nil) != (len(list) > 0) || len(list) > 2 {
			t.Errorf("VendorText(%q, %q, %d) = %v, %v", driver, code, status, list, err)
		}
	})
}
