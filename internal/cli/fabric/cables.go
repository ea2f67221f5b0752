package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// fabricCablesSchema is the version of the JSON form of cables.
const fabricCablesSchema = "rdmakit.fabric-cables/v1"

// cableFlags selects the ports.
type cableFlags struct {
	down, check bool
}

func newFabricCablesCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	var f cableFlags
	cmd := &cobra.Command{
		Use:   "cables [NODE...]",
		Short: "List the modules and cables in the ports: part, serial, length, temperature, power",
		Long: `List each link with the module or cable at both ends: part and serial number, length of the cable,
temperature, and optical power in dBm (the weakest lane). If the ends differ, both values are
listed, in the order of FROM and TO. -o json has all values, all lanes, and the thresholds of the
modules. With NODE, list only the links with an end at that node, or at its port N if "[N]" follows
a name or GUID.

--down lists the ports without a link instead: the module, what the device finds wrong with the
link, and why the link went down the last time.

The data is in registers of NVIDIA devices, which vendor class 0x0a (AccessRegister) carries to the
LID of the device; so the subnet needs a subnet manager. Devices with a VS_Key answer only requests
with that key; a device without the class, with another key, or of another vendor doesn't answer,
and is listed as not read. If none of the first 16 nodes answers, the others are not asked.

This has never been run with a card: the layouts are those of mstflint and of the Linux kernel.

Exit codes:

    0   the modules of all ports were read
    1   --check: a value is beyond an alarm threshold of its module; or --save failed
` + fabricExitCodes,
		Example: `  rdmactl fabric cables
  rdmactl fabric cables "leaf*" --check --vs-key-file guid2vskey
  rdmactl fabric cables --down
  rdmactl fabric cables -o json`,
		Args: nodeArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return listCables(app, cmd, flags, f, args) },
	}
	set := cmd.Flags()
	set.BoolVar(&f.down, "down", false, "list the ports without a link instead, with the reason")
	set.BoolVar(&f.check, "check", false, "exit with 1 if a value is beyond an alarm threshold of its module")
	flags.addKey(cmd, keyVS)
	return cmd
}

// cablesReport is what cables prints.
type cablesReport struct {
	Schema string        `json:"schema"`
	Sweep  sweepReport   `json:"sweep"`
	Cables []cableReport `json:"cables"`
	Ports  int           `json:"portsRead"` // ports whose module was read
	Unread int           `json:"portsNotRead"`
	Faults int           `json:"faults"` // values beyond an alarm threshold
}

// cableReport is a link, or with --down a port without one.
type cableReport struct {
	A     cableEnd  `json:"a"`
	B     *cableEnd `json:"b,omitempty"`
	Width string    `json:"width,omitempty"`
	Speed string    `json:"speed,omitempty"`
}

// cableEnd is one end of a link with its module.
type cableEnd struct {
	Port fabricEnd `json:"port"`
	// Module is nil if it wasn't read or there is none.
	Module    *moduleReport `json:"module,omitempty"`
	Unplugged bool          `json:"unplugged,omitempty"` // the device reports that there is no module
	NotRead   string        `json:"notRead,omitempty"`   // the reason
	Alarms    []string      `json:"alarms,omitempty"`    // values beyond an alarm threshold
	Down      *downReport   `json:"down,omitempty"`      // with --down
}

// moduleReport is a module or cable.
type moduleReport struct {
	Type         string         `json:"type"`  // form factor
	Cable        string         `json:"cable"` // active cable, optical module, passive copper …
	Vendor       string         `json:"vendor"`
	PartNumber   string         `json:"partNumber"`
	Serial       string         `json:"serial"`
	Revision     string         `json:"revision"`
	LengthMetres float64        `json:"lengthMetres,omitempty"` // of a cable
	Speeds       string         `json:"speeds,omitempty"`       // of InfiniBand
	Celsius      *readingReport `json:"temperatureCelsius,omitempty"`
	Volts        *readingReport `json:"voltageVolts,omitempty"`
	RXDBm        *powerReport   `json:"rxDbm,omitempty"`
	TXDBm        *powerReport   `json:"txDbm,omitempty"`
}

// readingReport is a measured value with the alarm thresholds of the module.
type readingReport struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// powerReport is the optical power of all lanes of a module with its alarm thresholds.
type powerReport struct {
	Lanes []float64 `json:"lanes"`
	Low   *float64  `json:"low,omitempty"`
	High  *float64  `json:"high,omitempty"`
}

