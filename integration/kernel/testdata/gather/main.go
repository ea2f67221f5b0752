// Command gather prints what the kernel tells of this machine and no file has, as JSON:
//
//	gather ethtool devlink
//
// The arguments are kinds of [facts.Facts].
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/kernel"
	"github.com/rdmakit/rdmakit/inventory"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gather:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	node, err := inventory.Local()
	if err != nil {
		return err
	}
	defer node.Close()
	snap, err := inventory.Scan(ctx, node.Sources)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gather:", err)
	}
	var kinds []facts.Kind
	for _, name := range names {
		kinds = append(kinds, facts.Kind(name))
	}
	f := facts.New(node.Root)
	f.Gather(ctx, &snap, kernel.Collectors(time.Now), kinds...)
	return json.NewEncoder(os.Stdout).Encode(f)
}
