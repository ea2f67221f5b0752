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

// fabricErrorsSchema is the version of the JSON form of errors.
const fabricErrorsSchema = "rdmakit.fabric-errors/v1"

// errorFlags selects the counters.
type errorFlags struct {
	interval, since, thresholds string
	all, ber                    bool
	berThreshold                float64
}

func newFabricErrorsCommand(app *cli.App, flags *fabricFlags) *cobra.Command {
	var f errorFlags
	cmd := &cobra.Command{
		Use:   "errors [NODE...]",
		Short: "List error counters above their thresholds, and with --interval their rates",
		Long: `Read the counters of all active ports, and of the switch ports that are not active, and list the
error counters above their thresholds, with both ends of the cable. A port that is down keeps the
counters of the link that it had; the note shows its state. Counters that a port doesn't implement
(PortXmitWait and QP1Dropped are optional) are not listed. With NODE, list only the cables with an
end at that node, or at its port N if "[N]" follows a name or GUID.

By default the threshold of each error counter is 0. --thresholds FILE reads other thresholds from a
file with a line for each counter, "Name=VALUE" as in infiniband-diags or "Name: VALUE" (YAML); #
begins a comment. A counter is listed if it exceeds its threshold; "Name: never" leaves it out.
PortXmitWait counts the time that data waited for credits, which is congestion rather than an error:
it is listed only if the file names it.

Receivers count errors: those at one end only come from the transmitter of the other end, the cable,
or this receiver; those at both ends have the cable in common. A second list says so for each cable
that has a listed counter.

A counter doesn't show when the errors happened. --interval TIME reads the counters twice, and
--since FILE compares them with a topology saved before (topology --counters --save FILE): counters
that have grown are then listed too, with the growth per second. Classic counters have 4 to 32 bits
and stop at their maximum: such a counter is marked saturated, and its numbers are lower bounds. If
it was saturated at the earlier reading too, its growth is unknown. If a counter was reset in
between, its growth is at least its present value. If the second reading fails or is interrupted,
the first is printed with a warning, and the exit code is 7, or 6 for --timeout.

Counters can be read only from ports with LIDs, so the subnet needs a subnet manager.

--ber lists the bit error ratios of all active ports instead: raw (before error correction),
effective (after FEC) and symbol (after FEC and retransmission by the physical layer), since the
device's counters were reset. The ratio that packets see is compared with --ber-threshold: the
symbol ratio from HDR on, the effective ratio up to EDR. The default, 1e-12, is the InfiniBand
specification's; no public thresholds for each generation are known. A ratio above 1e-15, the limit
of NVIDIA's tests of cables, is noted. The raw ratio isn't judged: with PAM4, from HDR on, raw
errors are normal. A port without errors is judged only if it has received enough bits.

The ratios are in registers of NVIDIA devices, which vendor class 0x0a carries. A port of a device
that doesn't answer is not judged: it has no such class, another VS_Key (--vs-key, --vs-key-file),
or is not NVIDIA's. If none of the first 16 nodes answers, the others are not asked. This has never
been run with a card: the layouts are those of mstflint and of the Linux kernel.

Exit codes:

    0   no counter is above its threshold or has grown; --ber: all ports were judged, none is above
        the threshold
    1   such a counter or port is listed, even if the sweep is partial; or --save failed
` + fabricExitCodes,
		Example: `  rdmactl fabric errors
  rdmactl fabric errors --interval 10s
  rdmactl fabric errors "leaf*" --thresholds error_thresholds
  rdmactl fabric errors --hosts bundles/ gpu-07
  rdmactl fabric errors --since yesterday.json -o json
  rdmactl fabric errors --ber --vs-key-file guid2vskey`,
		Args: nodeArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkBER(cmd); err != nil {
				return err
			}
			if f.ber {
				flags.live = true
				return listBER(app, cmd, flags, f, args)
			}
			return listErrors(app, cmd, flags, f, args)
		},
	}
	set := cmd.Flags()
	set.StringVarP(&f.interval, "interval", "i", "",
		"read the counters twice, this `TIME` apart: 10s, or a number of seconds")
	set.StringVar(&f.since, "since", "", "compare with the counters in the topology saved in `FILE`")
	set.StringVar(&f.thresholds, "thresholds", "", "read the thresholds from `FILE`")
	set.BoolVarP(&f.all, "all", "a", false,
		"list all counters, including traffic counters; of ports that are down those that aren't 0")
	set.BoolVar(&f.ber, "ber", false, "list the bit error ratios of NVIDIA devices instead")
	set.Float64Var(&f.berThreshold, "ber-threshold", phy.Threshold,
		"with --ber, report ports whose ratio after correction is above this `RATIO`")
	flags.addKey(cmd, keyPM)
	flags.addKey(cmd, keyVS)
	cmd.MarkFlagsMutuallyExclusive("interval", "since")
	for _, other := range []string{"interval", "since", "thresholds", "all", "pm-key", "pm-key-file"} {
		cmd.MarkFlagsMutuallyExclusive("ber", other)
	}
	_ = cmd.MarkFlagFilename("since", "json")
	_ = cmd.MarkFlagFilename("thresholds")
	return cmd
}

