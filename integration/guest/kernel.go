package guest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// kernelPackage is the kernel that kernelPolicy currently selects.
type kernelPackage struct {
	Release string // uname -r: 6.1.0-56-amd64
	Version string // Debian version of image, headers and source: 6.1.192-2
}

var kernelDepends = regexp.MustCompile(`\blinux-image-([0-9][^ ]*) \(= ([^)]+)\)`)

// parseKernelPackage reads the control paragraph of the meta package.
func parseKernelPackage(text string) (kernelPackage, error) {
	for line := range strings.Lines(text) {
		depends, found := strings.CutPrefix(line, "Depends:")
		if !found {
			continue
		}
		if m := kernelDepends.FindStringSubmatch(depends); m != nil {
			return kernelPackage{Release: m[1], Version: m[2]}, nil
		}
	}
	return kernelPackage{}, errors.New(
		"find the kernel package: " + kernelPolicy + " depends on no kernel of one version")
}

// series returns the series in the name of the source package: 6.1.
func (k kernelPackage) series() string {
	major, rest, _ := strings.Cut(k.Release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// buildPackages returns the packages for a build, name to version; an empty version means any.
func (k kernelPackage) buildPackages() map[string]string {
	return map[string]string{
		"debootstrap": "", "cpio": "", "kmod": "", "tar": "", "xz-utils": "",
		"make": "", "gcc": "", "binutils": "",
		"linux-headers-" + k.Release: k.Version,
		"linux-source-" + k.series(): k.Version,
	}
}

// missingPackages compares the wanted packages with the output of dpkg-query, lines of "name status
// version", and returns arguments for apt-get install in no particular order.
func missingPackages(want map[string]string, have string) []string {
	versions := map[string]string{}
	for line := range strings.Lines(have) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "installed" {
			versions[f[0]] = f[2]
		}
	}
	var missing []string
	for name, version := range want {
		got, installed := versions[name]
		switch {
		case version != "" && got != version:
			missing = append(missing, name+"="+version)
		case !installed:
			missing = append(missing, name)
		}
	}
	return missing
}

// parseMirror finds the archive of the guest's suite in the output of apt-get indextargets, lines
// of "uri suite codename component".
func parseMirror(text string) (string, error) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 4 && f[2] == suite && f[3] == "main" {
			return f[0], nil
		}
	}
	return "", fmt.Errorf("find a Debian mirror: apt has no source for %s main", suite)
}
