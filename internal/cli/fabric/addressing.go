package fabric

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// addressFlags choose the partition of datagrams that are in one.
type addressFlags struct {
	index uint16
	key   string
	// set reports which flag was given, "" for none.
	set string
}

func (f *addressFlags) addTo(cmd *cobra.Command) {
	set := cmd.PersistentFlags()
	set.Uint16Var(&f.index, "pkey-idx", 0,
		"send queries of counters, registers, subnet administration and pings with the key at this `INDEX` of the "+
			"port's P_Key table (default: by membership)")
	set.StringVar(&f.key, "pkey", "", "the same, with this `KEY`, such as 0x8001")
	cmd.MarkFlagsMutuallyExclusive("pkey-idx", "pkey")
}

// check reads the flags of a command.
func (f *addressFlags) check(cmd *cobra.Command) error {
	f.set = ""
	for _, name := range []string{"pkey-idx", "pkey"} {
		if cmd.Flags().Changed(name) {
			f.set = name
		}
	}
	if f.set != "pkey" {
		return nil
	}
	if k, err := ib.ParsePKey(f.key); err != nil || k<<1 == 0 {
		return cli.UsageError(cmd,
			fmt.Errorf("--pkey %q is not a number from 1 to 0x7fff, or that with 0x8000 added", f.key))
	}
	return nil
}

// choose sets the P_Key index of a transport.
func (f *addressFlags) choose(t fabric.Transport) error {
	a := fabric.AddressingOf(t)
	if f.set == "" || a == nil {
		return nil
	}
	if f.set == "pkey-idx" {
		if len(a.PKeys) > 0 && (int(f.index) >= len(a.PKeys) || a.PKeys[f.index]<<1 == 0) {
			return cli.Exitf(cli.ExitNotFound, "--pkey-idx %d: no such key: the port has %s", f.index,
				tableText(a.PKeys))
		}
		a.PKeyIndex = &f.index
		return nil
	}
	wanted, _ := ib.ParsePKey(f.key) // check has parsed it
	best := -1
	for i, k := range a.PKeys {
		if k == wanted || k<<1 == wanted<<1 && best < 0 {
			best = i
		}
		if k == wanted {
			break
		}
	}
	if best < 0 {
		return cli.Exitf(cli.ExitNotFound, "--pkey %s: the port has %s", wanted, tableText(a.PKeys))
	}
	a.PKeyIndex = new(uint16(best))
	return nil
}

// tableText lists the keys of a table with their indices.
func tableText(keys []ib.PKey) string {
	var list []string
	for i, k := range keys {
		if k<<1 != 0 {
			list = append(list, fmt.Sprintf("%s at index %d", k, i))
		}
	}
	if len(list) == 0 {
		return "no P_Key that is known"
	}
	return strings.Join(list, ", ")
}

// Limits of the queries for paths, which must not delay a command for long if nobody answers.
const (
	pathsTimeout = 2 * time.Second // OpenSM computes the paths to all ports first
	pathTimeout  = time.Second
	// Through the kernel, an SA that answers other queries is waited for: see sa.Client.
	pathsTotal = 15 * time.Second
	pathTotal  = 3 * time.Second
)

// learnPaths has requests to all nodes use the service levels, partitions and GIDs of the paths
// that subnet administration has recorded, unless they are known. Without an answer they use what
// the local port suggests.
func learnPaths(ctx context.Context, app *cli.App, t fabric.Transport, keys fabric.Keys) {
	if a := fabric.AddressingOf(t); a == nil || a.Paths() > 0 {
		return
	}
	client := sa.Client{Transport: t, Timeout: pathsTimeout, TotalTime: pathsTotal, Retries: 1, Keys: keys}
	n, err := client.LearnPaths(ctx)
	app.Log.Debug("paths from subnet administration", "known", n, "error", err)
}

// learnPath does the same for requests to one LID.
func learnPath(ctx context.Context, app *cli.App, t fabric.Transport, keys fabric.Keys, to ib.LID) {
	client := sa.Client{Transport: t, Timeout: pathTimeout, TotalTime: pathTotal, Retries: -1, Keys: keys}
	if err := client.LearnPath(ctx, to); err != nil {
		app.Log.Debug("path from subnet administration", "lid", uint16(to), "error", err)
	}
}

// sentHints returns how a request was addressed that nobody answered.
func sentHints(err error) []string {
	sent, ok := fabric.SentOf(err)
	if !ok {
		return nil
	}
	text := "sent with " + sent.String()
	if !sent.HasPath {
		text += " (subnet administration has no path to it, or doesn't answer)"
	}
	return []string{text}
}

// routerHints explains why a node may be missing in a subnet with routers.
func routerHints(t *fabric.Topology, err error) []string {
	if !errors.Is(err, fabric.ErrNoNode) {
		return nil
	}
	for _, n := range t.Nodes {
		if n.Info.NodeType == mad.NodeTypeRouter {
			return []string{fmt.Sprintf("%s is a router: nodes behind it are in another subnet and can't be "+
				"reached by LID; rdmactl fabric ping GID reaches them", n.Name())}
		}
	}
	return nil
}
