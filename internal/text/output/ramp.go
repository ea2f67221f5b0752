package output

import (
	"image/color"
	"math"
)

// Ramp returns n colours from dark violet through blue and teal to light yellow, for values in an
// order. Their lightness rises evenly, so the order is also visible in grey, and to people who are
// colour-blind. n is at least 2.
//
// The lightness and the hue change linearly in the colour space OKLCH. Where a colour is outside of
// sRGB, its chroma is reduced.
func Ramp(n int) []color.RGBA {
	const (
		darkest, lightest = 0.25, 0.93
		violet, yellow    = 305, 105 // degrees of hue
		chroma            = 0.14
	)
	out := make([]color.RGBA, n)
	for i := range out {
		t := float64(i) / float64(n-1)
		sin, cos := math.Sincos((violet + (yellow-violet)*t) * math.Pi / 180)
		for c := chroma; ; c *= 0.98 {
			rgb, ok := fromOKLab(darkest+(lightest-darkest)*t, c*cos, c*sin)
			if ok || c < 0.001 {
				out[i] = rgb
				break
			}
		}
	}
	return out
}

// RampFailed is the colour of what failed. It differs from all colours of [Ramp], also to people
// who are colour-blind.
func RampFailed() color.RGBA { return color.RGBA{0xff, 0x00, 0xff, 0xff} }

// fromOKLab converts a colour of OKLab to sRGB, and reports whether sRGB has it. The matrices are
// those of the definition: https://bottosson.github.io/posts/oklab/.
func fromOKLab(lightness, a, b float64) (color.RGBA, bool) {
	cube := func(v float64) float64 { return v * v * v }
	l := cube(lightness + 0.3963377774*a + 0.2158037573*b)
	m := cube(lightness - 0.1055613458*a - 0.0638541728*b)
	s := cube(lightness - 0.0894841775*a - 1.2914855480*b)
	ok := true
	channel := func(v float64) uint8 {
		const tolerance = 0.001
		ok = ok && v > -tolerance && v < 1+tolerance
		v = min(max(v, 0), 1)
		if v <= 0.0031308 { // the linear part of sRGB's transfer function, IEC 61966-2-1
			return uint8(math.Round(255 * 12.92 * v))
		}
		return uint8(math.Round(255 * (1.055*math.Pow(v, 1/2.4) - 0.055)))
	}
	rgb := color.RGBA{
		channel(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		channel(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		channel(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
		0xff,
	}
	return rgb, ok
}
