package node

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// TestReportOfBundle reads --since from bundles that are cut, or that have no report.
func TestReportOfBundle(t *testing.T) {
	tree := nodetree.New()
	if err := tree.Set("proc/sys/kernel/hostname", "n1\n"); err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := tree.WriteTarGz(&whole, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"bare.tar.gz": {whole.Bytes(), "has no report of doctor"},
		"cut.tar.gz":  {whole.Bytes()[:20], "cut.tar.gz"},
		"x.json":      {[]byte("{"), "not a report of doctor: not JSON"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readReport(file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("readReport(%s) = %v, want %q", name, err, c.want)
		}
	}
}
