package inventory

import "testing"

func TestLimitString(t *testing.T) {
	for l, want := range map[Limit]string{
		{Unlimited: true}:      "unlimited",
		{}:                     "0 bytes",
		{Bytes: 1023}:          "1023 bytes",
		{Bytes: 64 << 10}:      "64 KiB",
		{Bytes: 8 << 20}:       "8 MiB",
		{Bytes: 2046152704}:    "1.9 GiB",
		{Bytes: 1<<30 - 1}:     "1023.9 MiB",
		{Bytes: 1<<30 + 1}:     "1.0 GiB",
		{Bytes: 64 << 30}:      "64 GiB",
		{Bytes: 1<<62 - 1<<20}: "3.9 EiB",
		{Bytes: 1<<64 - 1}:     "15.9 EiB",
		{Bytes: 1500 << 10}:    "1.4 MiB",
	} {
		if got := l.String(); got != want {
			t.Errorf("Limit{%d}.String() = %q, want %q", l.Bytes, got, want)
		}
	}
	for text, want := range map[string]Limit{
		"unlimited":            {Unlimited: true},
		"65536":                {Bytes: 65536},
		"18446744073709551615": {Unlimited: true}, // RLIM_INFINITY
		"9223372036854775807":  {Unlimited: true}, // that of signed types
	} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}
