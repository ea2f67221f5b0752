package bundle

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Versions has the versions of a node's software, read from files.
type Versions struct {
	Kernel string `json:"kernel,omitempty"` // proc/sys/kernel/osrelease
	OS     string `json:"os,omitempty"`     // PRETTY_NAME of os-release
	// Modules are the versions of kernel modules; modules of the kernel's source tree usually have
	// none.
	Modules map[string]string `json:"modules"`
	// Libraries are files with a version in their names, Packages the packages that dpkg has
	// installed. The database of rpm is binary and is not read.
	Libraries []string          `json:"libraries"`
	Packages  map[string]string `json:"packages"`
}

// dpkgStatus lists the packages of Debian and its derivatives. It is too long for a bundle, so only
// the relevant packages are extracted.
const dpkgStatus = "var/lib/dpkg/status"

var (
	versionedLibrary = regexp.MustCompile(`^lib(ibverbs|rdmacm|ibumad|ibmad|mlx[45]|nccl|nccl-net|nvshmem_host|` +
		`nvshmem|ucp|uct|ucs|ucm|fabric|efa|mpi)\.so\.[0-9.]+$`)
	wantedPackage = regexp.MustCompile(`^(lib(ibverbs|rdmacm|ibumad|ibmad|nccl|nvshmem|ucx|fabric|openmpi|` +
		`mlx[45])[-0-9a-z.]*|ibverbs-.*|rdma-core|rdmacm-utils|` +
		`infiniband-diags|perftest|ucx.*|mlnx-ofed.*|mlnx-tools|doca-.*|` +
		`nvidia-driver-.*|cuda-runtime-.*|opensm|mstflint|openmpi-bin)$`)
)

// readVersions reads from the node and not from the recording, because it extracts a few lines of
// long files.
func readVersions(ctx context.Context, root fs.FS) Versions {
	r := sysfs.NewReader(root, ctx.Err)
	v := Versions{
		Kernel: r.String(sysfs.ProcOSRelease), Modules: map[string]string{}, Libraries: []string{},
		Packages: map[string]string{},
	}
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.Lines(r.String(name)) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok && v.OS == "" {
				v.OS = strings.Trim(text, `"'`)
			}
		}
	}
	for _, m := range modules {
		if version, ok := r.Text(path.Join(sysfs.ModuleDir, m, "version")); ok {
			v.Modules[m] = version
		}
	}
	for _, dir := range sysfs.LibraryDirs {
		if info, err := fs.Lstat(root, dir); err != nil || !info.IsDir() {
			continue // a link to one of the others
		}
		for _, name := range r.List(dir) {
			if versionedLibrary.MatchString(name) && strings.Count(name, ".") > 2 {
				v.Libraries = append(v.Libraries, "/"+path.Join(dir, name))
			}
		}
	}
	slices.Sort(v.Libraries)
	v.Libraries = slices.Compact(v.Libraries)
	for stanza := range strings.SplitSeq(r.String(dpkgStatus), "\n\n") {
		if name, version := dpkgPackage(stanza); name != "" {
			v.Packages[name] = version
		}
	}
	return v
}

// dpkgPackage returns a wanted package of a stanza of dpkg's list, if it is installed.
func dpkgPackage(stanza string) (name, version string) {
	installed := false
	for line := range strings.Lines(stanza) {
		line = strings.TrimRight(line, "\n")
		if v, ok := strings.CutPrefix(line, "Package: "); ok {
			if !wantedPackage.MatchString(v) {
				return "", ""
			}
			name = v
		}
		if v, ok := strings.CutPrefix(line, "Version: "); ok {
			version = v
		}
		installed = installed || line == "Status: install ok installed"
	}
	if !installed {
		return "", ""
	}
	return name, version
}
