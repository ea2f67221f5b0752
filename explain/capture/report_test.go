package capture

import (
	"os"
	"path/filepath"
	"testing"
)

func TestForeign(t *testing.T) {
	for _, file := range captures(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() //nolint:errcheck // read only
			r, err := Read(f, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + dump(r))
		})
	}
}
