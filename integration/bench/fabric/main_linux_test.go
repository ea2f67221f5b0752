package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
)

// TestMain makes the test binary behave as the launcher, and as rdmactl if it is started under that
// name.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "rdmactl":
		os.Exit(cli.Main(cli.NewApp(commands.All())))
	case len(os.Args) > 1 && os.Args[1] == launchWord:
		main()
	default:
		os.Exit(m.Run())
	}
}
