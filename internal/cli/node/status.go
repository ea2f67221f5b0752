package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
)

func newStatusCommand(app *cli.App) *cobra.Command {
	var source cli.SourceFlags
	var watch bool
	var count int
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show state, rate and error counters of this node's RDMA ports",
		Long: `Show the state, rate and error counters of each port. With --watch, status reads the ports again
every --interval and shows the traffic and the new errors since the previous reading. Ctrl-C ends
it, and on a terminal also the key q.

In the interval in which a counter was reset, its new errors are a lower bound and its rate is not
shown. A saturated counter is marked: the classic counters stop at their maximum until they are
reset.

Exit codes:

    0   all compute ports are active; also after q or Ctrl-C
    1   a compute port is not active, or no port is one; with --count, at the last reading
    3   there is no RDMA port
    7   some files could not be read`,
		Example: `  rdmactl status
  rdmactl status --watch --interval 2s
  rdmactl status --watch --count 10 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("count") && (!watch || count < 1) {
				return cli.UsageError(cmd, fmt.Errorf("--count must be 1 or more and needs --watch"))
			}
			n, err := app.OpenNode(source)
			if err != nil {
				return err
			}
			defer n.Close()
			m := monitor{app: app, node: n}
			if !watch {
				if cmd.Flags().Changed("interval") {
					app.Out.Note("note: --interval has no effect without --watch")
				}
				return m.once(cmd.Context())
			}
			if n.Bundle != nil {
				app.Out.Note("note: a recording doesn't change: rates and new errors stay at 0")
			}
			return m.watch(cmd.Context(), app.Config.Interval, count)
		},
	}
	source.AddTo(cmd)
	cli.AddSettings(cmd, "interval")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "repeat every --interval until interrupted")
	cmd.Flags().IntVar(&count, "count", 0, "with --watch: stop after `N` readings")
	return cmd
}

// statusSchema is the version of the JSON form of status.
const statusSchema = "rdmakit.status/v1"

// statusReport is what status prints.
type statusReport struct {
	Schema    string                `json:"schema"`
	Taken     time.Time             `json:"taken,omitzero"`
	Host      inventory.Host        `json:"host"`
	Ports     []portStatus          `json:"ports"`
	Obstacles []inventory.Obstacle  `json:"obstacles"`
	Problems  []inventory.Problem   `json:"problems,omitempty"`
	elapsed   time.Duration         // since the previous reading, 0 for the first
	devices   map[string]portCounts // of this reading
}

// portStatus is a port at one reading.
type portStatus struct {
	Port      string              `json:"port"`
	State     inventory.PortState `json:"state"`
	PhysState inventory.PhysState `json:"physState"`
	Rate      *inventory.Rate     `json:"rate,omitempty"`
	ActiveMTU int                 `json:"activeMTU,omitempty"`
	Netdev    string              `json:"netdev,omitempty"`
	Role      inventory.Role      `json:"role"`
	Rail      *int                `json:"rail,omitempty"`
	// Receive and Transmit are in 10^9 bits a second; nil without two readings.
	Receive  *float64 `json:"receiveGbps,omitempty"`
	Transmit *float64 `json:"transmitGbps,omitempty"`
	// Errors are the error counters that are not 0 or have changed, and all saturated counters.
	// ErrorTotal is the sum of the error counters, absent if the port has no known ones.
	Errors     []inventory.Change `json:"errors"`
	ErrorTotal *uint64            `json:"errorTotal,omitempty"`
	NewErrors  *uint64            `json:"newErrors,omitempty"` // since the previous reading
	// AtLeast reports that a counter is saturated or was reset, so that ErrorTotal and NewErrors
	// are lower bounds.
	AtLeast    bool   `json:"atLeast,omitempty"`
	NoCounters string `json:"noCounters,omitempty"`
	saturated  bool   // an error counter is saturated
	smi        bool   // for subnet management, not for programs
	stateCell  output.Cell
}

// portCounts is a reading of a port's counters and its time.
type portCounts struct {
	counters []inventory.Counter
	at       time.Time
}

// monitor reads a node repeatedly.
type monitor struct {
	app    *cli.App
	node   *sources.Node
	before map[string]portCounts
}

func (m *monitor) once(ctx context.Context) error {
	r, partial, err := m.read(ctx)
	if err != nil {
		return err
	}
	if err := m.app.Out.Print(r, r.blocks()...); err != nil {
		return err
	}
	return r.verdict(partial)
}

// errQuit is the cause of a context that the key q ended.
var errQuit = errors.New("quit")

// watch reads repeatedly until the user ends it, which is not an error.
func (m *monitor) watch(ctx context.Context, interval time.Duration, count int) error {
	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	keys, done := m.app.Keys()
	defer done()
	if keys != nil {
		go func() { // ends with done
			for key := range keys {
				if key == 'q' || key == 'Q' {
					quit(errQuit)
				}
			}
		}()
	}
	err := m.frames(ctx, interval, count)
	signal, ended := errors.AsType[*cli.SignalError](err)
	if errors.Is(err, errQuit) || ended && signal.Signal == os.Interrupt {
		return nil
	}
	return err
}

func (m *monitor) frames(ctx context.Context, interval time.Duration, count int) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := 1; ; i++ {
		r, partial, err := m.read(ctx)
		if err != nil {
			return err
		}
		if err := m.app.Out.Frame(r, r.blocks()...); err != nil {
			return err
		}
		if i == count {
			return r.verdict(partial)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// verdict returns the error that carries the exit code of the run.
func (r *statusReport) verdict(partial error) error {
	if len(r.Ports) == 0 {
		return cli.ExitSilently(cli.ExitNotFound)
	}
	rails := 0
	for _, p := range r.Ports {
		if p.Role != inventory.RoleCompute {
			continue
		}
		rails++
		if p.State != inventory.PortStateActive {
			return cli.ExitSilently(cli.ExitFault)
		}
	}
	if rails == 0 {
		return cli.ExitSilently(cli.ExitFault)
	}
	return partial
}

// read makes one reading; rates refer to the previous one.
func (m *monitor) read(ctx context.Context) (r *statusReport, partial, err error) {
	snap, scanErr := inventory.Scan(ctx, m.node.Sources)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if scanErr != nil {
		partial = cli.ExitSilently(cli.ExitPartial)
		if m.before == nil { // reported once, not with every frame
			m.app.NotePartial(&snap, scanErr)
		}
	}
	r = &statusReport{
		Schema: statusSchema, Taken: snap.Taken, Host: snap.Host, Ports: []portStatus{}, Obstacles: snap.Obstacles(),
		Problems: snap.Problems,
		devices:  map[string]portCounts{},
	}
	if r.Obstacles == nil {
		r.Obstacles = []inventory.Obstacle{}
	}
	for i := range snap.Devices {
		d := &snap.Devices[i]
		for j := range d.Ports {
			r.Ports = append(r.Ports, m.readPort(ctx, r, d, &d.Ports[j]))
		}
	}
	m.before = r.devices
	return r, partial, nil
}

func (m *monitor) readPort(ctx context.Context, r *statusReport, d *inventory.Device, p *inventory.Port) portStatus {
	s := portStatus{
		Port: portName(d, p), State: p.State, PhysState: p.PhysState, Rate: p.Rate, ActiveMTU: int(p.ActiveMTU),
		Netdev: p.Netdev, Role: p.Role, Rail: p.Rail, Errors: []inventory.Change{}, stateCell: stateCell(p),
		smi: d.SMIOf != "",
	}
	counters, err := inventory.ReadCounters(ctx, m.node.Root, d.Name, p.Number)
	if err != nil && len(counters) == 0 {
		s.NoCounters = err.Error()
		return s
	}
	now := portCounts{counters: counters, at: m.app.Now()}
	r.devices[s.Port] = now
	was, again := m.before[s.Port]
	elapsed := now.at.Sub(was.at)
	if again {
		r.elapsed = elapsed
	}
	s.count(inventory.Changes(was.counters, counters, elapsed), again)
	return s
}

// count fills in the traffic and the errors.
func (s *portStatus) count(changes []inventory.Change, again bool) {
	total, fresh, known := uint64(0), uint64(0), false
	for _, c := range changes {
		if c.PerSecond != nil && !c.AtLeast { // a lower bound of the traffic would look like a slow port
			if bytes, ok := c.Counter.Bytes(*c.PerSecond); ok {
				gbps := bytes * 8 / 1e9
				if c.Counter.Name == "port_rcv_data" {
					s.Receive = &gbps
				} else {
					s.Transmit = &gbps
				}
			}
		}
		if c.Counter.Value == nil {
			continue
		}
		if c.Counter.IsError() {
			known = true
			total += *c.Counter.Value
			s.saturated = s.saturated || c.Counter.Saturated
			s.AtLeast = s.AtLeast || c.Counter.Saturated || c.AtLeast
			if c.Delta != nil {
				fresh += *c.Delta
			}
		}
		if c.Counter.Saturated || c.Counter.IsError() && (*c.Counter.Value > 0 || c.Reset) {
			s.Errors = append(s.Errors, c)
		}
	}
	if known {
		s.ErrorTotal = &total
	}
	if again && known {
		s.NewErrors = &fresh
	}
}

func (r *statusReport) blocks() []output.Block {
	out := []output.Block{r.summary()}
	if len(r.Ports) > 0 {
		out = append(out, r.portTable())
	}
	if t := r.errorTable(); len(t.Rows) > 0 {
		out = append(out, t)
	}
	if len(r.Obstacles) > 0 {
		out = append(out, DetectReport{Obstacles: r.Obstacles}.obstacleTable())
	}
	return out
}

// summary is the line at the top of the screen.
func (r *statusReport) summary() output.Text {
	name := r.Host.Name
	if name == "" || name == "(none)" { // what the kernel returns before a name is set
		name = "node"
	}
	active, total := 0, 0
	for _, p := range r.Ports {
		if p.smi {
			continue
		}
		total++
		if p.State == inventory.PortStateActive {
			active++
		}
	}
	count := output.Good(fmt.Sprintf("%d of %s active", active, english.Count(total, "port")))
	switch {
	case total == 0:
		count = output.Bad("no RDMA port")
	case active < total:
		count = output.Warn(count.Text)
	}
	cells := []output.Cell{output.Bold(name), count}
	if m := r.Host.Memlock; m != nil {
		cells = append(cells, output.Plain("memlock "+memlockText(m)))
	}
	if c := r.Host.Container; c != nil {
		cells = append(cells, output.Plain(containerText(c)))
	}
	if r.elapsed > 0 {
		cells = append(cells, output.Dim("over "+r.elapsed.Round(10*time.Millisecond).String()))
	}
	return output.Line(spaced(cells)...)
}

// spaced separates the cells of a line by commas.
func spaced(cells []output.Cell) []output.Cell {
	var out []output.Cell
	for i, c := range cells {
		if i > 0 {
			out = append(out, output.Plain(", ").Flow(0))
		}
		out = append(out, c.Flow(0))
	}
	return out
}

func containerText(c *inventory.Container) string {
	switch {
	case c.Kubernetes:
		return "in a Kubernetes pod"
	case c.Runtime == "":
		return "in a container"
	}
	return "in a " + c.Runtime + " container"
}

func memlockText(m *inventory.Memlock) string {
	if m.Soft.Unlimited {
		return "unlimited"
	}
	text := m.Soft.String()
	if m.IPCLock != nil && *m.IPCLock {
		text += " (lifted by CAP_IPC_LOCK)"
	}
	return text
}

func (r *statusReport) portTable() output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "port"},
		{Name: "state"},
		{Name: "rate", Priority: 4},
		{Name: "mtu", Align: output.AlignRight, Priority: 6},
		{Name: "netdev", Priority: 3},
		{Name: "role", Priority: 5},
		{Name: "rail", Align: output.AlignRight, Priority: 2},
		{Name: "rx gbit/s", Align: output.AlignRight, Priority: 1},
		{Name: "tx gbit/s", Align: output.AlignRight, Priority: 1},
		{Name: "errors", Align: output.AlignRight},
		{Name: "new", Align: output.AlignRight},
		{Name: "note", Wide: true},
	}}
	for i := range r.Ports {
		p := &r.Ports[i]
		mtu := ""
		if p.ActiveMTU != 0 {
			mtu = strconv.Itoa(p.ActiveMTU)
		}
		total, fresh := output.Plain(""), output.Plain("")
		if p.ErrorTotal != nil {
			total = countCell(*p.ErrorTotal, p.saturated, output.Warn)
		}
		if p.NewErrors != nil {
			fresh = countCell(*p.NewErrors, p.AtLeast && *p.NewErrors > 0, output.Bad)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(p.Port), p.stateCell, rateCell(p.State, p.Rate), output.Plain(mtu),
			output.Plain(p.Netdev), output.Plain(string(p.Role)), output.Plain(intText(p.Rail)),
			output.Plain(gbpsText(p.Receive)), output.Plain(gbpsText(p.Transmit)), total, fresh,
			output.Dim(p.NoCounters),
		})
	}
	return t
}

func countCell(n uint64, atLeast bool, style func(string) output.Cell) output.Cell {
	text := strconv.FormatUint(n, 10)
	if atLeast {
		return style("≥" + text)
	}
	if n == 0 {
		return output.Good(text)
	}
	return style(text)
}

func gbpsText(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

func (r *statusReport) errorTable() output.Table {
	t := output.Table{Title: "Error counters", Columns: []output.Column{
		{Name: "port"},
		{Name: "counter"},
		{Name: "value", Align: output.AlignRight},
		{Name: "new", Align: output.AlignRight},
		{Name: "note", Wrap: true},
	}}
	for _, p := range r.Ports {
		for _, c := range p.Errors {
			fresh, note := output.Plain(""), output.Plain("")
			if c.Delta != nil {
				fresh = countCell(*c.Delta, c.AtLeast, output.Bad)
			}
			switch {
			case c.Counter.Saturated:
				note = output.Bad("saturated: it counts again only after a reset (perfquery -R)")
				note.Short = "saturated (perfquery -R)"
			case c.Reset:
				note = output.Warn("was reset")
			}
			t.Rows = append(t.Rows, []output.Cell{
				output.Plain(p.Port), output.Plain(c.Counter.Name),
				output.Plain(strconv.FormatUint(*c.Counter.Value, 10)), fresh, note,
			})
		}
	}
	return t
}
