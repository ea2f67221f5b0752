package nodetree

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// errnoFile is the file of an archive or directory with the injected errors: an object that maps
// paths to names such as "EINVAL". The files themselves are empty in the archive.
const errnoFile = "errno.json"

const (
	// maxArchive limits the compressed stream, because it may take time without producing output:
	// empty blocks with tables.
	maxArchive = 8 << 20
	// maxStream limits the unpacked stream: contents, and 1 KiB for header and padding of each of
	// 65,000 entries. Even if all of it is extended headers, reading its millions of records takes
	// only a second.
	maxStream = maxTotal + 64<<20
)

// ErrDamaged is matched by errors about an archive that was not copied completely, or whose bytes
// have changed.
var ErrDamaged = errors.New("truncated or damaged")

// Open reads a tree from a tar.gz archive or a file in text form. It detects the form by the
// content. Errors about a part of an archive match [ErrDamaged].
func Open(name string) (*Tree, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	return Read(name, file)
}

// Read is [Open] for what is open already, such as standard input; name is for errors.
func Read(name string, r io.Reader) (*Tree, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxTotal+1))
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", name, err)
	}
	if len(data) > maxTotal {
		return nil, fmt.Errorf("open bundle %s: %w", name, ErrTooLarge)
	}
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return parseText(name, data)
	}
	t, err := FromTarGz(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", name, err)
	}
	return t, nil
}

// FromTarGz reads a tree from a gzip-compressed tar archive. A file errno.json at its root is
// converted to injected errors. It rejects everything that a node tree does not need and an
// attacker could use: absolute names and links, "..", links that leave the root, hard links and
// devices, entries below links, duplicate names, data after the archive (including a second gzip
// member), and archives above the limits.
func FromTarGz(r io.Reader) (*Tree, error) {
	u := &unpacker{tree: New()}
	if err := u.load(r); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return u.tree, nil
}

// Salvage is [FromTarGz] for an archive that may be damaged: beside an error that matches
// [ErrDamaged] it returns the entries before the damage. What they don't have is not known.
func Salvage(r io.Reader) (*Tree, error) {
	u := &unpacker{tree: New()}
	err := u.load(r)
	if err == nil {
		return u.tree, nil
	}
	err = fmt.Errorf("read archive: %w", err)
	if !errors.Is(err, ErrDamaged) || u.tree.checkLinks(&u.budget) != nil || u.tree.takeErrnos(&u.budget, true) != nil {
		return nil, err
	}
	return u.tree, err
}

// load charges all of its steps to one budget.
func (u *unpacker) load(r io.Reader) error {
	if err := u.unpack(r, maxArchive, maxStream); err != nil {
		return err
	}
	if err := u.tree.checkLinks(&u.budget); err != nil {
		return err
	}
	return u.tree.takeErrnos(&u.budget, false)
}

// unpack rejects archives with archiveLimit or more compressed bytes, or streamLimit or more
// unpacked bytes.
func (u *unpacker) unpack(r io.Reader, archiveLimit, streamLimit int64) error {
	packed := &io.LimitedReader{R: r, N: archiveLimit}
	in := bufio.NewReader(packed) // gzip reads no more bytes than it needs
	zr, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, noEOF(err))
	}
	zr.Multistream(false)
	stream := &io.LimitedReader{R: zr, N: streamLimit}
	err = u.entries(tar.NewReader(stream))
	noTar := damaged(err) && len(u.tree.root.children) == 0
	if err == nil || noTar { // verifies the checksum
		if _, rest := io.Copy(io.Discard, stream); err == nil || rest != nil {
			err, noTar = rest, false
		}
	}
	if packed.N <= 0 || stream.N <= 0 {
		return ErrTooLarge
	}
	switch {
	case noTar:
		return errors.New("the unpacked data is no tar archive")
	case damaged(err):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return err
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("data after the archive"), err)
	}
	return nil
}

// damaged reports whether an error is that of an archive of which a part is missing or wrong.
func damaged(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum)
}

// noEOF returns the error of data that ends too early for one of data that ends.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (u *unpacker) entries(tr *tar.Reader) error {
	for {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := u.entry(hdr, tr); err != nil {
			return fmt.Errorf("entry %.200q: %w", hdr.Name, err)
		}
	}
}

type unpacker struct {
	tree   *Tree
	budget budget
}

func (u *unpacker) entry(hdr *tar.Header, r io.Reader) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader { // the commit ID, in archives created by git
		return nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(hdr.Name, "./"), "/")
	if name == "" && hdr.Typeflag == tar.TypeDir {
		name = "."
	}
	if err := checkPath(name); err != nil {
		return err
	}
	if err := u.budget.path(name); err != nil {
		return err
	}
	var err error
	size := 0
	switch hdr.Typeflag {
	case tar.TypeDir:
		_, err = u.tree.dir(name, false)
	case tar.TypeSymlink:
		err = u.tree.addLink(name, hdr.Linkname, false)
	case tar.TypeReg:
		size, err = u.file(name, hdr, r)
	default:
		return fmt.Errorf("neither file, directory nor symbolic link (type %q)", hdr.Typeflag)
	}
	if err != nil {
		return err
	}
	return u.budget.check(u.tree, size)
}

func (u *unpacker) file(name string, hdr *tar.Header, r io.Reader) (int, error) {
	limit := int64(maxFile)
	if name == errnoFile {
		limit = maxErrnos
	}
	if hdr.Size > limit {
		return 0, fmt.Errorf("%w: %d bytes in one file", ErrTooLarge, hdr.Size)
	}
	n, err := u.tree.file(name, false)
	if err != nil {
		return 0, err
	}
	n.data = make([]byte, hdr.Size)
	if _, err = io.ReadFull(r, n.data); err != nil {
		return 0, errors.Join(err, u.tree.Remove(name)) // a part of a file is another content
	}
	return len(n.data), nil
}

// takeErrnos converts errno.json to injected errors. In a part of a tree, the files with errors may
// be missing.
func (t *Tree) takeErrnos(b *budget, part bool) error {
	n, ok := t.root.children[errnoFile]
	if !ok || n.isDir() || n.isLink() {
		return nil
	}
	var list map[string]string
	if err := json.Unmarshal(n.data, &list); err != nil {
		return fmt.Errorf("%s: %w", errnoFile, err)
	}
	delete(t.root.children, errnoFile)
	for name, value := range list {
		errno, err := parseErrno(value)
		if err != nil {
			return fmt.Errorf("%s: %.200s: %w", errnoFile, name, err)
		}
		if err := checkPath(name); err != nil {
			return fmt.Errorf("%s: %.200q: %w", errnoFile, name, err)
		}
		n, err := t.resolve(t.root, name, false, b)
		if part && err != nil {
			continue
		}
		if err == nil && n.isLink() {
			err = syscall.ELOOP
		}
		if err != nil {
			return fmt.Errorf("%s: %.200s: %w", errnoFile, name, err)
		}
		n.errno = errno
		if !n.isDir() {
			n.data = nil
		}
	}
	return nil
}
