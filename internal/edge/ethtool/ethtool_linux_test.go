package ethtool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// fake returns a socket whose kernel answers over generic netlink.
func fake(fn genltest.Func) *Socket {
	return &Socket{kernel: genl.Client{Dial: func() (*genetlink.Conn, error) {
		return genltest.Dial(genltest.ServeFamily(genetlink.Family{ID: 20, Name: "ethtool", Version: 1}, fn)), nil
	}}}
}

// query is a request for a part of a module's memory.
type query struct {
	netdev                   string
	flags                    uint32
	offset, length           uint32
	page, bank, i2c, command uint8
}

func decodeQuery(t *testing.T, m genetlink.Message) query {
	t.Helper()
	q := query{command: m.Header.Command, bank: 0xff}
	header := nl.Fields{
		ETHTOOL_A_HEADER_DEV_NAME: nl.Text(&q.netdev), ETHTOOL_A_HEADER_FLAGS: nl.Number(&q.flags),
	}
	err := nl.Fields{
		ETHTOOL_A_MODULE_EEPROM_HEADER:      header.Decode,
		ETHTOOL_A_MODULE_EEPROM_OFFSET:      nl.Number(&q.offset),
		ETHTOOL_A_MODULE_EEPROM_LENGTH:      nl.Number(&q.length),
		ETHTOOL_A_MODULE_EEPROM_PAGE:        nl.Number(&q.page),
		ETHTOOL_A_MODULE_EEPROM_BANK:        nl.Number(&q.bank),
		ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS: nl.Number(&q.i2c),
	}.Decode(m.Data)
	if err != nil {
		t.Fatalf("request %x: %v", m.Data, err)
	}
	return q
}

func answer(t *testing.T, data []byte) ([]genetlink.Message, error) {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	ae.Nested(ETHTOOL_A_MODULE_EEPROM_HEADER, func(*netlink.AttributeEncoder) error { return nil })
	ae.Bytes(ETHTOOL_A_MODULE_EEPROM_DATA, data)
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return []genetlink.Message{{Data: b}}, nil
}

// TestModule has a passive QSFP28 cable whose memory says "RDMAKIT".
func TestModule(t *testing.T) {
	var memory [256]byte
	memory[0], memory[2], memory[128], memory[147] = 0x11, 0x04, 0x11, 0xa0
	copy(memory[148:], "RDMAKIT         ")
	var asked []query
	s := fake(func(m genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
		q := decodeQuery(t, m)
		asked = append(asked, q)
		return answer(t, memory[q.offset:q.offset+q.length])
	})
	m, err := s.Module(t.Context(), "eth7")
	if err != nil || m.Type != "QSFP28" || m.Vendor != "RDMAKIT" || !m.Passive {
		t.Errorf("Module() = %+v, %v", m, err)
	}
	want := []query{
		{netdev: "eth7", flags: 1, length: 3, i2c: 0x50, command: ETHTOOL_MSG_MODULE_EEPROM_GET},
		{netdev: "eth7", flags: 1, offset: 128, length: 128, i2c: 0x50, command: ETHTOOL_MSG_MODULE_EEPROM_GET},
	}
	if diff := cmp.Diff(want, asked, cmp.AllowUnexported(query{})); diff != "" {
		t.Errorf("requests, -want +got:\n%s", diff)
	}
}

func TestModuleErrors(t *testing.T) {
	for _, tt := range []struct {
		errno syscall.Errno
		want  string
		is    error
	}{
		{
			syscall.EPERM,
			"ethtool module eth7: read page 00h bytes 0 to 2: module EEPROM get eth7: operation not permitted",
			fs.ErrPermission,
		},
		{
			syscall.EIO, "ethtool module eth7: read page 00h bytes 0 to 2: module EEPROM get eth7: input/output error",
			syscall.EIO,
		},
	} {
		s := fake(func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			return nil, genltest.Error(int(tt.errno))
		})
		if _, err := s.Module(t.Context(), "eth7"); err == nil || err.Error() != tt.want || !errors.Is(err, tt.is) {
			t.Errorf("Module() = %v, want %q", err, tt.want)
		}
	}
}