// downReport is what a device knows about a port without a link.
type downReport struct {
	Opcode  int    `json:"opcode"`
	Finding string `json:"finding"`
	Message string `json:"message,omitempty"` // of the device
	// LastDown is why the link went down the last time, at this end; LastDownPeer at the other.
	LastDown     string `json:"lastDown,omitempty"`
	LastDownPeer string `json:"lastDownPeer,omitempty"`
}

func listCables(app *cli.App, cmd *cobra.Command, flags *fabricFlags, f cableFlags, patterns []string) error {
	if err := live(cmd, "modules"); err != nil {
		return err
	}
	flags.live = true
	s, err := readSubnet(app, cmd, flags, fabric.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	chosen, err := selectNodes(s.Topology, patterns)
	if err != nil {
		return err
	}
	reader := newRegisterReader(app, s.Topology, flags, s.transport)
	r := newCablesReport(cmd.Context(), reader, chosen, f.down)
	reader.progress.Done()
	r.Sweep.HostPorts = s.joined
	var blocks []output.Block
	switch {
	case len(r.Cables) > 0:
		blocks = append(blocks, r.table(f.down))
	case f.down:
		blocks = append(blocks, output.Line(output.Good("every port has a link")))
	}
	if err := app.Out.Print(r, append(blocks, s.gaps(app.Out.Wide())...)...); err != nil {
		return err
	}
	return r.end(cmd.Context(), s, f)
}

// end returns the error with the exit code.
func (r *cablesReport) end(ctx context.Context, s *fabricView, f cableFlags) error {
	_, timeout := errors.AsType[*cli.TimeoutError](context.Cause(ctx))
	switch {
	case f.check && r.Faults > 0:
		return cli.ExitSilently(cli.ExitFault)
	case timeout:
		return context.Cause(ctx)
	case len(r.Cables) == 0 && !f.down && s.end() == nil:
		return cli.Exitf(cli.ExitNotFound, "no selected port has a link")
	case r.Ports == 0 && r.Unread > 0 && s.end() == nil && ctx.Err() == nil:
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no module could be read"),
			"devices with a VS_Key answer only with it: --vs-key or --vs-key-file")
	case r.Unread > 0:
		return cli.ExitSilently(cli.ExitPartial)
	}
	return s.end()
}

// newCablesReport reads the modules at the ends of the selected links, or of the ports without one.
func newCablesReport(ctx context.Context, reader *registerReader, chosen *selection, down bool) cablesReport {
	t := reader.t
	r := cablesReport{Schema: fabricCablesSchema, Sweep: newSweepReport(t), Cables: []cableReport{}}
	cables := chosenCables(t, chosen, down)
	list := slices.Concat(cables...)
	ends := make([]cableEnd, len(list))
	reader.each(ctx, list, func(p registerPort) {
		end := r.read(ctx, t, p)
		if down {
			end.down(ctx, p)
		}
		ends[p.index] = end
	})
	for _, ports := range cables {
		one := cableReport{A: ends[0]}
		if len(ports) == 2 {
			one.B = &ends[1]
		}
		ends = ends[len(ports):]
		if !down {
			one.rate(t, ports...)
		}
		r.Cables = append(r.Cables, one)
	}
	slices.SortStableFunc(r.Cables, func(a, b cableReport) int { return a.A.Port.compare(b.A.Port) })
	return r
}

// chosenCables returns the ends of the selected links, or the ports without one.
func chosenCables(t *fabric.Topology, chosen *selection, down bool) (cables [][]fabric.PortID) {
	if down {
		for _, d := range t.DownPorts(nil) {
			if chosen.has(d.Port) {
				cables = append(cables, []fabric.PortID{d.Port})
			}
		}
		return cables
	}
	for _, l := range t.Links() {
		if chosen.hasEnd(l.A, l.B) {
			l = t.Ordered(l)
			cables = append(cables, []fabric.PortID{l.A, l.B})
		}
	}
	for _, open := range t.OpenEnds() {
		if chosen.has(open.Port) {
			cables = append(cables, []fabric.PortID{open.Port})
		}
	}
	return cables
}

// rate sets width and speed from the first end that is known.
func (c *cableReport) rate(t *fabric.Topology, ends ...fabric.PortID) {
	for _, id := range ends {
		if p := t.Port(id); p != nil && p.IsLinkUp() {
			c.Width, c.Speed = p.Width().String(), p.Speed().String()
			return
		}
	}
}

