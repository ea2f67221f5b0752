package fabric

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// withRegisters gives each node registers, with modules and without errors in all ports.
func withRegisters(net *subnet.Subnet) {
	for _, n := range net.Nodes {
		n.Registers = &subnet.Registers{Ports: map[uint8]*subnet.PortRegisters{}}
		for number := 1; number < len(n.Ports); number++ {
			p := &subnet.PortRegisters{}
			p.Statistical = prm.StatisticalCounters{
				SinceClear: 3600_000, ReceivedBits: 1e15, RawErrors: [8]uint64{3e7}, CorrectedBits: 3e7,
				Raw: prm.BER{Coefficient: 3, Magnitude: 8}, Effective: noErrors(), Symbol: noErrors(),
			}
			p.Operation.FEC = 14
			p.Module = prm.ModuleInfo{
				CableType: prm.CableActive, Identifier: prm.IdentifierOSFP, Length: 0x45, Monitors: 0x1f,
				Temperature: 45 * 256, TemperatureHi: 80 * 256, TemperatureLo: -5 * 256,
				Voltage: 33000, VoltageHi: 35000, VoltageLo: 31000,
				RXPower: [8]uint16{1000, 1000, 1000, 800}, RXPowerLo: 100, RXPowerHi: 3000,
				TXPower: [8]uint16{1000, 1000, 1000, 1000}, TXPowerLo: 100, TXPowerHi: 3000,
			}
			copy(p.Module.PartNumber[:], "MFA7U10-H005")
			copy(p.Module.SerialNumber[:], "MT2300")
			p.ModuleDBm = p.Module
			p.ModuleDBm.RXPowerHi = 4
			n.Registers.Ports[uint8(number)] = p
		}
	}
}

func noErrors() prm.BER { return prm.BER{Coefficient: 15, Magnitude: 255} }

// reads runs f with a reader of the registers of a subnet, in simulated time.
func reads(t *testing.T, net *subnet.Subnet, keys fabric.KeyTable, f func(context.Context, *registerReader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net.Delay = time.Millisecond
		transport := net.Transport("host0")
		topology, err := fabric.Discover(t.Context(), transport, fabric.Options{})
		if err != nil {
			t.Fatal(err)
		}
		app := clitest.NewApp(nil)
		app.Out = output.New(output.Options{})
		flags := &fabricFlags{retries: usualRetries, keys: fabric.Keys{VS: keys}}
		f(t.Context(), newRegisterReader(app, topology, flags, transport))
	})
}

// everything selects all nodes.
func everything(t *testing.T, topology *fabric.Topology, patterns ...string) *selection {
	t.Helper()
	chosen, err := selectNodes(topology, patterns)
	if err != nil {
		t.Fatal(err)
	}
	return chosen
}

