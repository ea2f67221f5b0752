package launch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Library is a program that takes its network settings from the environment.
type Library string

// The libraries. RCCL reads the variables of NCCL, and NIXL those of UCX.
const (
	LibraryNCCL     Library = "nccl"
	LibraryNVSHMEM  Library = "nvshmem"
	LibraryUCX      Library = "ucx"
	LibraryGloo     Library = "gloo"
	LibraryMooncake Library = "mooncake"
	LibrarySGLang   Library = "sglang"
)

// Libraries returns all libraries, in the order of the variables of a [Plan].
func Libraries() []Library {
	return []Library{LibraryNCCL, LibraryNVSHMEM, LibraryUCX, LibraryGloo, LibraryMooncake, LibrarySGLang}
}

// DefaultLibraries returns those that a [Plan] serves when [Options] names none: what
// vLLM and PyTorch use.
func DefaultLibraries() []Library {
	return []Library{LibraryNCCL, LibraryNVSHMEM, LibraryUCX, LibraryGloo}
}

// ParseLibraries reads names as [Options] and `--for` take them: case doesn't matter,
// "rccl" means nccl, "nixl" means ucx, and "all" all of them.
func ParseLibraries(names []string) ([]Library, error) {
	var out []Library
	for _, name := range names {
		l := Library(strings.ToLower(strings.TrimSpace(name)))
		switch l {
		case "all":
			out = append(out, Libraries()...)
			continue
		case "rccl":
			l = LibraryNCCL
		case "nixl":
			l = LibraryUCX
		}
		if !slices.Contains(Libraries(), l) {
			return nil, fmt.Errorf("parse library %q: not one of %s", name, joinLibraries())
		}
		out = append(out, l)
	}
	return inOrder(out), nil
}

func joinLibraries() string {
	var names []string
	for _, l := range Libraries() {
		names = append(names, string(l))
	}
	return strings.Join(names, ", ") + ", rccl, nixl, all"
}

// inOrder sorts libraries as Libraries does and drops repetitions.
func inOrder(list []Library) []Library {
	var out []Library
	for _, l := range Libraries() {
		if slices.Contains(list, l) {
			out = append(out, l)
		}
	}
	return out
}

// Options is what a caller wants. The zero value asks for [DefaultLibraries] on the
// compute ports of the node.
type Options struct {
	Libraries []Library // nil: DefaultLibraries
	// Include, when not empty, allows only the ports that one of its selectors
	// matches, whatever their role. Exclude forbids ports, and wins over Include.
	// A selector is compared with a port's device ("mlx5_0"), device and port
	// ("mlx5_0:1"), PCI address ("0000:18:00.0" or "18:00.0") and network device
	// ("ens0np0"): letter by letter, then as a pattern with *, ? and [a-z], and as
	// a regular expression when it stands between slashes ("/^mlx5_[0-3]$/").
	Include, Exclude []string
	// Peer is an address of another node: the way there decides the network device
	// for bootstrap. The zero value means the default route.
	Peer netip.Addr
	// Routes answers which way packets take; nil means RoutesOf(snapshot).
	Routes RouteFunc
	// PinGID sets the GID index by number; an error where ports differ in it.
	PinGID bool
	// TCPFallback turns RDMA off explicitly when the node has none to use.
	TCPFallback bool
	// Override lets derived values replace those of Environment.
	Override bool
	// Environment is what the user has set; an empty value counts as not set.
	Environment map[string]string
}

// ErrOptions marks an error of [Derive] that other options would avoid.
var ErrOptions = errors.New("options don't fit the node")

// OptionError is such an error; it matches [ErrOptions].
type OptionError struct {
	Option string // "include", "exclude", "pin-gid", "peer", "name", "namespace"
	Text   string // what is wrong with it
}

// Error implements error.
func (e *OptionError) Error() string { return e.Option + ": " + e.Text }

// Is reports that the error is [ErrOptions].
func (e *OptionError) Is(target error) bool { return target == ErrOptions }
