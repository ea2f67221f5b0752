package phy_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/edge/sff"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

const key = 0x1122334455667788

// device is a subnet whose switch leaf0 has registers, and a client at host0 with its key.
func device() (*subnet.Subnet, *subnet.Registers, *phy.Client, phy.Port) {
	net := subnet.FatTree(1, 2, 1)
	leaf := net.Node("leaf0")
	leaf.Registers = &subnet.Registers{VSKey: key, Ports: map[uint8]*subnet.PortRegisters{2: {}}}
	client := &phy.Client{
		Caller: &fabric.Client{Transport: net.Transport("host0")},
		Keys:   fabric.KeyTable{ByGUID: map[ib.GUID]uint64{leaf.GUID: key}},
	}
	return net, leaf.Registers, client, phy.Port{Node: leaf.GUID, LID: leaf.LIDs[0], Number: 2}
}

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, registers, client, port := device()
		if err := client.Probe(t.Context(), port); err != nil {
			t.Errorf("Probe = %v", err)
		}
		client.Keys.ByGUID[ib.GUID{1}], port.GUID = key, ib.GUID{1}
		client.Keys.ByGUID[port.Node] = 1 // another port's
		if err := client.Probe(t.Context(), port); err != nil {
			t.Errorf("Probe with the key of the port = %v", err)
		}
		client.Keys.ByGUID[port.Node] = key
		host := net.Node("host1")
		for name, at := range map[string]phy.Port{
			"a node without the class": {Node: host.GUID, LID: host.LIDs[1], Number: 1},
			"another key":              {LID: port.LID, Number: 2},
			"a LID that nobody has":    {LID: 99, Number: 1},
		} {
			if err := client.Probe(t.Context(), at); !errors.Is(err, phy.ErrNoClass) ||
				!errors.Is(err, fabric.ErrNoAnswer) ||
				err.Error() != "no answer to class 0x0a with VS_Key 0 (no such class, another key, or not NVIDIA)" {
				t.Errorf("Probe of %s = %v, want ErrNoClass", name, err)
			}
		}
		registers.Without = true
		if err := client.Probe(t.Context(), port); !errors.Is(err, phy.ErrNoClass) ||
			!strings.Contains(err.Error(), "no access to registers") {
			t.Errorf("Probe of a device without registers = %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		port.LID = host.LIDs[1]
		if err := client.Probe(ctx, port); !errors.Is(err, why) || errors.Is(err, phy.ErrNoClass) {
			t.Errorf("Probe, cancelled = %v, want the cause only", err)
		}
	})
}

// caller answers as the function says.
type caller func(d *fabric.Datagram) error

func (c caller) Call(_ context.Context, d *fabric.Datagram) error { return c(d) }

// TestRefused: a refusal is described in the words of the class, a broken port isn't taken for a
// missing class, and an answer to another request isn't taken at all.
func TestRefused(t *testing.T) {
	port := phy.Port{LID: 5, Number: 1}
	refuse := func(s mad.Status) phy.Caller {
		return caller(func(d *fabric.Datagram) error {
			d.MAD[3] |= byte(mad.MethodResponse)
			d.MAD[4], d.MAD[5] = byte(s>>8), byte(s)
			return &fabric.StatusError{Status: s}
		})
	}
	for status, want := range map[mad.Status]string{
		1: "device is busy", 4: "class not supported", 12: "method not supported", 20: "register not supported",
		28: "bad parameter",
	} {
		client := phy.Client{Caller: refuse(status)}
		if _, err := client.Counters(t.Context(), port); err == nil ||
			err.Error() != "read PPCNT of port 1 at LID 5: "+want {
			t.Errorf("Counters refused with %d = %v", status, err)
		}
		if err := client.Probe(t.Context(), port); !errors.Is(err, phy.ErrNoClass) ||
			!strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("Probe refused with %d = %v", status, err)
		}
	}
	broken := errors.New("port closed")
	client := phy.Client{Caller: caller(func(*fabric.Datagram) error { return broken })}
	if err := client.Probe(t.Context(), port); !errors.Is(err, broken) || errors.Is(err, phy.ErrNoClass) {
		t.Errorf("Probe = %v, want the transport's error", err)
	}
	for name, tt := range map[string]struct {
		change func(d *fabric.Datagram)
		want   string
	}{
		"block": {func(d *fabric.Datagram) { d.MAD[33]++ }, "block 1 instead of 0"},
		"group": {func(d *fabric.Datagram) { d.MAD[39] = 0x12 }, "group 0x12 instead of 0x16"},
	} {
		client.Caller = caller(func(d *fabric.Datagram) error { tt.change(d); return nil })
		if _, err := client.Counters(t.Context(), port); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("Counters with another %s = %v", name, err)
		}
	}
	client.Caller = caller(func(d *fabric.Datagram) error { d.MAD[43] = 1; return nil })
	if _, err := client.Operation(t.Context(), port); err == nil ||
		!strings.HasSuffix(err.Error(), "page 1 instead of 0") {
		t.Errorf("Operation with another page = %v", err)
	}
}

