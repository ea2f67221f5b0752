package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// maxConsensusNodes bounds what one comparison may hold: digests of some kilobytes each.
const maxConsensusNodes = 1 << 16

// stdinName is how standard input is called in a report.
const stdinName = "stdin"

// consensusInput is an argument, or a file of a folder that is one.
type consensusInput struct {
	path   string
	folder bool // the root of a node
	stdin  bool
}

// consensusReader collects what the inputs hold. Only digests stay in memory.
type consensusReader struct {
	app  *cli.App
	opts consensus.Options

	mu    sync.Mutex
	nodes []readNode
	bad   []readBad
}

// readNode and readBad remember their place, so that reading in parallel changes nothing.
type readNode struct {
	input, document int
	node            *consensus.Node
}

type readBad struct {
	input, document int
	consensus.Unreadable
}

// readConsensus reads all inputs, some at a time.
func readConsensus(ctx context.Context, app *cli.App, args []string, opts consensus.Options) ([]*consensus.Node, []consensus.Unreadable, error) {
	r := &consensusReader{app: app, opts: opts}
	inputs := r.listInputs(args)
	jobs := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(len(inputs), 1)) {
		workers.Go(func() {
			for i := range jobs {
				if ctx.Err() == nil {
					r.read(ctx, i, inputs[i])
				}
			}
		})
	}
	for i := range inputs {
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if len(r.nodes) > maxConsensusNodes {
		return nil, nil, cli.Exitf(cli.ExitUsage, "more than %d nodes", maxConsensusNodes)
	}
	slices.SortFunc(r.nodes, func(a, b readNode) int { return (a.input-b.input)*maxConsensusNodes + a.document - b.document })
	slices.SortFunc(r.bad, func(a, b readBad) int { return (a.input-b.input)*maxConsensusNodes + a.document - b.document })
	nodes := make([]*consensus.Node, 0, len(r.nodes))
	for _, n := range r.nodes {
		nodes = append(nodes, n.node)
	}
	var bad []consensus.Unreadable
	for _, b := range r.bad {
		bad = append(bad, b.Unreadable)
	}
	return nodes, bad, nil
}

// listInputs opens folders. The number of an input is its place in the list; what is
// wrong with a folder stands before its files.
func (r *consensusReader) listInputs(args []string) []consensusInput {
	var out []consensusInput
	stdin := false
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-" && stdin:
			r.fail(len(out), 0, stdinName, errors.New("- given twice"))
		case arg == "-":
			stdin = true
			out = append(out, consensusInput{path: stdinName, stdin: true})
		case err != nil || !info.IsDir(): // who opens the file tells better what is wrong
			out = append(out, consensusInput{path: arg})
		case isNodeRoot(arg):
			out = append(out, consensusInput{path: arg, folder: true})
		default:
			out = append(out, r.listFolder(len(out), arg)...)
		}
	}
	return out
}

// listFolder returns the files of a folder, and the folders in it that are roots of
// nodes. It goes no deeper, and leaves hidden files alone.
func (r *consensusReader) listFolder(at int, dir string) []consensusInput {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.fail(at, 0, dir, trimPath(err))
		return nil
	}
	var out []consensusInput
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case err == nil && info.IsDir() && isNodeRoot(path):
			out = append(out, consensusInput{path: path, folder: true})
		case err == nil && info.IsDir():
			r.app.Out.Note("%s: a folder within a folder is not opened", path)
		default:
			out = append(out, consensusInput{path: path})
		}
	}
	if len(out) == 0 {
		r.fail(at, 0, dir, errors.New("the folder holds no file"))
	}
	return out
}

// isNodeRoot reports that a folder is the root of a node, as --root takes it.
func isNodeRoot(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "sys"))
	return err == nil && info.IsDir()
}

func (r *consensusReader) fail(input, document int, source string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, prefix := range []string{"open recorded node ", "open bundle "} { // the source stands in front already
		text = strings.TrimPrefix(text, prefix+source+": ")
	}
	r.bad = append(r.bad, readBad{input, document, consensus.Unreadable{Source: source, Error: text}})
}

