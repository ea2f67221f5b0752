//go:build cluster

package cluster

import (
	"os"
	"testing"
	"strings"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

func program() string { return "/tmp/lab/rdmactl" }

func TestLab(t *testing.T) {
	l, err := lab.New(t.Context(), lab.Options{Rails: 1, Dir: t.TempDir(), Rate: 200, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, args := range strings.Split(os.Getenv("ARGS"), ";") {
		o := verify(t, l, strings.Fields(args)...)
		t.Log(o.String(), o.said)
	}
}
