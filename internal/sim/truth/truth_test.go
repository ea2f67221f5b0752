package truth

import (
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// TestEveryKindHasACause checks that each kind has a cause of its own.
func TestEveryKindHasACause(t *testing.T) {
	for _, k := range cluster.Kinds() {
		f := cluster.Fault{Kind: k, Direction: cluster.Receive}
		if c := causes(&f)[0]; c == "" || KindOf(c) != k {
			t.Errorf("the cause of %s is %q, which is that of %s", k, c, KindOf(c))
		}
	}
}
