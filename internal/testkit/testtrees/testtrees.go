// Package testtrees contains recorded and invented nodes for tests, as text (see
// internal/record/nodetree). The comment at the top of each file describes the node.
//
//	tree, err := testtrees.Load("02_rocev2_8hca")
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: tree.FS()})
//
// Nodes with numbers below 40 are those on which KServe's init script was run; [KServe]
// returns the variables that it exported. They contain little more than the files that the
// script reads. Nodes with numbers from 40 on are complete, with proc, dev and library
// files, and some have a live.json with the results of netlink queries.
//
// All functions may be called concurrently; every [Load] returns a new tree, which the
// test may change.
package testtrees

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

//go:embed *.tree
var trees embed.FS

//go:embed kserve.json
var kserve []byte

const suffix = ".tree"

// Names returns the names of all trees, sorted.
func Names() []string {
	entries, err := trees.ReadDir(".")
	if err != nil { // never happens with embedded files
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), suffix))
	}
	slices.Sort(names)
	return names
}

// Load returns the tree with the given name.
func Load(name string) (*nodetree.Tree, error) {
	text, err := fs.ReadFile(trees, name+suffix)
	if err != nil {
		return nil, fmt.Errorf("load test tree: %w", err)
	}
	tree, err := nodetree.Parse(name+suffix, text)
	if err != nil {
		return nil, fmt.Errorf("load test tree: %w", err)
	}
	return tree, nil
}

// KServeRun is a run of KServe's init script on a tree.
type KServeRun struct {
	Exported map[string]string `json:"exported"` // variables that it exported
	UserEnv  map[string]string `json:"user_env"` // variables that the user had set before
}

// KServe returns the recorded runs of KServe's script, by tree. Trees on which it was not
// run are absent.
func KServe() (map[string]KServeRun, error) {
	var runs map[string]KServeRun
	if err := json.Unmarshal(kserve, &runs); err != nil {
		return nil, fmt.Errorf("read kserve.json: %w", err)
	}
	return runs, nil
}
