package prm

import (
	"math"
	"strconv"
)

// BER is a bit error ratio as devices report it: Coefficient × 10^-Magnitude (adb,
// phys_layer_stat_cntrs_ext).
type BER struct {
	Coefficient uint8 // 4 bits; 0: the device doesn't report this ratio
	Magnitude   uint8
}

// magnitudeNone is the magnitude of a ratio without errors: mlxlink prints 15E-255 where all error
// counters are 0.
const magnitudeNone = 255

// IsReported reports whether the device has this ratio. A ratio without errors is reported.
func (r BER) IsReported() bool { return r.Coefficient != 0 }

// IsZero reports whether the device has counted no error.
func (r BER) IsZero() bool { return r.Coefficient != 0 && r.Magnitude == magnitudeNone }

// Value returns the ratio; 0 if no error was counted or the device doesn't report it.
func (r BER) Value() float64 {
	if r.IsZero() {
		return 0
	}
	return float64(r.Coefficient) * math.Pow10(-int(r.Magnitude))
}

// String returns the ratio as mlxlink prints it: "15E-255".
func (r BER) String() string {
	return strconv.Itoa(int(r.Coefficient)) + "E-" + strconv.Itoa(int(r.Magnitude))
}

// ber reads or writes a ratio: the coefficient at a bit of a word, the magnitude eight bits above.
func (f fields) ber(offset, bit int, v *BER) {
	bits(f, offset, bit, 4, &v.Coefficient)
	bits(f, offset, bit+8, 8, &v.Magnitude)
}

// Ratio returns the ratio of errors among bits as devices round it: one digit, not rounded up.
// Without bits it isn't reported.
func Ratio(errors, received uint64) BER {
	switch {
	case received == 0:
		return BER{}
	case errors == 0:
		return BER{Coefficient: 15, Magnitude: magnitudeNone}
	case errors >= received:
		return BER{Coefficient: 1}
	}
	ratio := float64(errors) / float64(received)
	magnitude := math.Ceil(-math.Log10(ratio))
	// the next float above, because 3e-8 × 1e8 is less than 3
	coefficient := math.Floor(math.Nextafter(ratio*math.Pow10(int(magnitude)), 10))
	return BER{Coefficient: uint8(max(1, min(coefficient, 9))), Magnitude: uint8(magnitude)}
}

// RawErrorBits returns the bits received with an error, of all lanes.
func (r *StatisticalCounters) RawErrorBits() uint64 {
	var sum uint64
	for _, n := range r.RawErrors {
		sum += n
	}
	return sum
}
