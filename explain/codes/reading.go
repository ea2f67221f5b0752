package codes

import (
	"fmt"
	"strconv"
	"strings"
)

// Base is how a program prints vendor codes.
type Base int

// The bases.
const (
	BaseUnknown     Base = 0
	BaseDecimal     Base = 10
	BaseHexadecimal Base = 16
)

// programBases are the programs whose form of vendor codes is known from their source.
var programBases = map[string]Base{
	"nccl": BaseDecimal, "rccl": BaseDecimal, // vendor err %u: src/transport/net_ib*
	"ucx": BaseHexadecimal, "nixl": BaseHexadecimal, // vend 0x%x, vendor_err 0x%x: src/uct/ib
	"perftest": BaseHexadecimal, // syndrom 0x%x: src/perftest_resources.h
	"kernel":   BaseHexadecimal, // vendor syndrome 0x%x: drivers/infiniband/hw/mlx5/cq.c
}

// BaseOf returns how a program prints vendor codes: "nccl", "rccl", "ucx", "nixl", "perftest",
// "kernel"; [BaseUnknown] for others.
func BaseOf(program string) Base { return programBases[strings.ToLower(program)] }

// Reading is a number that a text can stand for.
type Reading struct {
	Value uint32
	Base  Base
}

// Readings returns the numbers that a vendor code can stand for. 0x and the digits a to f decide
// for hexadecimal; else the base does. If it is unknown, plain digits have two readings, decimal
// first, or one where both are equal.
func Readings(text string, base Base) ([]Reading, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	bad := fmt.Errorf("vendor code %q: want a decimal number or a hexadecimal one such as 0x81, up to 32 bits", text)
	if digits, ok := strings.CutPrefix(t, "0x"); ok {
		t, base = digits, BaseHexadecimal
	}
	if t == "" || strings.Trim(t, "0123456789abcdef") != "" {
		return nil, bad
	}
	if strings.ContainsAny(t, "abcdef") {
		base = BaseHexadecimal
	}
	var list []Reading
	for _, b := range [...]Base{BaseDecimal, BaseHexadecimal} {
		if base != BaseUnknown && base != b {
			continue
		}
		v, err := strconv.ParseUint(t, int(b), 32)
		if err == nil && (len(list) == 0 || uint64(list[0].Value) != v) {
			list = append(list, Reading{Value: uint32(v), Base: b})
		}
	}
	if len(list) == 0 {
		return nil, bad
	}
	return list, nil
}

// VendorText is [Vendor] for a code as printed. Of several readings, those with a meaning that fits
// the status come first, then those with a meaning, then decimal ones; those without a meaning are
// left out if another one has one.
func VendorText(driver, code string, base Base, status int) ([]VendorReading, error) {
	readings, err := Readings(code, base)
	if err != nil {
		return nil, err
	}
	list := make([]VendorReading, 0, len(readings))
	for _, r := range readings {
		list = append(list, VendorReading{Reading: r, Meanings: Vendor(driver, r.Value, status)})
	}
	if len(list) == 2 && list[1].rank() > list[0].rank() {
		list[0], list[1] = list[1], list[0]
	}
	if len(list) == 2 && len(list[0].Meanings) > 0 && len(list[1].Meanings) == 0 {
		list = list[:1]
	}
	return list, nil
}

// VendorReading is one reading of a code and what it means.
type VendorReading struct {
	Reading
	Meanings []VendorCode
}

// rank is how well a reading is supported by the tables.
func (r VendorReading) rank() int {
	best := 0
	for _, m := range r.Meanings {
		switch {
		case m.Fit == FitYes:
			best = max(best, 3)
		case len(m.Statuses) > 0 && m.Fit == FitUnknown:
			best = max(best, 2)
		default:
			best = max(best, 1)
		}
	}
	return best
}
