package inputs

import (
	"bufio"
	"cmp"
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

	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// maxNodes is the largest number of nodes in a comparison; their digests have a few kilobytes each.
const maxNodes = 1 << 16

// ErrTooMany is the error for more nodes than a comparison supports.
var ErrTooMany = fmt.Errorf("more than %d nodes", maxNodes)

// StdinSource is the name of standard input in a report.
const StdinSource = "stdin"

// Files are the inputs of a comparison.
type Files struct {
	// Names are files, directories with such files, root directories of nodes, and "-" for Stdin.
	// All files of a directory are read except hidden ones; its subdirectories are read only if
	// they are roots of nodes.
	Names []string
	Stdin io.Reader // what "-" reads
	// Ignored, if not nil, is called with each subdirectory that is not read.
	Ignored func(path string)
	// Reading, if it is not nil, is called with each input before it is read, by several goroutines
	// at a time.
	Reading func(path string)
}

// input is a name, or a file of a directory.
type input struct {
	path   string
	folder bool // the root of a node
	stdin  bool
}

// reader collects the nodes of the inputs. Only digests are kept in memory.
type reader[T any] struct {
	files  Files
	digest func(source string, snap inventory.Snapshot) (T, error)

	mu    sync.Mutex
	nodes []readNode[T]
	bad   []readBad
}

// place is the position of a node in the inputs, so that the result does not depend on parallel
// reading.
type place struct{ input, document int }

func (p place) compare(other place) int {
	return cmp.Or(p.input-other.input, p.document-other.document)
}

type readNode[T any] struct {
	place
	node T
}

type readBad struct {
	place
	consensus.Unreadable
}

// Nodes reads all inputs, in parallel on all processors, and digests them with opts. The nodes and
// the unreadable inputs are in the order of the names. The error is the cause of the context's end,
// or [ErrTooMany].
func (f Files) Nodes(ctx context.Context, opts consensus.Options) ([]*consensus.Node, []consensus.Unreadable, error) {
	return Read(ctx, f, func(source string, snap inventory.Snapshot) (*consensus.Node, error) {
		if len(opts.Roles) > 0 {
			inventory.AssignRoles(&snap, opts.Roles)
		}
		return consensus.NewNode(source, snap, opts)
	})
}

// Read is [Files.Nodes] with another digest, which several goroutines call at a time. What digest
// returns should not refer to the snapshot, so that this can be freed. An input whose digest is an
// error is unreadable.
func Read[T any](
	ctx context.Context, f Files, digest func(source string, snap inventory.Snapshot) (T, error),
) ([]T, []consensus.Unreadable, error) {
	r := &reader[T]{files: f, digest: digest}
	inputs := r.listInputs(f.Names)
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
	if len(r.nodes) > maxNodes {
		return nil, nil, ErrTooMany
	}
	nodes, bad := r.sorted()
	return nodes, bad, nil
}

// sorted returns the results in the order of the inputs.
func (r *reader[T]) sorted() ([]T, []consensus.Unreadable) {
	slices.SortFunc(r.nodes, func(a, b readNode[T]) int { return a.compare(b.place) })
	slices.SortFunc(r.bad, func(a, b readBad) int { return a.compare(b.place) })
	nodes := make([]T, 0, len(r.nodes))
	for _, n := range r.nodes {
		nodes = append(nodes, n.node)
	}
	var bad []consensus.Unreadable
	for _, b := range r.bad {
		bad = append(bad, b.Unreadable)
	}
	return nodes, bad
}

// listInputs lists the files of directories. The number of an input is its position in the list; an
// error about a directory comes before its files.
func (r *reader[T]) listInputs(args []string) []input {
	var out []input
	stdin := false
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-" && stdin:
			r.fail(place{input: len(out)}, StdinSource, errors.New("- given twice"))
		case arg == "-" && r.files.Stdin == nil:
			r.fail(place{input: len(out)}, StdinSource, errors.New("there is no standard input"))
		case arg == "-":
			stdin = true
			out = append(out, input{path: StdinSource, stdin: true})
		case err != nil || !info.IsDir(): // opening the file gives a better error
			out = append(out, input{path: arg})
		case sources.IsRoot(arg):
			out = append(out, input{path: arg, folder: true})
		default:
			out = append(out, r.listFolder(len(out), arg)...)
		}
	}
	return out
}

