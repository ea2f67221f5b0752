package guest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// Addresses of the two links, each a /24.
const (
	GuestAddress      = "192.0.2.1"      // eth0 and rxe0 in the guest
	HostAddress       = "192.0.2.254"    // the host's end of eth0
	GuestAddressIWARP = "198.51.100.1"   // eth1 and siw0 in the guest
	HostAddressIWARP  = "198.51.100.254" // the host's end of eth1
)

const (
	suite        = "bookworm"          // of the guest, and of the host that builds it
	kernelPolicy = "linux-image-amd64" // whatever this package depends on at build time
	portPrefix   = "rdmakit."          // names of the virtio serial ports
)

//go:embed init.sh
var initScript string

// daemonSource is the source of guestd; see daemonModule.
//
//go:embed cmd/guestd/*.go internal/guestd/*.go internal/frame/*.go
var daemonSource embed.FS

// cardSource is the source of rdmakit_card, a kernel module for tests.
//
//go:embed card/Makefile card/*.c card/*.h
var cardSource embed.FS

// daemonModule is the go.mod that makes daemonSource a separate module.
const daemonModule = "module github.com/rdmakit/rdmakit/integration/guest\n\ngo 1.26.0\n"

// recipe is everything that determines the contents of a built guest.
type recipe struct {
	Format   int // incremented when the build steps change their result
	Suite    string
	Kernel   string
	Packages []string // Debian packages in the guest
	Programs []string // must exist after installing the packages
	Trees    []string // folders of kernel modules, below kernel/
	Modules  []string // further kernel modules
	Boot     []string // modules that init loads
	Init     string
	Daemon   map[string]string // path to source
	Card     map[string]string // path to source
}

func newRecipe() (recipe, error) {
	r := recipe{
		Format: 2,
		Suite:  suite,
		Kernel: kernelPolicy,
		Packages: strings.Fields(`
			rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest infiniband-diags
			iproute2 iputils-ping iperf3 ethtool nftables tcpdump
			pciutils udev kmod procps strace`),
		Programs: strings.Fields(`
			ibv_devices ibv_devinfo ibv_rc_pingpong ibv_ud_pingpong rping ucmatose udaddy
			ib_write_bw ib_write_lat ib_read_bw ib_send_bw ib_atomic_lat
			ibstat ibping ip rdma dcb devlink tc bridge ping iperf3 ethtool nft tcpdump
			lspci setpci udevadm modprobe ps sysctl strace`),
		Trees: []string{"drivers/infiniband/", "net/sched/"},
		// libcrc32c (for siw) and rxe request the checksums from the kernel's crypto API by
		// algorithm, so they are not in modules.dep.
		Modules: strings.Fields(`
			crc32c_generic crc32c_intel crc32_generic crc32_pclmul
			8021q bonding dummy macvlan ipvlan veth vxlan ifb bridge tun
			nf_tables nft_ct nft_reject_inet netdevsim rdmakit_card aer_inject`),
		Boot: strings.Fields(`
			virtio_pci virtio_net virtio_console
			ib_uverbs ib_umad rdma_ucm rdma_rxe siw`),
	}
	r.Init = strings.NewReplacer(
		"@HOSTNAME@", "rdmakit-guest",
		"@MODULES@", strings.Join(r.Boot, " "),
		"@ADDRESS0@", GuestAddress,
		"@ADDRESS1@", GuestAddressIWARP,
	).Replace(initScript)
	var err error
	if r.Daemon, err = sourceFiles(daemonSource); err != nil {
		return r, err
	}
	r.Daemon["go.mod"] = daemonModule
	r.Card, err = sourceFiles(cardSource)
	return r, err
}

// sourceFiles returns embedded source files without tests.
func sourceFiles(source embed.FS) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := source.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the guest's source files: %w", err)
	}
	return files, nil
}

// key returns the name of the guest that this recipe builds: 16 hexadecimal digits. It doesn't
// depend on the version of the kernel, only on the policy that selects one, so a built guest stays
// valid when Debian publishes another kernel.
func (r recipe) key() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("hash the recipe: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