func TestBER(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	withRegisters(net)
	leaf := net.Node("leaf0").Registers.Ports
	leaf[2].Statistical.Symbol = prm.BER{Coefficient: 2, Magnitude: 12}
	leaf[3].Statistical.Symbol = prm.BER{Coefficient: 2, Magnitude: 14}
	net.Node("spine0").Registers = nil
	net.Node("host0").Registers.Ports[1].Statistical.ReceivedBits = 1000
	reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
		asked := net.Node("leaf0").Asked
		r := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
		if asked = net.Node("leaf0").Asked - asked; asked != 1+3*2 {
			t.Errorf("leaf0 was asked %d times, want once, and twice for each of 3 ports", asked)
		}
		var got []string
		for i := range r.Ports {
			var words []string
			for _, cell := range r.Ports[i].row()[:8] {
				words = append(words, cell.Text)
			}
			got = append(got, strings.Join(words, "|"))
		}
		want := []string{
			"host0[1]|4X NDR|3e-08|0|0|leaf0[1]|not judged: only 1e+03 bits received since the counters were reset: " +
				"3e+12 are needed|LL-RS(272,258) + PLR",
			"host1[1]|4X NDR|3e-08|0|0|leaf0[2]||LL-RS(272,258) + PLR",
			"leaf0[1]|4X NDR|3e-08|0|0|host0[1]||LL-RS(272,258) + PLR",
			"leaf0[2]|4X NDR|3e-08|0|2e-12|host1[1]|symbol ratio above the threshold|LL-RS(272,258) + PLR",
			"leaf0[3]|4X NDR|3e-08|0|2e-14|spine0[1]|symbol ratio above 1e-15, the limit of tested cables|" +
				"LL-RS(272,258) + PLR",
			"spine0[1]|4X NDR||||leaf0[3]|not judged: " +
				"no answer to class 0x0a with VS_Key 0 (no such class, another key, or not NVIDIA)|",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
		if r.Judged != 4 || r.Faults != 1 {
			t.Errorf("%d judged, %d faults, want 4 and 1", r.Judged, r.Faults)
		}
		if c := r.Ports[1].Counters; c.Seconds != 3600 || len(c.RawErrors) != 4 || c.RawErrors[0] != 3e7 {
			t.Errorf("counters = %+v", c)
		}
		s := &fabricView{Topology: reader.t}
		if code := cli.ExitCode(r.end(ctx, s)); code != cli.ExitFault {
			t.Errorf("exit code %d, want %d", code, cli.ExitFault)
		}
		if text := blockText(r.blocks()[0]); text != "4 of 6 active ports judged: 1 port above 1e-12" {
			t.Errorf("first line %q", text)
		}
		r = newBERReport(ctx, reader, everything(t, reader.t), 1e-11)
		text := blockText(r.blocks()[0])
		if text != "4 of 6 active ports judged: no bit error ratio above 1e-11 among these" {
			t.Errorf("first line %q", text)
		}
		if code := cli.ExitCode(r.end(ctx, s)); code != cli.ExitPartial {
			t.Errorf("exit code %d with ports that aren't judged, want %d", code, cli.ExitPartial)
		}
		r = newBERReport(ctx, reader, everything(t, reader.t, "leaf0[1]", "host1"), 1e-11)
		if len(r.Ports) != 4 || r.Judged != 3 {
			t.Errorf("%d ports, %d judged of two cables, want both ends: 4 and 3", len(r.Ports), r.Judged)
		}
		r = newBERReport(ctx, reader, everything(t, reader.t, "host1"), 1e-11)
		if code := cli.ExitCode(r.end(ctx, s)); code != 0 || r.Judged != 2 {
			t.Errorf("exit code %d, %d judged, want 0 and 2", code, r.Judged)
		}
	})
}

func blockText(b output.Block) string {
	text, ok := b.(output.Text)
	if !ok {
		return ""
	}
	var words []string
	for _, line := range text.Lines {
		for _, cell := range line {
			words = append(words, cell.Text)
		}
	}
	return strings.Join(words, "")
}

// TestKeys: devices with a VS_Key are read with it, and not taken for healthy without.
func TestKeys(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	withRegisters(net)
	for _, n := range net.Nodes {
		n.Registers.VSKey = 7
	}
	reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
		r := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
		if r.Judged != 0 || cli.ExitCode(r.end(ctx, &fabricView{Topology: reader.t})) != cli.ExitNotFound {
			t.Errorf("%d judged without a key", r.Judged)
		}
	})
	keys := fabric.KeyTable{ByGUID: map[ib.GUID]uint64{net.Node("leaf0").GUID: 7}}
	reads(t, net, keys, func(ctx context.Context, reader *registerReader) {
		r := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
		if r.Judged != 3 {
			t.Errorf("%d judged with the key of leaf0, want its 3 ports", r.Judged)
		}
	})
}

