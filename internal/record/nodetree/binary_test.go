package nodetree

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// TestReadBinary has files that are no recorded nodes: the error describes them and shows none of
// their bytes.
func TestReadBinary(t *testing.T) {
	noise := make([]byte, 4096)
	source := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	for i := range noise {
		noise[i] = byte(source.Uint32())
	}
	pack := func(data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		return b.Bytes()
	}
	tests := map[string]struct {
		data []byte
		want string
	}{
		"program":    {append([]byte("\x7fELF\x02\x01\x01\x00"), noise...), "but a program or library (ELF)"},
		"image":      {append([]byte("\x89PNG\r\n\x1a\n"), noise...), "but a PNG image"},
		"noise":      {append([]byte("x"), noise...), "but binary data"},
		"latin1":     {[]byte("proc/x: sch\xf6n und gut und noch mehr\n"), "but binary data"},
		"packed":     {pack(noise), "read archive: the unpacked data is no tar archive"},
		"packed ELF": {pack(append([]byte("\x7fELF"), noise[:20]...)), "the unpacked data is no tar archive"},
		"cut":        {pack(noise)[:100], "read archive: truncated or damaged: "},
		"text":       {[]byte("hello\n"), "neither a bundle nor a node tree as text"},
		"escape":     {[]byte("\x1b[2Jred\n"), "neither a bundle nor a node tree as text"},
	}
	for name, tt := range tests {
		_, err := Read(name, bytes.NewReader(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Read of %s = %v, want %q", name, err, tt.want)
			continue
		}
		if i := strings.IndexFunc(err.Error(), func(r rune) bool { return r > unicode.MaxASCII || r < ' ' }); i >= 0 {
			t.Errorf("Read of %s = %q, which holds what isn't printable ASCII", name, err)
		}
	}
}
