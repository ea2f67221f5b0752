// Command rdmactl finds, checks and configures RDMA on GPU nodes, InfiniBand fabrics and
// Kubernetes. rdmactl --help lists its commands.
package main

import (
	"os"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
)

func main() {
	os.Exit(cli.Main(cli.NewApp(commands.All())))
}