// TestManySilent: a fabric without the class costs the time of a few nodes, not of all.
func TestManySilent(t *testing.T) {
	net := subnet.FatTree(4, 10, 1)
	reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
		start := time.Now()
		r := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
		if took := time.Since(start); took > maxSilent*5*time.Second {
			t.Errorf("45 silent nodes take %v", took)
		}
		asked := slices.IndexFunc(r.Ports, func(p berPortReport) bool {
			return p.NotJudged == "not asked: none of the first 16 nodes answers class 0x0a"
		})
		silent := map[string]bool{}
		for i := range r.Ports {
			if strings.HasPrefix(r.Ports[i].NotJudged, "no answer to class") {
				silent[r.Ports[i].Port.Name] = true
			}
		}
		if len(silent) != maxSilent {
			t.Errorf("%d nodes were asked, want %d: %v", len(silent), maxSilent, silent)
		}
		if asked < 0 || r.Judged != 0 {
			t.Errorf("%d judged, ports %+v", r.Judged, r.Ports[len(r.Ports)-1])
		}
	})
	withRegisters(net)
	for _, n := range net.Nodes[5:] {
		n.Registers = nil
	}
	reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
		r := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
		for i := range r.Ports {
			if strings.HasPrefix(r.Ports[i].NotJudged, "not asked") {
				t.Errorf("%s wasn't asked although others answer", r.Ports[i].Port)
			}
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(why)
		r = newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
		if r.Judged != 0 || r.Ports[0].NotJudged != "not asked: interrupted" {
			t.Errorf("interrupted: %d judged, %q", r.Judged, r.Ports[0].NotJudged)
		}
		if code := cli.ExitCode(r.end(ctx, &fabricView{Topology: reader.t})); code != cli.ExitPartial {
			t.Errorf("interrupted: exit code %d, want %d", code, cli.ExitPartial)
		}
	})
}

// silence makes every 20th node from a place on not answer the class.
func silence(net *subnet.Subnet, first int) (silent int) {
	for i := first; i < len(net.Nodes); i += 20 {
		net.Nodes[i].Registers = nil
		silent++
	}
	return silent
}

// TestManyNodes: the requests to 1,088 nodes are sent side by side, and so is the wait for the 5 %
// that don't answer.
func TestManyNodes(t *testing.T) {
	for first := range 5 {
		net := subnet.FatTree(32, 32, 32)
		withRegisters(net)
		silent := silence(net, first)
		reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
			start := time.Now()
			r := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold)
			ber := time.Since(start)
			if len(r.Ports) != 2*(1024+1024) || r.Judged >= len(r.Ports)-silent || r.Judged < len(r.Ports)*9/10 {
				t.Errorf("%d of %d judged with %d silent nodes", r.Judged, len(r.Ports), silent)
			}
			reader.probed = map[ib.GUID]error{}
			start = time.Now()
			c := newCablesReport(ctx, reader, everything(t, reader.t), false)
			cables := time.Since(start)
			if len(c.Cables) != 2048 || c.Ports != r.Judged {
				t.Errorf("%d cables, %d modules, want 2048 and %d", len(c.Cables), c.Ports, r.Judged)
			}
			t.Logf("%d silent from %d on: bit error ratios %v, cables %v", silent, first, ber, cables)
			if most := 6 * time.Second; ber > most || cables > most {
				t.Errorf("bit error ratios take %v, cables %v, want at most %v", ber, cables, most)
			}
		})
	}
}

// cableRows returns the rows of a report as text.
func cableRows(r *cablesReport, down bool) (rows []string) {
	for _, row := range r.table(down).Rows {
		var words []string
		for _, cell := range row {
			words = append(words, cell.Text)
		}
		rows = append(rows, strings.Join(words, "|"))
	}
	return rows
}

