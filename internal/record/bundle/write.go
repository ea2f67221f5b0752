package bundle

import (
	"fmt"
	"io"

	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
)

// WriteFile writes a file atomically, readable by its owner only. It does not replace an existing
// file unless replace is set; the error then matches [fs.ErrExist].
func WriteFile(name string, data []byte, replace bool) error {
	err := wholefile.Write(name, wholefile.Options{Mode: 0o600, Replace: replace}, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	return nil
}