// read reads the module of a port.
func (r *cablesReport) read(ctx context.Context, t *fabric.Topology, p registerPort) cableEnd {
	end := cableEnd{Port: endOf(t, p.id)}
	var m phy.Module
	err := p.err
	if err == nil {
		m, err = p.client.Module(ctx, p.at)
	}
	if err != nil {
		end.NotRead = err.Error()
		r.Unread++
		return end
	}
	r.Ports++
	if end.Unplugged = m.Unplugged; m.Unplugged {
		return end
	}
	end.Module = newModuleReport(&m)
	lanes := 0
	if port := t.Port(p.id); port != nil {
		lanes = port.Width().Lanes()
	}
	end.Alarms = alarms(&m, lanes)
	r.Faults += len(end.Alarms)
	return end
}

// down reads why a port has no link.
func (e *cableEnd) down(ctx context.Context, p registerPort) {
	if e.NotRead != "" {
		return
	}
	found, err := p.client.Troubleshooting(ctx, p.at)
	if err != nil {
		e.NotRead = err.Error()
		return
	}
	e.Down = &downReport{Opcode: int(found.Opcode), Finding: found.Opcode.String(), Message: found.MessageText()}
	if last, err := p.client.LinkDown(ctx, p.at); err == nil { // older firmware doesn't have this page
		if last.LocalReason != 0 {
			e.Down.LastDown = last.LocalReason.String()
		}
		if last.RemoteReason != 0 {
			e.Down.LastDownPeer = last.RemoteReason.String()
		}
	}
}

// alarms lists the values of a module that are beyond its alarm thresholds. A module may serve
// several ports, and its lanes aren't those of one of them: so a lack of light is an alarm if fewer
// lanes than those of the port have a good power.
func alarms(m *phy.Module, lanes int) []string {
	var list []string
	if m.Temperature.Alarm() {
		list = append(list, fmt.Sprintf("temperature %.1f °C", m.Temperature.Value))
	}
	if m.Voltage.Alarm() {
		list = append(list, fmt.Sprintf("voltage %.2f V", m.Voltage.Value))
	}
	for _, p := range []struct {
		name  string
		power *phy.Power
	}{{"RX", m.RX}, {"TX", m.TX}} {
		if p.power == nil || p.power.Limits == nil {
			continue
		}
		need := min(lanes, len(p.power.Lanes))
		if good := p.power.Within(); good < need {
			list = append(list, fmt.Sprintf("%s power of %d of %d lanes", p.name, need-good, need))
		}
	}
	return list
}

func newModuleReport(m *phy.Module) *moduleReport {
	return &moduleReport{
		Type: m.Type, Cable: m.Cable, Vendor: m.Vendor, PartNumber: m.PartNumber, Serial: m.Serial,
		Revision: m.Revision, LengthMetres: m.Metres, Speeds: m.Speeds,
		Celsius: newReadingReport(m.Temperature), Volts: newReadingReport(m.Voltage),
		RXDBm: newPowerReport(m.RX), TXDBm: newPowerReport(m.TX),
	}
}

func newReadingReport(v *phy.Reading) *readingReport {
	if v == nil {
		return nil
	}
	r := &readingReport{Value: v.Value}
	if v.Limits != nil {
		r.Low, r.High = new(v.Limits.Low), new(v.Limits.High)
	}
	return r
}

func newPowerReport(v *phy.Power) *powerReport {
	if v == nil {
		return nil
	}
	r := &powerReport{Lanes: make([]float64, len(v.Lanes))}
	for i, p := range v.Lanes {
		r.Lanes[i] = hundredth(p)
	}
	if v.Limits != nil {
		r.Low, r.High = new(hundredth(v.Limits.Low)), new(hundredth(v.Limits.High))
	}
	return r
}

// hundredth rounds to what a module can measure.
func hundredth(v float64) float64 {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	rounded, _ := strconv.ParseFloat(text, 64) // a number that was just printed
	return rounded
}

