package clib

import (
	"math"
	"syscall"
	"testing"
)

func TestStrtoul(t *testing.T) {
	tests := []struct {
		s        string
		base     int
		want     uint64
		overflow bool
	}{
		{"", 0, 0, false},
		{"4: ACTIVE", 0, 4, false},
		{" \t42x", 0, 42, false},
		{"0x1F", 0, 31, false},
		{"0xg", 0, 0, false},
		{"010", 0, 8, false},
		{"09", 0, 0, false},
		{"ffff", 16, 0xffff, false},
		{"-1", 0, math.MaxUint64, false},
		{"+7", 0, 7, false},
		{"- 7", 0, 0, false},
		{"18446744073709551615", 0, math.MaxUint64, false},
		{"18446744073709551616", 0, math.MaxUint64, true},
		{"99999999999999999999999", 0, math.MaxUint64, true},
	}
	for _, tt := range tests {
		if got, overflow := Strtoul(tt.s, tt.base); got != tt.want || overflow != tt.overflow {
			t.Errorf("Strtoul(%q, %d) = %d, %t, want %d, %t", tt.s, tt.base, got, overflow, tt.want, tt.overflow)
		}
	}
}

func TestStrtol(t *testing.T) {
	for s, want := range map[string]int32{
		"1": 1, "-1": -1, "x": 0, "": 0, "0x10": 16, "4294967297": 1, "99999999999999999999": -1,
		"-99999999999999999999": 0, "--1": 0,
	} {
		if got := Strtol(s, 0); got != want {
			t.Errorf("Strtol(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestStrerror(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		0: "Success", syscall.ENOENT: "No such file or directory", 9999: "Unknown error 9999",
	} {
		if got := Strerror(errno); got != want {
			t.Errorf("Strerror(%d) = %q, want %q", errno, got, want)
		}
	}
}
