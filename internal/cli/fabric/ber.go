package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// fabricBERSchema is the version of the JSON form of errors --ber.
const fabricBERSchema = "rdmakit.fabric-ber/v1"

// berReport is what errors --ber prints.
type berReport struct {
	Schema string      `json:"schema"`
	Sweep  sweepReport `json:"sweep"`
	// Threshold is the largest ratio after correction that isn't a fault.
	Threshold float64         `json:"threshold"`
	Ports     []berPortReport `json:"ports"`
	Judged    int             `json:"judged"` // ports with a verdict
	Faults    int             `json:"faults"` // ports above the threshold
}

// berPortReport has the bit error ratios of one port.
type berPortReport struct {
	Port  fabricEnd  `json:"port"`
	Peer  *fabricEnd `json:"peer,omitempty"` // the other end of the cable
	Width string     `json:"width"`
	Speed string     `json:"speed"`
	FEC   string     `json:"fec,omitempty"`
	// Raw is before error correction, Effective after FEC, Symbol after FEC and retransmission by
	// the physical layer. They are nil if the device doesn't report them.
	Raw       *ratioReport `json:"raw,omitempty"`
	Effective *ratioReport `json:"effective,omitempty"`
	Symbol    *ratioReport `json:"symbol,omitempty"`
	// Decides is the ratio that is compared with the threshold, Source where that is said.
	Decides string `json:"decides,omitempty"`
	Source  string `json:"source,omitempty"`
	// Exceeded is true if that ratio is above the threshold.
	Exceeded bool `json:"exceeded"`
	// AboveFactory is true if it is below the threshold, but above that of the vendor's tests of
	// cables.
	AboveFactory bool `json:"aboveFactory,omitempty"`
	// NotJudged is the reason why there is no verdict.
	NotJudged string            `json:"notJudged,omitempty"`
	Counters  *berCounterReport `json:"counters,omitempty"`
}

// ratioReport is one ratio.
type ratioReport struct {
	Value float64 `json:"value"` // 0: no error was counted
	// Text is the device's number, coefficient and exponent: 15E-255 if no error was counted.
	Text string `json:"text"`
	// Counted is true if the ratio is computed from the counters, because the device doesn't report
	// it.
	Counted bool `json:"counted,omitempty"`
}

// berCounterReport has the counters behind the ratios, since the last reset.
type berCounterReport struct {
	Seconds         float64  `json:"seconds"` // since the counters were reset
	ReceivedBits    uint64   `json:"receivedBits"`
	CorrectedBits   uint64   `json:"correctedBits"`
	RawErrors       []uint64 `json:"rawErrors"` // of each lane
	EffectiveErrors uint64   `json:"effectiveErrors"`
	SymbolErrors    uint64   `json:"symbolErrors"`
}

// checkBER refuses the flags of the counters, which --ber doesn't read.
func (f *errorFlags) checkBER(cmd *cobra.Command) error {
	if !f.ber {
		for _, name := range []string{"ber-threshold", "vs-key", "vs-key-file"} {
			if cmd.Flags().Changed(name) {
				return cli.UsageError(cmd, fmt.Errorf("--%s can only be used with --ber", name))
			}
		}
		return nil
	}
	if f.berThreshold <= 0 || f.berThreshold >= 1 {
		return cli.UsageError(cmd, fmt.Errorf("--ber-threshold %g is not between 0 and 1", f.berThreshold))
	}
	return live(cmd, "bit error ratios")
}

// listBER is errors --ber.
func listBER(app *cli.App, cmd *cobra.Command, flags *fabricFlags, f errorFlags, patterns []string) error {
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
	r := newBERReport(cmd.Context(), reader, chosen, f.berThreshold)
	reader.progress.Done()
	r.Sweep.HostPorts = s.joined
	if err := app.Out.Print(r, append(r.blocks(), s.gaps(app.Out.Wide())...)...); err != nil {
		return err
	}
	return r.end(cmd.Context(), s)
}

// end returns the error with the exit code.
func (r *berReport) end(ctx context.Context, s *fabricView) error {
	_, timeout := errors.AsType[*cli.TimeoutError](context.Cause(ctx))
	switch {
	case r.Faults > 0:
		return cli.ExitSilently(cli.ExitFault)
	case len(r.Ports) == 0 && s.end() == nil:
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no selected port is active"), "see rdmactl fabric links")
	case timeout:
		return context.Cause(ctx)
	case r.Judged == 0 && s.end() == nil && ctx.Err() == nil:
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no port could be judged"),
			"devices with a VS_Key answer only with it: --vs-key or --vs-key-file")
	case r.Judged < len(r.Ports):
		return cli.ExitSilently(cli.ExitPartial)
	}
	return s.end()
}

// newBERReport reads the ratios of the active ports that are selected.
func newBERReport(ctx context.Context, reader *registerReader, chosen *selection, threshold float64) berReport {
	t := reader.t
	r := berReport{
		Schema: fabricBERSchema, Sweep: newSweepReport(t), Threshold: threshold,
	}
	var ports []fabric.PortID
	for _, n := range t.NodesByName() {
		for number := 1; number < len(n.Ports); number++ {
			id := fabric.PortID{Node: n.GUID(), Port: uint8(number)}
			p := &n.Ports[number]
			if !p.IsActive() || !chosen.has(id) && !(p.HasPeer() && chosen.has(p.Peer)) {
				continue
			}
			ports = append(ports, id)
		}
	}
	r.Ports = make([]berPortReport, len(ports))
	reader.each(ctx, ports, func(p registerPort) {
		one := readBER(ctx, t, p, threshold)
		if one.NotJudged == "" {
			r.Judged++
		}
		if one.Exceeded {
			r.Faults++
		}
		r.Ports[p.index] = one
	})
	slices.SortStableFunc(r.Ports, func(a, b berPortReport) int { return a.Port.compare(b.Port) })
	return r
}

