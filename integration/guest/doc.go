// Package guest runs a Debian machine with the real Linux RDMA stack under
// QEMU, for tests that compare rdmakit with the kernel and the C tools.
//
// The guest has two network cards. Soft RoCE rxe0 uses eth0 (GuestAddress/24), soft iWARP siw0 uses
// eth1 (GuestAddressIWARP/24): they use separate cards because rdma_cm selects a device by address,
// and with both on one card the selection would be arbitrary. The host's ends of the two links,
// [HostAddress] and [HostAddressIWARP], are in a network namespace created for this guest, so that
// any number of guests can run at once and the machine's network is not affected. The guest
// contains rdma-core with its utilities, perftest, infiniband-diags, iproute2 and more: see
// recipe.go.
//
// For tests of what doctor asks the kernel there are the kernel modules netdevsim, whose devices
// have settings of ethtool and health reporters of devlink, and rdmakit_card (folder card), which
// makes the PCI function [Card] behind the port [RootPort] an RDMA card with DCB and without a data
// path. Only tests load them. [Guest.Monitor] injects errors of PCI Express; those of the port are
// reported to the kernel.
//
//	func TestMain(m *testing.M) { os.Exit(guest.Main(m)) }
//
//	func TestLinks(t *testing.T) {
//		g := guest.Shared(t)
//		res, err := g.Run(t.Context(), "rdma -j link")
//		if err != nil || res.ExitCode != 0 {
//			t.Fatalf("rdma link = %+v, %v", res, err)
//		}
//	}
//
// The first use on a machine builds the guest from Debian packages, which takes minutes; a boot
// takes seconds. To share one boot among several test packages, boot the guest beforehand:
//
//	export RDMAKIT_GUEST=$(go run ./integration/guest/cmd/rdmaguest up)
//	go test -tags kernel ./integration/kernel/...
//	go run ./integration/guest/cmd/rdmaguest down
//
// All methods of a [Guest] may be called concurrently. At most 16 scripts run in parallel; others
// wait. Tests that change shared state (links, modules, addresses) call Exclusive first, and tests
// that such a change would disturb call Steady.
//
// The guest needs root on a Debian bookworm host, amd64, and the go command. The processor is
// emulated, so measurements in the guest can be compared only with each other.
package guest
