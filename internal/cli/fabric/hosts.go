package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/hosts"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/consensus/inputs"
)

// readHosts reads the hosts of --hosts. An input that is no node is an error: a result with a part
// of the hosts would report the others' ports as unknown.
func readHosts(ctx context.Context, app *cli.App, names []string) ([]*hosts.Host, error) {
	if len(names) == 0 {
		return nil, nil
	}
	files := inputs.Files{Names: names}
	switch {
	case slices.Contains(names, ""):
		return nil, cli.Exitf(cli.ExitUsage, "--hosts: empty")
	case slices.Contains(names, "-"):
		stdin, err := app.TakeStdin("--hosts")
		if err != nil {
			return nil, err
		}
		files.Stdin = stdin
	}
	progress := app.ReadingProgress("reading hosts: files", 0, names)
	defer progress.Done()
	files.Reading = func(string) { progress.Add(1) }
	files.Ignored = func(path string) { app.Out.Note("--hosts: %s: subdirectories are not read", path) }
	list, bad, err := hosts.Read(ctx, files, consensus.Options{Roles: app.Config.Roles})
	switch {
	case errors.Is(err, inputs.ErrTooMany):
		return nil, cli.Exitf(cli.ExitUsage, "--hosts: %w", err)
	case err != nil:
		return nil, err
	case len(bad) > 0:
		return nil, badHosts(bad)
	}
	return list, nil
}

// badHosts is the error for inputs that are no nodes; it names the first ones.
func badHosts(bad []consensus.Unreadable) error {
	const shown = 3
	var list []string
	for i, b := range bad {
		if i == shown {
			list = append(list, fmt.Sprintf("%d more", len(bad)-shown))
			break
		}
		list = append(list, b.Source+": "+b.Error)
	}
	return cli.WithHints(cli.Exitf(cli.ExitUsage, "--hosts: %s", strings.Join(list, "; ")),
		"rdmactl snapshot writes a bundle of a host")
}

// join names the ports of the topology by the hosts of --hosts.
func (s *fabricView) join() {
	if s.hosts == nil {
		return
	}
	s.joined = hosts.Join(s.Topology, s.hosts)
	if s.previous != nil {
		hosts.Join(s.previous, s.hosts) // for the names of ports that have lost their links
	}
}