// errorsReport is what errors prints.
type errorsReport struct {
	Schema string      `json:"schema"`
	Sweep  sweepReport `json:"sweep"`
	// Since is the start of the earlier reading, Seconds the time between the two readings; both
	// are absent without an earlier reading.
	Since      *time.Time        `json:"since,omitempty"`
	Seconds    float64           `json:"seconds,omitempty"`
	Thresholds fabric.Thresholds `json:"thresholds"`
	// Ports is the number of ports that were read.
	Ports int                `json:"portsRead"`
	Links []linkErrorsReport `json:"links"`
	// Faults counts the counters that are above their thresholds or have grown.
	Faults int `json:"faults"`
}

// linkErrorsReport has the counters of both ends of a cable.
type linkErrorsReport struct {
	A        fabricEnd       `json:"a"`
	B        *fabricEnd      `json:"b,omitempty"`
	Counters []counterReport `json:"counters"`
	// Read are the ends whose counters were read: a, b.
	Read []string `json:"read"`
	// Suspect is where the counters that are above threshold or have grown say that the link is
	// damaged: a-to-b and b-to-a are the directions, both, link (it retrained or went down),
	// other-link (packets were damaged before) or traffic (no damage). It is absent without such
	// counters.
	Suspect fabric.Suspect `json:"suspect,omitempty"`
}

// counterReport is one counter at one end.
type counterReport struct {
	// At is the end of the cable that has the counter: a or b.
	At   string    `json:"at"`
	Read time.Time `json:"read"` // when
	// State is the port's state if it is not active.
	State string `json:"state,omitempty"`
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	Bits  int    `json:"bits"`
	// Exceeded is true if the value is above the threshold.
	Exceeded bool `json:"exceeded"`
	// Saturated is true if the counter has stopped at its maximum, so that value, delta and rate
	// are lower bounds.
	Saturated bool `json:"saturated,omitempty"`
	// Delta is the growth since the earlier reading. It is nil if unknown: there is no earlier
	// reading, the counter was saturated then and still is, or it was reset and is 0.
	Delta     *uint64  `json:"delta,omitempty"`
	PerSecond *float64 `json:"perSecond,omitempty"` // nil if Delta is nil
	Reset     bool     `json:"reset,omitempty"`     // the value is smaller than before
	// AtLeast is true if delta and rate are lower bounds because the counter was saturated or
	// reset.
	AtLeast bool `json:"atLeast,omitempty"`
	isError bool
}

// grown reports whether this is an error counter with a threshold and has grown.
func (c *counterReport) grown(limits fabric.Thresholds) bool {
	_, limited := limits[c.Name]
	return limited && c.isError && c.Delta != nil && *c.Delta > 0
}

