// Command mktree converts a recorded node, a directory or a tar.gz archive, to
// the text form of internal/record/nodetree.
//
//	go run ./internal/record/nodetree/mktree DIR|FILE.tar.gz >NAME.tree
package main

import (
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mktree DIR|FILE.tar.gz|FILE.tree >NAME.tree")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mktree:", err)
		os.Exit(1)
	}
}

func run(name string) error {
	tree, err := load(name)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(tree.Text())
	return err
}

func load(name string) (*nodetree.Tree, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nodetree.FromFS(os.DirFS(name))
	}
	return nodetree.Open(name)
}
