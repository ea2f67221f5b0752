package guest

import (
	"strings"
)

// hostFacts are the facts that decide whether this machine can build or boot a guest.
type hostFacts struct {
	GOOS, GOARCH string
	Root         bool
	OSRelease    string          // text of /etc/os-release
	Tun          bool            // /dev/net/tun can be opened
	Programs     map[string]bool // programs found in PATH
}

// bootPrograms maps each program that a boot needs to its Debian package.
var bootPrograms = [][2]string{
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"ip", "iproute2"},
	{"timeout", "coreutils"},
}

const containerRemedy = "use a Debian bookworm machine, or a privileged container of debian:bookworm with /dev/net/tun"

// checkBuild returns an *UnavailableError unless a guest can be built here. It doesn't check
// packages, because building installs them.
func (h hostFacts) checkBuild() error {
	var missing []string
	if h.GOOS != "linux" || h.GOARCH != "amd64" {
		missing = append(missing, "linux/amd64 (this is "+h.GOOS+"/"+h.GOARCH+")")
	}
	if id, codename := osRelease(h.OSRelease, "ID"), osRelease(h.OSRelease, "VERSION_CODENAME"); id != "debian" ||
		codename != suite {
		missing = append(missing, "Debian "+suite+" (this is "+strings.TrimSpace(id+" "+codename)+")")
	}
	if len(missing) > 0 {
		return &UnavailableError{Missing: missing, Remedy: containerRemedy}
	}
	if !h.Root {
		return &UnavailableError{
			Missing: []string{"root"}, Remedy: "run as root: building installs packages and makes a Debian tree",
		}
	}
	if !h.Programs["go"] {
		return &UnavailableError{Missing: []string{"program go"}, Remedy: "put the go command into PATH"}
	}
	return nil
}

// missingBoot returns the programs that a boot needs and the packages that
// hold them.
func (h hostFacts) missingBoot() (programs, packages []string) {
	for _, p := range bootPrograms {
		if !h.Programs[p[0]] {
			programs = append(programs, "program "+p[0])
			packages = append(packages, p[1])
		}
	}
	return programs, packages
}

// checkBoot returns an *UnavailableError unless a built guest can be booted
// here.
func (h hostFacts) checkBoot() error {
	if h.GOOS != "linux" {
		return &UnavailableError{Missing: []string{"linux (this is " + h.GOOS + ")"}, Remedy: containerRemedy}
	}
	if !h.Root {
		return &UnavailableError{
			Missing: []string{"root"}, Remedy: "run as root: a guest needs a network namespace and taps",
		}
	}
	if programs, packages := h.missingBoot(); len(programs) > 0 {
		return &UnavailableError{Missing: programs, Remedy: "apt-get install " + strings.Join(packages, " ")}
	}
	if !h.Tun {
		return &UnavailableError{
			Missing: []string{"/dev/net/tun"}, Remedy: "modprobe tun, or give the container the device /dev/net/tun",
		}
	}
	return nil
}

// osRelease returns the value of a key of an os-release file, unquoted.
func osRelease(text, key string) string {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && name == key {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}