// veth moves the thread of the test into a network namespace of its own with a pair of devices. The
// thread ends with the test.
func veth(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("needs root for a network namespace: %v", err)
	}
	for _, args := range []string{
		"link add tv0 type veth peer name tv1", "link set tv0 up", "link set tv1 up",
	} {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("needs iproute2 and veth: ip %s: %v: %s", args, err, out)
		}
	}
}

func tool(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("ethtool"); err != nil {
		t.Fatal("needs ethtool: make deps")
	}
	out, err := exec.CommandContext(t.Context(), "ethtool", args...).Output()
	if err != nil {
		t.Fatalf("ethtool %v: %v", args, err)
	}
	return string(out)
}

func open(t *testing.T) *Socket {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestKernelVeth compares a veth device with ethtool.
func TestKernelVeth(t *testing.T) {
	veth(t)
	s := open(t)
	stats, err := s.Stats("tv0")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, v := range stats {
		got[name] = strconv.FormatUint(v, 10)
	}
	want := map[string]string{}
	for line := range strings.Lines(tool(t, "-S", "tv0")) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			want[name] = v
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("statistics: -ethtool -S +Stats():\n%s", diff)
	}
	mode, err := s.LinkMode(t.Context(), "tv0")
	if err != nil {
		t.Fatal(err)
	}
	shown := tool(t, "tv0")
	for _, line := range []string{
		"Speed: " + strconv.Itoa(int(mode.Mbps)) + "Mb/s",
		"Duplex: " + strings.ToUpper(mode.Duplex[:1]) + mode.Duplex[1:],
		"Auto-negotiation: " + map[bool]string{true: "on", false: "off"}[mode.Autoneg],
	} {
		if !strings.Contains(shown, line) {
			t.Errorf("LinkMode() = %+v, but ethtool has no %q:\n%s", mode, line, shown)
		}
	}
	if name, err := s.Driver("tv0"); err != nil || !strings.Contains(tool(t, "-i", "tv0"), "driver: "+name+"\n") {
		t.Errorf("Driver() = %q, %v", name, err)
	}
	for op, ask := range map[string]func() error{
		"Pause":  func() error { _, err := s.Pause("tv0"); return err },
		"Rings":  func() error { _, err := s.Rings("tv0"); return err },
		"FEC":    func() error { _, err := s.FEC(t.Context(), "tv0"); return err },
		"Module": func() error { _, err := s.Module(t.Context(), "tv0"); return err },
	} {
		if err := ask(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s() of a veth = %v, want one that matches errors.ErrUnsupported", op, err)
		}
	}
	for op, ask := range map[string]func() error{
		"Stats":    func() error { _, err := s.Stats("none0"); return err },
		"LinkMode": func() error { _, err := s.LinkMode(t.Context(), "none0"); return err },
	} {
		if err := ask(); !errors.Is(err, unix.ENODEV) || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s() of no device = %v, want ENODEV", op, err)
		}
	}
}

// TestKernelDevices compares rings and pause of the machine's own devices with ethtool.
func TestKernelDevices(t *testing.T) {
	tool(t, "--version")
	s := open(t)
	ifs, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range ifs {
		r, err := s.Rings(i.Name)
		out, toolErr := exec.CommandContext(t.Context(), "ethtool", "-g", i.Name).Output()
		if (err == nil) != (toolErr == nil) {
			t.Errorf("Rings(%s) = %v, ethtool -g: %v", i.Name, err, toolErr)
			continue
		}
		var numbers []string
		for line := range strings.Lines(string(out)) {
			name, v, _ := strings.Cut(strings.TrimSpace(line), ":")
			if v = strings.TrimSpace(v); (name == "RX" || name == "TX") && v != "n/a" {
				numbers = append(numbers, v)
			}
		}
		if got := fmt.Sprint(r.RXMax, r.TXMax, r.RX, r.TX); err == nil && got != strings.Join(numbers, " ") {
			t.Errorf("Rings(%s) = %s, ethtool has %v", i.Name, got, numbers)
		}
	}
}