// readBER reads the ratios of one port.
func readBER(ctx context.Context, t *fabric.Topology, from registerPort, threshold float64) berPortReport {
	p := t.Port(from.id)
	r := berPortReport{Port: endOf(t, from.id), Width: p.Width().String(), Speed: p.Speed().String()}
	if p.HasPeer() {
		r.Peer = new(endOf(t, p.Peer))
	}
	if from.err != nil {
		r.NotJudged = from.err.Error()
		return r
	}
	c, err := from.client.Counters(ctx, from.at)
	if err != nil {
		r.NotJudged = err.Error()
		return r
	}
	r.Counters = &berCounterReport{
		Seconds:      (time.Duration(c.SinceClear) * time.Millisecond).Seconds(),
		ReceivedBits: c.ReceivedBits, CorrectedBits: c.CorrectedBits,
		RawErrors:       c.RawErrors[:min(p.Width().Lanes(), len(c.RawErrors))],
		EffectiveErrors: c.EffectiveErrors, SymbolErrors: c.SymbolErrors,
	}
	ratios := phy.Ratios(&c)
	r.Raw, r.Effective = newRatioReport(ratios[phy.KindRaw]), newRatioReport(ratios[phy.KindEffective])
	r.Symbol = newRatioReport(ratios[phy.KindSymbol])
	if o, err := from.client.Operation(ctx, from.at); err == nil { // the verdict doesn't need it
		r.FEC = o.FEC.String()
	}
	v := phy.Judge(p.Speed(), p.Rate(), &c, threshold)
	r.Decides, r.Source = string(v.Kind), v.Source
	r.Exceeded, r.AboveFactory, r.NotJudged = v.Exceeded, v.AboveFactory, v.NotJudged
	return r
}

func newRatioReport(r phy.Ratio) *ratioReport {
	if !r.IsReported() {
		return nil
	}
	return &ratioReport{Value: r.Value(), Text: r.String(), Counted: r.Counted}
}

func (r *berReport) blocks() []output.Block {
	if len(r.Ports) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d of %s judged", r.Judged, english.Count(len(r.Ports), "active port"))
	limit := strconv.FormatFloat(r.Threshold, 'g', 3, 64)
	verdict := output.Good("no bit error ratio above " + limit)
	switch {
	case r.Faults > 0:
		verdict = output.Bad(english.Count(r.Faults, "port") + " above " + limit)
	case r.Judged == 0:
		verdict = output.Warn("nothing is known about bit errors")
	case r.Judged < len(r.Ports):
		verdict.Text += " among these"
	}
	table := output.Table{Columns: []output.Column{
		{Name: "port"},
		{Name: "speed", Priority: 2},
		{Name: "raw", Align: output.AlignRight},
		{Name: "effective", Align: output.AlignRight},
		{Name: "symbol", Align: output.AlignRight},
		{Name: "other end", Priority: 1},
		{Name: "note", Wrap: true, Below: true},
		{Name: "fec", Wide: true},
		{Name: "bits received", Wide: true, Align: output.AlignRight},
		{Name: "since reset", Wide: true, Align: output.AlignRight},
		{Name: "decides", Wide: true},
		{Name: "source", Wide: true},
	}}
	for i := range r.Ports {
		table.Rows = append(table.Rows, r.Ports[i].row())
	}
	return []output.Block{output.Line(output.Plain(head+": ").Flow(0), verdict.Flow(0)), table}
}

func (r *berPortReport) row() []output.Cell {
	other, bits, since := "", "", ""
	if r.Peer != nil {
		other = r.Peer.String()
	}
	if r.Counters != nil {
		bits = strconv.FormatFloat(float64(r.Counters.ReceivedBits), 'g', 3, 64)
		since = time.Duration(r.Counters.Seconds * float64(time.Second)).Round(time.Second).String()
	}
	return []output.Cell{
		output.Plain(r.Port.String()), output.Plain(r.Width + " " + r.Speed),
		r.ratio(r.Raw, phy.KindRaw), r.ratio(r.Effective, phy.KindEffective), r.ratio(r.Symbol, phy.KindSymbol),
		output.Plain(other), r.note(), output.Plain(r.FEC), output.Plain(bits), output.Plain(since),
		output.Plain(r.Decides), output.Plain(r.Source),
	}
}

func (r *berPortReport) ratio(v *ratioReport, kind phy.Kind) output.Cell {
	switch {
	case v == nil:
		return output.Plain("")
	case v.Value == 0:
		return output.Plain("0")
	}
	cell := output.Plain(strconv.FormatFloat(v.Value, 'g', 2, 64))
	if r.Exceeded && r.Decides == string(kind) {
		cell.Style = output.StyleBad
	}
	return cell
}

func (r *berPortReport) note() output.Cell {
	switch {
	case r.NotJudged != "":
		return output.Warn("not judged: " + r.NotJudged)
	case r.Exceeded:
		return output.Bad(r.Decides + " ratio above the threshold")
	case r.AboveFactory:
		return output.Warn(fmt.Sprintf("%s ratio above %g, the limit of tested cables", r.Decides, phy.FactoryLimit))
	}
	return output.Plain("")
}
