package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// ErrNoNode means that a file or folder has no data about a node.
var ErrNoNode = errors.New("no data about a node")

// OnlyNoNode reports whether err consists only of [ErrNoNode]: all files could be read, and some
// have no data about a node. It is also true for nil.
func OnlyNoNode(err error) bool {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(list.Unwrap(), func(e error) bool { return !OnlyNoNode(e) })
	}
	return err == nil || errors.Is(err, ErrNoNode)
}

// Files is a [Source] of recorded nodes and manifests.
type Files struct {
	// Names are files, folders with files, roots of nodes, and "-" for Stdin.
	Names []string
	Stdin io.Reader
	// Reading, if it is not nil, is called with each file before it is read.
	Reading func(file string)
	// Roles are the roles that the site gives to ports, nil for none.
	Roles []inventory.RoleSetting
}

// Cluster implements [Source]. In a folder it reads all files. A file that is neither about nodes
// nor a manifest is an error.
func (f Files) Cluster(ctx context.Context) (Cluster, error) {
	c := collector{roles: f.Roles}
	var errs []error
	for _, name := range f.Names {
		files, err := expand(name)
		errs = append(errs, err)
		for _, file := range files {
			if ctx.Err() != nil {
				return Cluster{}, context.Cause(ctx)
			}
			if f.Reading != nil {
				f.Reading(file)
			}
			if err := c.read(ctx, file, f.Stdin); err != nil {
				errs = append(errs, fmt.Errorf("read nodes of %s: %w", file, trim(err, file)))
			}
		}
	}
	nodes, doubles := apart(c.nodes)
	nodes, strays := strayFirmware(Join(nodes))
	return Cluster{Nodes: nodes, Objects: c.objects, Problems: slices.Concat(c.problems, doubles, strays)},
		errors.Join(errs...)
}

// trim removes the file name from an error whose message has it already.
func trim(err error, file string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == file {
		return e.Err
	}
	return err
}

