package launch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Library is a program that reads its network settings from the environment.
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

// DefaultLibraries returns the libraries of a [Plan] if [Options] has none: those that vLLM and
// PyTorch use.
func DefaultLibraries() []Library {
	return []Library{LibraryNCCL, LibraryNVSHMEM, LibraryUCX, LibraryGloo}
}

// ParseLibraries parses the names of libraries, such as the values of `--for`: case doesn't matter,
// "rccl" means nccl, "nixl" means ucx, and "all" means all libraries.
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

// inOrder sorts libraries in the order of Libraries and removes duplicates.
func inOrder(list []Library) []Library {
	var out []Library
	for _, l := range Libraries() {
		if slices.Contains(list, l) {
			out = append(out, l)
		}
	}
	return out
}

// Options are the options of [Derive]. The zero value selects [DefaultLibraries] and the compute
// ports of the node.
type Options struct {
	Libraries []Library // nil: DefaultLibraries
	// Include, if not empty, allows only the ports that one of its selectors matches, whatever
	// their role. Exclude excludes ports and takes precedence over Include. A selector is compared
	// with a port's device ("mlx5_0"), device and port ("mlx5_0:1"), PCI address ("0000:18:00.0" or
	// "18:00.0") and network device ("ens0np0"): first literally, then as a pattern with *, ? and
	// [a-z], or as a regular expression if it is enclosed in slashes ("/^mlx5_[0-3]$/").
	Include, Exclude []string
	// Peer is an address of another node: the network device for bootstrap is that of the route to
	// it. The zero value means the default route.
	Peer netip.Addr
	// Routes finds routes; nil means RoutesOf(snapshot).
	Routes RouteFunc
	// PinGID sets the GID index as a number; an error if ports need different ones.
	PinGID bool
	// TCPFallback turns RDMA off explicitly if no port can be used.
	TCPFallback bool
	// Override lets derived values replace those of Environment.
	Override bool
	// Environment is the user's environment; an empty value is treated as not set.
	Environment map[string]string
}

// ErrOptions is matched by errors of [Derive] about options that don't fit the node.
var ErrOptions = errors.New("options don't fit the node")

// OptionError is an error about an option; it matches [ErrOptions].
type OptionError struct {
	Option string // "include", "exclude", "pin-gid", "peer", "name", "namespace"
	Text   string // the fault
}

// Error implements error.
func (e *OptionError) Error() string { return e.Option + ": " + e.Text }

// Is reports whether target is [ErrOptions].
func (e *OptionError) Is(target error) bool { return target == ErrOptions }