// keep digests a snapshot and lets go of it.
func (r *consensusReader) keep(input, document int, source string, snap inventory.Snapshot) {
	node, err := consensus.NewNode(source, snap, r.opts)
	if err != nil {
		r.fail(input, document, source, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = append(r.nodes, readNode{input, document, node})
}

// read reads one input, by what its first bytes say that it is.
func (r *consensusReader) read(ctx context.Context, i int, in consensusInput) {
	switch {
	case in.folder:
		r.readFolder(ctx, i, in.path)
	case in.stdin:
		r.readStream(ctx, i, in.path, r.app.Stdin, true)
	default:
		f, err := os.Open(in.path)
		if err != nil {
			r.fail(i, 0, in.path, trimPath(err))
			return
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		r.readStream(ctx, i, in.path, f, err != nil || !info.Mode().IsRegular()) // <(ssh …) can be read once
	}
}

// readStream tells JSON from a recorded node. A recorded node in a file is opened as --from opens it, in a pipe it is
// read as it comes.
func (r *consensusReader) readStream(ctx context.Context, i int, name string, file io.Reader, pipe bool) {
	in := bufio.NewReader(file)
	start, err := in.Peek(64)
	switch text := strings.TrimLeft(strings.TrimPrefix(string(start), "\xef\xbb\xbf"), " \t\r\n"); {
	case len(start) == 0 && err != nil && !errors.Is(err, io.EOF):
		r.fail(i, 0, name, trimPath(err))
	case len(start) == 0:
		r.fail(i, 0, name, errors.New("it is empty"))
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		// A section of a node tree begins with a bracket too, and with a path in it.
		if strings.HasPrefix(text, "[") && !strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), "{") && !pipe {
			r.readBundle(ctx, i, name)
			return
		}
		r.readDocuments(ctx, i, name, in)
	case !pipe:
		r.readBundle(ctx, i, name)
	default:
		r.readPipe(ctx, i, name, in, strings.HasPrefix(string(start), "\x1f\x8b"))
	}
}

func (r *consensusReader) readDocuments(ctx context.Context, i int, name string, in io.Reader) {
	n := 0
	for snap, err := range consensus.Documents(in) {
		source := name
		if n++; n > 1 {
			source += "#" + strconv.Itoa(n)
		}
		if err != nil {
			r.fail(i, n, source, err)
		} else {
			r.keep(i, n, source, snap)
		}
		if ctx.Err() != nil || n > maxConsensusNodes {
			return
		}
	}
}

// readBundle scans a recorded node.
func (r *consensusReader) readBundle(ctx context.Context, i int, name string) {
	n, err := r.app.OpenNode(cli.SourceFlags{From: name})
	if err != nil {
		r.fail(i, 0, name, err)
		return
	}
	r.scan(ctx, i, name, n)
}

func (r *consensusReader) readFolder(ctx context.Context, i int, dir string) {
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		r.fail(i, 0, dir, err)
		return
	}
	n, err := sources.FromFS(root, root.Close, "root "+dir)
	if err != nil {
		r.fail(i, 0, dir, err)
		return
	}
	r.scan(ctx, i, dir, n)
}

// readPipe reads a bundle or a node tree from standard input.
func (r *consensusReader) readPipe(ctx context.Context, i int, name string, in io.Reader, packed bool) {
	const most = 64 << 20 // more than any tree may have
	var tree *nodetree.Tree
	var err error
	if packed {
		tree, err = nodetree.FromTarGz(in)
	} else {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(in, most)); err == nil {
			tree, err = nodetree.Parse(name, data)
		}
	}
	var b *bundle.Bundle
	if err == nil {
		b, err = bundle.FromTree(tree)
	}
	var n *sources.Node
	if err == nil {
		n, err = sources.FromBundle(b, "bundle "+name)
	}
	if err != nil {
		r.fail(i, 0, name, err)
		return
	}
	r.scan(ctx, i, name, n)
}

// scan reads a node; what could not be read of it stands in its snapshot.
func (r *consensusReader) scan(ctx context.Context, i int, name string, n *sources.Node) {
	defer n.Close()
	n.Names = nil // names of cards decide nothing here
	snap, err := inventory.Scan(ctx, n.Sources)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && len(snap.Problems) == 0:
		r.fail(i, 0, name, fmt.Errorf("scan: %w", err))
	default:
		r.keep(i, 0, name, snap)
	}
}

// trimPath drops the path of an error: it stands before the message already.
func trimPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