// listFolder returns the files of a directory and the subdirectories that are roots of nodes. It
// does not read deeper levels or hidden files.
func (r *reader[T]) listFolder(at int, dir string) []input {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.fail(place{input: at}, dir, trimPath(err))
		return nil
	}
	var out []input
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case err == nil && info.IsDir() && sources.IsRoot(path):
			out = append(out, input{path: path, folder: true})
		case err == nil && info.IsDir():
			if r.files.Ignored != nil {
				r.files.Ignored(path)
			}
		default:
			out = append(out, input{path: path})
		}
	}
	if len(out) == 0 {
		r.fail(place{input: at}, dir, errors.New("the directory has no files"))
	}
	return out
}

func (r *reader[T]) fail(at place, source string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, prefix := range []string{"open recorded node ", "open bundle "} { // the source precedes the message
		text = strings.TrimPrefix(text, prefix+source+": ")
	}
	r.bad = append(r.bad, readBad{at, consensus.Unreadable{Source: source, Error: text}})
}

// keep stores the digest of a snapshot.
func (r *reader[T]) keep(at place, source string, snap inventory.Snapshot) {
	node, err := r.digest(source, snap)
	if err != nil {
		r.fail(at, source, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = append(r.nodes, readNode[T]{at, node})
}

// read reads one input; its first bytes show the format.
func (r *reader[T]) read(ctx context.Context, i int, in input) {
	if r.files.Reading != nil {
		r.files.Reading(in.path)
	}
	switch {
	case in.folder:
		r.readFolder(ctx, i, in.path)
	case in.stdin:
		r.readStream(ctx, i, in.path, r.files.Stdin, true)
	default:
		f, err := os.Open(in.path)
		if err != nil {
			r.fail(place{input: i}, in.path, trimPath(err))
			return
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		r.readStream(ctx, i, in.path, f, err != nil || !info.Mode().IsRegular()) // <(ssh …) can be read once
	}
}

// readStream reads JSON or a recorded node. A recorded node in a file is opened like by rdmactl
// --from, a pipe is read sequentially.
func (r *reader[T]) readStream(ctx context.Context, i int, name string, file io.Reader, pipe bool) {
	in := bufio.NewReader(file)
	start, err := in.Peek(64)
	switch text := strings.TrimLeft(strings.TrimPrefix(string(start), "\xef\xbb\xbf"), " \t\r\n"); {
	case len(start) == 0 && err != nil && !errors.Is(err, io.EOF):
		r.fail(place{input: i}, name, trimPath(err))
	case len(start) == 0:
		r.fail(place{input: i}, name, errors.New("empty"))
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		// A section of a node tree begins with a bracket too, followed by a path.
		if strings.HasPrefix(text, "[") && !strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), "{") && !pipe {
			r.readBundle(ctx, i, name)
			return
		}
		r.readDocuments(ctx, i, name, in)
	case !pipe:
		r.readBundle(ctx, i, name)
	default:
		r.readPipe(ctx, i, name, in)
	}
}

func (r *reader[T]) readDocuments(ctx context.Context, i int, name string, in io.Reader) {
	n := 0
	for snap, err := range consensus.Documents(in) {
		source := name
		if n++; n > 1 {
			source += "#" + strconv.Itoa(n)
		}
		if err != nil {
			r.fail(place{i, n}, source, err)
		} else {
			r.keep(place{i, n}, source, snap)
		}
		if ctx.Err() != nil || n > maxNodes {
			return
		}
	}
}

// readBundle scans a recorded node.
func (r *reader[T]) readBundle(ctx context.Context, i int, name string) {
	n, err := sources.OpenBundle(name)
	if err != nil {
		r.fail(place{input: i}, name, err)
		return
	}
	r.scan(ctx, i, name, n)
}

func (r *reader[T]) readFolder(ctx context.Context, i int, dir string) {
	n, err := sources.OpenFolder(dir)
	if err != nil {
		r.fail(place{input: i}, dir, err)
		return
	}
	r.scan(ctx, i, dir, n)
}

// readPipe reads a bundle or a node tree from standard input.
func (r *reader[T]) readPipe(ctx context.Context, i int, name string, in io.Reader) {
	n, err := sources.ReadBundle(name, in)
	if err != nil {
		r.fail(place{input: i}, name, err)
		return
	}
	r.scan(ctx, i, name, n)
}

// scan reads a node; its snapshot lists the files that could not be read.
func (r *reader[T]) scan(ctx context.Context, i int, name string, n *sources.Node) {
	defer n.Close()
	n.Names = nil // the comparison doesn't depend on the names of cards
	snap, err := inventory.Scan(ctx, n.Sources)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && len(snap.Problems) == 0:
		r.fail(place{input: i}, name, fmt.Errorf("scan: %w", err))
	default:
		r.keep(place{input: i}, name, snap)
	}
}

// trimPath removes the path from an error, because it is already in front of the message.
func trimPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
