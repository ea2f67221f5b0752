// Package testtrees holds recorded and made-up nodes for tests, as text (see
// internal/record/nodetree). The comment at the top of each file says what it shows.
//
//	tree, err := testtrees.Load("02_rocev2_8hca")
//	snapshot, err := inventory.Scan(ctx, inventory.Sources{Root: tree.FS()})
//
// Numbers below 40 are nodes on which KServe's init script was run: KServe
// returns what it exported there. They hold what that script reads and little
// else. Numbers from 40 on are whole nodes with proc, dev and library files, and
// some have a live.json with what netlink would answer.
//
// All functions may be called from several goroutines; every [Load] returns a tree
// of its own, which the test may change.
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
	if err != nil { // the embedded root always lists
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), suffix))
	}
	slices.Sort(names)
	return names
}

// Load returns a tree by name.
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

// KServe returns what KServe's own script exported, recorded from the script, by
// tree. Trees that it was not run on are absent.
func KServe() (map[string]KServeRun, error) {
	var runs map[string]KServeRun
	if err := json.Unmarshal(kserve, &runs); err != nil {
		return nil, fmt.Errorf("read kserve.json: %w", err)
	}
	return runs, nil
}