// TestRegisters reads each register of a device that has distinct values.
func TestRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, registers, client, port := device()
		p := registers.Ports[2]
		p.Statistical.ReceivedBits, p.Statistical.Raw = 1e15, prm.BER{Coefficient: 3, Magnitude: 8}
		p.Physical.LinkDownEvents, p.Physical.IntentionalLinkDowns = 7, 9 // in blocks 0 and 1
		p.Operation.FEC, p.LinkDown.LocalReason, p.PhyInfo.Negotiations = 12, 23, 5
		p.Troubleshooting.Opcode = prm.OpcodeUnplugged
		copy(p.Troubleshooting.Message[:], strings.Repeat("long ", 47))

		if c, err := client.Counters(t.Context(), port); err != nil || c.ReceivedBits != 1e15 ||
			c.Raw.String() != "3E-8" {
			t.Errorf("Counters = %+v, %v", c, err)
		}
		if c, err := client.PhysicalCounters(t.Context(), port); err != nil || c.LinkDownEvents != 7 ||
			c.IntentionalLinkDowns != 9 {
			t.Errorf("PhysicalCounters = %+v, %v", c, err)
		}
		if o, err := client.Operation(t.Context(), port); err != nil || o.FEC != 12 {
			t.Errorf("Operation = %+v, %v", o, err)
		}
		if i, err := client.PhyInfo(t.Context(), port); err != nil || i.Negotiations != 5 {
			t.Errorf("PhyInfo = %+v, %v", i, err)
		}
		if d, err := client.LinkDown(t.Context(), port); err != nil || d.LocalReason.String() != "cable unplugged" {
			t.Errorf("LinkDown = %+v, %v", d, err)
		}
		f, err := client.Troubleshooting(t.Context(), port)
		if err != nil || f.Opcode.String() != "cable unplugged" || len(f.MessageText()) != 47*5-1 {
			t.Errorf("Troubleshooting = %v, %q, %v", f.Opcode, f.MessageText(), err)
		}
		port.Number = 3
		_, err = client.Counters(t.Context(), port)
		if err == nil || !strings.HasSuffix(err.Error(), "bad parameter") {
			t.Errorf("Counters of a port without registers = %v", err)
		}
	})
}

// optical returns the page of an optical module in both units: the values of the adb's units.
func optical() (microwatt, whole prm.ModuleInfo) {
	m := prm.ModuleInfo{
		CableType: prm.CableActive, Identifier: prm.IdentifierQSFP28, Length: 5, Monitors: 0x1f,
		Temperature: 45*256 + 128, TemperatureHi: 80 * 256, TemperatureLo: -5 * 256,
		Voltage: 33000, VoltageHi: 35000, VoltageLo: 31000, Speeds: 1<<5 | 1<<6,
	}
	copy(m.VendorName[:], "Mellanox        ")
	copy(m.PartNumber[:], "MFS1S00-H005E   ")
	copy(m.SerialNumber[:], "MT2119FT00001   ")
	copy(m.Revision[:], "\x00\x00A5")
	microwatt, whole = m, m
	microwatt.RXPower = [8]uint16{1000, 500, 2000, 0}
	microwatt.RXPowerLo, microwatt.RXPowerHi = 100, 3000
	microwatt.TXPower, microwatt.TXPowerHi = [8]uint16{1000, 1000, 1000, 1000}, 3000
	whole.RXPower = [8]uint16{0, 0xfffd, 3, 0xffd8} // 0, -3, 3 and -40 dBm
	whole.RXPowerLo, whole.RXPowerHi = 0xfff6, 4    // -10 and 4 dBm
	whole.TXPowerHi = 4
	return microwatt, whole
}

