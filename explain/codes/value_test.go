package codes

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestNCCLGID has lines of NCCL logs: NVIDIA/nccl#2013, and a link-local GID, whose interface ID is
// derived from a MAC (EUI-64).
func TestNCCLGID(t *testing.T) {
	for _, c := range []struct{ hi, lo, want string }{
		{"0", "A10B0A0AFFFF0000", "::ffff:10.10.11.161"},
		{"80FE", "1A8A41FEFF21A75E", "fe80::5ea7:21ff:fe41:8a1a"},
		{"0", "0", "::"},
		{"80fe", "1a8a41feff21a75e", "fe80::5ea7:21ff:fe41:8a1a"},
	} {
		g, err := NCCLGID(c.hi, c.lo)
		if want := ib.GID(netip.MustParseAddr(c.want).As16()); err != nil || g != want {
			t.Errorf("NCCLGID(%q, %q) = %v, %v, want %v", c.hi, c.lo, g, err, want)
		}
	}
	for _, c := range [][2]string{
		{"", "0"},
		{"0", ""},
		{"0x0", "0"},
		{"0", "112233445566778899"},
		{"+1", "0"},
		{"-1", "0"},
	} {
		if g, err := NCCLGID(c[0], c[1]); err == nil {
			t.Errorf("NCCLGID(%q, %q) = %v", c[0], c[1], g)
		}
	}
}

func FuzzNCCLGID(f *testing.F) {
	f.Add("0", "A10B0A0AFFFF0000")
	f.Fuzz(func(t *testing.T, hi, lo string) {
		g, err := NCCLGID(hi, lo)
		if err != nil && !g.IsZero() {
			t.Errorf("NCCLGID(%q, %q) = %v, %v", hi, lo, g, err)
		}
	})
}

// TestEventsOfNCCL has lines of src/transport/net_ib* of the release tags.
func TestEventsOfNCCL(t *testing.T) {
	for _, c := range []struct {
		number      int
		from, to, s string
	}{
		{10, "", "2.22", "Got async event : port error"},
		{10, "2.23", "2.28.3", "Got async error event: port error"},
		{10, "2.28.7", "", "Got non-fatal async event: port error(10)"},
		{18, "2.23", "2.27", "unknown event type (18)"},
		{18, "2.28", "", "GID table changed"},
		{3, "2.23", "", "async fatal event on QP (…): local access violation work queue error"},
		{8, "2.23", "", "async fatal event: local catastrophic error"},
		{20, "2.30.7", "", "speed change detected: …"},
	} {
		e, ok := EventByNumber(c.number)
		if want := (VersionText{c.from, c.to, c.s}); !ok || !slices.Contains(e.NCCL, want) {
			t.Errorf("event %d: %+v lacks %+v", c.number, e.NCCL, want)
		}
	}
	if e, _ := EventByNumber(4); e.NCCL != nil {
		t.Errorf("NCCL never prints %+v", e)
	}
	for _, n := range []int{-1, 21} {
		if e, ok := EventByNumber(n); ok {
			t.Errorf("EventByNumber(%d) = %+v", n, e)
		}
	}
}

func TestEventByText(t *testing.T) {
	for text, want := range map[string]int{
		"IBV_EVENT_PORT_ERR": 10, "NET/IB : mlx5_0:1 Got async event : port error": 10, "port active": 9,
		"NET/IB : mlx5_1:1 unknown event type (18)": 18, "NET/IB : mlx5_1:1 GID table changed": 18,
		"async fatal event on QP (0x7f): local access violation work queue error": 3,
		"invalid request local work queue error":                                  2, "client reregister": 17,
	} {
		if e, ok := EventByText(text); !ok || e.Number != want {
			t.Errorf("EventByText(%q) = %v, %v, want %d", text, e, ok, want)
		}
	}
	if e, ok := EventByText("nothing here"); ok || e.Name != "" {
		t.Errorf("EventByText = %v", e)
	}
}

// TestAETH has the syndromes of tables 45 to 47 and the status that the requester reports in the
// end (section 9.9.2.4.1).
func TestAETH(t *testing.T) {
	for b, want := range map[uint8]int{
		0x00: StatusUnknown, 0x1f: StatusUnknown, 0x20: 13, 0x3f: 13, 0x60: 12, 0x61: 9, 0x62: 10, 0x63: 11, 0x64: 15,
		0x65: StatusUnknown, 0x40: StatusUnknown, 0x80: StatusUnknown, 0xa0: StatusUnknown, 0xe1: StatusUnknown,
	} {
		if a := AETHSyndrome(b); a.Status != want || a.Meaning == "" || a.Name == "" {
			t.Errorf("AETHSyndrome(%#x) = %+v, want status %d", b, a, want)
		}
	}
	rnr, _ := EnumerationByKey("rnr_timer")
	for code, want := range map[int]string{0: "655.36 ms", 1: "0.01 ms", 14: "1.28 ms", 31: "491.52 ms"} {
		if v, ok := rnr.Value(code); !ok || v.Meaning != want {
			t.Errorf("RNR timer %d = %+v, want %s", code, v, want)
		}
	}
	if got := milliseconds(1500 * time.Microsecond); got != "1.5 ms" {
		t.Errorf("milliseconds = %q", got)
	}
}

func TestEnumerations(t *testing.T) {
	for _, c := range []struct {
		key    string
		number int
		name   string
	}{
		{"mtu", 5, "IBV_MTU_4096"},
		{"port_state", 4, "IBV_PORT_ACTIVE"},
		{"phys_state", 5, "LinkUp"},
		{"nccl_result", 6, "ncclRemoteError"},
		{"nccl_result", 8, "ncclTimeout"},
		{"nccl_socket", 3, "ncclSocketTypeNetSocket"},
		{"nccl_socket", 4, "ncclSocketTypeNetIb"},
		{"cm_event", 8, "RDMA_CM_EVENT_REJECTED"},
		{"reject", 8, "invalid service ID"},
		{"reject", 28, "rejected by the program"},
	} {
		enum, ok := EnumerationByKey(c.key)
		v, found := enum.Value(c.number)
		if !ok || !found || v.Name != c.name {
			t.Errorf("%s %d = %+v, want %s", c.key, c.number, v, c.name)
		}
		if v, ok := enum.ByName(c.name); !ok || v.Number != c.number {
			t.Errorf("%s.ByName(%s) = %+v", c.key, c.name, v)
		}
	}
	if e, ok := EnumerationByKey("colour"); ok {
		t.Errorf("EnumerationByKey = %v", e)
	}
}
