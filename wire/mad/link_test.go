package mad_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// The recorded tools don't send these speeds, so the test sets the bits itself, at the offsets in
// the specification and libibmad (LinkSpeedExtActive2 at bit 449 etc.).
func TestPortInfoBits(t *testing.T) {
	tests := []struct {
		offset int
		value  byte
		want   mad.PortInfo
	}{
		{34, 0xff, mad.PortInfo{MKeyProtectBits: 3, Reserved34: 7, LMC: 7}},
		{51, 0x80, mad.PortInfo{ClientReregister: true}},
		{51, 0x60, mad.PortInfo{MulticastPKeyTrapSuppress: 3}},
		{53, 0xa5, mad.PortInfo{LocalPhyErrors: 10, OverrunErrors: 5}},
		{56, 0x80, mad.PortInfo{Reserved56: 1}},
		{56, 0x20, mad.PortInfo{LinkSpeedExt2Active: 1}},
		{56, 0x08, mad.PortInfo{LinkSpeedExt2Supported: 1}},
		{56, 0x01, mad.PortInfo{LinkSpeedExt2Enabled: 1}},
		{57, 0x01, mad.PortInfo{LinkRoundTripLatency: 0x10000}},
		{60, 0x10, mad.PortInfo{CapabilityMask2: mad.Capability2IsLinkSpeedXDRSupported}},
		{62, 0x8f, mad.PortInfo{LinkSpeedExtActive: 8, LinkSpeedExtSupported: 15}},
		{63, 0xfe, mad.PortInfo{Reserved63: 7, LinkSpeedExtEnabled: 30}},
	}
	for _, tt := range tests {
		b := make([]byte, mad.PortInfoLen)
		b[tt.offset] = tt.value
		var got mad.PortInfo
		decode(t, &got, b)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("PortInfo with byte %d = %#x (-want +got):\n%s", tt.offset, tt.value, diff)
		}
	}
}

func TestPortCountersBits(t *testing.T) {
	b := make([]byte, mad.PortCountersLen)
	copy(b[19:], []byte{0xa5, 1, 2, 3, 4})
	var got mad.PortCounters
	decode(t, &got, b)
	want := mad.PortCounters{
		LocalLinkIntegrityErrors: 10, ExcessiveBufferOverrunErrors: 5, QP1Dropped: 0x102, VL15Dropped: 0x304,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PortCounters (-want +got):\n%s", diff)
	}
}

// Offsets of counters that perfquery -x of version 44 doesn't print under ibsim: those of
// libibmad's IB_PC_EXT_ERR fields, of 64 bits each, from bit 576.
func TestPortCountersExtendedOffsets(t *testing.T) {
	b := make([]byte, mad.PortCountersExtendedLen)
	for i := range b {
		b[i] = byte(i / 8)
	}
	var a mad.PortCountersExtended
	decode(t, &a, b)
	const each = 0x0101010101010101
	got := []uint64{
		a.SymbolErrorCounter, a.LinkErrorRecoveryCounter, a.LinkDownedCounter, a.PortRcvErrors,
		a.PortRcvRemotePhysicalErrors, a.PortRcvSwitchRelayErrors, a.PortXmitDiscards, a.PortXmitConstraintErrors,
		a.PortRcvConstraintErrors, a.LocalLinkIntegrityErrors, a.ExcessiveBufferOverrunErrors, a.VL15Dropped,
		a.PortXmitWait, a.QP1Dropped,
	}
	for i, v := range got {
		if want := uint64(9+i) * each; v != want {
			t.Errorf("error counter %d = %#x, want %#x", i, v, want)
		}
	}
}

func TestMFTBlockBits(t *testing.T) {
	b := make([]byte, mad.SMPDataLen)
	b[2], b[3] = 0x80, 0x03
	var got mad.MFTBlock
	decode(t, &got, b)
	if want := (mad.MFTBlock{1: 1<<15 | 1<<1 | 1}); got != want {
		t.Errorf("MFTBlock = %x, want %x", got, want)
	}
	if got, want := mad.MFTModifier(511, 15), uint32(0xf00001ff); got != want {
		t.Errorf("MFTModifier(511, 15) = %#x, want %#x", got, want)
	}
}

