package provider

import (
	"fmt"
	"math"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		got  fmt.Stringer
		want string
	}{
		{PortStateActive, "ACTIVE"},
		{PortState(9), "9"},
		{LinkLayerEthernet, "Ethernet"},
		{GIDTypeRoCEv2, "RoCE v2"},
		{GIDTypeUnknown, "unknown"},
		{GIDType(math.MinInt32), "-2147483648"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("%T(%d).String() = %q, want %q", tt.got, tt.got, got, tt.want)
		}
	}
}

func TestDriverMTU(t *testing.T) {
	for code, want := range map[int]ib.MTU{
		0: 0, 1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096,
		6: -6, 9: -9, 255: -255, -1: 0, -256: 0, math.MinInt: 0,
	} {
		got := DriverMTU(code)
		if got != want {
			t.Errorf("DriverMTU(%d) = %d, want %d", code, got, want)
		}
		if back := DriverMTUCode(got); back != max(0, code) {
			t.Errorf("DriverMTUCode(DriverMTU(%d)) = %d", code, back)
		}
	}
	if got := DriverMTUCode(1500); got != 0 {
		t.Errorf("DriverMTUCode(1500) = %d, want 0: it has no code", got)
	}
}

func TestTransportNames(t *testing.T) {
	for transport, want := range map[TransportType]string{
		TransportTypeUnknown: "unknown", TransportTypeInfiniBand: "InfiniBand", TransportTypeUnspecified: "unspecified",
		-2: "-2", 5: "5", math.MinInt32: "-2147483648",
	} {
		if got := transport.String(); got != want {
			t.Errorf("TransportType(%d).String() = %q, want %q", int(transport), got, want)
		}
	}
}
