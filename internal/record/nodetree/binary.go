package nodetree

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// magics are the first bytes of files that are given by mistake.
var magics = [...]struct{ start, kind string }{
	{"\x7fELF", "a program or library (ELF)"},
	{"\x89PNG", "a PNG image"},
	{"\xff\xd8\xff", "a JPEG image"},
	{"%PDF", "a PDF document"},
	{"PK\x03\x04", "a zip archive"},
	{"\xfd7zXZ", "xz data; a bundle is packed by gzip"},
	{"\x28\xb5\x2f\xfd", "zstd data; a bundle is packed by gzip"},
	{"BZh", "bzip2 data; a bundle is packed by gzip"},
}

// BinaryKind describes content that is not text by its first bytes; "" for text. It is for errors
// about files given by mistake, whose bytes must not reach a terminal.
func BinaryKind(data []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(data, []byte(m.start)) {
			return m.kind
		}
	}
	const enough = 8 << 10
	head := data[:min(len(data), enough)]
	const tar = 257 // offset of its magic number
	switch {
	case len(head) > tar+5 && string(head[tar:tar+5]) == "ustar":
		return "a tar archive that isn't packed; a bundle is packed by gzip"
	case bytes.IndexByte(head, 0) >= 0, !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]):
		return "binary data"
	}
	return ""
}

// parseText parses text. For content that is not a node tree at all, the error describes it.
func parseText(name string, data []byte) (*Tree, error) {
	t, err := Parse(name, data)
	if err == nil {
		return t, nil
	}
	const neither = "open bundle %s: it is neither a bundle nor a node tree as text"
	if kind := BinaryKind(data); kind != "" {
		return nil, fmt.Errorf(neither+", but %s", name, kind)
	}
	if form, ok := errors.AsType[*formError](err); ok && form.first {
		return nil, fmt.Errorf(neither, name)
	}
	return nil, err
}