func TestSpeeds(t *testing.T) {
	fdr10 := &mad.ExtendedPortInfo{LinkSpeedActive: 1, LinkSpeedSupported: 1, LinkSpeedEnabled: 1}
	tests := []struct {
		name                       string
		info                       mad.PortInfo
		ext                        *mad.ExtendedPortInfo
		active, supported, enabled string
	}{
		{"nothing", mad.PortInfo{}, nil, "unknown", "unknown", "unknown"},
		{
			"SDR of DDR",
			mad.PortInfo{LinkSpeedActive: 1, LinkSpeedSupported: 3, LinkSpeedEnabled: 3},
			nil, "SDR",
			"DDR", "DDR",
		},
		{"QDR", mad.PortInfo{LinkSpeedActive: 4, LinkSpeedSupported: 7, LinkSpeedEnabled: 1}, nil, "QDR", "QDR", "SDR"},
		{
			"FDR10",
			mad.PortInfo{LinkSpeedActive: 4, LinkSpeedSupported: 7, LinkSpeedEnabled: 7},
			fdr10, "FDR10", "FDR10", "FDR10",
		},
		{
			"DDR, where FDR10 is said to be active",
			mad.PortInfo{LinkSpeedActive: 2, LinkSpeedSupported: 7, LinkSpeedEnabled: 7},
			fdr10, "DDR", "FDR10", "FDR10",
		},
		{
			"EDR of NDR, none enabled",
			mad.PortInfo{
				LinkSpeedActive: 4, LinkSpeedExtActive: 2, LinkSpeedExtSupported: 15, LinkSpeedExtEnabled: 30,
				LinkSpeedEnabled: 7,
			},
			nil, "EDR", "NDR", "QDR",
		},
		{
			"FDR of HDR",
			mad.PortInfo{LinkSpeedExtActive: 1, LinkSpeedExtSupported: 7, LinkSpeedExtEnabled: 7},
			fdr10, "FDR", "HDR", "HDR",
		},
		{
			"XDR",
			mad.PortInfo{
				LinkSpeedExtActive: 8, LinkSpeedExt2Active: 1, LinkSpeedExt2Supported: 1, LinkSpeedExt2Enabled: 1,
			},
			nil, "XDR", "XDR", "XDR",
		},
	}
	for _, tt := range tests {
		got := []string{
			tt.info.ActiveSpeed(tt.ext).String(), tt.info.SupportedSpeed(tt.ext).String(),
			tt.info.EnabledSpeed(tt.ext).String(),
		}
		if diff := cmp.Diff([]string{tt.active, tt.supported, tt.enabled}, got); diff != "" {
			t.Errorf("%s: active, supported, enabled (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSpeedsAscend(t *testing.T) {
	for s := mad.LinkSpeedSDR; s <= mad.LinkSpeedXDR; s++ {
		if s.GbpsPerLane() <= (s - 1).GbpsPerLane() {
			t.Errorf("%s has %v Gb/s a lane, %s has %v: want more", s, s.GbpsPerLane(), s-1, (s - 1).GbpsPerLane())
		}
	}
	if s := mad.LinkSpeedXDR + 1; s.GbpsPerLane() != 0 || s.String() != "unknown" {
		t.Errorf("LinkSpeed(%d) = %s, %v, want unknown, 0", s, s, s.GbpsPerLane())
	}
}

func TestLinkWidth(t *testing.T) {
	tests := []struct {
		w     mad.LinkWidth
		lanes int
		text  string
	}{
		{0, 0, "undefined (0)"},
		{mad.LinkWidth1X, 1, "1X"},
		{mad.LinkWidth2X, 2, "2X"},
		{mad.LinkWidth4X, 4, "4X"},
		{mad.LinkWidth12X, 12, "12X"},
		{mad.LinkWidth1X | mad.LinkWidth2X, 2, "2X"},
		{31, 12, "12X"},
		{32, 0, "undefined (32)"},
	}
	for _, tt := range tests {
		if tt.w.Lanes() != tt.lanes || tt.w.String() != tt.text {
			t.Errorf("LinkWidth(%d) = %d, %q, want %d, %q", uint8(tt.w), tt.w.Lanes(), tt.w.String(), tt.lanes, tt.text)
		}
	}
}
