package input

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// What a bundle of rdmactl snapshot begins with: its manifest, and the schema in it.
const (
	manifestName   = "manifest.json"
	manifestSchema = `"schema": "rdmakit.bundle/`
)

// bundleHead is how much of an archive is looked at: the manifest's schema is in the first bytes of
// the first entry, which compression makes shorter.
const bundleHead = 4096

// isBundle reports whether a stream begins like a bundle, compressed or not. It doesn't consume.
func isBundle(br *bufio.Reader) bool {
	head, _ := br.Peek(bundleHead) // a shorter stream gives what it has
	var in io.Reader = bytes.NewReader(head)
	if bytes.HasPrefix(head, magicGzip) {
		zr, err := gzip.NewReader(in)
		if err != nil {
			return false
		}
		in = zr
	}
	// The stream is cut, so what can be read of it counts.
	data, err := io.ReadAll(io.LimitReader(in, bundleHead))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	archive := tar.NewReader(bytes.NewReader(data))
	header, err := archive.Next()
	if err != nil || header.Name != manifestName || header.Typeflag != tar.TypeReg {
		return false
	}
	manifest := make([]byte, 256)
	n, _ := io.ReadFull(archive, manifest) // as far as there is
	return bytes.Contains(manifest[:n], []byte(manifestSchema))
}