// selectHostPorts returns the ports that a text names as their hosts do: "gpu-07",
// "gpu-07/mlx5_3", "gpu-07 mlx5_3", "gpu-07 rail 3", or as lists print them; patterns match too.
// There are none without --hosts.
func selectHostPorts(t *fabric.Topology, text string) []fabric.PortID {
	var list []fabric.PortID
	for id, h := range t.Hosts {
		if matchesHost(text, h) {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, t.ComparePorts)
	return list
}

func matchesHost(text string, h fabric.HostPort) bool {
	short, _, _ := strings.Cut(h.Host, ".")
	for _, name := range []string{h.Host, short} {
		forms := []string{
			name, name + " " + h.Device, name + "/" + h.Device, fmt.Sprintf("%s %s[%d]", name, h.Device, h.Port),
		}
		if h.Rail != nil {
			forms = append(forms, fmt.Sprintf("%s rail %d", name, *h.Rail),
				fmt.Sprintf("%s %s rail %d", name, h.Device, *h.Rail))
		}
		h.Host = name
		forms = append(forms, h.String())
		if slices.Contains(forms, text) {
			return true
		}
		for _, form := range forms {
			if ok, err := path.Match(text, form); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// nodeName returns a node's description, or with --hosts "gpu-07 mlx5_3 rail 3".
func nodeName(t *fabric.Topology, n *fabric.Node) string { return cmp.Or(t.HostName(n), n.Name()) }

// gaps returns the blocks below a list: what the sweep didn't get, and what hosts and sweep don't
// have in common.
func (s *fabricView) gaps(wide bool) []output.Block {
	return append(gaps(s.Topology), s.hostBlocks(wide)...)
}

// hostBlocks describes the comparison with the hosts: counts, and with wide the names.
func (s *fabricView) hostBlocks(wide bool) []output.Block {
	r := s.joined
	if r == nil {
		return nil
	}
	blocks := []output.Block{output.Line(output.Plain(hostCounts(r, wide)).Flow(0))}
	if wide {
		blocks = append(blocks, notSweptTable(r)...)
		blocks = append(blocks, unknownTable(s.Topology, r)...)
	}
	if len(r.Contradictions) > 0 {
		table := output.Table{Title: "Contradictions", Columns: []output.Column{
			{Name: "host"}, {Name: "kind"}, {Name: "detail", Wrap: true},
		}}
		for _, c := range r.Contradictions {
			table.Rows = append(table.Rows,
				[]output.Cell{output.Plain(c.Host), output.Bad(string(c.Kind)), output.Plain(c.Detail)})
		}
		blocks = append(blocks, table)
	}
	return append(blocks, railBlocks(r)...)
}

// hostCounts returns one line with the counts of what is in both, and in one only. It says where
// the names are unless they follow.
func hostCounts(r *hosts.Report, named bool) string {
	text := fmt.Sprintf("%s: %d of %s in the sweep", english.Count(r.Hosts, "host"), r.Joined,
		english.Count(r.Ports, "InfiniBand port"))
	var more []string
	if k := len(r.NotSwept); k > 0 {
		more = append(more, fmt.Sprintf("%d not in the sweep or without a link", k))
	}
	if k := len(r.NoPorts); k > 0 {
		more = append(more, english.Count(k, "host")+" without an InfiniBand port")
	}
	if k := len(r.Unknown); k > 0 {
		more = append(more, english.Count(k, "adapter port")+" of the sweep without a host")
	}
	if k := r.Functions; k > 0 {
		more = append(more, english.Count(k, "port")+" of virtual functions, which a subnet doesn't see")
	}
	if len(more) > 0 {
		text += "; " + strings.Join(more, "; ")
		if !named && len(r.NotSwept)+len(r.NoPorts)+len(r.Unknown) > 0 {
			text += " (-o wide has the names)"
		}
	}
	return text
}

func notSweptTable(r *hosts.Report) []output.Block {
	table := output.Table{Title: "Not in the sweep, or without a link", Columns: []output.Column{
		{Name: "port"}, {Name: "pci address"}, {Name: "port guid"}, {Name: "reason", Wrap: true},
	}}
	for _, p := range r.NotSwept {
		name := fabric.HostPort{Host: p.Host, Device: p.Device, Port: p.Port, Plane: p.Plane, Rail: p.Rail}.String()
		guid := ""
		if !p.PortGUID.IsZero() {
			guid = guidText(p.PortGUID)
		}
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(name), output.Plain(p.PCIAddress), output.Plain(guid), output.Warn(p.Reason),
		})
	}
	for _, host := range r.NoPorts {
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(host), output.Plain(""), output.Plain(""), output.Warn("the host has no InfiniBand port"),
		})
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []output.Block{table}
}

func unknownTable(t *fabric.Topology, r *hosts.Report) []output.Block {
	if len(r.Unknown) == 0 {
		return nil
	}
	table := output.Table{Title: "Without a host", Columns: []output.Column{
		{Name: "port"}, {Name: "lid", Align: output.AlignRight}, {Name: "port guid"},
	}}
	for _, u := range r.Unknown {
		end := endOf(t, u.Port)
		table.Rows = append(table.Rows, []output.Cell{
			output.Plain(end.String()), output.Plain(lidText(end.LID)), output.Plain(guidText(u.GUID)),
		})
	}
	return []output.Block{table}
}

// railBlocks describes the validation of the rails.
func railBlocks(r *hosts.Report) []output.Block {
	rails := &r.Rails
	var blocks []output.Block
	if len(rails.Odd) > 0 {
		table := output.Table{Title: "Rails", Columns: []output.Column{
			{Name: "host"}, {Name: "connected to another leaf than in the other hosts", Wrap: true},
		}}
		for _, o := range rails.Odd {
			cell := output.Bad(o.Detail)
			if o.Tie {
				cell = output.Warn(o.Detail)
			}
			table.Rows = append(table.Rows, []output.Cell{output.Plain(o.Host), cell})
		}
		blocks = append(blocks, table)
	}
	text := "rails: "
	if rails.Judged == 0 {
		text += "not judged: "
		if rails.NotJudged == 0 {
			text += "no joined port has a rail number and a switch"
		} else {
			text += "no two hosts with as many rails share leaves"
		}
	} else {
		text += fmt.Sprintf("%s compared with the other hosts at the same leaves", english.Count(rails.Judged, "port"))
		if rails.NotJudged > 0 {
			text += fmt.Sprintf(", %d without such hosts not judged", rails.NotJudged)
		}
		if len(rails.Odd) == 0 {
			text += ": each rail is at one leaf"
		} else {
			text += ": " + english.Count(len(rails.Odd), "host") + " with rails at another leaf"
		}
	}
	blocks = append(blocks, output.Line(output.Plain(text).Flow(0)))
	const shown = 8
	if list := rails.Pairing.Realigned; len(list) > 0 {
		blocks = append(blocks, output.Line(output.Plain(
			"note: hosts that lack compute ports: "+english.List(list, shown)).Flow(0)))
	}
	if list := rails.Shifted; len(list) > 0 {
		blocks = append(blocks, output.Line(output.Warn("warning: hosts that lack compute ports, without rails, "+
			"because their PCI addresses don't tell which: "+english.List(list, shown)).Flow(0)))
	}
	return blocks
}

// hostsAtFault reports whether hosts and sweep contradict each other, or a rail is at another leaf
// than in the other hosts.
func (s *fabricView) hostsAtFault() bool {
	return s.joined != nil && len(s.joined.Contradictions)+len(s.joined.Rails.Odd) > 0
}