func (r *cablesReport) table(down bool) output.Table {
	table := output.Table{Columns: []output.Column{
		{Name: "from"},
		{Name: "to", Wrap: true},
		{Name: "part"},
		{Name: "serial"},
		{Name: "m", Align: output.AlignRight, Priority: 1},
		{Name: "°C", Align: output.AlignRight, Priority: 1},
		{Name: "rx dbm", Align: output.AlignRight, Priority: 2},
		{Name: "tx dbm", Align: output.AlignRight, Priority: 2},
		{Name: "note", Wrap: true, Below: true},
		{Name: "vendor", Wide: true},
		{Name: "cable", Wide: true},
		{Name: "link", Wide: true},
	}}
	for i := range r.Cables {
		table.Rows = append(table.Rows, r.Cables[i].row())
	}
	if down { // no other end, no width or speed
		for i, row := range table.Rows {
			table.Rows[i] = slices.Delete(row[:len(row)-1], 1, 2)
		}
		table.Columns = slices.Delete(table.Columns[:len(table.Columns)-1], 1, 2)
	}
	return table
}

func (c *cableReport) row() []output.Cell {
	to := ""
	if c.B != nil {
		to = c.B.Port.String()
	}
	return []output.Cell{
		output.Plain(c.A.Port.String()), output.Plain(to),
		c.both(func(m *moduleReport) string { return m.PartNumber }),
		c.both(func(m *moduleReport) string { return m.Serial }),
		c.both(func(m *moduleReport) string { return rateNumber(m.LengthMetres) }),
		c.both(func(m *moduleReport) string { return m.Celsius.text() }),
		c.both(func(m *moduleReport) string { return m.RXDBm.weakest() }),
		c.both(func(m *moduleReport) string { return m.TXDBm.weakest() }),
		c.note(),
		c.both(func(m *moduleReport) string { return m.Vendor }),
		c.both(func(m *moduleReport) string { return strings.TrimSpace(m.Type + " " + m.Cable) }),
		output.Plain(strings.TrimSpace(c.Width + " " + c.Speed)),
	}
}

// both returns the value of both ends, once if they are equal or one end isn't known.
func (c *cableReport) both(value func(*moduleReport) string) output.Cell {
	a, b := "", ""
	if c.A.Module != nil {
		a = value(c.A.Module)
	}
	known := c.B != nil && c.B.Module != nil
	if known {
		b = value(c.B.Module)
	}
	switch {
	case a == b, !known:
		return output.Plain(a)
	case c.A.Module == nil:
		return output.Plain("? / " + b)
	}
	return output.Plain(cmp.Or(a, "-") + " / " + cmp.Or(b, "-"))
}

func (r *readingReport) text() string {
	if r == nil {
		return ""
	}
	return strconv.FormatFloat(r.Value, 'f', 1, 64)
}

// weakest returns the lowest power of the lanes that have light.
func (p *powerReport) weakest() string {
	if p == nil {
		return ""
	}
	const dark = -40
	low := 0.0
	lit := false
	for _, v := range p.Lanes {
		if v > dark && (!lit || v < low) {
			low, lit = v, true
		}
	}
	if !lit {
		return "no light"
	}
	return strconv.FormatFloat(low, 'f', 1, 64)
}

// note lists what is wrong at each end.
func (c *cableReport) note() output.Cell {
	var bad, warn []string
	ends := []*cableEnd{&c.A}
	if c.B != nil {
		ends = append(ends, c.B)
	}
	for _, e := range ends {
		at := ""
		if len(ends) > 1 {
			at = e.Port.String() + ": "
		}
		switch {
		case e.NotRead != "":
			warn = append(warn, at+"not read: "+e.NotRead)
		case e.Unplugged:
			warn = append(warn, at+"no module")
		case len(e.Alarms) > 0:
			bad = append(bad, at+"alarm: "+strings.Join(e.Alarms, ", "))
		}
		if e.Down != nil {
			warn = append(warn, e.Down.text())
		}
	}
	switch {
	case len(bad) > 0:
		return output.Bad(strings.Join(append(bad, warn...), "; "))
	case len(warn) == 2 && c.B != nil && c.A.NotRead != "" && c.A.NotRead == c.B.NotRead:
		return output.Warn("not read: " + c.A.NotRead)
	}
	return output.Warn(strings.Join(warn, "; "))
}

// text describes a port without a link in one line.
func (d *downReport) text() string {
	text := d.Finding
	if d.LastDown != "" {
		text += "; last link-down: " + d.LastDown
	}
	if d.LastDownPeer != "" {
		text += "; at the other end: " + d.LastDownPeer
	}
	return text
}