func TestCables(t *testing.T) {
	net := subnet.FatTree(1, 4, 1)
	withRegisters(net)
	leaf := net.Node("leaf0").Registers.Ports
	other := net.Node("host1").Registers.Ports[1]
	copy(other.Module.SerialNumber[:], "MT2301")
	other.Module.Temperature = 81 * 256
	other.ModuleDBm = other.Module
	other.ModuleDBm.RXPowerHi = 4
	leaf[3].Module = prm.ModuleInfo{
		CableType: prm.CablePassive, Identifier: prm.IdentifierQSFP28, Technology: 0xa0, Length: 2,
	}
	copy(leaf[3].Module.PartNumber[:], "MCP1650-H002")
	net.Node("host2").Registers.Ports[1].Module = leaf[3].Module
	leaf[4].Module.RXPower = [8]uint16{1000, 1000, 1000}
	net.Node("host3").Registers = nil
	net.Node("spine0").Registers.Ports[1].Module = prm.ModuleInfo{CableType: prm.CableUnplugged}
	reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
		r := newCablesReport(ctx, reader, everything(t, reader.t), false)
		want := []string{
			"leaf0[1]|host0[1]|MFA7U10-H005|MT2300|5|45.0|-1.0|0.0|||OSFP active cable|4X NDR",
			"leaf0[2]|host1[1]|MFA7U10-H005|MT2300 / MT2301|5|45.0 / 81.0|-1.0|0.0|" +
				"host1[1]: alarm: temperature 81.0 °C||OSFP active cable|4X NDR",
			"leaf0[3]|host2[1]|MCP1650-H002||2||||||QSFP28 passive copper|4X NDR",
			"leaf0[4]|host3[1]|MFA7U10-H005|MT2300|5|45.0|0.0|0.0|leaf0[4]: alarm: RX power of 1 of 4 lanes; " +
				"host3[1]: not read: " +
				"no answer to class 0x0a with VS_Key 0 (no such class, another key, or not NVIDIA)||" +
				"OSFP active cable|4X NDR",
			"leaf0[5]|spine0[1]|MFA7U10-H005|MT2300|5|45.0|-1.0|0.0|spine0[1]: no module||OSFP active cable|4X NDR",
		}
		if diff := cmp.Diff(want, cableRows(&r, false)); diff != "" {
			t.Errorf("cables (-want +got):\n%s", diff)
		}
		if r.Ports != 9 || r.Unread != 1 || r.Faults != 2 {
			t.Errorf("%d read, %d not read, %d faults, want 9, 1, 2", r.Ports, r.Unread, r.Faults)
		}
		if m := r.Cables[0].A.Module; m.RXDBm.Lanes[3] != -0.97 || len(m.RXDBm.Lanes) != 8 || *m.RXDBm.Low != -10 ||
			*m.Celsius.High != 80 {
			t.Errorf("module = %+v, RX %+v", m, m.RXDBm)
		}
		s := &fabricView{Topology: reader.t}
		if code := cli.ExitCode(r.end(ctx, s, cableFlags{check: true})); code != cli.ExitFault {
			t.Errorf("--check: exit code %d, want %d", code, cli.ExitFault)
		}
		if code := cli.ExitCode(r.end(ctx, s, cableFlags{})); code != cli.ExitPartial {
			t.Errorf("exit code %d with a port that wasn't read, want %d", code, cli.ExitPartial)
		}
		r = newCablesReport(ctx, reader, everything(t, reader.t, "host0"), false)
		if code := cli.ExitCode(r.end(ctx, s, cableFlags{check: true})); code != 0 || len(r.Cables) != 1 {
			t.Errorf("cable of host0: exit code %d, %d cables", code, len(r.Cables))
		}
	})
}

func TestCablesDown(t *testing.T) {
	net := subnet.FatTree(1, 2, 1)
	withRegisters(net)
	net.Disconnect(net.Node("leaf0"), 2)
	p := net.Node("leaf0").Registers.Ports[2]
	p.Troubleshooting.Opcode, p.LinkDown.LocalReason, p.LinkDown.RemoteReason = 57, 2, 23
	copy(p.Troubleshooting.Message[:], "Signal not detected\x00")
	reads(t, net, fabric.KeyTable{}, func(ctx context.Context, reader *registerReader) {
		r := newCablesReport(ctx, reader, everything(t, reader.t), true)
		want := []string{
			"leaf0[2]|MFA7U10-H005|MT2300|5|45.0|-1.0|0.0|no signal detected; last link-down: high bit error ratio; " +
				"at the other end: cable unplugged||OSFP active cable",
		}
		if diff := cmp.Diff(want, cableRows(&r, true)); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
		if ber := newBERReport(ctx, reader, everything(t, reader.t), phy.Threshold); len(ber.Ports) != 4 {
			t.Errorf("%d ports have bit error ratios, want those of the two links", len(ber.Ports))
		}
		if d := r.Cables[0].A.Down; d.Opcode != 57 || d.Message != "Signal not detected" {
			t.Errorf("down = %+v", d)
		}
	})
}
