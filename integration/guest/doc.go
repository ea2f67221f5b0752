// Package guest runs a Debian machine with the real Linux RDMA stack under
// QEMU, for tests that compare rdmakit with the kernel and the C tools.
//
// The guest has two network cards. Soft RoCE rxe0 sits on eth0
// (GuestAddress/24), soft iWARP siw0 on eth1 (GuestAddressIWARP/24): each has
// a card of its own because rdma_cm picks a device by address, and with both on
// one card that choice would be an accident. The host's ends of the two links,
// [HostAddress] and [HostAddressIWARP], live in a network namespace made for this
// guest, so that any number of guests run at once and the machine's own network
// is left alone. Installed in the guest are rdma-core with its utilities,
// perftest, infiniband-diags, iproute2 and more: see recipe.go.
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
// The first use on a machine builds the guest from Debian packages, which
// takes minutes; a boot takes seconds. To share one boot among the test
// packages of a run, boot it beforehand:
//
//	export RDMAKIT_GUEST=$(go run ./integration/guest/cmd/rdmaguest up)
//	go test -tags kernel ./integration/kernel/...
//	go run ./integration/guest/cmd/rdmaguest down
//
// All methods of a [Guest] may be called concurrently. Scripts run in parallel,
// at most 16 at a time; more wait for their turn. Tests that change what
// others look at (links, modules, addresses) take Exclusive first, and tests
// that such a change would disturb take Steady.
//
// It needs root on a Debian bookworm host, amd64, and the go command. The
// processor is emulated, so figures measured in the guest compare with each
// other and with nothing else.
package guest