func TestModule(t *testing.T) {
	microwatt, whole := optical()
	want := phy.Module{
		Type: "QSFP28", Cable: "active cable", Vendor: "Mellanox", PartNumber: "MFS1S00-H005E",
		Serial: "MT2119FT00001", Revision: "A5", Metres: 5, Speeds: "EDR,HDR",
		Temperature: &phy.Reading{Value: 45.5, Limits: &phy.Limits{Low: -5, High: 80}},
		Voltage:     &phy.Reading{Value: 3.3, Limits: &phy.Limits{Low: 3.1, High: 3.5}},
	}
	about := cmpopts.EquateApprox(0, 0.01)
	for _, tt := range []struct {
		name   string
		device subnet.Registers
		rx, tx phy.Power
	}{
		{
			"µW",
			subnet.Registers{},
			phy.Power{Lanes: []float64{0, -3.01, 3.01, -40}, Limits: &phy.Limits{Low: -10, High: 4.77}},
			phy.Power{Lanes: []float64{0, 0, 0, 0}, Limits: &phy.Limits{Low: -40, High: 4.77}},
		},
		{
			"whole dBm",
			subnet.Registers{WholeDecibels: true},
			phy.Power{Lanes: []float64{0, -3, 3, -40}, Limits: &phy.Limits{Low: -10, High: 4}},
			phy.Power{Lanes: []float64{0, 0, 0, 0}, Limits: &phy.Limits{Low: 0, High: 4}},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, registers, client, port := device()
			registers.WholeDecibels = tt.device.WholeDecibels
			registers.Ports[2].Module, registers.Ports[2].ModuleDBm = microwatt, whole
			got, err := client.Module(t.Context(), port)
			if err != nil {
				t.Fatal(err)
			}
			want.RX, want.TX = &tt.rx, &tt.tx
			if diff := cmp.Diff(want, got, about); diff != "" {
				t.Errorf("%s: module (-want +got):\n%s", tt.name, diff)
			}
			if n := got.RX.Within(); n != 3 {
				t.Errorf("%s: %d lanes receive, want 3", tt.name, n)
			}
			if low, high := got.RX.Range(); low != -40 || high < 3 || high > 3.02 {
				t.Errorf("%s: RX from %v to %v dBm", tt.name, low, high)
			}
		})
	}
}