func listErrors(app *cli.App, cmd *cobra.Command, flags *fabricFlags, f errorFlags, patterns []string) error {
	limits, interval, earlier, err := errorInputs(app, cmd, f)
	if err != nil {
		return err
	}
	s, err := readSubnet(app, cmd, flags, fabric.Options{Counters: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if earlier != nil && !earlier.Started.Before(s.Started) {
		return cli.UsageError(cmd, fmt.Errorf("--since %s: the topology was not saved before this reading", f.since))
	}
	if interval > 0 && s.cut == nil {
		earlier = readAgain(cmd.Context(), app, s, flags, interval)
	}
	chosen, err := selectNodes(s.Topology, patterns)
	if err != nil {
		return err
	}
	r := newErrorsReport(s.Topology, earlier, chosen, limits, f.all)
	r.Sweep.HostPorts = s.joined
	if err := app.Out.Print(r, append(r.blocks(f.all), s.gaps(app.Out.Wide())...)...); err != nil {
		return err
	}
	switch {
	case r.Faults > 0:
		return cli.ExitSilently(cli.ExitFault)
	case r.Ports > 0, s.cut != nil, s.end() != nil && anyActive(chosen.nodes):
		return s.end()
	case flags.from != "":
		return cli.WithHints(cli.Exitf(cli.ExitNotFound, "the saved topology has no counters of these ports"),
			"rdmactl fabric topology --counters --save FILE saves them too")
	}
	return cli.WithHints(cli.Exitf(cli.ExitNotFound, "no active port has counters that can be read"),
		"counters need LIDs, which a subnet manager assigns: see rdmactl fabric sm")
}

// anyActive reports whether a port carries traffic, so that its counters could have been read.
func anyActive(nodes []*fabric.Node) bool {
	return slices.ContainsFunc(nodes, func(n *fabric.Node) bool {
		_, active := n.PortsUp()
		return active > 0
	})
}

// errorInputs reads the files that the flags name, before the sweep.
func errorInputs(
	app *cli.App, cmd *cobra.Command, f errorFlags,
) (limits fabric.Thresholds, interval time.Duration, earlier *fabric.Topology, err error) {
	limits = fabric.DefaultThresholds()
	if cmd.Flags().Changed("interval") && cmd.Flags().Changed("from") {
		return nil, 0, nil, cli.UsageError(cmd, errors.New("--from and --interval can't be combined"))
	}
	if cmd.Flags().Changed("thresholds") {
		if limits, err = readThresholds(f.thresholds); err != nil {
			return nil, 0, nil, err
		}
	}
	if cmd.Flags().Changed("interval") {
		if interval, err = parsePositiveDuration(f.interval); err != nil {
			return nil, 0, nil, cli.UsageError(cmd, fmt.Errorf("--interval %q: %w", f.interval, err))
		}
	}
	if cmd.Flags().Changed("since") {
		if earlier, err = readTopology(app, "--since", f.since); err != nil {
			return nil, 0, nil, err
		}
		if !earlier.HasCounters() {
			return nil, 0, nil,
				cli.WithHints(cli.Exitf(cli.ExitNotFound, "--since %s: the saved topology has no counters", f.since),
					"rdmactl fabric topology --counters --save FILE saves them too")
		}
	}
	return limits, interval, earlier, nil
}

// readAgain waits and sweeps once more. It sets s to the later topology and returns the earlier
// one. If the second sweep fails or ends early, readAgain warns, leaves s unchanged and returns
// nil.
func readAgain(
	ctx context.Context, app *cli.App, s *fabricView, flags *fabricFlags, interval time.Duration,
) *fabric.Topology {
	earlier := s.Topology
	once := func(why error) *fabric.Topology {
		s.cut, s.Complete = why, false
		app.Out.Note("warning: %v: the counters were read only once", why)
		return nil
	}
	progress := app.Out.Progress("waiting for the second reading, seconds", int(interval/time.Second))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.After(time.Until(earlier.Started.Add(interval))); end != nil; {
		select {
		case <-tick.C:
			progress.Add(1)
		case <-end:
			end = nil
		case <-ctx.Done():
			progress.Done()
			return once(context.Cause(ctx))
		}
	}
	progress.Done()
	t, err := discover(ctx, app, s.transport, flags, fabric.Options{Counters: true, Previous: earlier})
	if err != nil {
		return once(err)
	}
	s.Topology = t
	s.join()
	flags.keep(t)
	return earlier
}

// newErrorsReport compares counters with their thresholds and with an earlier reading, nil
// for none.
func newErrorsReport(t, earlier *fabric.Topology, chosen *selection, limits fabric.Thresholds, all bool) errorsReport {
	r := errorsReport{
		Schema: fabricErrorsSchema, Sweep: newSweepReport(t), Thresholds: limits, Links: []linkErrorsReport{},
	}
	if earlier != nil {
		r.Since, r.Seconds = new(earlier.Started.UTC()), t.Started.Sub(earlier.Started).Seconds()
	}
	for _, ends := range t.CountedEnds() {
		if !chosen.hasEnd(ends...) {
			continue
		}
		one := linkErrorsReport{A: endOf(t, ends[0]), Counters: []counterReport{}, Read: []string{}}
		if len(ends) > 1 {
			one.B = new(endOf(t, ends[1]))
		}
		for i, id := range ends {
			changes := changesOf(t, earlier, id)
			if changes == nil {
				continue
			}
			r.Ports++
			at := portCounters{at: endNames()[i], read: t.CountersRead(id).UTC()}
			if p := t.Port(id); !p.IsActive() && id.Port != 0 {
				at.state, at.down = stateText(p), !p.IsLinkUp()
			}
			one.Read = append(one.Read, at.at)
			one.Counters = append(one.Counters, r.list(at, changes, all)...)
		}
		one.Suspect = fabric.SuspectOf(one.faults("a", limits), one.faults("b", limits))
		if len(one.Counters) > 0 {
			r.Links = append(r.Links, one)
		}
	}
	slices.SortStableFunc(r.Links, func(a, b linkErrorsReport) int { return a.A.compare(b.A) })
	return r
}

// changesOf compares the counters of a port with an earlier reading, nil for none. The time between
// the two is that of this port: a sweep of a large fabric takes seconds.
func changesOf(t, earlier *fabric.Topology, id fabric.PortID) []fabric.Change {
	readings := t.Node(id.Node).Readings(id.Port)
	if readings == nil {
		return nil
	}
	if earlier == nil || earlier.Node(id.Node) == nil {
		return fabric.Changes(nil, readings, 0)
	}
	before := earlier.Node(id.Node).Readings(id.Port)
	elapsed := time.Duration(0)
	if before != nil {
		elapsed = t.CountersRead(id).Sub(earlier.CountersRead(id))
	}
	return fabric.Changes(before, readings, elapsed)
}

// portCounters describes the port whose counters are listed.
type portCounters struct {
	at    string // a or b
	read  time.Time
	state string // if it is not active
	down  bool
}

// list returns the counters to list.
func (r *errorsReport) list(port portCounters, changes []fabric.Change, all bool) []counterReport {
	var list []counterReport
	for _, c := range changes {
		one := counterReport{
			At: port.at, Read: port.read, State: port.state,
			Name: c.Name, Value: c.Value, Bits: c.Bits, Exceeded: r.Thresholds.Exceeded(c.Reading),
			Saturated: c.Saturated(), Delta: c.Delta, PerSecond: c.PerSecond, Reset: c.Reset, AtLeast: c.AtLeast,
			isError: c.IsError,
		}
		fault := one.Exceeded || one.grown(r.Thresholds)
		if fault {
			r.Faults++
		}
		if fault || all && (c.Value > 0 || !port.down) {
			list = append(list, one)
		}
	}
	return list
}

func (r *errorsReport) blocks(all bool) []output.Block {
	head := fmt.Sprintf("%s read", english.Count(r.Ports, "port"))
	if r.Since != nil {
		head += fmt.Sprintf(", compared with the reading %s earlier",
			time.Duration(r.Seconds*float64(time.Second)).Round(10*time.Millisecond))
	}
	verdict := output.Good("no counter above its threshold")
	if r.Faults > 0 {
		verdict = output.Bad(english.Count(r.Faults, "counter") + " above threshold or growing")
		if r.Since == nil {
			verdict = output.Bad(english.Count(r.Faults, "counter") + " above threshold")
		}
	}
	if r.Ports == 0 {
		return nil
	}
	blocks := []output.Block{output.Line(output.Plain(head+": ").Flow(0), verdict.Flow(0))}
	if len(r.Links) == 0 {
		return blocks
	}
	return append(append(blocks, r.table(all)), r.suspects()...)
}

func (r *errorsReport) table(all bool) output.Table {
	table := output.Table{
		Columns: []output.Column{{Name: "port"}, {Name: "counter"}, {Name: "value", Align: output.AlignRight}},
	}
	if r.Since != nil {
		table.Columns = append(table.Columns, output.Column{Name: "new", Align: output.AlignRight},
			output.Column{Name: "per second", Align: output.AlignRight, Priority: 2})
	}
	table.Columns = append(table.Columns, output.Column{Name: "other end", Priority: 1},
		output.Column{Name: "other lid", Priority: 3, Align: output.AlignRight},
		output.Column{Name: "note", Wrap: true},
		output.Column{Name: "bits", Wide: true, Align: output.AlignRight},
		output.Column{Name: "threshold", Wide: true, Align: output.AlignRight})
	for i := range r.Links {
		l := &r.Links[i]
		for j := range l.Counters {
			table.Rows = append(table.Rows, r.row(l, &l.Counters[j], all))
		}
	}
	return table
}

func (r *errorsReport) row(l *linkErrorsReport, c *counterReport, all bool) []output.Cell {
	here, there, lid := l.A.String(), "", ""
	if l.B != nil {
		there, lid = l.B.String(), lidText(l.B.LID)
	}
	if c.At == "b" {
		here, there, lid = there, here, lidText(l.A.LID)
	}
	value := output.Plain(bound(c.Saturated) + strconv.FormatUint(c.Value, 10))
	if c.Exceeded && all {
		value.Style = output.StyleBad
	}
	row := []output.Cell{output.Plain(here), output.Plain(c.Name), value}
	if r.Since != nil {
		fresh, rate := output.Plain(""), output.Plain("")
		if c.Delta != nil {
			fresh.Text = bound(c.AtLeast) + strconv.FormatUint(*c.Delta, 10)
			if c.grown(r.Thresholds) {
				fresh.Style = output.StyleBad
			}
		}
		if c.PerSecond != nil {
			rate.Text = bound(c.AtLeast) + strconv.FormatFloat(*c.PerSecond, 'g', 4, 64)
		}
		row = append(row, fresh, rate)
	}
	limit := "-"
	if v, ok := r.Thresholds[c.Name]; ok {
		limit = strconv.FormatUint(v, 10)
	}
	return append(row, output.Plain(there), output.Plain(lid), c.note(), output.Plain(strconv.Itoa(c.Bits)),
		output.Plain(limit))
}

// bound marks numbers that are lower bounds.
func bound(atLeast bool) string {
	if atLeast {
		return "≥"
	}
	return ""
}

func (c *counterReport) note() output.Cell {
	switch {
	case c.Saturated:
		note := output.Bad("saturated: it counts again only after a reset (perfquery -R)")
		note.Short = "saturated (perfquery -R)"
		return note
	case c.Reset:
		return output.Warn("was reset")
	case c.State != "":
		return output.Warn("the port is " + c.State)
	}
	return output.Plain("")
}
