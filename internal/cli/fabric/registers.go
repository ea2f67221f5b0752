package fabric

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// keyFlags are the flags of commands that read access registers.
type keyFlags struct{ key, file string }

func (f *keyFlags) addTo(cmd *cobra.Command, set *pflag.FlagSet) {
	set.StringVar(&f.key, "vs-key", "", "the `VS_KEY` of all nodes, such as 0x1234")
	set.StringVar(&f.file, "vs-key-file", "",
		"read the VS_Keys from `FILE`, with \"GUID KEY\" in each line (guid2vskey)")
	cmd.MarkFlagsMutuallyExclusive("vs-key", "vs-key-file")
	_ = cmd.MarkFlagFilename("vs-key-file")
}

// keys returns the key of each node.
func (f *keyFlags) keys(cmd *cobra.Command) (func(ib.GUID) uint64, error) {
	switch {
	case cmd.Flags().Changed("vs-key"):
		key, err := strconv.ParseUint(f.key, 0, 64)
		if err != nil {
			return nil, cli.UsageError(cmd, fmt.Errorf("--vs-key %q is not a number of 64 bits", f.key))
		}
		return func(ib.GUID) uint64 { return key }, nil
	case cmd.Flags().Changed("vs-key-file"):
		file, err := os.Open(f.file)
		if err != nil {
			return nil, cli.InputError(fmt.Errorf("read VS_Keys: %w", err))
		}
		defer file.Close()
		keys, err := parseKeys(file)
		if err != nil {
			return nil, cli.Exitf(cli.ExitUsage, "read VS_Keys %s: %w", f.file, err)
		}
		return func(node ib.GUID) uint64 { return keys[node] }, nil
	}
	return nil, nil
}

// parseKeys reads lines of a GUID and a key, both numbers; # begins a comment.
func parseKeys(r io.Reader) (map[ib.GUID]uint64, error) {
	keys := map[ib.GUID]uint64{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := bytes.Cut(lines.Bytes(), []byte("#"))
		words := strings.Fields(string(text))
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("line %d: not of the form GUID KEY", number)
		}
		guid, err := strconv.ParseUint(strings.TrimPrefix(words[0], "0x"), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a GUID", number, words[0])
		}
		key, err := strconv.ParseUint(words[1], 0, 64)
		if err != nil { // the key itself isn't printed
			return nil, fmt.Errorf("line %d: the key is not a number of 64 bits", number)
		}
		keys[guidOf(guid)] = key
	}
	return keys, lines.Err()
}

func guidOf(v uint64) (g ib.GUID) {
	for i := range g {
		g[i] = byte(v >> (56 - 8*i))
	}
	return g
}

// registerReader reads registers of the ports of a topology.
type registerReader struct {
	t        *fabric.Topology
	client   *phy.Client
	progress *output.Progress
	probed   map[ib.GUID]error
	answers  int // nodes that answer the class
	silent   int // nodes that don't
	// learnPaths is called before the first request; nil: it was.
	learnPaths func(ctx context.Context)
}

// maxSilent is how many nodes are probed if none answers the class: then the others are not asked,
// because each costs several seconds.
const maxSilent = 16

func newRegisterReader(
	app *cli.App, t *fabric.Topology, f *fabricFlags, transport fabric.Transport, keys func(ib.GUID) uint64,
) *registerReader {
	timeout, retries := f.tries()
	caller := &fabric.Client{Transport: transport, Timeout: timeout, Retries: retries, ReadPKeys: true}
	client := &phy.Client{Caller: caller, Key: keys}
	return &registerReader{
		learnPaths: func(ctx context.Context) { learnPaths(ctx, app, transport) },
		t:          t, client: client, probed: map[ib.GUID]error{},
		progress: app.Out.Progress("reading registers: ports", 0),
	}
}

// port returns a port if its registers can be read. The error is printed as the reason why the port
// is not judged.
func (r *registerReader) port(ctx context.Context, id fabric.PortID) (phy.Port, error) {
	r.progress.Add(1)
	n := r.t.Node(id.Node)
	if n == nil {
		return phy.Port{}, errors.New("unknown node")
	}
	port := phy.Port{Node: id.Node, LID: n.LID(id.Port), Number: id.Port}
	switch {
	case ctx.Err() != nil:
		return port, errors.New("not asked: interrupted")
	case port.LID == 0:
		return port, errors.New("not asked: the port has no LID")
	}
	if r.learnPaths != nil {
		r.learnPaths(ctx)
		r.learnPaths = nil
	}
	err, known := r.probed[id.Node]
	if !known {
		if r.answers == 0 && r.silent >= maxSilent {
			return port, fmt.Errorf("not asked: none of the first %d nodes answers class 0x0a", maxSilent)
		}
		err = r.client.Probe(ctx, port)
		r.probed[id.Node] = err
		switch {
		case err == nil:
			r.answers++
		case errors.Is(err, phy.ErrNoClass):
			r.silent++
		}
	}
	if errors.Is(err, phy.ErrNoClass) {
		err = phy.ErrNoClass // the number of tries isn't worth a place in the table
	}
	return port, err
}

// live refuses the flags that make a command read a saved topology: registers aren't saved.
func live(cmd *cobra.Command, what string) error {
	if cmd.Flags().Changed("from") {
		return cli.UsageError(cmd, fmt.Errorf("--from can't be used: a saved topology has no %s", what))
	}
	return nil
}
