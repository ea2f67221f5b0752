//go:build cluster

package cluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

func TestMain(m *testing.M) {
	if is, err := lab.Init(); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