// TestModuleKinds: what isn't measured is nil, not 0.
func TestModuleKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, registers, client, port := device()
		p := registers.Ports[2]
		p.Module = prm.ModuleInfo{
			CableType: prm.CablePassive, Identifier: prm.IdentifierOSFP, Technology: 0x0a, Length: 0x41, Monitors: 0x1f,
		}
		m, err := client.Module(t.Context(), port)
		if err != nil || m.Temperature != nil || m.Voltage != nil || m.RX != nil || m.TX != nil || m.Metres != 1 {
			t.Errorf("passive cable = %+v, %v, want 1 m and no measurement", m, err)
		}
		asked := net.Node("leaf0").Asked
		if _, err := client.Module(t.Context(), port); err != nil || net.Node("leaf0").Asked != asked+1 {
			t.Errorf("a passive cable takes %d requests, want 1", net.Node("leaf0").Asked-asked)
		}
		p.Module = prm.ModuleInfo{CableType: prm.CableUnplugged, Length: 3}
		if m, err := client.Module(t.Context(), port); err != nil || m != (phy.Module{Unplugged: true}) {
			t.Errorf("no module = %+v, %v", m, err)
		}
		// a transceiver whose device has no bits for what it measures, and without thresholds
		p.Module = prm.ModuleInfo{
			CableType: prm.CableOptical, Identifier: prm.IdentifierOSFP, Length: 0x45, Temperature: 7936,
		}
		m, err = client.Module(t.Context(), port)
		if err != nil || m.Metres != 0 || m.Temperature == nil || m.Temperature.Value != 31 ||
			m.Temperature.Limits != nil ||
			m.Temperature.Alarm() || m.Voltage != nil || m.RX != nil {
			t.Errorf("transceiver = %+v, %v, want 31 °C only", m, err)
		}
		p.Module.TemperatureHi = 30 * 256
		if m, err = client.Module(t.Context(), port); err != nil || !m.Temperature.Alarm() {
			t.Errorf("31 °C of at most 30: %+v, %v, want an alarm", m.Temperature, err)
		}
		p.Module.RXPower, p.Module.Identifier = [8]uint16{1: 10}, prm.IdentifierOSFP
		p.ModuleDBm = p.Module
		p.ModuleDBm.RXPower = [8]uint16{0xffd8, 0xffec}
		if m, err = client.Module(t.Context(), port); err != nil || m.RX == nil || len(m.RX.Lanes) != 8 ||
			m.RX.Within() != 1 || m.RX.Lanes[1] != -20 {
			t.Errorf("10 µW in lane 1 of 8: %+v, %v", m.RX, err)
		}
	})
}

// memory returns the memory of a module of the file, flat: the lower half, then the upper halves of
// pages 0 to 3.
func memory(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../internal/edge/sff/testdata/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(data), "= "+name+"\n")
	if !ok {
		t.Fatalf("no module %s", name)
	}
	block, _, _ = strings.Cut(block, "\n= ")
	b := make([]byte, 5*128)
	for line := range strings.Lines(block) {
		where, bytes, ok := strings.Cut(strings.TrimSpace(line), ":")
		at := strings.Fields(where)
		if !ok || len(at) != 3 || at[0] != "50" {
			continue
		}
		page, err1 := strconv.ParseUint(at[1], 16, 8)
		offset, err2 := strconv.ParseUint(at[2], 16, 8)
		data, err3 := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		copy(b[int(page)*128+int(offset):], data)
	}
	return b
}

// TestMemory reads modules through MCIA: those of the tests of package sff, with their values.
func TestMemory(t *testing.T) {
	for name, want := range map[string]sff.Module{
		"fboss-cwdm4": {
			Type: "QSFP+", Vendor: "FACETEST", PartNumber: "FTL410QE2C", Serial: "MRE01B0", Revision: "A",
			Temperature: &sff.Reading{Value: 31.015625, Limits: &sff.Limits{
				HighAlarm: 75, LowAlarm: -5, HighWarning: 70,
			}},
			Voltage: &sff.Reading{Value: 3.2989, Limits: &sff.Limits{
				HighAlarm: 3.80, LowAlarm: 2.84, HighWarning: 3.45, LowWarning: 3.15,
			}},
			RX:       []float64{0.4643, 0.9012, 0.4913, 0.4626},
			TX:       []float64{1.6705, 1.6962, 1.7219, 1.7476},
			RXLimits: &sff.Limits{HighAlarm: 0.6683, LowAlarm: 0.7197, HighWarning: 0.7711, LowWarning: 0.437},
			TXLimits: &sff.Limits{HighAlarm: 0.4386, LowAlarm: 1.3124, HighWarning: 2.1862, LowWarning: 3.06},
		},
		"sonic-mcp1660": {
			Type: "QSFP-DD", Vendor: "Mellanox", PartNumber: "MCP1660-W00AE30", Serial: "MT2120VS03875", Revision: "A3",
			Passive: true,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, registers, client, port := device()
			registers.Ports[2].Memory = memory(t, name)
			got, err := sff.Decode(client.Memory(t.Context(), port, 1))
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
			if _, err := sff.Decode(client.Memory(t.Context(), port, 7)); err == nil ||
				!strings.Contains(err.Error(), "module 7: no module") {
				t.Errorf("module 7 = %v", err)
			}
		})
	}
}
