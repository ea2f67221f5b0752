//go:build kernel

package kernel

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// victimVariable makes the test program boot a guest, print its folder and
// wait to be killed: see TestKilledOwner.
const victimVariable = "RDMAKIT_TEST_VICTIM"

// allVariable makes the tests run all cases instead of a representative part: make test-kernel-all.
const allVariable = "RDMAKIT_TEST_ALL"

func wantAll() bool { return os.Getenv(allVariable) != "" }

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		g, err := guest.Start(context.Background(), guest.Options{Log: os.Stderr, Memory: 1536})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(g.Dir())
		select {}
	}
	code := guest.Main(m)
	if err := tools.remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
