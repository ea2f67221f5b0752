package codes

import (
	"cmp"
	"slices"
	"strings"
)

// Fit is whether a vendor code agrees with a completion status.
type Fit uint8

// The answers.
const (
	FitUnknown Fit = iota // no status was given, or no source relates the code to one
	FitYes
	FitNo
)

// String returns "fits", "does not fit" or "unknown".
func (f Fit) String() string {
	switch f {
	case FitYes:
		return "fits"
	case FitNo:
		return "does not fit"
	default:
		return "unknown"
	}
}

// MarshalText implements [encoding.TextMarshaler] with the form of [Fit.String].
func (f Fit) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// VendorCode is what a driver means by the vendor_err of a completion (struct ibv_wc).
type VendorCode struct {
	Driver   string
	Code     uint32
	Name     string // of the driver's constant; empty if it has none
	Side     string // "requester" or "responder" if the driver numbers them differently
	Meaning  string
	Statuses []int // with which the driver reports the code
	Fit      Fit
	Source   string
}

// vendorTable is what is known about the codes of a driver.
type vendorTable struct {
	driver string
	max    uint32 // the largest value of the field
	source string
	codes  []VendorCode
	// other explains a code that isn't listed.
	other string
	// compute explains codes that have parts; it replaces codes.
	compute func(code uint32) VendorCode
}

// vendors are the drivers, in the order in which unknown ones are tried.
var vendors = []*vendorTable{
	&vendorMLX5, &vendorBNXT, &vendorIRDMA, &vendorEFA, &vendorERDMA, &vendorIONIC,
	&vendorMLX4, &vendorHNS, &vendorQEDR, &vendorRXE, &vendorSIW,
}

// Drivers returns the names of the drivers whose vendor codes are described.
func Drivers() []string {
	names := make([]string, len(vendors))
	for i, v := range vendors {
		names[i] = v.driver
	}
	return names
}

// DriverOf returns the driver of a device that has the kernel's default name (mlx5_0, bnxt_re1,
// rocep94s0f0np0 has none) or of a module (mlx5_core, ib_core is none).
func DriverOf(device string) (string, bool) {
	d := strings.ToLower(strings.TrimSpace(device))
	if i := strings.IndexAny(d, ":/"); i >= 0 {
		d = d[:i]
	}
	for prefix, driver := range driverPrefixes {
		rest, ok := strings.CutPrefix(d, prefix)
		if ok && strings.Trim(rest, "0123456789_") == "" {
			return driver, true
		}
	}
	return "", false
}

// driverPrefixes are modules and default names of devices.
var driverPrefixes = map[string]string{
	"mlx5_core": "mlx5", "mlx5_ib": "mlx5", "mlx5_bond": "mlx5", "mlx5": "mlx5",
	"mlx4_core": "mlx4", "mlx4_ib": "mlx4", "mlx4": "mlx4",
	"bnxt_re": "bnxt_re", "irdma": "irdma", "efa": "efa", "erdma": "erdma", "ionic": "ionic", "hns": "hns",
	"qedr": "qedr", "rxe": "rxe", "rdma_rxe": "rxe", "siw": "siw",
}

// Vendor returns the meanings of a code: of a driver, or of every driver that has it if driver is
// empty. Those that fit the status come first; status is [StatusUnknown] if it isn't known. The
// result is empty for a driver without a table, see [Drivers], and for a code that exceeds the
// field.
func Vendor(driver string, code uint32, status int) []VendorCode {
	var found []VendorCode
	for _, v := range vendors {
		if driver == v.driver {
			return v.lookup(code, status, true)
		}
		if driver == "" {
			found = append(found, v.lookup(code, status, false)...)
		}
	}
	order(found)
	return found
}

// order puts the codes that fit first and those that don't last, else keeps the order.
func order(found []VendorCode) {
	rank := map[Fit]int{FitYes: 0, FitUnknown: 1, FitNo: 2}
	slices.SortStableFunc(found, func(a, b VendorCode) int { return cmp.Compare(rank[a.Fit], rank[b.Fit]) })
}

// lookup returns the meanings of a code. Codes that aren't listed are explained if all is true.
func (v *vendorTable) lookup(code uint32, status int, all bool) []VendorCode {
	if code > v.max {
		return nil
	}
	var found []VendorCode
	for _, c := range v.codes {
		if c.Code == code {
			found = append(found, c)
		}
	}
	if v.compute != nil {
		if c := v.compute(code); all || c.Name != "" {
			found = append(found, c)
		}
	}
	if len(found) == 0 && all && v.other != "" {
		found = append(found, VendorCode{Meaning: v.other})
	}
	for i := range found {
		c := &found[i]
		c.Driver, c.Code = v.driver, code
		c.Source = cmp.Or(c.Source, v.source)
		c.Statuses = slices.Clone(c.Statuses)
		c.Fit = fit(c.Statuses, status)
	}
	order(found)
	return found
}

func fit(statuses []int, status int) Fit {
	switch {
	case status == StatusUnknown || len(statuses) == 0:
		return FitUnknown
	case slices.Contains(statuses, status):
		return FitYes
	default:
		return FitNo
	}
}
