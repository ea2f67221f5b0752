// Package realnodes holds the shapes of machines that people have, built from public sources:
// captures of sysfs, presets and topology files of vendors, guides, reports of users. The head of
// each file names the sources, which lines are from them and which complete the shape, and what is
// right: the ports that jobs should use, in the order of their rails, and what a check must and
// must not report. It was written from the sources, not from what rdmactl prints.
//
//	node, err := realnodes.Load("xe9680_h200_bf3")
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: node.Tree.FS()})
//
// The files are node trees as text (see internal/record/nodetree); some have a live.json with what
// netlink would answer. All functions may be called from several goroutines; every [Load] returns a
// tree of its own.
package realnodes

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

//go:embed *.tree
var trees embed.FS

const suffix = ".tree"

// Node is a machine and what is right for it.
type Node struct {
	Tree *nodetree.Tree
	// Shape names the machine and its cards in a line.
	Shape string
	// Sources are repositories with commits, addresses of threads, or descriptions of documents.
	Sources []string
	// Raw says which lines are from the sources.
	Raw   string
	Right Right
}

// Right is what an expert would say of a node. Ports are written DEVICE:PORT.
type Right struct {
	// Compute are the ports for jobs in the order of their rails. The others have other roles, or
	// are Uncertain: an expert would ask.
	Compute, Storage, Management, Unused, Uncertain []string
	// OrCompute is another answer that is as right, with the list of its ports in NCCL_IB_HCA or
	// that in HCA; nil for none.
	OrCompute []string
	// HCA is the value of NCCL_IB_HCA; "none" where RDMA can't be used, "any" where the library's
	// own choice is right.
	HCA string
	// Fail, Warn and Unknown are what checks must report, and what the source can't tell, in words;
	// they begin with "none" where there is nothing.
	Fail, Warn, Unknown string
	// Why has the reasons.
	Why []string
}

// Names returns the names of all nodes, sorted.
func Names() []string {
	entries, err := trees.ReadDir(".")
	if err != nil { // the embedded root always lists
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), suffix))
	}
	slices.Sort(names)
	return names
}

// Load returns a node by name. Its error names the file and the line of the head that is wrong.
func Load(name string) (*Node, error) {
	text, err := fs.ReadFile(trees, name+suffix)
	if err != nil {
		return nil, fmt.Errorf("load node: %w", err)
	}
	tree, err := nodetree.Parse(name+suffix, text)
	if err != nil {
		return nil, fmt.Errorf("load node: %w", err)
	}
	n := &Node{Tree: tree}
	if err := n.readHead(string(text)); err != nil {
		return nil, fmt.Errorf("load node %s: %w", name, err)
	}
	return n, nil
}

// readHead reads the comments before the first entry: "# KEY: text".
func (n *Node) readHead(text string) error {
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			return nil
		}
		key, value, ok := strings.Cut(comment, ": ")
		if !ok || !n.set(key, value) {
			return fmt.Errorf("the head has no line such as %q", comment)
		}
	}
	return nil
}

// set stores a line of the head and reports whether it knows its key.
func (n *Node) set(key, value string) bool {
	r := &n.Right
	switch key {
	case "SHAPE":
		n.Shape = value
	case "SOURCE":
		n.Sources = append(n.Sources, value)
	case "RAW":
		n.Raw = value
	case "WHY":
		r.Why = append(r.Why, value)
	case "RIGHT compute":
		r.Compute = ports(value)
	case "RIGHT or compute":
		r.OrCompute = ports(value)
	case "RIGHT storage":
		r.Storage = ports(value)
	case "RIGHT management":
		r.Management = ports(value)
	case "RIGHT unused":
		r.Unused = ports(value)
	case "RIGHT uncertain":
		r.Uncertain = ports(value)
	case "RIGHT hca":
		r.HCA, _, _ = strings.Cut(value, " ")
	case "RIGHT fail":
		r.Fail = value
	case "RIGHT warn":
		r.Warn = value
	case "RIGHT unknown":
		r.Unknown = value
	default:
		return false
	}
	return true
}

var (
	remark = regexp.MustCompile(`\([^()]*\)`)
	port   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*:[0-9]+[,;]?$`)
)

// ports returns the ports in a line of the head, without the remarks in parentheses.
func ports(value string) []string {
	for remark.MatchString(value) {
		value = remark.ReplaceAllString(value, " ")
	}
	var out []string
	for word := range strings.FieldsSeq(value) {
		if port.MatchString(word) {
			out = append(out, strings.TrimRight(word, ",;"))
		}
	}
	return out
}