// expand returns the files and the roots of nodes in a folder, without hidden files and other
// folders.
func expand(name string) ([]string, error) {
	info, _ := os.Stat(name) // opening the file returns the error
	if name == "-" || info == nil || !info.IsDir() || sources.IsRoot(name) {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	var files []string
	for _, e := range entries {
		file := filepath.Join(name, e.Name())
		if info, err := os.Stat(file); err == nil && !strings.HasPrefix(e.Name(), ".") &&
			(!info.IsDir() || sources.IsRoot(file)) {
			files = append(files, file)
		}
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("read nodes of %s: %w", name, ErrNoNode)
	}
	return files, err
}

// collector collects the data of files.
type collector struct {
	roles    []inventory.RoleSetting
	nodes    []Node
	objects  []*manifest.Object
	problems []manifest.Problem
}

// treeText matches the start of a node tree as text.
var treeText = regexp.MustCompile(`(?m)^(\[(\.|sys|proc|dev|etc|usr|var)[\]/]|live\.json =)`)

// isTreeText reports whether data is a node tree as text. It checks for fixed strings first,
// because the regular expression is slow for files of megabytes.
func isTreeText(data []byte) bool {
	return (bytes.HasPrefix(data, []byte("[")) || bytes.Contains(data, []byte("\n[")) ||
		bytes.Contains(data, []byte("live.json ="))) && treeText.Match(data)
}

func (c *collector) read(ctx context.Context, name string, stdin io.Reader) error {
	if name != "-" && sources.IsRoot(name) {
		root, err := sysfs.OpenRoot(name)
		if err != nil {
			return err
		}
		defer root.Close()
		tree, err := nodetree.FromFS(root)
		if err != nil {
			return err
		}
		return c.tree(ctx, tree, name)
	}
	data, err := readAll(name, stdin)
	switch {
	case err != nil:
		return err
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		tree, err := nodetree.FromTarGz(bytes.NewReader(data))
		if err != nil {
			return err
		}
		return c.tree(ctx, tree, name)
	case isPlan(data):
		return c.plan(data, name)
	case isSnapshot(data):
		return c.snapshots(data, name)
	case snapshotYAML.Match(data):
		return c.yamlSnapshots(data, name)
	case isFirmware(data):
		return c.firmware(data, name)
	case isTreeText(data):
		tree, err := nodetree.Parse(name, data)
		if err != nil {
			return err
		}
		return c.tree(ctx, tree, name)
	}
	return c.manifests(name, data)
}

func readAll(name string, stdin io.Reader) ([]byte, error) {
	data, err := manifest.ReadFile(name, stdin)
	if err == nil && len(data) > manifest.MaxFile {
		err = fmt.Errorf("larger than %d MiB", manifest.MaxFile>>20)
	}
	return data, err
}

// isPlan reports whether data is the JSON output of rdmactl k8s plan.
func isPlan(data []byte) bool {
	start := bytes.TrimLeft(data, " \t\r\n\xef\xbb\xbf")
	return bytes.HasPrefix(start, []byte("{")) &&
		bytes.Contains(start[:min(len(start), 256)], []byte(`"rdmakit.k8splan/`))
}

// plan reads the labels that a plan adds to nodes. Its objects don't belong to the cluster.
func (c *collector) plan(data []byte, name string) error {
	var p struct {
		Label []struct {
			Key   string   `json:"key"`
			Value string   `json:"value"`
			Nodes []string `json:"nodes"`
		} `json:"label"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &p); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	for _, l := range p.Label {
		for _, node := range l.Nodes {
			c.nodes = append(c.nodes, Node{
				Name: node, Promised: map[string]string{l.Key: l.Value}, LabelOrigins: map[string]string{l.Key: name},
				Origins: []string{name},
			})
		}
	}
	return nil
}

// isSnapshot reports whether data is the JSON output of rdmactl detect.
func isSnapshot(data []byte) bool {
	start := bytes.TrimLeft(data, " \t\r\n\xef\xbb\xbf")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[') &&
		bytes.Contains(start[:min(len(start), 4096)], []byte(`"rdmakit.`))
}

// snapshotYAML matches the start of the YAML output of rdmactl detect.
var snapshotYAML = regexp.MustCompile(`\A(?:\xef\xbb\xbf)?(?:---)?\s*schema: "?rdmakit\.`)

// yamlSnapshots reads snapshots in YAML by converting them to JSON.
func (c *collector) yamlSnapshots(data []byte, name string) error {
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document map[string]any
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		if err := c.snapshots(text, name); err != nil {
			return err
		}
	}
}

func (c *collector) tree(ctx context.Context, tree *nodetree.Tree, name string) error {
	b, err := bundle.FromTree(tree)
	if err != nil {
		return err
	}
	snap, err := inventory.Scan(ctx, b.Sources())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && len(snap.Problems) == 0:
		return err
	case snap.Host.Name == "" && len(snap.Cards) == 0 && len(snap.Netdevs) == 0:
		return ErrNoNode
	}
	c.keep(snap, name)
	return nil
}

// keep adds the node of a snapshot.
func (c *collector) keep(snap inventory.Snapshot, name string) {
	if len(c.roles) > 0 {
		inventory.AssignRoles(&snap, c.roles)
	}
	c.nodes = append(c.nodes, FromSnapshot(snap, name))
}

func (c *collector) snapshots(data []byte, name string) error {
	for snap, err := range consensus.Documents(bytes.NewReader(data)) {
		if err != nil {
			return err
		}
		c.keep(snap, name)
	}
	return nil
}

// manifests reads Nodes and SriovNetworkNodeStates as nodes, and everything else as objects of the
// cluster. If parts of a file can't be read, it adds a problem.
func (c *collector) manifests(name string, data []byte) error {
	if name == "-" {
		name = manifest.StdinName
	}
	set := manifest.Parse(name, data)
	switch {
	case len(set.Objects) > 0:
	case len(set.Problems) > 0:
		return broken(set)
	default:
		return ErrNoNode
	}
	c.problems = append(c.problems, set.Problems...)
	for _, o := range set.Objects {
		switch o.Kind {
		case k8s.KindNodeState:
			var state k8s.SriovNetworkNodeState
			o.Decode(&state)
			c.nodes = append(c.nodes, FromNodeState(state, name))
		case k8s.KindNode:
			var node k8s.Node
			o.Decode(&node)
			c.nodes = append(c.nodes, FromNode(node, name))
		default:
			c.objects = append(c.objects, o)
		}
	}
	return nil
}

// broken returns the error for a file of which nothing can be read.
func broken(set *manifest.Set) error {
	p := set.Problems[0]
	if p.At.Line == 0 {
		return errors.New(p.Text)
	}
	return fmt.Errorf("line %d: %s", p.At.Line, p.Text)
}
