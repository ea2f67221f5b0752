package phy

import (
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// Limits of bit error ratios after correction.
const (
	// Threshold is the largest ratio of a link that the specification allows: fewer than one error
	// in 10^12 bits (NVIDIA, DGX SuperPOD design guide for cabling, "Mixing Widths and Rates", on
	// the InfiniBand specification).
	Threshold = 1e-12
	// FactoryLimit is the largest ratio of the vendor's cables when they are tested (the same
	// page): fewer than one error in 10^15 bits.
	FactoryLimit = 1e-15
)

// Kind is one of the three ratios of a port.
type Kind string

// The ratios.
const (
	KindRaw       Kind = "raw"       // before error correction
	KindEffective Kind = "effective" // after FEC
	KindSymbol    Kind = "symbol"    // after FEC and retransmission by the physical layer
)

// Deciding returns the ratio that packets see, which is the one to compare with a threshold, and
// where that is said. No public source with thresholds for each generation is known, so the
// number is the same for all.
func Deciding(speed mad.LinkSpeed) (kind Kind, source string) {
	const manual = "ibdiagnet manual, Bit Error Rate"
	switch speed {
	case mad.LinkSpeedXDR:
		return KindSymbol, "as for NDR: no source names XDR"
	case mad.LinkSpeedNDR, mad.LinkSpeedHDR:
		return KindSymbol, manual
	case mad.LinkSpeedEDR:
		return KindEffective, manual
	}
	return KindEffective, "as for EDR: older links have no retransmission"
}

// Ratio is a bit error ratio with its origin.
type Ratio struct {
	prm.BER
	// Counted is true if the device doesn't report the ratio, and it is computed from the counters.
	Counted bool
}

// Ratios returns the three ratios: those that the device reports, or else computed from its
// counters.
func Ratios(c *prm.StatisticalCounters) map[Kind]Ratio {
	ratio := func(reported prm.BER, errors uint64) Ratio {
		if reported.IsReported() {
			return Ratio{BER: reported}
		}
		computed := prm.Ratio(errors, c.ReceivedBits)
		return Ratio{BER: computed, Counted: computed.IsReported()}
	}
	return map[Kind]Ratio{
		KindRaw:       ratio(c.Raw, c.RawErrorBits()),
		KindEffective: ratio(c.Effective, c.EffectiveErrors),
		KindSymbol:    ratio(c.Symbol, c.SymbolErrors),
	}
}

// Verdict is the comparison of a port's deciding ratio with a threshold.
type Verdict struct {
	Kind      Kind
	Source    string // where it is said that this ratio decides
	Ratio     Ratio
	Threshold float64
	Exceeded  bool // the ratio is above the threshold
	// AboveFactory is true if the ratio is not above the threshold, but above FactoryLimit.
	AboveFactory bool
	// NotJudged is the reason why there is no verdict; empty if there is one.
	NotJudged string
}

// Judge compares the deciding ratio of a link with a threshold. rate is the signalling rate in
// Gb/s, for devices that don't count the bits received.
//
// A link without errors is judged only if it has received three times as many bits as the threshold
// has for each error: then a ratio at the threshold would have shown an error with a probability of
// 95 %.
func Judge(speed mad.LinkSpeed, rate float64, c *prm.StatisticalCounters, threshold float64) Verdict {
	v := Verdict{Threshold: threshold}
	v.Kind, v.Source = Deciding(speed)
	v.Ratio = Ratios(c)[v.Kind]
	if !v.Ratio.IsReported() {
		v.NotJudged = fmt.Sprintf("the device reports no %s ratio", v.Kind)
		return v
	}
	received := float64(c.ReceivedBits)
	if c.ReceivedBits == 0 {
		received = rate * 1e9 * (time.Duration(c.SinceClear) * time.Millisecond).Seconds()
	}
	const enough = 3
	if v.Ratio.IsZero() && received < enough/threshold {
		v.NotJudged = fmt.Sprintf("only %.2g bits received since the counters were reset: %.2g are needed",
			received, enough/threshold)
		return v
	}
	value := v.Ratio.Value()
	v.Exceeded = value > threshold
	v.AboveFactory = !v.Exceeded && value > FactoryLimit
	return v
}