// Answers as those of fec_fill_reply in net/ethtool/fec.c of Linux 6.1.
func TestDecodeFEC(t *testing.T) {
	bits := func(bits ...int) []uint32 {
		words := make([]uint32, 3)
		for _, b := range bits {
			words[b/32] |= 1 << (b % 32)
		}
		return words
	}
	tests := []struct {
		name   string
		modes  []uint32
		auto   uint8
		active uint32
		want   FEC
	}{
		{"none", bits(), 0, 0, FEC{}},
		{"auto", bits(), 1, 49, FEC{Active: "Off", Configured: []string{"Auto"}, Auto: true}},
		{"off", bits(49), 0, 49, FEC{Active: "Off", Configured: []string{"Off"}}},
		{"off without a link", bits(49), 0, 0, FEC{Configured: []string{"Off"}}},
		{
			"all", bits(50, 51, 74), 1, 50,
			FEC{Active: "RS", Configured: []string{"Auto", "BaseR", "RS", "LLRS"}, Auto: true},
		},
		{"LLRS", bits(74), 0, 74, FEC{Active: "LLRS", Configured: []string{"LLRS"}}},
		{"new mode", bits(51, 80), 0, 80, FEC{Active: "link mode 80", Configured: []string{"BaseR"}}},
		{"short bitset", bits(50)[:1], 0, 51, FEC{Active: "BaseR"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ae := netlink.NewAttributeEncoder()
			ae.Nested(ETHTOOL_A_FEC_HEADER, func(nae *netlink.AttributeEncoder) error {
				nae.String(ETHTOOL_A_HEADER_DEV_NAME, "eth0")
				return nil
			})
			ae.Nested(ETHTOOL_A_FEC_MODES, func(nae *netlink.AttributeEncoder) error {
				value := []byte{}
				for _, w := range tt.modes {
					value = binary.NativeEndian.AppendUint32(value, w)
				}
				nae.Bytes(ETHTOOL_A_BITSET_VALUE, value)
				return nil
			})
			ae.Uint8(ETHTOOL_A_FEC_AUTO, tt.auto)
			if tt.active != 0 {
				ae.Uint32(ETHTOOL_A_FEC_ACTIVE, tt.active)
			}
			body, err := ae.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeFEC([][]byte{body})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("decodeFEC error %v; result differs (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestDecodeBrokenFirst answers in two messages, of which the first is broken: neither is lost.
func TestDecodeBrokenFirst(t *testing.T) {
	broken, active := []byte{9, 0, 4, 0, 1}, []byte{5, 0, ETHTOOL_A_FEC_ACTIVE, 0, '0'}
	got, err := decodeFEC([][]byte{broken, active})
	if got.Active != "link mode 48" || err == nil {
		t.Errorf("decodeFEC = %+v, %v, want link mode 48 and an error", got, err)
	}
	if n, err := decodeLanes([][]byte{broken, {5, 0, ETHTOOL_A_LINKMODES_LANES, 0, 4}}); n != 4 || err == nil {
		t.Errorf("decodeLanes = %d, %v, want 4 and an error", n, err)
	}
	data, err := decodeEEPROM([][]byte{broken, {5, 0, ETHTOOL_A_MODULE_EEPROM_DATA, 0, 7}})
	if len(data) != 1 || err == nil {
		t.Errorf("decodeEEPROM = %x, %v, want a byte and an error", data, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{4, 0, 1, 0, 8, 0, 9, 0, 4, 0, 0, 0})
	f.Add([]byte{7, 0, 7, 0, 1, 2, 3, 0})
	f.Add([]byte{5, 0, 4, 0, '0'}) // an active mode in one byte
	f.Fuzz(func(t *testing.T, b []byte) {
		if data, err := decodeEEPROM([][]byte{b}); len(data) > len(b) {
			t.Errorf("decodeEEPROM(%x) = %x, %v", b, data, err)
		}
		if n, err := decodeLanes([][]byte{b}); err != nil && n != 0 && len(b) < 8 {
			t.Errorf("decodeLanes(%x) = %d, %v", b, n, err)
		}
		if fec, err := decodeFEC([][]byte{b}); fec.Active != "" && len(b) < 5 {
			t.Errorf("decodeFEC(%x) = %+v, %v", b, fec, err)
		}
	})
}
