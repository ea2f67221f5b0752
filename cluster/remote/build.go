package remote

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// platform is an architecture for which Linux executables can exist.
type platform struct {
	uname   string // uname -m
	goarch  string // in the names of files
	machine elf.Machine
	class   elf.Class
	data    elf.Data
}

func platforms() []platform {
	return []platform{
		{"x86_64", "amd64", elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB},
		{"aarch64", "arm64", elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATA2LSB},
		{"ppc64le", "ppc64le", elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB},
		{"s390x", "s390x", elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB},
		{"riscv64", "riscv64", elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB},
		{"loongarch64", "loong64", elf.EM_LOONGARCH, elf.ELFCLASS64, elf.ELFDATA2LSB},
	}
}

// build is an executable.
type build struct {
	file   string
	header elf.FileHeader
	loader string // the file of the dynamic loader; "" for a static executable
	size   int64
	hash   string // SHA-256, hexadecimal

	err error // the file can't be used

	once    sync.Once
	packed  []byte // by gzip
	packErr error
}

// runsOn reports whether the executable is for Linux on a platform.
func (b *build) runsOn(p platform) bool {
	h := &b.header
	return h.Machine == p.machine && h.Class == p.class && h.Data == p.data &&
		(h.OSABI == elf.ELFOSABI_NONE || h.OSABI == elf.ELFOSABI_LINUX)
}

// builds are the executables of this machine, which are read when a host needs them.
type builds struct {
	executable string // "" is that of this process

	mu    sync.Mutex
	known map[string]*build // by name; with err if the file is unusable
}

// forHost returns the executables that run on a host, the best one first: that of this process, or
// a build beside it for which the host has the loader, and static ones. machine is what uname -m
// prints, loaders are the files of loaders that exist there.
func (s *builds) forHost(machine string, loaders []string) ([]*build, error) {
	i := slices.IndexFunc(platforms(), func(p platform) bool { return p.uname == machine })
	if i < 0 {
		return nil, refuse(KindNoBuild, "no build exists for the architecture %s", machine)
	}
	p := platforms()[i]
	own := s.executable
	if own == "" {
		var err error
		if own, err = os.Executable(); err != nil {
			return nil, refuse(KindNoBuild, "find the own executable: %v", err)
		}
	}
	if file, err := filepath.EvalSymlinks(own); err == nil {
		own = file
	}
	var usable []*build
	var looked []string
	needs := "" // the loader of an executable that is right otherwise
	for _, file := range candidates(own, p.goarch) {
		b := s.load(file)
		switch {
		case errors.Is(b.err, fs.ErrNotExist):
			looked = append(looked, filepath.Base(file))
		case b.err != nil:
			looked = append(looked, fmt.Sprintf("%s (%v)", filepath.Base(file), b.err))
		case !b.runsOn(p):
			looked = append(looked, fmt.Sprintf("%s (for %s)", filepath.Base(file), machineName(&b.header)))
		case b.loader != "" && !slices.Contains(loaders, b.loader):
			needs = b.loader
		case !slices.ContainsFunc(usable, func(o *build) bool { return o.hash == b.hash }):
			usable = append(usable, b)
		}
	}
	switch {
	case len(usable) > 0:
		return usable, nil
	case needs != "":
		return nil, refuse(KindNoLoader, "the host has no %s, and there is no static build for linux/%s; "+
			"looked in %s for %s", needs, p.goarch, filepath.Dir(own), strings.Join(looked, ", "))
	}
	return nil, refuse(KindNoBuild, "the host is linux/%s, and there is no build for it; looked in %s for %s", p.goarch,
		filepath.Dir(own), strings.Join(looked, ", "))
}

// candidates are the files that may be builds for an architecture: the own one, and those beside
// it.
func candidates(own, goarch string) []string {
	out := []string{own}
	for _, name := range []string{
		"rdmactl", "rdmactl-linux-" + goarch, "rdmactl-static", "rdmactl-static-linux-" + goarch,
	} {
		if file := filepath.Join(filepath.Dir(own), name); file != own {
			out = append(out, file)
		}
	}
	return out
}

// machineName describes the machine of an executable: x86_64, or as package elf names it.
func machineName(h *elf.FileHeader) string {
	for _, p := range platforms() {
		if p.machine == h.Machine && p.class == h.Class && p.data == h.Data {
			return p.goarch
		}
	}
	return strings.ToLower(strings.TrimPrefix(h.Machine.String(), "EM_"))
}

// load reads a file once. The build has an error if the file is no executable of Linux.
func (s *builds) load(file string) *build {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.known[file]
	if b == nil {
		if s.known == nil {
			s.known = map[string]*build{}
		}
		b = &build{file: file}
		b.err = b.read()
		s.known[file] = b
	}
	return b
}

// errNoELF is the error for files that are no executables of Linux.
var errNoELF = errors.New("not an executable of Linux")

// read reads what the file is, and its hash.
func (b *build) read() error {
	f, err := os.Open(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil || program.Type != elf.ET_EXEC && program.Type != elf.ET_DYN {
		return errNoELF
	}
	b.header = program.FileHeader
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(io.LimitReader(p.Open(), maxLine))
			if err != nil {
				return errNoELF
			}
			b.loader = string(bytes.TrimRight(name, "\x00"))
		}
	}
	hash := sha256.New()
	if b.size, err = io.Copy(hash, io.NewSectionReader(f, 0, 1<<40)); err != nil {
		return err
	}
	b.hash = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// content returns the content of the executable, plain or packed by gzip, and its length in bytes.
func (b *build) content(packed bool) (io.ReadCloser, int64, error) {
	if !packed {
		f, err := os.Open(b.file)
		return f, b.size, err
	}
	b.once.Do(func() { b.packed, b.packErr = pack(b.file) })
	return io.NopCloser(bytes.NewReader(b.packed)), int64(len(b.packed)), b.packErr
}

// pack returns a file as gzip packs it, fast rather than small: many hosts wait for it.
func pack(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(w, f)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}
