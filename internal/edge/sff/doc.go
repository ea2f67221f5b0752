// Package sff decodes the memory of pluggable modules and cables: SFF-8472 (SFP), SFF-8636 (QSFP)
// and CMIS (QSFP-DD, OSFP, QSFP112). It identifies the module and returns what it measures, with
// the limits that the module itself names.
//
//	m, err := sff.Decode(func(p sff.Page) ([]byte, error) { … })
//	if m.Temperature != nil && m.Temperature.Limits != nil { … }
//
// The package is portable and opens nothing: the caller reads the pages. Functions may be called
// from several goroutines.
//
// # Latched flags
//
// The alarm flags of SFF-8636 (lower page, bytes 3 to 21) and of CMIS (lower page, bytes 8 to 11,
// and page 11h) are cleared by reading them. Decode reads around them, so that it takes no alarm
// away from the driver or from another program, and compares values with limits instead.
//
// # Limits
//
// The first eight lanes are decoded. A module that answers a short read with zeros, as some do, is
// read again with a longer one. Values of externally calibrated SFPs are calibrated.
package sff
