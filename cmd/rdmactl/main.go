// Command rdmactl takes machines from bare RDMA network cards to a verified, configured and watched
// fabric. rdmactl --help lists its commands.
package main

import (
	"os"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
)

func main() {
	os.Exit(cli.Main(cli.NewApp(commands.All())))
}
